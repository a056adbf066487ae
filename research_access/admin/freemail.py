"""Whether an address is of a service that anybody gets one from: it proves no institution."""

from __future__ import annotations

_FREE = """
163.com 126.com aol.com duck.com email.com fastmail.com fpt.vn gmail.com gmx.at gmx.de gmx.net
googlemail.com hanmail.net hey.com hotmail.co.uk hotmail.com hotmail.fr hushmail.com icloud.com
inbox.lv inbox.ru laposte.net libero.it list.ru live.com mac.com mail.com mail.ru mailbox.org
me.com msn.com naver.com orange.fr outlook.com outlook.com.vn outlook.fr pm.me posteo.de
proton.me protonmail.com qq.com rediffmail.com rocketmail.com seznam.cz sina.com t-online.de
tuta.com tuta.io tutanota.com vnn.vn web.de wp.pl yahoo.co.in yahoo.co.jp yahoo.co.uk yahoo.com
yahoo.com.br yahoo.com.vn yahoo.de yahoo.fr yandex.com yandex.ru ymail.com zoho.com
"""
_THROWN_AWAY = """
10minutemail.com dispostable.com getnada.com guerrillamail.com mailinator.com maildrop.cc
mohmal.com sharklasers.com temp-mail.org tempmail.com throwawaymail.com trashmail.com
yopmail.com
"""
FREE_MAIL = frozenset(_FREE.split())
THROWN_AWAY = frozenset(_THROWN_AWAY.split())


def domain_of(address: str) -> str:
    """What follows the last `@`."""

    return address.rpartition("@")[2].casefold()


def is_free(address: str) -> bool:
    """Whether the address is of a free or throw-away service that we know."""

    return domain_of(address) in FREE_MAIL | THROWN_AWAY
