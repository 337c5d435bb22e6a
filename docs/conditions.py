"""The page about what a run is doing, with its diagram. Part of docs/generate.py."""

from __future__ import annotations

from collections.abc import Iterable

from claude_iterate.core.events.enums import ENDINGS
from claude_iterate.core.state.condition import CHANGES, CONDITIONS, KILLED


def page() -> list[str]:
    """The words and what they mean, then the diagram."""
    return [
        "# What a run is doing",
        "",
        "One word, the same in `list`, `show` and JSON (`condition` of a run, `state` of a workspace): while the run",
        "goes on what it is doing, then the reason why it ended.",
        "",
        *_table([*CONDITIONS.items(), (KILLED, "The runner was killed. `run` goes on where it was.")]),
        "The reasons: " + ", ".join(f"`{reason}`" for reason in ENDINGS) + "; see [exit codes](exit-codes.md).",
        "",
        "Which condition follows which, and by which [event](events.md):",
        "",
        "```mermaid",
        "stateDiagram-v2",
        *(f"    {before} --> {after}: {', '.join(by)}" for (before, after), by in CHANGES.items()),
        "```",
        "",
        "A run that goes on with a killed one begins where that one was. A run that is killed in any condition is",
        f"`{KILLED}`.",
    ]


def _table(rows: Iterable[tuple[str, str]]) -> list[str]:
    return ["| Word | Means |", "| --- | --- |", *(f"| `{word}` | {meaning} |" for word, meaning in rows), ""]
