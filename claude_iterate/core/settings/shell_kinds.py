"""Kinds of values that the shell gets to see."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from claude_iterate.core.settings.kinds import Kind


@dataclass(repr=False, eq=False)
class Command(Kind):
    """A command for the shell. One without a word in it would succeed and prove nothing."""

    @property
    def expected(self) -> str:
        return "a command that is not empty"

    def accept(self, value: Any) -> str:
        text = str(super().accept(value))
        if not text.strip():
            raise ValueError(self.expected)
        return text
