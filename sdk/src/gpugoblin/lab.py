"""A lab: the place where arrays lie and from which computations go out."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any, overload

import msgspec
import numpy
from numpy.typing import NDArray

from goblin_wire import control
from goblin_wire.protocol import INLINE_BYTES, PROTOCOL
from gpugoblin import assumed, cards, local_files, places, words
from gpugoblin.array import Array, Leaf, Product
from gpugoblin.connection import PATIENCE_S, Connection
from gpugoblin.errors import NotComputed, Problem, UnknownJob, UnsupportedComputation
from gpugoblin.explanation import Explanation, impossible, named_grade
from gpugoblin.graphs import computation
from gpugoblin.intake import as_numpy
from gpugoblin.job import Job
from gpugoblin.operands import check_dtype
from gpugoblin.progress import Progress, sending
from gpugoblin.upload import upload
from gpugoblin.waiting import job_info


class Lab:
    """One lab node. Made by `gpugoblin.connect`."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection

    def open(
        self,
        path: str | os.PathLike[str],
        *,
        tensor: str | None = None,
        shape: Sequence[int] | None = None,
        dtype: Any = None,
        order: str = "C",
        offset: int = 0,
    ) -> Array:
        """An array of the lab node as a lazy array; nothing moves.

        `path`: relative to one of the lab's roots, or absolute inside one; a `.npy` file, a folder
        of zarr version 3, a `.safetensors` file (`tensor`: a name in it), or raw numbers: `shape`,
        `dtype` ('float32' is little-endian, '>f4' big-endian), `order` ('C': rows first, or 'F'),
        `offset` in bytes. Raises `FileMissing`, `PathOutsideRoots`, `BadArray`, `FileTruncated`,
        `DtypeUnsupported`, `BadArgument`, or `BadMessage` with the names of the tensors.
        """
        name = os.fspath(path)
        question = local_files.asked(name, tensor, shape, dtype, order, offset)
        info = self.connection.call("POST", "/v1/arrays", question, control.ArrayInfo)
        label = os.path.basename(name.rstrip("/"))  # noqa: PTH119
        return self._array(info, label if tensor is None else f"{label}:{tensor}")

    def array(self, x: Any) -> Array:
        """An array of this process at the lab: numpy, or anything with the array interface.

        It is sent at once, with progress above 64 MiB, and goes on where it broke off when run
        again; the same numbers are never sent twice. Raises `BadArray` or `DtypeUnsupported`.
        """
        content = as_numpy(x)
        return self._array(_sent(self.connection, content), "array")

    def job(self, name_or_id: str) -> Job:
        """The job with this name or id, whichever process submitted it. Raises `UnknownJob`."""
        if "/" in name_or_id or not name_or_id.strip("."):  # no part of an address
            return self._listed(name_or_id)
        return Job(self.connection, job_info(self.connection, name_or_id))

    def jobs(self) -> Jobs:
        """All jobs of the lab node, whichever process submitted them."""
        found = self.connection.call("GET", "/v1/jobs", None, control.JobList)
        return Jobs([Job(self.connection, info) for info in found.jobs], found.jobs)

    def info(self) -> control.LabInfo:
        """The lab node's own facts: name, site, versions, network, reachability, quota."""
        return self.connection.info()

    def _listed(self, name: str) -> Job:
        for job in self.jobs():
            if job.name == name:
                return job
        raise UnknownJob(f"There is no job {name!r}; lab.jobs() lists all.")

    def _array(self, info: control.ArrayInfo, label: str) -> Array:
        dtype = check_dtype(numpy.dtype(info.dtype))
        return Array(self, tuple(info.shape), dtype, Leaf(info.array, label))

    def adopt(self, x: Any) -> Array:
        """As `array`: what a numpy array in `A @ x` becomes."""
        return self.array(x)

    def joining(self, x: Any) -> Array:
        raise NotComputed(
            f"A numpy array of {numpy.asarray(x).nbytes:,} bytes is not sent to the lab in passing."
            " Put it there first: lab.array(x)."
        )

    def known(self, _array: Array) -> None:
        """Nothing: the numbers lie at the lab node."""

    @property
    def device(self) -> str:
        return "lab"

    @property
    def is_here(self) -> bool:
        return False

    def owns(self, other: Array) -> bool:
        """Whether the array lies at the same lab node."""
        home = other.home
        return isinstance(home, Lab) and home.connection.place == self.connection.place

    def numbers(self, array: Array, **options: Any) -> NDArray[Any]:
        """Submit, wait and fetch."""
        if isinstance(array.source, Leaf):
            raise NotComputed(
                f"{array.source.label} lies at the lab node and is not fetched; read the file there"
                " with numpy."
            )
        return self.submit(array, **options).result()

    def explain(self, array: Array, **options: Any) -> Explanation:
        """The lab node's plan, or with `network=` one for assumed figures."""
        if options.keys() & {"network", "lab"}:
            return assumed.explain(array, **options)
        try:
            submission = self._submission(array, **options)
        except UnsupportedComputation as problem:
            return impossible(array, problem.code, problem.detail, "standard")
        found = self.connection.call("POST", "/v1/explain", submission, control.Explanation)
        return Explanation(array.source.label, found, assumed=False)

    def submit(self, array: Array, **options: Any) -> Job:
        """Hand the computation over; see `Array.submit`."""
        submission = self._submission(array, **options)
        # The same submission is the same job, so it may be repeated; a fresh one may not.
        patience = 0.0 if submission.fresh else PATIENCE_S
        info = self.connection.call(
            "POST", "/v1/jobs", submission, control.JobInfo, patience=patience
        )
        return Job(self.connection, info)

    def _submission(
        self,
        array: Array,
        *,
        name: str = "",
        out: str | os.PathLike[str] | None = None,
        fresh: bool = False,
        grade: str = "standard",
        memory: int | None = None,
    ) -> control.Submission:
        graph, inputs = computation(array)
        return control.Submission(
            protocol=PROTOCOL,
            graph=graph.to_bytes().decode(),
            inputs={placeholder: leaf.key for placeholder, leaf in inputs.items()},
            shape=list(array.shape),
            name=name,
            out=os.fspath(out) if out is not None else None,
            grade=named_grade(grade),
            fresh=fresh,
            memory=memory,
        )

    @property
    def where(self) -> str:
        return f"at {self.connection.place}"

    def __repr__(self) -> str:
        try:
            return self._line(self.connection.info(patience=0.0))
        except Problem as problem:
            return f"<gpugoblin.Lab at {self.connection.place}: {problem.detail}>"

    def _line(self, info: control.LabInfo) -> str:
        online = "online" if info.online else f"site not reached: {info.reason}"
        machines = words.count(info.network.devices, "machine")
        return (
            f"<gpugoblin.Lab {info.name or info.lab} at {self.connection.place}: version"
            f" {info.version}, {info.site} ({online}), {machines},"
            f" {words.flops(info.flops_left_today)} left today>"
        )


class Jobs(Sequence[Job]):
    """Jobs, printed as a table."""

    def __init__(self, jobs: list[Job], facts: list[control.JobInfo]) -> None:
        self._jobs = jobs
        self._facts = facts

    @overload
    def __getitem__(self, index: int) -> Job: ...

    @overload
    def __getitem__(self, index: slice) -> list[Job]: ...

    def __getitem__(self, index: int | slice) -> Job | list[Job]:
        return self._jobs[index]

    def __iter__(self) -> Iterator[Job]:
        return iter(self._jobs)

    def __len__(self) -> int:
        return len(self._jobs)

    def to_list(self) -> list[dict[str, Any]]:
        """The facts of each job as plain values."""
        return [
            {name: msgspec.to_builtins(getattr(info, name)) for name in info.__struct_fields__}
            for info in self._facts
        ]

    def _repr_html_(self) -> str:
        rows = [
            (info.name or info.job, f"{info.state.value}: {Progress(info).text}")
            for info in self._facts
        ]
        return cards.card("Jobs", words.count(len(rows), "job"), "calm", "", rows)

    def __repr__(self) -> str:
        if not self._facts:
            return "No jobs yet."
        width = max(len(info.name or "-") for info in self._facts)
        return "\n".join(
            f"{info.job}  {info.name or '-':<{width}}  {info.state.value:<10}"
            f"  {info.progress.verified:>6} of {info.progress.units:<6}  {info.reason}"
            for info in self._facts
        )


def connect(lab: str | os.PathLike[str] | None = None, key: str | None = None) -> Lab:
    """The lab to work with.

    `lab`: the folder of a lab node on this machine, or the URL of its control listener (then with
    its `key`, or `GPUGOBLIN_KEY`). Without it: `GPUGOBLIN_LAB`, then what `goblin-lab init` wrote
    down for this user. Raises `UnknownLab`, `TokenInvalid`, `Unreachable`, or
    `UnsupportedProtocol` with both versions.
    """
    connection = Connection(places.find(lab), key)
    connection.info(patience=0.0)
    return Lab(connection)


def _sent(connection: Connection, content: NDArray[Any]) -> control.ArrayInfo:
    if content.nbytes <= INLINE_BYTES:
        return upload(connection, content, lambda _done, _all: None)
    with sending(content.nbytes) as tell:
        return upload(connection, content, tell)


__all__ = ["Jobs", "Lab", "Product", "connect"]
