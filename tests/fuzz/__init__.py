"""Hostile and random graphs through reader, validator and executor; `make fuzz` runs them long."""

import sys
from pathlib import Path

# The samples of operators and the hostile corpus belong to the tests of opgraph.
sys.path.append(str(Path(__file__).resolve().parents[2] / "opgraph/tests"))
