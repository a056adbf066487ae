"""The version of the terms of use that people accept by logging in."""

TERMS_VERSION = "2026-12"
"""Changes with every change of the terms or the privacy page that people must hear of."""
