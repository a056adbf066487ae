"""SMTP that says when it is about to hand over a mail, and whether that is certain to have failed.

Only between the last byte of the text and the server's answer can nobody know whether it took it.
"""

from __future__ import annotations

import smtplib
from collections.abc import Callable
from typing import Any

from django.core.mail.backends import smtp


class Unsure(Exception):
    """The conversation ended after the text had been sent and before the server answered."""


def _nothing() -> None:
    return


class CarefulSMTP(smtplib.SMTP):
    """`about_to_hand_over` is called when the server took the recipient; what it raises ends the
    conversation before any text is sent."""

    about_to_hand_over: Callable[[], None] = staticmethod(_nothing)
    _in_text = _text_is_out = False

    def data(self, msg: Any) -> tuple[int, bytes]:
        self.about_to_hand_over()
        self._in_text, self._text_is_out = True, False
        try:
            return super().data(msg)
        except smtplib.SMTPResponseException:
            raise
        except OSError as error:
            if self._text_is_out:
                raise Unsure from error
            raise
        finally:
            self._in_text = False

    def send(self, s: Any) -> None:
        super().send(s)
        # The command itself goes the same way as the text that follows it.
        self._text_is_out = self._in_text and not isinstance(s, str)


class CarefulSMTPS(CarefulSMTP, smtplib.SMTP_SSL):
    pass


class EmailBackend(smtp.EmailBackend):
    """Django's, which leaves no doubt what became of a mail."""

    connection: CarefulSMTP | None

    @property
    def connection_class(self) -> type[CarefulSMTP]:
        return CarefulSMTPS if self.use_ssl else CarefulSMTP

    def before_text(self, call: Callable[[], None]) -> None:
        """Have `call` called before the next mail's text is sent."""
        if self.connection is not None:
            self.connection.about_to_hand_over = call
