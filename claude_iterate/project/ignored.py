"""Which files do not count as work: patterns as in `.gitignore`, for projects and settings that git does not read."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache


class Ignored:
    """Patterns in order: the last one that fits a path decides. `base` is the folder they stand in, with its slash."""

    def __init__(self, patterns: Iterable[str] = (), base: str = "") -> None:
        self._rules: list[tuple[re.Pattern[str], bool, bool, str]] = []
        self.add(patterns, base)

    def add(self, patterns: Iterable[str], base: str = "") -> None:
        """Patterns of a further file."""
        for pattern in patterns:
            if rule := _rule(pattern):
                self._rules.append((*rule, base))

    def covers(self, path: str, folder: bool = False) -> bool:
        """True when this file, or with `folder` this folder, does not count. Folders above it are asked separately."""
        found = False
        for expression, only_folders, negated, base in self._rules:
            if only_folders and not folder:
                continue
            if path.startswith(base) and expression.fullmatch(path[len(base) :]):
                found = not negated
        return found

    def covers_any_part(self, path: str) -> bool:
        """True when this file or a folder on its way does not count."""
        if not self._rules:
            return False
        parts = path.split("/")
        above = ("/".join(parts[: end + 1]) for end in range(len(parts) - 1))
        return any(self.covers(folder, folder=True) for folder in above) or self.covers(path)


def literally(path: str) -> str:
    """The pattern for this one file."""
    return "/" + re.sub(r"([\\*?\[\]! ])", r"\\\1", path)


@lru_cache(maxsize=1000)
def _rule(line: str) -> tuple[re.Pattern[str], bool, bool] | None:
    text = line.rstrip("\r\n")
    text = text if text.endswith("\\ ") else text.rstrip(" ")
    if not text or text.startswith("#"):
        return None
    negated = text.startswith("!")
    text = text[1:] if negated else text
    only_folders = text.endswith("/")
    text = text.rstrip("/") if only_folders else text
    if not text:
        return None
    anchored = "/" in text
    source = _translated(text.lstrip("/"))
    return re.compile(source if anchored else f"(?:.*/)?{source}", re.DOTALL), only_folders, negated


def _translated(text: str) -> str:
    """A pattern as a regular expression. None of its parts can try the same characters in many ways."""
    found, at = "", 0
    while at < len(text):
        if text.startswith("**/", at):
            found, at = found + "(?:.*/)?", at + 3
        elif text.startswith("**", at):
            found, at = found + ".*", at + 2
        elif text[at] == "*":
            found, at = found + "[^/]*", at + 1
        elif text[at] == "?":
            found, at = found + "[^/]", at + 1
        elif text[at] == "[" and (end := text.find("]", at + 2)) > 0:
            inside = text[at + 1 : end].replace("\\", "\\\\")
            found, at = found + "[" + (f"^{inside[1:]}" if inside[0] in "!^" else inside) + "]", end + 1
        elif text[at] == "\\" and at + 1 < len(text):
            found, at = found + re.escape(text[at + 1]), at + 2
        else:
            found, at = found + re.escape(text[at]), at + 1
    return found
