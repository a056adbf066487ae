"""The operator catalogue against what others publish about the same operators."""
