"""What the tests of pages do in a browser."""

from __future__ import annotations

import re

from django.core import mail
from django.test import Client

from gpugoblin_site.mail import delivery


def fields(text: str, nth: int = 0) -> dict[str, str]:
    """The hidden fields of a form in <main>."""
    main = text[text.index("<main") :]
    form = main.split("<form")[nth + 1].partition("</form>")[0]
    return dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', form))


def ask(browser: Client, email: str, url: str = "/login/") -> str:
    """Type an address; the page that asks for the code."""
    page = browser.get(url).content.decode()
    sent = browser.post(url, fields(page) | {"email": email})
    assert sent.status_code == 302, sent.content.decode()
    return browser.get(sent["Location"]).content.decode()


def mailed_code(to: str = "") -> str:
    """The code of the mail that was sent last (to this address)."""
    delivery.deliver_due()
    mails = [sent for sent in mail.outbox if not to or sent.to == [to]]
    return code_in(str(mails[-1].body))


def code_in(text: str) -> str:
    """The code in the text of a mail."""
    found = re.search(r"\b(\d{4} \d{4})\b", text)
    assert found is not None
    return found[1]


def wrong_for(code: str) -> str:
    """A code that is not this one."""
    return "0000 0000" if code != "0000 0000" else "0000 0001"
