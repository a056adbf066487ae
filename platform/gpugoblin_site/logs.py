"""Structured logs: one JSON object a line on standard error.

No line holds a body, a token, a query string or an address: requests are logged by route, and an
exception by its type and the places in the code that it passed, never by its message (a database's
message quotes values).
"""

from __future__ import annotations

import io
import logging
import sys
import traceback
from collections.abc import MutableMapping
from typing import Any, BinaryIO

import msgspec
import structlog

Event = MutableMapping[str, Any]
_DEPTH = 20


def configure(level: str = "INFO", stream: BinaryIO | None = None) -> None:
    """Send structlog and the standard library's logging through the same lines.

    `stream` takes the lines in place of standard error.
    """
    text = io.TextIOWrapper(stream, encoding="utf-8", write_through=True) if stream else sys.stderr
    shared: list[Any] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        summarise_exception,
    ]
    structlog.configure(
        processors=[*shared, _render],
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelName(level)),
        logger_factory=structlog.BytesLoggerFactory(stream or sys.stderr.buffer),
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(text)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[*shared[:3], structlog.stdlib.add_logger_name],
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                summarise_exception,
                lambda _logger, _name, event: _render(_logger, _name, event).decode(),
            ],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    # Refused requests have a line of their own already.
    logging.getLogger("django.request").setLevel(logging.ERROR)
    # Every second two lines that a task was run; what fails is told by the task's own line.
    logging.getLogger("apscheduler").setLevel(logging.WARNING)
    for name in (
        "django.request",
        "django.security",
        "django.security.DisallowedHost",
        "django.security.csrf",
    ):
        logging.getLogger(name).addFilter(_without_values)


def logger(name: str) -> Any:
    """A structlog logger whose lines carry `source: name`."""
    return structlog.get_logger(source=name)


def summarise_exception(_logger: Any, _name: str, event: Event) -> Event:
    """Replace `exc_info` by the exception's type and places in the code."""
    info = event.pop("exc_info", None)
    if not info:
        return event
    error = _exception(info)
    if error is not None:
        frames = traceback.extract_tb(error.__traceback__)[-_DEPTH:]
        event["exception"] = type(error).__qualname__
        event["places"] = [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames]
    return event


def _exception(info: Any) -> BaseException | None:
    if isinstance(info, BaseException):
        return info
    if isinstance(info, tuple):
        return info[1] if isinstance(info[1], BaseException) else None
    return sys.exc_info()[1]


def _render(_logger: Any, _name: str, event: Event) -> bytes:
    return msgspec.json.encode(event, enc_hook=str)


def _without_values(record: logging.LogRecord) -> bool:
    """Django's own sentences hold paths and Host headers, which belong to whoever sent them."""
    record.msg, record.args = "refused by Django", ()
    return True
