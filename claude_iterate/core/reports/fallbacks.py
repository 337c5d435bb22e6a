"""Reports for agents that write no status file: a LOOP_STATUS block in the last message, then boxes in a list.

The block (clawker's form) is a report. Boxes only count what is left: they are the weakest source and never say
that the work is done.
"""

from __future__ import annotations

import re

from claude_iterate.core.reports.plan_tasks import DONE, boxes_in, outside_fences
from claude_iterate.core.reports.status import Reading, Status

_BEGIN, _END = "---LOOP_STATUS---", "---END_LOOP_STATUS---"
_FIELD = re.compile(r"[ \t]*(?:[-*+][ \t]+)?[*`]{0,3}([A-Za-z_]{1,60})[*`]{0,3}[ \t]*:(.*)")
"""`STATUS: COMPLETE`, also as an item of a list, in bold or in small letters."""
_STATES = frozenset({"IN_PROGRESS", "COMPLETE", "BLOCKED"})
_TESTS = frozenset({"passing", "failing", "not_run"})
_WORK = frozenset({"implementation", "testing", "documentation", "refactoring"})


def from_block(message: str) -> Reading | None:
    """The last whole LOOP_STATUS block of a message, as a report; None when there is none. One in code is an example.
    `EXIT_SIGNAL` has the last word: only without one does `STATUS: COMPLETE` suffice; but one that says IN_PROGRESS as
    well claims nothing. A block that claims completion
    must be the end of the message: what is said after it may take it back."""
    fields, is_last = _last_block(message)
    if fields is None:
        return None
    problems: list[str] = []
    state = fields.get("STATUS", "").upper()
    if state not in _STATES:
        problems.append(f"LOOP_STATUS: STATUS is {state or 'missing'}")
    tasks, files = (_count(fields, name, problems) for name in ("TASKS_COMPLETED_THIS_LOOP", "FILES_MODIFIED"))
    advice = fields.get("RECOMMENDATION") or None
    signal = fields.get("EXIT_SIGNAL", str(state == "COMPLETE")).lower()
    if signal not in {"true", "false"}:
        problems.append(f"LOOP_STATUS: EXIT_SIGNAL is {signal or 'empty'}")
    claims = state != "BLOCKED" and signal == "true"
    if claims and state == "IN_PROGRESS":
        claims = False
        problems.append("LOOP_STATUS: STATUS is IN_PROGRESS and EXIT_SIGNAL is true, so it claims nothing")
    if claims and not is_last:
        problems.append("LOOP_STATUS: words follow the block, so it claims nothing; it has to be the end of the answer")
    status = Status(
        # A blocked agent may want to end the loop, but has not finished.
        complete=claims and is_last,
        worked=(tasks or 0) + (files or 0) > 0 if tasks is not None or files is not None else None,
        summary=advice,
        blocked=(advice or "no reason given") if state == "BLOCKED" else None,
        source="block",
        tests=_word(fields, "TESTS_STATUS", _TESTS, problems),
        work=_word(fields, "WORK_TYPE", _WORK, problems),
        tasks=tasks,
        files=files,
    )
    return Reading(status, tuple(problems))


def _last_block(message: str) -> tuple[dict[str, str] | None, bool]:
    """The fields of the last block that has a beginning and an end, and whether nothing is said after it. Lines that
    are set in as far as code are an example."""
    found: dict[str, str] | None = None
    fields: dict[str, str] | None = None
    is_last = True
    for _, line in outside_fences(message):
        words = "" if line.startswith(("    ", "\t", " \t", "  \t", "   \t")) else line.strip()
        if words == _BEGIN:
            fields = {}
        elif words == _END and fields is not None:
            found, fields, is_last = fields, None, True
        elif fields is not None and (field := _FIELD.match(line)):
            fields[field[1].upper()] = field[2].strip(" \t*`")
        elif fields is None and line.strip():
            is_last = False
    return found, is_last and fields is None


def from_boxes(text: str) -> Status | None:
    """How many boxes of a list are ticked; None without boxes. Boxes in code are examples."""
    boxes = boxes_in(text)
    done = sum(box.state == DONE for box in boxes)
    return Status(complete=False, completed=done, total=len(boxes), source="boxes") if boxes else None


def _count(fields: dict[str, str], name: str, problems: list[str]) -> int | None:
    text = fields.get(name)
    if text is None:
        return None
    if text.isdecimal() and len(text) < 10:
        return int(text)
    problems.append(f"LOOP_STATUS: {name} is not a whole number")
    return None


def _word(fields: dict[str, str], name: str, words: frozenset[str], problems: list[str]) -> str | None:
    """One of the words, in small letters; anything else is reported and left out."""
    text = fields.get(name, "").lower()
    if not text or text in words:
        return text or None
    problems.append(f"LOOP_STATUS: {name} is {text[:40]}")
    return None
