"""HTTP towards labs, as one thread uses it, and what its failures mean."""

from __future__ import annotations

from goblin_client import __version__
from goblin_client.errors import CLIENT_FAILED, HandBack, disk_code
from goblin_client.scheduling.events import Failure, Trouble
from goblin_wire.addresses import resolve_endpoint
from goblin_wire.exchange import LabAddress, Lease
from goblin_wire.http import READ_TIMEOUT_S, HttpClient
from goblin_wire.problems import (
    CapabilityExpired,
    CapabilityForeign,
    CapabilityInvalid,
    Conflict,
    DigestMismatch,
    EndpointRefused,
    JobCancelled,
    LeaseEnded,
    Problem,
    TooLarge,
    UnknownLease,
    UnknownUnit,
    WrongLength,
)
from goblin_wire.protocol import CAPABILITY_SCHEME

_TROUBLES: tuple[tuple[tuple[type[Problem], ...], Trouble, str], ...] = (
    (
        (CapabilityExpired, CapabilityForeign, CapabilityInvalid),
        Trouble.CAPABILITY,
        "capability_refused",
    ),
    ((LeaseEnded, UnknownLease, UnknownUnit, JobCancelled), Trouble.ENDED, "lease_ended"),
    ((DigestMismatch,), Trouble.DAMAGED, "digest_mismatch"),
    ((EndpointRefused,), Trouble.UNIT, "lab_unreachable"),
    ((Conflict, TooLarge, WrongLength), Trouble.UNIT, "failed"),
)


class LabLinks:
    """Connections to labs. An endpoint is resolved once per connection; proxies are not used."""

    def __init__(self, *, allow_private: bool, read_timeout: float = READ_TIMEOUT_S) -> None:
        self._allow_private = allow_private
        self._read_timeout = read_timeout
        self._clients: dict[tuple[str, str | None], HttpClient] = {}

    def client(self, address: LabAddress) -> HttpClient:
        """The connection to a lab. Raises `EndpointRefused`, `EndpointUnreachable`."""
        known = (address.endpoint, address.certificate)
        if known not in self._clients:
            endpoint = resolve_endpoint(
                address.endpoint,
                allow_private=self._allow_private,
                certificate=address.certificate,
            )
            self._clients[known] = HttpClient.for_endpoint(
                endpoint,
                certificate=address.certificate,
                user_agent=f"goblin-client/{__version__}",
                read_timeout=self._read_timeout,
            )
        return self._clients[known]

    def close(self) -> None:
        """Forget all connections, so that the next ones are made afresh."""
        for client in self._clients.values():
            client.close()
        self._clients.clear()


def authorization(lease: Lease) -> dict[str, str]:
    return {"Authorization": f"{CAPABILITY_SCHEME} {lease.capability}"}


def failure(error: Exception) -> Failure:
    """What a failed transfer means for its unit and for the lab's endpoint."""
    if isinstance(error, HandBack):
        return Failure(Trouble.UNIT, error.code, error.detail)
    if isinstance(error, OSError):
        return Failure(Trouble.UNIT, disk_code(error), f"The disk failed: {error.strerror}.")
    if not isinstance(error, Problem):
        detail = f"The client failed: {type(error).__name__}."
        return Failure(Trouble.UNIT, CLIENT_FAILED, detail)
    for kinds, trouble, code in _TROUBLES:
        if isinstance(error, kinds):
            return Failure(trouble, code, error.detail)
    return Failure(Trouble.ENDPOINT, error.code, error.detail, error.retry_after)
