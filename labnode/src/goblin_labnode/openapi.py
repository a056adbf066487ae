"""OpenAPI descriptions of both listeners, made from the messages: `python -m goblin_labnode.openapi
FOLDER` writes them."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from goblin_labnode import __version__
from goblin_wire import control, data
from goblin_wire.problems import (
    BadArray,
    BadGraph,
    BadMessage,
    CapabilityExpired,
    CapabilityForeign,
    CapabilityInvalid,
    Conflict,
    DigestMismatch,
    DiskFull,
    DtypeUnsupported,
    FileMissing,
    FileTruncated,
    FileUnreadable,
    Internal,
    JobCancelled,
    JobFailed,
    LeaseEnded,
    LengthRequired,
    MemoryTooSmall,
    NotFound,
    NotJson,
    NotReady,
    OffsetMismatch,
    OutputExists,
    PathOutsideRoots,
    Problem,
    ResultExpired,
    ShapeMismatch,
    StorageFailed,
    TokenInvalid,
    TokenMissing,
    TooLarge,
    Unavailable,
    UnknownArray,
    UnknownBlob,
    UnknownJob,
    UnknownUnit,
    UnsupportedComputation,
    UnsupportedMedia,
    UnsupportedProtocol,
    WrongLength,
)
from goblin_wire.protocol import DIGEST_HEADER, OLDEST_PROTOCOL, PROTOCOL, PROTOCOL_HEADER

BYTES = "bytes"
_ID = {"type": "string", "pattern": "^[0-9a-f]{32}$"}
_BLOB = {"type": "string", "pattern": "^[0-9a-f]{64}$"}
_NAME = {"type": "string", "maxLength": 200}
_WHOLE = {"type": "integer", "minimum": 0, "maximum": 2**53 - 1}
_PATHS: dict[str, dict[str, Any]] = {
    "lease": _ID,
    "blob": _BLOB,
    # A unit has one output.
    "index": {"type": "integer", "const": 0},
    "upload": _ID,
    "job": _NAME,
}
Problems = tuple[type[Problem], ...]


@dataclass(frozen=True)
class Operation:
    """One method of one address. `reply`, `body`: a message, or `BYTES`."""

    method: str
    path: str
    summary: str
    reply: Any
    body: Any = None
    query: dict[str, dict[str, Any]] = field(default_factory=dict)
    headers: dict[str, dict[str, Any]] = field(default_factory=dict)
    problems: Problems = ()
    open: bool = False
    """Whether it needs no credentials."""


_LEASE: Problems = (
    CapabilityInvalid,
    CapabilityExpired,
    CapabilityForeign,
    UnknownUnit,
    LeaseEnded,
    Unavailable,
)
_JSON: Problems = (NotJson, BadMessage, TooLarge, UnsupportedMedia)
_BODY: Problems = (
    LengthRequired,
    WrongLength,
    BadMessage,
    OffsetMismatch,
    DigestMismatch,
    DiskFull,
)
_SUBMIT: Problems = (
    *_JSON,
    UnsupportedProtocol,
    BadGraph,
    UnsupportedComputation,
    UnknownArray,
    ShapeMismatch,
    DtypeUnsupported,
)
_OFFSET = {"offset": _WHOLE}
_ALWAYS: Problems = (BadMessage, UnsupportedProtocol, StorageFailed, Internal)
_VERSION = {"type": "integer", "minimum": OLDEST_PROTOCOL, "maximum": PROTOCOL}

DATA = (
    Operation(
        "get",
        "/v1/probe",
        "Sign a nonce: proof that this endpoint is the lab's own",
        data.ProbeReply,
        problems=(BadMessage,),
        open=True,
        query={"nonce": {"type": "string", "pattern": "^[0-9a-f]{16,64}$"}},
    ),
    Operation(
        "get",
        "/v1/leases/{lease}/manifest",
        "What the unit reads and writes",
        data.Manifest,
        problems=_LEASE,
    ),
    Operation(
        "get",
        "/v1/leases/{lease}/blobs/{blob}",
        "A blob of the unit; ranges are served",
        BYTES,
        problems=(*_LEASE, BadMessage, UnknownBlob),
        headers={"Range": {"type": "string", "pattern": "^bytes=[0-9]{1,15}-[0-9]{0,15}$"}},
    ),
    Operation(
        "get",
        "/v1/leases/{lease}/outputs/{index}",
        "How far an upload is",
        data.UploadStatus,
        problems=(*_LEASE, NotFound, DiskFull),
    ),
    Operation(
        "put",
        "/v1/leases/{lease}/outputs/{index}",
        "Send an output, from `offset` on",
        data.UploadStatus,
        body=BYTES,
        query=_OFFSET,
        headers={DIGEST_HEADER: _BLOB},
        problems=(*_LEASE, *_BODY, NotFound, Conflict),
    ),
)

CONTROL = (
    Operation("get", "/v1/lab", "This lab node, the site and the network", control.LabInfo),
    Operation(
        "post",
        "/v1/arrays",
        "Open an array under a root: .npy, raw numbers, safetensors, zarr version 3",
        control.ArrayInfo,
        body=control.OpenArray,
        problems=(
            *_JSON,
            PathOutsideRoots,
            FileMissing,
            FileUnreadable,
            BadArray,
            FileTruncated,
            DtypeUnsupported,
            UnsupportedComputation,
        ),
    ),
    Operation(
        "post",
        "/v1/uploads",
        "Begin to send an array, or find how far it is",
        control.UploadState,
        body=control.UploadStart,
        problems=(*_JSON, DtypeUnsupported, BadArray, DiskFull),
    ),
    Operation(
        "get",
        "/v1/uploads/{upload}",
        "How far an upload is",
        control.UploadState,
        problems=(UnknownArray, DiskFull),
    ),
    Operation(
        "put",
        "/v1/uploads/{upload}",
        "Send an array, from `offset` on",
        control.UploadState,
        body=BYTES,
        query=_OFFSET,
        problems=(*_BODY, UnknownArray),
    ),
    Operation(
        "post",
        "/v1/explain",
        "The plan of a computation, without starting it",
        control.Explanation,
        body=control.Submission,
        problems=_SUBMIT,
    ),
    Operation(
        "post",
        "/v1/jobs",
        "Submit; the same computation is the same job",
        control.JobInfo,
        body=control.Submission,
        problems=(
            *_SUBMIT,
            MemoryTooSmall,
            OutputExists,
            PathOutsideRoots,
            FileMissing,
            FileUnreadable,
            DiskFull,
        ),
    ),
    Operation("get", "/v1/jobs", "All jobs, newest first", control.JobList),
    Operation(
        "get",
        "/v1/jobs/{job}",
        "A job by id or name; with `wait`, held for news",
        control.JobInfo,
        query={"after": _WHOLE, "wait": {"type": "number", "minimum": 0, "maximum": 25}},
        problems=(BadMessage, UnknownJob),
    ),
    Operation(
        "get",
        "/v1/jobs/{job}/parts",
        "Verified tiles",
        control.PartList,
        query={"after": _WHOLE},
        problems=(BadMessage, UnknownJob),
    ),
    Operation(
        "get",
        "/v1/jobs/{job}/report",
        "How the result came about",
        control.Report,
        problems=(UnknownJob,),
    ),
    Operation(
        "post", "/v1/jobs/{job}/cancel", "Cancel a job", control.CancelReply, problems=(UnknownJob,)
    ),
    Operation(
        "get",
        "/v1/jobs/{job}/result",
        "Where the result is",
        control.ResultInfo,
        problems=(UnknownJob, NotReady, JobFailed, JobCancelled, ResultExpired),
    ),
    Operation(
        "get",
        "/v1/jobs/{job}/result/data",
        "The result's elements; ranges are served",
        BYTES,
        problems=(BadMessage, UnknownJob, NotReady, JobFailed, JobCancelled, ResultExpired),
        headers={"Range": {"type": "string", "pattern": "^bytes=[0-9]{1,15}-[0-9]{0,15}$"}},
    ),
)

_PROBLEM_SCHEMA = {
    "type": "object",
    "required": ["type", "title", "status", "detail", "code"],
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
        "code": {"type": "string"},
        "retry_after": {"type": "number"},
        "facts": {"type": "object"},
    },
}


def data_document() -> dict[str, Any]:
    """The data listener's description."""
    scheme = {
        "type": "apiKey",
        "in": "header",
        "name": "Authorization",
        "description": "`Goblin CAPABILITY`, signed by the site for one lease.",
    }
    return _document("Lab node: data listener", DATA, scheme, ())


def control_document() -> dict[str, Any]:
    """The control listener's description."""
    scheme = {"type": "http", "scheme": "bearer", "description": "The key in `control.key`."}
    return _document("Lab node: control listener", CONTROL, scheme, (TokenMissing, TokenInvalid))


def documents() -> dict[str, bytes]:
    """File name -> content."""
    return {
        "labnode-data.yaml": _yaml(data_document()),
        "labnode-control.yaml": _yaml(control_document()),
    }


def _document(
    title: str, operations: Iterable[Operation], scheme: dict[str, Any], always: Problems
) -> dict[str, Any]:
    operations = list(operations)
    messages = [
        each
        for op in operations
        for each in (op.reply, op.body)
        if each is not None and each is not BYTES
    ]
    unique = list(dict.fromkeys(messages))
    schemas, components = msgspec.json.schema_components(
        unique, ref_template="#/components/schemas/{name}"
    )
    for schema in components.values():
        if "protocol" in schema.get("properties", {}):
            schema["properties"]["protocol"] = {"type": "integer", "const": PROTOCOL}
    shown = dict(zip(unique, schemas, strict=True))
    paths: dict[str, Any] = {}
    for operation in operations:
        described = _operation(operation, shown, always)
        paths.setdefault(operation.path, {})[operation.method] = described
    return {
        "openapi": "3.1.0",
        "info": {
            "title": title,
            "version": __version__,
            "license": {"name": "PolyForm Noncommercial 1.0.0"},
        },
        "paths": paths,
        "components": {
            "schemas": {**components, "Problem": _PROBLEM_SCHEMA},
            "securitySchemes": {"credentials": scheme},
        },
    }


def _operation(operation: Operation, shown: dict[Any, Any], always: Problems) -> dict[str, Any]:
    described: dict[str, Any] = {
        "operationId": _name(operation),
        "summary": operation.summary,
        "parameters": list(_parameters(operation)),
        "responses": _responses(operation, shown, always),
        "security": [] if operation.open else [{"credentials": []}],
    }
    if operation.body is not None:
        described["requestBody"] = {"required": True, "content": _content(operation.body, shown)}
    return described


def _name(operation: Operation) -> str:
    words = re.sub(r"[^a-z]+", "_", operation.path.removeprefix("/v1")).strip("_")
    return f"{operation.method}_{words}"


def _parameters(operation: Operation) -> Iterable[dict[str, Any]]:
    for name in re.findall(r"{(\w+)}", operation.path):
        yield {"name": name, "in": "path", "required": True, "schema": _PATHS[name]}
    for name, schema in operation.query.items():
        yield {"name": name, "in": "query", "required": name == "nonce", "schema": schema}
    for name, schema in operation.headers.items():
        yield {"name": name, "in": "header", "required": name == DIGEST_HEADER, "schema": schema}
    yield {"name": PROTOCOL_HEADER, "in": "header", "required": False, "schema": _VERSION}


def _responses(operation: Operation, shown: dict[Any, Any], always: Problems) -> dict[str, Any]:
    responses: dict[str, Any] = {
        "200": {"description": "Done", "content": _content(operation.reply, shown)}
    }
    if "Range" in operation.headers:
        responses["206"] = {"description": "A part", "content": _content(BYTES, shown)}
    by_status: dict[int, list[str]] = {}
    for problem in (*always, *_ALWAYS, *operation.problems):
        by_status.setdefault(problem.status, []).append(problem.code)
    for status, codes in sorted(by_status.items()):
        responses[str(status)] = _problem_response(codes)
    return responses


def _problem_response(codes: list[str]) -> dict[str, Any]:
    schema = {"$ref": "#/components/schemas/Problem"}
    return {
        "description": ", ".join(dict.fromkeys(codes)),
        "content": {"application/problem+json": {"schema": schema}},
    }


def _content(message: Any, shown: dict[Any, Any]) -> dict[str, Any]:
    if message is BYTES:
        return {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}
    return {"application/json": {"schema": shown[message]}}


def _yaml(document: dict[str, Any]) -> bytes:
    return "\n".join([*_lines(document, 0), ""]).encode()


def _lines(value: Any, depth: int) -> Iterable[str]:
    """YAML in block style; scalars as JSON, which is YAML too."""
    pad = "  " * depth
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            yield from _entry(f"{pad}{_key(key)}:", inner, depth)
    elif isinstance(value, list) and value:
        for inner in value:
            yield from _entry(f"{pad}-", inner, depth)


def _entry(head: str, inner: Any, depth: int) -> Iterable[str]:
    if isinstance(inner, dict | list) and inner:
        yield head
        yield from _lines(inner, depth + 1)
    else:
        yield f"{head} {msgspec.json.encode(inner).decode()}"


def _key(key: str) -> str:
    plain = re.fullmatch(r"[A-Za-z/$][A-Za-z0-9/_$+.-]*", key) is not None
    return key if plain else msgspec.json.encode(key).decode()


def main() -> None:
    """Write both descriptions into the folder named on the command line."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in documents().items():
        (folder / name).write_bytes(content)


if __name__ == "__main__":
    main()
