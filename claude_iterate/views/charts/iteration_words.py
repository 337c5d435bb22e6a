"""One iteration as words for a table: the report and the dashboard say the same."""

from __future__ import annotations

from claude_iterate.core.events.vocabulary import Kind
from claude_iterate.core.formats import cost, counted, duration
from claude_iterate.core.harmless import harmless
from claude_iterate.core.tones import Tone
from claude_iterate.text import local_times
from claude_iterate.views.setting_values import shortened
from claude_iterate.views.story.iteration_rows import Row
from claude_iterate.views.story.total_lines import green_tests

FINE = frozenset({"ok", "max_turns"})
"""Outcomes of a call that came to its own end."""
TOKENS = ("input", "output", "cache_read", "cache_creation")


_NOT_FAILED = frozenset({"interrupted", "skipped", "rebooted", "usage_limit", "transient", "away"})
"""Outcomes of a call that did not come to its own end, and did not fail."""


def outcome(row: Row) -> str:
    """`ok`, `no report`, `usage limit`."""
    return "no report" if row.outcome == Kind.OK and row.complete is None else row.outcome.replace("_", " ")


def outcome_tone(row: Row) -> Tone:
    """How that looks."""
    if row.outcome in FINE:
        return "good" if row.complete is not None else "warning"
    return "warning" if row.outcome in _NOT_FAILED else "plain" if row.outcome == Kind.UNFINISHED else "bad"


def took(row: Row) -> str:
    """`2.1s`; of a call without an end `2.1s+`, because only its last sign is known."""
    return duration(row.duration) + ("+" if row.outcome == Kind.UNFINISHED else "")


def in_words(row: Row) -> dict[str, str]:
    """Each figure of it as text. It is not escaped for HTML."""
    number = str(row.number) if row.attempt == 1 else f"{row.number} (attempt {row.attempt})"
    return {
        "number": number,
        "began": local_times.whole(row.began),
        "took": took(row),
        "cost": cost(row.known_cost_usd, row.cost_is_lower_bound),
        "tokens": shortened(used_tokens(row)),
        "tools": str(row.tools),
        "files": _files(row),
        "tests": green_tests(row.tests),
        "progress": f"{row.progress.completed}/{row.progress.total}" if row.progress is not None else "",
        "claim": {None: "", True: "held", False: "refuted"}[row.claim_held] or ("claimed" if row.complete else ""),
        "outcome": outcome(row),
        "message": harmless(row.message),
        "summary": harmless(row.summary),
        "denied": harmless(", ".join(row.denied)),
        "tone": outcome_tone(row),
        "run": row.run,
    }


def used_tokens(row: Row) -> int:
    """Tokens of all sorts."""
    return sum(getattr(row.tokens, name) for name in TOKENS)


def _files(row: Row) -> str:
    if row.files is None:
        return "not measured"
    changed = f"+{row.files.created} ~{row.files.modified} -{row.files.deleted}"
    return f"{changed}, {counted(row.commits, 'commit')}" if row.commits else changed
