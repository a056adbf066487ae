"""The few drawings of the site, as paths of one colour."""

from __future__ import annotations

GOBLIN = (
    "M1 8c3 .2 6 1.3 8.2 3.2C11 9.2 13.4 8 16 8s5 1.2 6.8 3.2C25 9.3 28 8.2 31 8c-.6 "
    "4.6-3 8.3-6.3 10.2C24 23.8 20.5 28 16 28s-8-4.2-8.7-9.8C4 16.3 1.6 12.6 1 "
    "8Zm10.5 7.2a2 2 0 1 0 0 4 2 2 0 0 0 0-4Zm9 0a2 2 0 1 0 0 4 2 2 0 0 0 0-4ZM12 "
    "22.5c2.4 1.7 5.6 1.7 8 0l-1 2.2c-1.8 1-4.2 1-6 0l-1-2.2Z"
)
"""A head with long ears on 32 x 32; static/goblin.svg holds the same."""

ICONS = {
    "info": ("M8 1a7 7 0 1 0 0 14A7 7 0 0 0 8 1Zm-1 6h2v5H7V7Zm0-3h2v2H7V4Z"),
    "done": (
        "M8 1a7 7 0 1 0 0 14A7 7 0 0 0 8 1Zm-1.2 10.6L3.4 8.2l1.4-1.4 2 2 4.4-4.4 1.4 1.4-5.8 5.8Z"
    ),
    "waiting": (
        "M3 1h10v2h-1c0 2.5-1 3.8-2.6 5 1.6 1.2 2.6 2.5 2.6 5h1v2H3v-2h1c0-2.5 1-3.8 "
        "2.6-5C5 6.8 4 5.5 4 3H3V1Zm3 2c0 2 .8 3 2 3.8C9.2 6 10 5 10 3H6Z"
    ),
    "refused": (
        "M8 1a7 7 0 1 0 0 14A7 7 0 0 0 8 1ZM5.4 4 8 6.6 10.6 4 12 5.4 9.4 8l2.6 2.6-1.4 "
        "1.4L8 9.4 5.4 12 4 10.6 6.6 8 4 5.4 5.4 4Z"
    ),
    "menu": ("M1 3h14v2H1V3Zm0 4h14v2H1V7Zm0 4h14v2H1v-2Z"),
}
"""On 16 x 16."""
