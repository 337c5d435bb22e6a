"""The user, as operations see one: it can be asked and warned. The command line implements it with the terminal."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Protocol

from claude_iterate.engine.plan import Plan
from claude_iterate.operations.permissions import Permissions


class User(Protocol):
    """The user who started a command."""

    @property
    def can_answer(self) -> bool:
        """True when a question reaches the user and an answer comes back."""

    def warn(self, text: str) -> None:
        """Show something that needs attention."""

    def note(self, text: str) -> None:
        """Show something beside the result."""

    def choose_permissions(self, suggested: tuple[str, ...], sandbox: str) -> Permissions:
        """Ask how much Claude may do; `suggested` are commands that the project's files name, `sandbox` the kind of
        sandbox that works here, if any."""

    def confirms(self, question: str) -> bool:
        """Ask for a yes; Enter is a yes."""

    def ask_amount(self, question: str) -> float | None:
        """Ask for an amount in US dollars; Enter is none."""

    def steers(self, plan: Plan) -> AbstractContextManager[Plan]:
        """The plan with the user's keys or answers in it, for as long as the run lasts."""
