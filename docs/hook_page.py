"""The page about what hooks get to know. Part of docs/generate.py."""

from __future__ import annotations

from claude_iterate.core.rules.hooks import FACTS, PREFIX


def page() -> list[str]:
    """The variables and the keys of the JSON object, from the one table."""
    return [
        "# What a hook gets to know",
        "",
        "As variables in its environment, and as one JSON object on a line on its standard input. All variables are",
        "set; what is not known is empty, or `null` in JSON. How to write one: [hooks](../how-to/hooks.md).",
        "",
        "| Variable | Key | Says |",
        "| --- | --- | --- |",
        *(f"| `{PREFIX}{fact.name}` | `{fact.key}` | {fact.sentence} |" for fact in FACTS),
        "",
        "The object has three more keys: `format` (1), `status` (the last report, or `null`) and `lastIteration` (the",
        "[event](events.md) `IterationFinished` of the last iteration, or `null`).",
    ]
