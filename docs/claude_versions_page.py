"""The page about the versions of Claude Code, computed from what both printed in the same situations."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from claude_iterate.agent.command.discovery import options_in
from claude_iterate.core.claude_versions import NEWEST, OLDEST

FIXTURES = Path(__file__).parents[1] / "tests" / "fixtures"


class Ending(NamedTuple):
    """How Claude Code says that a call ended: what its last result has, and how many there were."""

    results: int
    subtype: str
    is_error: bool
    reason: str
    error: str

    def __str__(self) -> str:
        words = [self.subtype, "is_error" if self.is_error else "", self.reason, self.error]
        count = f"{self.results} results: " if self.results > 1 else ""
        return count + ", ".join(f"`{word}`" for word in words if word) if self.results else "no result"


class Recordings:
    """What one version printed: a list of documents for each situation."""

    def __init__(self, version: str) -> None:
        folder = FIXTURES / f"claude-{version}"
        self.options = options_in((folder / "help.txt").read_text(encoding="utf-8"))
        self.situations = {path.stem: list(_documents(path)) for path in sorted(folder.glob("*.ndjson"))}

    def fields(self) -> dict[str, set[str]]:
        """The fields of each type of line."""
        found: dict[str, set[str]] = {}
        for documents in self.situations.values():
            for document in documents:
                words = [str(document[key]) for key in ("type", "subtype") if key in document]
                kind = "/".join(words) if words[0] == "system" else words[0]
                found.setdefault(kind, set()).update(document)
        return found

    def ending(self, situation: str) -> Ending:
        """How the call of this situation ended."""
        results = [document for document in self.situations[situation] if document["type"] == "result"]
        last: dict[str, Any] = results[-1] if results else {}
        error = last.get("api_error") or last.get("api_error_type")
        words = [str(word or "") for word in (last.get("subtype"), last.get("terminal_reason"), error)]
        return Ending(len(results), words[0], bool(last.get("is_error")), words[1], words[2])


def _documents(path: Path) -> Iterator[dict[str, Any]]:
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        try:
            document = json.loads(line)
        except ValueError:
            continue  # one that was cut
        if isinstance(document, dict) and "type" in document:
            yield document


def page() -> list[str]:
    """The page, line by line."""
    recorded = [folder.name.removeprefix("claude-") for folder in FIXTURES.glob("claude-*")]
    older, newer = sorted(recorded, key=lambda version: [int(part) for part in version.split(".")])
    old, new = Recordings(older), Recordings(newer)
    before, after = old.fields(), new.fields()
    both = [name for name in old.situations if name in new.situations]
    lines = [
        "# Versions of Claude Code",
        "",
        f"claude-iterate is tested with Claude Code {OLDEST}, the oldest that it supports, and {NEWEST}. An older one",
        "gets a warning at the start of a run, `doctor` names a newer one. What Claude Code can do is read from its",
        "`--help`, never from its version: an option that it lacks is left out.",
        "",
        f"Its `--help` does not tell whether it reads `AGENTS.md`: {NEWEST} does where there is no `CLAUDE.md`,",
        f"{OLDEST} does not. For one that does not there is `claude.agents_file`.",
        "",
        f"The tables say what {newer} prints otherwise than {older}, in {len(both)} situations that were recorded with",
        "both against the same scripted API (`tests/fixtures`).",
        "",
        "## Options that only the newer one names",
        "",
        ", ".join(f"`{option}`" for option in sorted(new.options - old.options)),
        "",
        "## New lines and fields",
        "",
        "| Line | New fields |",
        "| --- | --- |",
    ]
    for kind in sorted(after):
        fields = sorted(after[kind] - before.get(kind, set()))
        if kind not in before:
            lines.append(f"| `{kind}` (new) | {_listed(fields)} |")
        elif fields:
            lines.append(f"| `{kind}` | {_listed(fields)} |")
    gone = sorted(f"{kind}: {field}" for kind in before for field in before[kind] - after.get(kind, set()))
    lines += ["", f"Gone: {_listed(gone) or 'none'}.", "", "## Calls that end differently", ""]
    lines += [f"| Situations | {older} | {newer} |", "| --- | --- | --- |"]
    changes: dict[tuple[Ending, Ending], list[str]] = {}
    for name in both:
        changes.setdefault((old.ending(name), new.ending(name)), []).append(name)
    lines += [
        f"| {', '.join(names)} | {was} | {becomes} |" for (was, becomes), names in changes.items() if was != becomes
    ]
    return lines


def _listed(words: list[str]) -> str:
    return ", ".join(f"`{word}`" for word in words if word not in {"type", "subtype", "session_id", "uuid"})
