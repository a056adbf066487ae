"""The mathematics that checks untrusted results. Depends on nothing but numpy and opgraph."""

from opgraph.verification.blind_spot import BlindSpot, blind_spot, planned_blind_spot
from opgraph.verification.product import ColumnBlockCheck
from opgraph.verification.reader import ArrayReader, MatrixReader
from opgraph.verification.verdict import TileCheck, WrongEntry

__all__ = [
    "ArrayReader",
    "BlindSpot",
    "ColumnBlockCheck",
    "MatrixReader",
    "TileCheck",
    "WrongEntry",
    "blind_spot",
    "planned_blind_spot",
]
