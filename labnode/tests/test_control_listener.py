"""What the researcher's package asks."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy
import pytest
import requests
from labnode_rig import LabProcess, Volunteer, normal, product, save, wait_for

from goblin_wire.blobs import array_digest
from goblin_wire.control import (
    ArrayInfo,
    CancelReply,
    Explanation,
    JobInfo,
    JobList,
    LabInfo,
    ResultInfo,
    Submission,
    UploadStart,
    UploadState,
)
from goblin_wire.http import HttpClient
from goblin_wire.problems import (
    BadArray,
    BadGraph,
    BadMessage,
    DigestMismatch,
    DtypeUnsupported,
    FileMissing,
    FileTruncated,
    JobCancelled,
    MemoryTooSmall,
    NotFound,
    NotReady,
    OffsetMismatch,
    OutputExists,
    PathOutsideRoots,
    Problem,
    ShapeMismatch,
    StorageFailed,
    TokenInvalid,
    TokenMissing,
    UnknownArray,
    UnknownJob,
    UnsupportedComputation,
    UnsupportedProtocol,
    WrongLength,
)
from goblin_wire.states import JobState
from opgraph.builder import GraphBuilder


@pytest.fixture
def arrays(lab: LabProcess, data: Path) -> tuple[ArrayInfo, ArrayInfo]:
    save(data, "a.npy", normal(300, 200))
    save(data, "b.npy", normal(200, 250, seed=1))
    return lab.open("a.npy"), lab.open("b.npy")


def explain(lab: LabProcess, submission: Submission) -> Explanation:
    return lab.control().call("POST", "/v1/explain", submission, Explanation)


class TestKey:
    def test_only_the_key_lets_in(self, lab: LabProcess) -> None:
        url = f"http://127.0.0.1:{lab.control_port}"
        for authorization, kind in (
            (None, TokenMissing),
            ("Basic x", TokenMissing),
            ("Bearer wrong", TokenInvalid),
        ):
            with pytest.raises(kind):
                HttpClient(url, authorization=authorization).call("GET", "/v1/lab", None, LabInfo)
        for path in ("/", "/v1/nothing", "/v1/jobs/x/report"):
            assert requests.get(url + path, timeout=5).status_code == 401

    def test_it_is_for_its_owner_only(self, lab: LabProcess) -> None:
        for name in ("control.key", "secrets.json", "control.json", "config.json"):
            assert (lab.folder / name).stat().st_mode & 0o077 == 0

    def test_it_does_not_open_the_data_listener(self, lab: LabProcess) -> None:
        key = (lab.folder / "control.key").read_text()
        response = requests.get(
            f"http://127.0.0.1:{lab.data_port}/v1/leases/{'0' * 32}/manifest",
            headers={"Authorization": f"Bearer {key}"},
            timeout=5,
        )
        assert response.json()["code"] == "capability_invalid"


class TestErrors:
    def test_every_failure_is_a_problem(self, lab: LabProcess) -> None:
        info = json.loads((lab.folder / "control.json").read_text())
        headers = {"Authorization": f"Bearer {(lab.folder / 'control.key').read_text()}"}
        cases = [
            ("GET", "/", 404, "not_found"),
            ("GET", "/v1/lab/", 404, "not_found"),
            ("DELETE", "/v1/jobs", 405, "method_not_allowed"),
            ("GET", "/v1/jobs/nothing", 404, "unknown_job"),
            ("GET", "/v1/uploads/nothing", 404, "unknown_array"),
            ("GET", "/v1/uploads/%00", 404, "unknown_array"),
            ("GET", f"/v1/uploads/{'x' * 300}", 404, "unknown_array"),
            ("GET", "/v1/uploads/..%2F..%2Fsecrets", 404, "not_found"),
            ("GET", "/v1/jobs/%00%FF", 404, "unknown_job"),
            ("POST", "/v1/jobs/%00/cancel", 404, "unknown_job"),
            ("POST", "/v1/jobs", 415, "unsupported_media"),
        ]
        for method, path, status, code in cases:
            response = requests.request(method, info["url"] + path, headers=headers, timeout=5)
            assert (response.status_code, response.json()["code"]) == (status, code)
            assert response.headers["Content-Type"] == "application/problem+json"
            assert "server" not in {name.lower() for name in response.headers}

    @pytest.mark.parametrize(
        ("body", "code"),
        [
            (b"", "not_json"),
            (b"{", "not_json"),
            (b'{"path": ' + b"[" * 100_000, "bad_message"),
            (b"\xff\xfe", "not_json"),
            (b"[]", "bad_message"),
            (b'{"path": 3}', "bad_message"),
            (b'{"path": "' + b"x" * 5000 + b'"}', "bad_message"),
            (b" " * (5 << 20), "too_large"),
        ],
    )
    def test_bodies_that_are_no_message(self, lab: LabProcess, body: bytes, code: str) -> None:
        with pytest.raises(Problem) as caught:
            lab.control().call_bytes("POST", "/v1/arrays", body, ArrayInfo)
        assert caught.value.code == code


class TestOpening:
    def test_what_is_told(self, arrays: tuple[ArrayInfo, ArrayInfo], lab: LabProcess) -> None:
        assert (arrays[0].dtype, arrays[0].shape, arrays[0].bytes) == (
            "float32",
            [300, 200],
            240_000,
        )
        assert lab.open("a.npy") == arrays[0]

    def test_another_state_is_another_array(
        self, arrays: tuple[ArrayInfo, ArrayInfo], lab: LabProcess, data: Path
    ) -> None:
        save(data, "a.npy", normal(300, 200, seed=5))
        assert lab.open("a.npy").array != arrays[0].array

    def test_refusals(self, lab: LabProcess, data: Path, tmp_path: Path) -> None:
        numpy.save(data / "objects.npy", numpy.array([{}], dtype=object), allow_pickle=True)
        numpy.save(data / "complex.npy", numpy.zeros(3, complex))
        (data / "text.npy").write_text("hello")
        save(data, "short.npy", normal(10, 10))
        os.truncate(data / "short.npy", 300)
        numpy.save(tmp_path / "secret.npy", numpy.zeros(3))
        (data / "link.npy").symlink_to(tmp_path / "secret.npy")
        cases = {
            "objects.npy": BadArray,
            "complex.npy": DtypeUnsupported,
            "text.npy": BadArray,
            "short.npy": FileTruncated,
            "link.npy": PathOutsideRoots,
            "missing.npy": FileMissing,
            f"../../../..{tmp_path}/secret.npy": PathOutsideRoots,
        }
        for name, kind in cases.items():
            with pytest.raises(kind):
                lab.open(name)


class TestSubmission:
    def test_the_same_is_the_same(
        self, lab: LabProcess, arrays: tuple[ArrayInfo, ArrayInfo]
    ) -> None:
        first = lab.submit(product(*arrays, name="one"))
        second = lab.submit(product(*arrays, name="two"))
        assert (first.job, first.attempt) == (second.job, second.attempt)
        assert lab.job("two").job == first.job
        assert lab.submit(product(*arrays, memory=1 << 28)).job != first.job

    def test_fresh_is_another_attempt(
        self, lab: LabProcess, arrays: tuple[ArrayInfo, ArrayInfo]
    ) -> None:
        first = lab.submit(product(*arrays))
        again = lab.submit(product(*arrays, fresh=True))
        assert (again.job, again.attempt) == (first.job, first.attempt + 1)
        assert [job.job for job in lab.control().call("GET", "/v1/jobs", None, JobList).jobs].count(
            first.job
        ) == 1

    def test_what_does_not_fit_is_refused_and_leaves_nothing(
        self, lab: LabProcess, data: Path, arrays: tuple[ArrayInfo, ArrayInfo]
    ) -> None:
        good = product(*arrays)
        save(data, "i.npy", numpy.zeros((200, 250), "i4"))
        integers = lab.open("i.npy")
        taken = product(*arrays, out=f"{lab.prefix}/b.npy")
        cases: list[tuple[Submission, type[Problem]]] = [
            (changed(good, protocol=99), UnsupportedProtocol),
            (changed(good, graph="{}"), BadGraph),
            (changed(good, graph="not a graph"), BadGraph),
            (changed(good, graph=sum_graph()), UnsupportedComputation),
            (changed(good, inputs={}), BadMessage),
            (changed(good, inputs={"x0": "0" * 32, "x1": "0" * 32}), UnknownArray),
            (changed(good, inputs={**good.inputs, "x7": arrays[0].array}), UnknownArray),
            (changed(good, inputs={"x0": arrays[1].array, "x1": arrays[0].array}), ShapeMismatch),
            (changed(good, shape=[3]), ShapeMismatch),
            (changed(good, inputs={"x0": arrays[0].array, "x1": integers.array}), DtypeUnsupported),
            (changed(good, out="../../c.npy"), PathOutsideRoots),
            (changed(good, out="/etc/c.npy"), PathOutsideRoots),
            (changed(good, out="no/such/folder/c.npy"), FileMissing),
            (changed(good, out=f"{lab.prefix}/"), BadMessage),
            (changed(good, out=f"{lab.prefix}/.."), BadMessage),
            (changed(good, out=""), BadMessage),
            (changed(good, out="x" * 300), StorageFailed),
            (taken, OutputExists),
            (changed(good, memory=10), MemoryTooSmall),
        ]
        before = len(lab.control().call("GET", "/v1/jobs", None, JobList).jobs)
        files = sorted(path.name for path in data.iterdir())
        for submission, kind in cases:
            with pytest.raises(kind):
                lab.submit(submission)
        assert len(lab.control().call("GET", "/v1/jobs", None, JobList).jobs) == before
        assert sorted(path.name for path in data.iterdir()) == files
        assert numpy.load(data / "b.npy").shape == (200, 250)

    def test_a_memory_cap_makes_small_units(
        self, lab: LabProcess, data: Path, arrays: tuple[ArrayInfo, ArrayInfo]
    ) -> None:
        job = lab.submit(product(*arrays, memory=400_000))
        assert job.progress.units > 4

    def test_nothing_is_planned_over_an_output(
        self, lab: LabProcess, data: Path, arrays: tuple[ArrayInfo, ArrayInfo]
    ) -> None:
        one = lab.multiply("a.npy", "b.npy", out="c.npy")
        with pytest.raises(OutputExists):
            lab.multiply("a.npy", "b.npy", out="c.npy", memory=1 << 28)
        assert lab.multiply("a.npy", "b.npy", out="c.npy").job == one.job


class TestExplaining:
    def test_a_plan(self, lab: LabProcess, arrays: tuple[ArrayInfo, ArrayInfo]) -> None:
        found = explain(lab, product(*arrays))
        assert found.possible
        assert found.units
        assert found.shape == [300, 250]
        assert found.flops == 2 * 300 * 200 * 250
        assert found.lab_alone_s > 0
        assert "wrong entry can hide" in found.verification
        assert "not encrypted" in found.exposure
        assert "never removed" in found.retention
        assert found.verdict

    def test_an_impossible_plan_says_why(
        self, lab: LabProcess, arrays: tuple[ArrayInfo, ArrayInfo]
    ) -> None:
        found = explain(lab, product(*arrays, memory=10))
        assert not found.possible
        assert found.problem_code == "memory_too_small"
        assert found.problem


class TestCancelling:
    def test_before_during_and_after(self, lab: LabProcess, data: Path) -> None:
        save(data, "a.npy", normal(640, 100))
        save(data, "b.npy", normal(100, 640))
        job = lab.multiply("a.npy", "b.npy", out="c.npy").job
        unit = lab.wait_units(job, 1)[0]
        lease, token = Volunteer(lab).lease(unit)
        lab.site.open_leases = 1
        assert cancel(lab, job)
        info = lab.wait_state(job, JobState.CANCELLING)
        assert info.reason
        assert cancel(lab, job)
        with pytest.raises(JobCancelled):
            lab.control().call("GET", f"/v1/jobs/{job}/result", None, ResultInfo)
        with pytest.raises(Problem) as caught:
            lab.data_client(token).get_bytes(f"/v1/leases/{lease}/manifest")
        assert caught.value.status == 410
        lab.site.open_leases = 0
        info = lab.wait_state(job, JobState.CANCELLED)
        assert (info.by, info.code) == ("researcher", "job_cancelled")
        assert cancel(lab, job)
        assert not (data / "c.npy").exists()
        again = lab.multiply("a.npy", "b.npy", out="c.npy")
        assert (again.job, again.attempt) == (job, 2)

    def test_a_finished_job_cannot_be(self, lab: LabProcess, data: Path) -> None:
        save(data, "a.npy", normal(0, 10))
        save(data, "b.npy", normal(10, 5))
        job = lab.multiply("a.npy", "b.npy").job
        lab.wait_state(job, JobState.DONE)
        assert not cancel(lab, job)

    def test_an_unknown_job(self, lab: LabProcess) -> None:
        with pytest.raises(UnknownJob):
            cancel(lab, "nothing")


class TestWatching:
    def test_news_ends_the_wait(self, lab: LabProcess, arrays: tuple[ArrayInfo, ArrayInfo]) -> None:
        job = lab.submit(product(*arrays)).job
        unit = lab.wait_units(job, 1)[0]
        wait_for(lambda: lab.job(job).state is JobState.WAITING, 5, lab.log)
        version = lab.job(job).version
        Volunteer(lab).work(unit)
        path = f"/v1/jobs/{job}?after={version}&wait=20"
        info = lab.control().call("GET", path, None, JobInfo, read_timeout=30)
        assert info.version > version

    def test_not_ready(self, lab: LabProcess, arrays: tuple[ArrayInfo, ArrayInfo]) -> None:
        job = lab.submit(product(*arrays)).job
        with pytest.raises(NotReady):
            lab.control().call("GET", f"/v1/jobs/{job}/result", None, ResultInfo)
        with pytest.raises(NotFound):
            lab.control().call("GET", f"/v1/jobs/{job}/nothing", None, ResultInfo)

    def test_the_lab(self, lab: LabProcess) -> None:
        info = lab.control().call("GET", "/v1/lab", None, LabInfo)
        assert info.online
        assert info.roots == ["data"]
        assert info.network.devices == 2


def start(lab: LabProcess, array: numpy.ndarray) -> UploadState:
    shape = tuple(array.shape)
    digest = array_digest(array.dtype.name, shape, array.tobytes())
    message = UploadStart(digest=digest, dtype=array.dtype.name, shape=list(shape))
    return lab.control().call("POST", "/v1/uploads", message, UploadState)


class TestUploading:
    def test_in_pieces_and_found_again(self, lab: LabProcess) -> None:
        array = normal(100, 333, "float64", seed=3)
        raw = array.tobytes()
        begun = start(lab, array)
        assert (begun.received, begun.bytes, begun.array) == (0, len(raw), None)
        path = f"/v1/uploads/{begun.upload}"
        control = lab.control()
        half = control.put(f"{path}?offset=0", raw[:100_000], UploadState)
        assert half.received == 100_000
        assert start(lab, array) == half
        with pytest.raises(OffsetMismatch):
            control.put(f"{path}?offset=5", raw[5:], UploadState)
        with pytest.raises(WrongLength):
            control.put(f"{path}?offset=100000", raw, UploadState)
        done = control.put(f"{path}?offset=100000", raw[100_000:], UploadState)
        assert done.array is not None
        assert done.array.shape == [100, 333]
        assert start(lab, array).array == done.array
        assert control.call("GET", path, None, UploadState).array == done.array

    def test_wrong_bytes(self, lab: LabProcess) -> None:
        array = normal(10, 10, seed=8)
        begun = start(lab, array)
        path = f"/v1/uploads/{begun.upload}?offset=0"
        with pytest.raises(DigestMismatch):
            lab.control().put(path, bytes(400), UploadState)
        assert lab.control().put(path, array.tobytes(), UploadState).array

    def test_empty(self, lab: LabProcess) -> None:
        assert start(lab, normal(0, 7)).array

    def test_other_types(self, lab: LabProcess) -> None:
        with pytest.raises(DtypeUnsupported):
            start(lab, numpy.zeros((2, 2), "?"))

    def test_computing_with_one(self, lab: LabProcess) -> None:
        a, b = normal(130, 70, seed=11), normal(70, 90, seed=12)
        infos = []
        for array in (a, b):
            begun = start(lab, array)
            done = lab.control().put(
                f"/v1/uploads/{begun.upload}?offset=0", array.tobytes(), UploadState
            )
            assert done.array is not None
            infos.append(done.array)
        job = lab.submit(product(*infos))
        Volunteer(lab).work_all(job.job, job.progress.units)
        lab.wait_state(job.job, JobState.DONE)
        result = lab.control().call("GET", f"/v1/jobs/{job.job}/result", None, ResultInfo)
        assert result.expires_s
        numpy.testing.assert_allclose(numpy.load(result.path), a @ b, rtol=1e-3, atol=1e-3)


def cancel(lab: LabProcess, job: str) -> bool:
    return lab.control().call("POST", f"/v1/jobs/{job}/cancel", None, CancelReply).cancelled


def changed(submission: Submission, **changes: object) -> Submission:
    return Submission(
        **{**{name: getattr(submission, name) for name in submission.__struct_fields__}, **changes}
    )


def sum_graph() -> str:
    build = GraphBuilder()
    values = [build.placeholder(name, "float32", (3, 3)) for name in ("x0", "x1")]
    return build.build(build.apply("add", *values)).to_bytes().decode()
