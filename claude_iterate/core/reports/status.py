"""What the agent reports in `.status.json`: parse it leniently, tell whose it is, compare two reports.

A wrong optional field costs a warning and never hides `complete`. Reading the file is not done here.

A report is of this iteration because the agent wrote it there, not because its time changed. The prompt asks for an id
in the report. It is optional, so that other agents and prompts work: a text without one is old if it was there before
and claims completion, or has a `lastUpdated`, which would have moved. Where checks are set, they decide about a claim
that is written again without the id.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from claude_iterate.core.foreign_json import decode_written, number

LARGEST = 1024 * 1024
"""A report over this many bytes is refused: it is not a report."""


KEY = "iteration"
"""Where a report has the id."""
_IDENTITY = re.compile(r"[0-9]{1,9}-[0-9a-f]{8}")
UNSIGNED = (
    f"this very text was there before, and `{KEY}` does not have the id {{id}}, so the checks decide whether it counts"
)
"""What is odd about a claim without the id that the checks are to decide."""
OTHER = f"`{KEY}` has the id of another iteration, so it is not a report of this one"
OLD = f"it is an old one: this very text was there before the iteration; a new report has the id in `{KEY}`"
LINK = "it is a symbolic link, which is no report: a regular file is wanted"
SHARED = "it is a hard link: the file has another name as well, so it may have been written elsewhere"


class Status(msgspec.Struct, frozen=True, omit_defaults=True):
    """One report of the agent. `None` means: it did not say. `source` is file, or a weaker one: block, boxes. A block
    can say how its `tests` are (passing, failing, not_run), which kind of `work` it did, and how many `tasks` it
    completed and `files` it modified in this iteration: its own word, not measured."""

    complete: bool
    completed: int | None = None
    total: int | None = None
    worked: bool | None = None
    summary: str | None = None
    phase: str | None = None
    blocked: str | None = None
    blockers: tuple[str, ...] = ()
    source: str = "file"
    tests: str | None = None
    work: str | None = None
    tasks: int | None = None
    files: int | None = None

    @property
    def remaining(self) -> int | None:
        """Items left, where the report counts items."""
        if self.total is None or self.completed is None or self.total <= 0:
            return None
        return max(0, self.total - self.completed)


class Reading(msgspec.Struct, frozen=True):
    """The result of reading a report: the status, or why there is none, and what was odd about it. `identity` is the id
    of the iteration that it names; `dated`: it has a `lastUpdated`. `why_not_ours` asks for these."""

    status: Status | None
    problems: tuple[str, ...] = ()
    identity: str = ""
    dated: bool = False


class Change(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is new in a report compared with the one before."""

    items: int = 0
    total: int = 0


def parse(data: bytes) -> Reading:
    """Read the bytes of a status file; never raises."""
    if len(data) > LARGEST:
        return Reading(None, (f"it is larger than {LARGEST} bytes",))
    document = decode_written(data)
    if document is None:
        return Reading(None, ("it is not valid JSON",))
    if not isinstance(document, dict):
        return Reading(None, ("it is not a JSON object",))
    if not isinstance(document.get("complete"), bool):
        return Reading(None, ("`complete` must be true or false",))
    return _read_fields(document)


def _read_fields(document: dict[str, Any]) -> Reading:
    problems: list[str] = []
    completed, total = _progress(document.get("progress"), problems)
    blocked = document.get("blocked")
    blockers = document.get("blockers") or []
    if isinstance(blockers, str):
        blockers = [blockers]
    elif not isinstance(blockers, list):
        problems.append("`blockers` must be a list of strings")
        blockers = []
    status = Status(
        complete=document["complete"],
        completed=completed,
        total=total,
        worked=_optional(document, "worked", bool, problems),
        summary=_optional(document, "summary", str, problems),
        phase=_optional(document, "phase", str, problems),
        blocked=_blocked_reason(blocked, blockers, problems),
        blockers=tuple(str(item) for item in blockers),
    )
    for key in ("notes", "lastUpdated"):  # allowed in a report
        _optional(document, key, str, problems)
    return Reading(status, tuple(problems), _iteration_id_in(document), bool(document.get("lastUpdated")))


def _optional(document: dict[str, Any], key: str, kind: type, problems: list[str]) -> Any:
    value = document.get(key)
    if value is None or isinstance(value, kind):
        return value
    problems.append(f"`{key}` must be a {'string' if kind is str else 'boolean'}")
    return None


def _blocked_reason(value: Any, blockers: list[Any], problems: list[str]) -> str | None:
    """`blocked` is a reason; plain `true` borrows its reason from `blockers`."""
    if value is None or value is False or value == "":
        return None
    if isinstance(value, str):
        return value
    if value is True:
        return "; ".join(str(item) for item in blockers) or "no reason given"
    problems.append("`blocked` must be a sentence")
    return None


def _progress(value: Any, problems: list[str]) -> tuple[int | None, int | None]:
    if value is None:
        return None, None
    completed: Any = value.get("completed") if isinstance(value, dict) else None
    total: Any = value.get("total") if isinstance(value, dict) else None
    if not _is_count(completed) or not _is_count(total):
        problems.append("`progress` must be {completed, total} with whole numbers")
        return None, None
    if completed > total:
        problems.append(f"`progress` says {completed} of {total} items are done")
    return int(completed), int(total)


def _is_count(value: Any) -> bool:
    """A JSON number with an integer value; 3.0 is accepted, true is not."""
    found = number(value)
    return found is not None and 0 <= found < 1e12 and found.is_integer()


def iteration_id(number: int, random: bytes) -> str:
    """The id of an iteration, from its number and four random bytes."""
    return f"{number}-{random.hex()}"


def _iteration_id_in(document: Mapping[str, Any]) -> str:
    """The id in a report; empty without one. Anything that does not look like one of ours, such as a plain number, is
    the agent's own."""
    value = document.get(KEY)
    value = value.strip().lower() if isinstance(value, str) else ""
    return value if value and _IDENTITY.fullmatch(value) else ""


def why_not_ours(named: str, asked: str, dated: bool, known: bool, claims: bool) -> str:
    """Why a file that was written in this iteration is no report of it; empty when it is one. `known`: its text was
    there before. Without an id, a claim must be a new text; a report that more is to do may say the same again."""
    if named:
        return "" if named == asked else OTHER
    return OLD if known and (dated or claims) else ""


def compare(before: Status | None, now: Status) -> Change | None:
    """What is new, or None when nothing but the timestamp moved."""
    if before is None:
        return Change(now.completed or 0, now.total or 0)
    change = Change((now.completed or 0) - (before.completed or 0), (now.total or 0) - (before.total or 0))
    return change if change != Change() or _comparable(now) != _comparable(before) else None


def _comparable(status: Status) -> tuple[object, ...]:
    return status.complete, status.summary, status.phase, status.blocked, status.blockers, status.worked


def describe(status: Status, change: Change | None = None) -> str:
    """One line for people: `35/60 items (+5) - summary - ✅ Complete!`."""
    parts = []
    if status.total:
        delta = f" ({change.items:+d})" if change is not None and change.items else ""
        parts.append(f"{status.completed}/{status.total} items{delta}")
    if status.summary:
        parts.append(" ".join(status.summary.split()))
    if status.blocked:
        parts.append(f"blocked: {' '.join(status.blocked.split())}")
    if status.complete:
        parts.append("✅ Complete!")
    return " - ".join(parts) or "no details"
