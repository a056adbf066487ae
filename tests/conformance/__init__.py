"""The operator catalogue against what others publish about the same operators."""

import tests.fuzz  # noqa: F401 - it finds the tests of opgraph
