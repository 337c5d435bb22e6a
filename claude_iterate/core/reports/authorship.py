"""Whether a report is of this iteration: a text counts because the agent wrote it there, not because its time changed.

The prompt asks for an id in the report. It is optional, so that other agents and prompts work: a text without one is
old if it was there before and claims completion, or has a `lastUpdated`, which would have moved. Where checks are set,
they decide about a claim that is written again without the id.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

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


def identity(number: int, random: bytes) -> str:
    """The id of an iteration, from its number and four random bytes."""
    return f"{number}-{random.hex()}"


def identity_in(document: Mapping[str, Any]) -> str:
    """The id in a report; empty without one. Anything that does not look like one of ours, such as a plain number, is
    the agent's own."""
    value = document.get(KEY)
    value = value.strip().lower() if isinstance(value, str) else ""
    return value if value and _IDENTITY.fullmatch(value) else ""


def doubt(named: str, asked: str, dated: bool, known: bool, claims: bool) -> str:
    """Why a file that was written in this iteration is no report of it; empty when it is one. `known`: its text was
    there before. Without an id, a claim must be a new text; a report that more is to do may say the same again."""
    if named:
        return "" if named == asked else OTHER
    return OLD if known and (dated or claims) else ""
