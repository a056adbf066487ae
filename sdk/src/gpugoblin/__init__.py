"""GPU Goblin for researchers: ask for a large computation from Python, get a verified result.

import gpugoblin

lab = gpugoblin.connect()
C = lab.open("A.npy") @ lab.open("B.npy")
print(C.explain())
job = C.submit("kernel", out="C.npy")
result = job.result()
"""

__version__ = "0.1.0"

from gpugoblin import errors, local, operators, random, xp
from gpugoblin.array import Array
from gpugoblin.arrays.formulas import formula
from gpugoblin.arrays.loop import repeat
from gpugoblin.assumed import assume, explain
from gpugoblin.explanation import Explanation
from gpugoblin.job import Job
from gpugoblin.lab import Lab, connect
from gpugoblin.parts import Part
from gpugoblin.places import remember
from gpugoblin.progress import Progress
from gpugoblin.report import Report
from opgraph.partition.figures import LabFigures, NetworkFigures

__all__ = [
    "Array",
    "Explanation",
    "Job",
    "Lab",
    "LabFigures",
    "NetworkFigures",
    "Part",
    "Progress",
    "Report",
    "__version__",
    "assume",
    "connect",
    "errors",
    "explain",
    "formula",
    "local",
    "operators",
    "random",
    "remember",
    "repeat",
    "xp",
]
