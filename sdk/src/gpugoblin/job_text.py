"""A job in words and as a card."""

from __future__ import annotations

import time

from goblin_wire.control import JobInfo
from goblin_wire.states import FINISHED_JOBS, JobState
from gpugoblin import cards, words
from gpugoblin.errors import Problem
from gpugoblin.progress import Progress

_TONES = {
    JobState.DONE: "good",
    JobState.RUNNING: "good",
    JobState.VERIFYING: "good",
    JobState.FAILED: "bad",
}


def why(info: JobInfo) -> str:
    """`waiting: no machine is online (for 3 min, brought about by lab).`"""
    reason = info.reason.rstrip(".") or Progress(info).text
    since = f"for {words.duration(info.age_s)}"
    if info.state in FINISHED_JOBS:
        since = f"{words.duration(info.age_s)} ago" + (f", by {info.by}" if info.by else "")
    return f"{info.state.value}: {reason} ({since})."


def absent(last: JobInfo | None, problem: Problem) -> str:
    """Why the lab node says nothing, and what it said last."""
    known = f" Last known: {why(last)}" if last is not None else ""
    return f"{problem.detail}{known}"


def line(job: str, info: JobInfo | None, trouble: str) -> str:
    """The job in one line."""
    if info is None:
        return f"<gpugoblin.Job {job}: {trouble}>"
    name = f" {info.name!r}" if info.name else ""
    away = f" [as last known: {trouble}]" if trouble else ""
    standing = why(info).rstrip(".")
    done = f"; {Progress(info).text}" if info.reason else ""
    return f"<gpugoblin.Job{name} {job}: {standing}{done}{away}>"


def html(job: str, info: JobInfo | None, trouble: str) -> str:
    """The job as a card that stays right: it says when it was drawn and how to reopen the job."""
    if info is None:
        return cards.card(f"Job {job}", "not known", "bad", trouble, [])
    progress, facts = Progress(info), info.progress
    rows = [
        ("progress", progress.text),
        ("result", f"{words.shape(info.shape)} {info.dtype}"),
        ("arithmetic", f"{words.flops(facts.flops_verified)} of {words.flops(facts.flops)}"),
        ("bytes", f"{words.size(facts.bytes_down)} down, {words.size(facts.bytes_up)} up"),
        ("id", job),
    ]
    drawn = time.strftime("%H:%M:%S")
    return cards.card(
        info.name or f"Job {job[:8]}",
        info.state.value,
        _TONES.get(info.state, "wait" if info.state not in FINISHED_JOBS else "calm"),
        trouble or info.reason,
        rows,
        done=progress.fraction,
        footer=f"As of {drawn}. From anywhere: gpugoblin.connect().job({info.name or job!r})",
    )


def bundle(info: JobInfo, note: str) -> dict[str, str]:
    """What a notebook displays: the card, and the line where there is no HTML."""
    return {"text/html": html(info.job, info, note), "text/plain": line(info.job, info, note)}


def interrupted(job: str, info: JobInfo | None) -> str:
    """What is said after Ctrl-C."""
    name = (info.name if info is not None else "") or job
    return f"The job goes on. lab.job({name!r}).cancel() stops it, .result() waits for it again."
