"""Verdicts of labs: signed, in bulk, before or after the report that they judge."""

from __future__ import annotations

import re
from uuid import UUID

from blake3 import blake3
from django.db import transaction

from goblin_wire.capability import signature_is_valid
from goblin_wire.lab import Verdict, VerdictBatch, VerdictOutcome, VerdictReply
from goblin_wire.problems import NotAllowed
from goblin_wire.protocol import require_protocol
from workunits import capabilities, labs, quorum, recreation
from workunits.changes import Changes
from workunits.database import Query, finish, query, row
from workunits.identifiers import uuids
from workunits.quorum import Judgement
from workunits.snapshot import Held, lock_units_of_leases

_SIGNATURE = re.compile(r"^[0-9a-f]{128}$")

_BATCH = """
INSERT INTO workunits_verdictbatch (lab_id, digest, signature, public_key, received)
VALUES (%(lab)s, %(digest)s, %(signature)s, %(key)s, now()) RETURNING id"""

_VERDICTS = """
INSERT INTO workunits_verdict (lease_id, batch_id, kind, outputs, code, reason, policy, residual,
                               repaired_rows)
SELECT v.lease, %(batch)s, v.kind, string_to_array(v.outputs, ','), v.code, v.reason, v.policy,
       v.residual, v.repaired
FROM unnest(%(lease)s::uuid[], %(kind)s::text[], %(outputs)s::text[], %(code)s::text[],
            %(reason)s::text[], %(policy)s::text[], %(residual)s::float8[], %(repaired)s::bigint[])
     AS v(lease, kind, outputs, code, reason, policy, residual, repaired)
ON CONFLICT (lease_id) DO NOTHING"""

_RESIDUALS = """
UPDATE workunits_verdict w SET residual = v.residual, batch_id = %(batch)s
FROM unnest(%(lease)s::uuid[], %(residual)s::float8[]) AS v(lease, residual)
WHERE w.lease_id = v.lease AND w.lease_id = ANY(%(lease)s::uuid[]) AND w.residual IS NULL"""


def take(lab: int, message: VerdictBatch, body: bytes, signature: str) -> VerdictReply:
    """Take a batch, on disk when this returns; what was taken before is answered the same.

    Raises `NotAllowed` unless `signature` (hexadecimal Ed25519 over the body's bytes) is by the
    lab's key.
    """
    require_protocol(message.protocol)
    key = _require_signed(lab, body, signature)
    with transaction.atomic():
        _recreate(lab, message.verdicts)
        leases = uuids([verdict.lease for verdict in message.verdicts])
        held = lock_units_of_leases(leases, lab=lab)
        by_lease = {lease: unit for unit in held.values() for lease in unit.copies}
        changes = Changes()
        each = list(zip(leases, message.verdicts, strict=True))
        problems = [_judge(changes, by_lease, *one) for one in each]
        judged = list(zip(each, problems, strict=True))
        fresh = [one for one, code in judged if code == "new"]
        told = [one for one, code in judged if code == "repeated" and one[1].residual is not None]
        proof = {"digest": blake3(body).hexdigest(), "signature": signature, "key": key}
        finish([*_store(lab, fresh, told, proof), *changes.statements()])
    return VerdictReply(outcomes=[_outcome(by_lease, *one, code) for one, code in judged])


def _require_signed(lab: int, body: bytes, signature: str) -> str:
    key: str = labs.node(lab).public_key
    valid = _SIGNATURE.match(signature) is not None and signature_is_valid(
        key, body, bytes.fromhex(signature)
    )
    if not valid:
        raise NotAllowed("The verdicts are not signed with the key that the lab node introduced.")
    return key


def _recreate(lab: int, verdicts: list[Verdict]) -> None:
    tokens = {UUID(hex=v.lease): v.capability for v in verdicts if v.capability}
    if not tokens:
        return
    for lease in tokens.keys() - recreation.known(tokens):
        claims = capabilities.read(tokens[lease] or "")
        if claims is not None and claims.lease == lease.hex:
            recreation.recreate(claims, lab=lab)


def _judge(changes: Changes, by_lease: dict[UUID, Held], lease: UUID, verdict: Verdict) -> str:
    """`new`, `repeated`, or the code of what is wrong with the verdict."""
    held = by_lease.get(lease)
    if held is None or held.row.uid.hex != verdict.unit:
        return "unknown_lease"
    known = held.copies[lease].judgement
    if known is not None:
        same = known.kind is verdict.verdict and known.outputs == tuple(verdict.outputs)
        return "repeated" if same else "conflict"
    if held.row.job_state == "cancelled":
        changes.happen(held, quorum.Cancelled())
    judgement = Judgement(verdict.verdict, tuple(verdict.outputs), verdict.code, verdict.reason)
    changes.happen(held, quorum.Judged(lease, judgement))
    return "new"


def _store(
    lab: int,
    fresh: list[tuple[UUID, Verdict]],
    told: list[tuple[UUID, Verdict]],
    proof: dict[str, str],
) -> list[Query]:
    """What keeps the verdicts. `told`: known ones whose residuals may be told now."""
    if not fresh and not told:
        return []
    batch = row(_BATCH, {"lab": lab, **proof})
    assert batch is not None  # noqa: S101 - an insert with RETURNING
    found = [_store_fresh(batch.id, fresh)] if fresh else []
    if told:
        residuals = [verdict.residual for _, verdict in told]
        leases = [lease for lease, _ in told]
        found.append(query(_RESIDUALS, {"batch": batch.id, "lease": leases, "residual": residuals}))
    return found


def _store_fresh(batch: int, fresh: list[tuple[UUID, Verdict]]) -> Query:
    verdicts = [verdict for _, verdict in fresh]
    values = {
        "batch": batch,
        "lease": [lease for lease, _ in fresh],
        "kind": [v.verdict.value for v in verdicts],
        "outputs": [",".join(v.outputs) for v in verdicts],
        "code": [v.code for v in verdicts],
        "reason": [v.reason for v in verdicts],
        "policy": [v.policy.value for v in verdicts],
        "residual": [v.residual for v in verdicts],
        "repaired": [v.repaired_rows for v in verdicts],
    }
    return query(_VERDICTS, values)


def _outcome(
    by_lease: dict[UUID, Held], lease: UUID, verdict: Verdict, code: str
) -> VerdictOutcome:
    if code == "unknown_lease":
        return VerdictOutcome(lease=verdict.lease, code=code)
    held = by_lease[lease]
    return VerdictOutcome(
        lease=verdict.lease,
        state=held.copies[lease].state,
        unit_state=held.unit.state,
        code="conflict" if code == "conflict" else "ok",
    )
