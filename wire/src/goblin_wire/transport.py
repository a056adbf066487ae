"""What lies under `http.HttpClient`: sessions, pinned certificates, reading, and plain reasons."""

from __future__ import annotations

import socket
import ssl
import time
from collections.abc import Callable, Iterator
from http.cookiejar import DefaultCookiePolicy
from typing import Any

import requests
from requests.adapters import HTTPAdapter
from requests.auth import AuthBase
from urllib3.exceptions import ConnectTimeoutError, HTTPError

from goblin_wire.protocol import PROTOCOL, PROTOCOL_HEADER

SEND_BYTES = 256 * 1024
"""A socket's timeout covers one send, so a body goes out in pieces that a slow link can take."""
READ_BYTES = 256 * 1024
SLOWEST_BYTES_PER_S = 512
PATIENCE_S = 60.0
"""A transfer slower than `SLOWEST_BYTES_PER_S` over this long counts as broken."""
TRANSFER_ERRORS = (requests.RequestException, HTTPError, OSError)


class Authorization(AuthBase):
    """Sets one header, or none. Being set at all keeps `.netrc` from replacing it."""

    def __init__(self, value: str | None) -> None:
        self._value = value

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        if self._value is not None:
            request.headers["Authorization"] = self._value
        return request


class PinnedAdapter(HTTPAdapter):
    """TLS to the one certificate whose SHA-256 was told; names and authorities do not matter."""

    def __init__(self, fingerprint: str) -> None:
        self._fingerprint = fingerprint
        super().__init__()

    def init_poolmanager(self, *args: Any, **kwargs: Any) -> None:
        context = ssl.create_default_context()
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        kwargs |= {
            "ssl_context": context,
            "assert_fingerprint": self._fingerprint,
            "assert_hostname": False,
            "cert_reqs": "CERT_NONE",
        }
        super().init_poolmanager(*args, **kwargs)


def make_session(
    *,
    authorization: str | None,
    certificate: str | None,
    host: str | None,
    user_agent: str,
    trust_environment: bool,
) -> requests.Session:
    """A session without cookies, compression or `.netrc`.

    With a pinned certificate the environment is not trusted: a proxy would end the TLS that the
    pin protects.
    """
    session = requests.Session()
    session.trust_env = trust_environment and certificate is None
    session.auth = Authorization(authorization)
    session.cookies.set_policy(DefaultCookiePolicy(allowed_domains=[]))
    session.headers.update(
        {
            "User-Agent": user_agent,
            "Accept-Encoding": "identity",
            PROTOCOL_HEADER: str(PROTOCOL),
        }
    )
    if host is not None:
        session.headers["Host"] = host
    if certificate is not None:
        session.mount("https://", PinnedAdapter(certificate))
    return session


class Body:
    """A buffer as a body of known length that is sent in small pieces."""

    def __init__(self, content: Any) -> None:
        self._view = memoryview(content).cast("B")

    def __len__(self) -> int:
        return len(self._view)

    def __iter__(self) -> Iterator[memoryview]:
        for start in range(0, len(self._view), SEND_BYTES):
            yield self._view[start : start + SEND_BYTES]


def pieces(
    response: requests.Response,
    *,
    size: int = READ_BYTES,
    clock: Callable[[], float] = time.monotonic,
) -> Iterator[bytes]:
    """The body as it arrives, each piece at most `size` bytes.

    Raises `TimeoutError` where it trickles, the library's errors where it breaks or ends short.
    """
    raw: Any = response.raw
    since, received = clock(), 0
    while piece := raw.read1(size, decode_content=False):
        yield piece
        received += len(piece)
        spent = clock() - since
        if spent > PATIENCE_S:
            if received < SLOWEST_BYTES_PER_S * spent:
                raise TimeoutError
            since, received = clock(), 0


def reason(error: BaseException) -> str:
    """Why a connection failed, in words; never the address, which may hold a ticket."""
    chain = list(_chain(error))
    for cause in chain:
        if isinstance(cause, requests.exceptions.ProxyError):
            return f"the proxy did not let it through{_proxy_words(chain)}"
    for kind, words in _WORDS:
        if any(isinstance(cause, kind) for cause in chain):
            return words
    for cause in reversed(chain):
        if isinstance(cause, OSError) and cause.strerror:
            return cause.strerror.lower()
    return f"{type(chain[-1]).__name__}"


def was_never_sent(error: BaseException) -> bool:
    """Whether no connection came about, so that trying again repeats nothing."""
    return any(isinstance(cause, ConnectTimeoutError) for cause in _chain(error))


def certificate_reason(error: BaseException) -> str | None:
    """What is wrong with the other end's certificate, or none where it is something else."""
    for cause in _chain(error):
        if isinstance(cause, ssl.SSLCertVerificationError):
            return cause.verify_message
        if "ingerprint" in str(cause) and not isinstance(cause, requests.RequestException):
            return "its fingerprint is another one"
    return None


_WORDS: tuple[tuple[type[BaseException], str], ...] = (
    (socket.gaierror, "the name does not resolve"),
    (ConnectionRefusedError, "the connection was refused"),
    (requests.exceptions.ConnectTimeout, "there was no answer in time"),
    (requests.exceptions.ReadTimeout, "there was no answer in time"),
    (TimeoutError, "it was silent for too long"),
    (ConnectionError, "the connection broke"),
    (ssl.SSLError, "the TLS handshake failed"),
    (requests.exceptions.ChunkedEncodingError, "the reply was cut short"),
    (requests.exceptions.InvalidHeader, "a header is not valid"),
    (requests.exceptions.InvalidURL, "the address is not valid"),
)


def _proxy_words(chain: list[BaseException]) -> str:
    words = str(chain[-1])
    return f" ({words[:100]})" if "roxy" in words or "unnel" in words else ""


def _chain(error: BaseException) -> Iterator[BaseException]:
    """The error and, from the outside in, whatever it wraps."""
    seen: set[int] = set()
    left: list[Any] = [error]
    while left:
        inner = left.pop(0)
        if isinstance(inner, BaseException) and id(inner) not in seen:
            seen.add(id(inner))
            yield inner
            left += [*inner.args, getattr(inner, "reason", None), inner.__cause__]
            left.append(inner.__context__)
