"""The catalogue as a page of documentation."""

from __future__ import annotations

from opgraph.catalogue import CATALOGUE_VERSION, OPERATORS
from opgraph.catalogue.declaration import Operator
from opgraph.catalogue.description import describe

_HEAD = """# The operator catalogue

Made by `python -m opgraph catalogue --markdown`; a test keeps it fresh. Catalogue {version},
{count} operators. A graph names nothing else, and a volunteer computes nothing else.

- Nothing is promoted and nothing is spread silently: casts and `broadcast_to` are nodes.
- 16-bit floats are stored as such; every operator on them computes in float32 and rounds once.
- float32 numbers below 2^-126 may read as 0 anywhere.
- flops are exact, and credit is paid by them. The error is how far an honest result may be from the
  exact one; u is the unit roundoff of the dtype, n the number of terms.
"""


def catalogue() -> str:
    """All of it, a section per family."""
    parts = [_HEAD.format(version=CATALOGUE_VERSION, count=len(OPERATORS))]
    families = dict.fromkeys(each.family for each in OPERATORS.values())
    for family in families:
        parts.append(f"## {family.replace('_', ' ').capitalize()}\n")
        parts += [_section(each) for each in OPERATORS.values() if each.family == family]
    return "\n".join(parts)


def _section(operator: Operator) -> str:
    facts = describe(operator)
    attributes = [f"  - `{name}`: {text}" for name, text in facts["attributes"].items()]
    lines = [
        f"### {operator.name}",
        f"`{facts['signature']}`\n",
        f"{facts['summary']}\n",
        f"- dtypes: {'; '.join(facts['dtypes'])}",
        *(["- attributes:", *attributes] if attributes else []),
        f"- special values: {facts['special_values']}",
        f"- flops: {facts['flops']}; error: {facts['error']}",
    ]
    if facts["fused"]:
        lines.append("- fused: defined by other operators, against which it is tested")
    return "\n".join(lines) + "\n"
