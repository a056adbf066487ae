"""Verdicts of labs: signed, in bulk, before or after the report that they judge."""

from __future__ import annotations

import re
from typing import Any
from uuid import UUID

from blake3 import blake3
from django.db import transaction

from goblin_wire.capability import signature_is_valid
from goblin_wire.lab import Verdict, VerdictBatch, VerdictOutcome, VerdictReply
from goblin_wire.problems import NotAllowed
from goblin_wire.protocol import require_protocol
from workunits import capabilities, labs, quorum, recreation
from workunits.changes import Changes
from workunits.database import row, run
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
WHERE w.lease_id = v.lease AND w.residual IS NULL"""


def take(lab: int, message: VerdictBatch, body: bytes, signature: str) -> VerdictReply:
    """Take a batch, on disk when this returns; what was taken before is answered the same.

    Raises `NotAllowed` unless `signature` (hexadecimal Ed25519 over the body's bytes) is by the
    lab's key.
    """
    require_protocol(message.protocol)
    key = _require_signed(lab, body, signature)
    with transaction.atomic():
        _recreate(lab, message.verdicts)
        held = lock_units_of_leases([UUID(hex=v.lease) for v in message.verdicts], lab=lab)
        by_lease = {lease: unit for unit in held.values() for lease in unit.copies}
        changes = Changes()
        problems = [_judge(changes, by_lease, verdict) for verdict in message.verdicts]
        judged = list(zip(message.verdicts, problems, strict=True))
        fresh = [v for v, code in judged if code == "new"]
        told = [v for v, code in judged if code == "repeated" and v.residual is not None]
        if fresh or told:
            proof = {"digest": blake3(body).hexdigest(), "signature": signature, "key": key}
            _store(lab, fresh, told, proof)
        changes.write()
    outcomes = zip(message.verdicts, problems, strict=True)
    return VerdictReply(outcomes=[_outcome(by_lease, v, code) for v, code in outcomes])


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


def _judge(changes: Changes, by_lease: dict[UUID, Held], verdict: Verdict) -> str:
    """`new`, `repeated`, or the code of what is wrong with the verdict."""
    lease = UUID(hex=verdict.lease)
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


def _store(lab: int, fresh: list[Verdict], told: list[Verdict], proof: dict[str, Any]) -> None:
    """`told`: known verdicts whose residuals may be told now."""
    batch = row(_BATCH, {"lab": lab, **proof})
    assert batch is not None  # noqa: S101 - an insert with RETURNING
    if fresh:
        _store_fresh(batch.id, fresh)
    if told:
        leases = [UUID(hex=v.lease) for v in told]
        residuals = [v.residual for v in told]
        run(_RESIDUALS, {"batch": batch.id, "lease": leases, "residual": residuals})


def _store_fresh(batch: int, verdicts: list[Verdict]) -> None:
    run(
        _VERDICTS,
        {
            "batch": batch,
            "lease": [UUID(hex=v.lease) for v in verdicts],
            "kind": [v.verdict.value for v in verdicts],
            "outputs": [",".join(v.outputs) for v in verdicts],
            "code": [v.code for v in verdicts],
            "reason": [v.reason for v in verdicts],
            "policy": [v.policy.value for v in verdicts],
            "residual": [v.residual for v in verdicts],
            "repaired": [v.repaired_rows for v in verdicts],
        },
    )


def _outcome(by_lease: dict[UUID, Held], verdict: Verdict, code: str) -> VerdictOutcome:
    lease = UUID(hex=verdict.lease)
    if code == "unknown_lease":
        return VerdictOutcome(lease=verdict.lease, code=code)
    held = by_lease[lease]
    return VerdictOutcome(
        lease=verdict.lease,
        state=held.copies[lease].state,
        unit_state=held.unit.state,
        code="conflict" if code == "conflict" else "ok",
    )
