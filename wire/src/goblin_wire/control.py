"""What the researcher's package and the lab node's control listener say to each other.

    GET  /v1/lab                            LabInfo
    POST /v1/arrays                         OpenArray -> ArrayInfo
    POST /v1/uploads                        UploadStart -> UploadState
    GET  /v1/uploads/UPLOAD                 UploadState
    PUT  /v1/uploads/UPLOAD?offset=N        bytes -> UploadState
    POST /v1/explain                        Submission -> Explanation
    POST /v1/jobs                           Submission -> JobInfo
    GET  /v1/jobs                           JobList
    GET  /v1/jobs/JOB                       JobInfo     (JOB: id or name)
    GET  /v1/jobs/JOB?after=VERSION&wait=S  JobInfo, held until its version is above VERSION,
                                            at most S whole seconds
    GET  /v1/jobs/JOB/parts?after=N         PartList
    GET  /v1/jobs/JOB/report                Report
    POST /v1/jobs/JOB/cancel                CancelReply
    GET  /v1/jobs/JOB/result                ResultInfo
    GET  /v1/jobs/JOB/result/data           bytes, ranges (C order, little-endian)

Every request carries `Authorization: Bearer KEY`, the key from the lab's `control.key` file.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct, field

from goblin_wire.data import Dtype, Shape
from goblin_wire.fields import (
    Code,
    Count,
    Digest,
    Flops,
    Id,
    LongSentence,
    Rate,
    Seconds,
    Sentence,
    ShortText,
    Size,
)
from goblin_wire.lab import NetworkSnapshot, Reachability
from goblin_wire.protocol import MAX_GRAPH_BYTES
from goblin_wire.states import Grade, JobState

Path = Annotated[str, Meta(max_length=4096)]
ArrayId = Id
Name = Annotated[str, Meta(max_length=200)]


class LabInfo(Struct, kw_only=True, omit_defaults=True):
    lab: Id
    name: ShortText
    site: ShortText
    version: ShortText
    protocol: int
    roots: list[str]
    online: bool
    """Whether the site was reached in the last minute."""
    reason: Sentence = ""
    network: NetworkSnapshot = field(default_factory=NetworkSnapshot)
    reachability: Reachability = field(default_factory=Reachability)
    flops_left_today: Flops = 0
    retention_days: float = 0.0


class OpenArray(Struct, kw_only=True, omit_defaults=True):
    """`path`: relative to a root, or absolute inside one.

    A file in the `.npy` format, a folder of zarr version 3, `tensor` of a safetensors file, or
    with `shape` and `dtype` raw numbers from byte `offset` on."""

    path: Path
    tensor: Annotated[str, Meta(max_length=1000)] | None = None
    shape: Shape | None = None
    dtype: Annotated[str, Meta(max_length=16)] | None = None
    """A name (little-endian) or a code with its byte order, as `>f4`."""
    order: Annotated[str, Meta(pattern=r"^[CF](?!\n)$")] = "C"
    offset: Size = 0


class ArrayInfo(Struct, kw_only=True, omit_defaults=True):
    array: ArrayId
    dtype: Dtype
    shape: Shape
    bytes: Size


class UploadStart(Struct, kw_only=True):
    """`digest`: plain BLAKE3 of dtype, shape and content (`array_digest`)."""

    digest: Digest
    dtype: Dtype
    shape: Shape


class UploadState(Struct, kw_only=True, omit_defaults=True):
    upload: Id
    received: Size
    bytes: Size
    array: ArrayInfo | None = None
    """Set once everything is there and the digest is right."""


class Submission(Struct, kw_only=True, omit_defaults=True):
    """A computation: an `opgraph` graph whose placeholders are bound to arrays of the lab."""

    protocol: int
    graph: Annotated[str, Meta(max_length=MAX_GRAPH_BYTES)]
    inputs: dict[str, ArrayId]
    """Placeholder name -> array."""
    shape: Shape | None = None
    """Shape of the result where it differs from the graph's (vectors)."""
    name: Name = ""
    out: Path | None = None
    """Where the result goes, under a root; none: the lab node chooses a place of its own."""
    grade: Grade = Grade.STANDARD
    fresh: bool = False
    """Start a new attempt although one exists."""
    memory: Size | None = None
    """A forced cap on the memory of one unit."""


class TimeRange(Struct, kw_only=True):
    low_s: Seconds
    high_s: Seconds


class Explanation(Struct, kw_only=True, omit_defaults=True):
    shape: Shape
    dtype: Dtype
    possible: bool
    problem: Sentence = ""
    problem_code: Code = "ok"
    units: Count = 0
    tile: Shape = field(default_factory=list)
    slices: Count = 0
    flops: Flops = 0
    down_bytes: Size = 0
    up_bytes: Size = 0
    unit_memory: Size = 0
    lab_disk: Size = 0
    network: NetworkSnapshot = field(default_factory=NetworkSnapshot)
    policy: str = "check"
    grade: Grade = Grade.STANDARD
    verification: Annotated[str, Meta(max_length=1000)] = ""
    """What is verified, and the blind spot."""
    exposure: Annotated[str, Meta(max_length=1000)] = ""
    estimate: TimeRange | None = None
    lab_alone_s: Seconds = 0.0
    slower: bool = False
    """Whether the network is expected to be slower than the lab alone."""
    verdict: Sentence = ""
    retention: Sentence = ""


class Progress(Struct, kw_only=True, omit_defaults=True):
    units: Count = 0
    registered: Count = 0
    leased: Count = 0
    uploaded: Count = 0
    verified: Count = 0
    refused: Count = 0
    reissued: Count = 0
    bytes_down: Size = 0
    bytes_up: Size = 0
    flops: Flops = 0
    flops_verified: Flops = 0
    flops_per_s: Rate = 0.0
    elapsed_s: Seconds = 0.0
    left: TimeRange | None = None


class JobInfo(Struct, kw_only=True, omit_defaults=True):
    job: Id
    name: Name = ""
    attempt: Count = 1
    state: JobState
    code: Code = "ok"
    reason: LongSentence = ""
    """Why it is in this state: one sentence, never empty in a terminal or waiting state."""
    by: ShortText = ""
    """Who brought it there: `lab`, `researcher`, `site`."""
    age_s: Seconds = 0.0
    """Seconds in this state."""
    submitted_s: Seconds = 0.0
    """Seconds since it was submitted."""
    version: Count = 0
    progress: Progress = field(default_factory=Progress)
    shape: Shape = field(default_factory=list)
    dtype: Dtype = "float32"


class JobList(Struct, kw_only=True):
    jobs: list[JobInfo]


class Part(Struct, kw_only=True, omit_defaults=True):
    """A verified tile, already in the output."""

    number: Count
    """1, 2, ... in the order of verification."""
    unit: Id
    start: Shape
    stop: Shape
    volunteer: ShortText
    device_class: ShortText = ""
    policy: str = "check"
    repaired_rows: Count = 0
    seconds: Seconds = 0.0


class PartList(Struct, kw_only=True):
    parts: list[Part]
    finished: bool


class Refusal(Struct, kw_only=True, omit_defaults=True):
    unit: Id
    volunteer: ShortText
    code: Code
    reason: Sentence


class Share(Struct, kw_only=True, omit_defaults=True):
    """What one volunteer (by pseudonym) did and saw."""

    volunteer: ShortText
    units: Count
    flops: Flops
    exposure: dict[str, float] = field(default_factory=dict)
    """Placeholder -> the largest share of that input that this account has seen."""


class Report(Struct, kw_only=True, omit_defaults=True):
    job: Id
    name: Name
    state: JobState
    reason: LongSentence = ""
    grade: Grade = Grade.STANDARD
    units: Count = 0
    verified: Count = 0
    repaired_rows: Count = 0
    rows: Count = 0
    reissued: Count = 0
    refusals: list[Refusal] = field(default_factory=list)
    volunteers: list[Share] = field(default_factory=list)
    max_residual: float | None = None
    """Largest residual over its scale; only once the check vectors are retired."""
    blind_spot: Annotated[str, Meta(max_length=1000)] = ""
    exposure: Annotated[str, Meta(max_length=1000)] = ""
    seconds: Seconds = 0.0
    check_seconds: Seconds = 0.0
    bytes_down: Size = 0
    bytes_up: Size = 0
    bytes_planned: Size = 0
    flops: Flops = 0
    flops_per_s: Rate = 0.0


class CancelReply(Struct, kw_only=True):
    cancelled: bool
    """False where the job had ended before."""


class ResultInfo(Struct, kw_only=True, omit_defaults=True):
    """Where the result is. `proof` is a file beside it whose content is `nonce`: whoever can read
    that shares the file system with the lab node and may map `path`."""

    path: str
    proof: str
    nonce: str
    dtype: Dtype
    shape: Shape
    bytes: Size
    expires_s: Seconds | None = None
