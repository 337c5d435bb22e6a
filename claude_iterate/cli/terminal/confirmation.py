"""Asks before something is deleted. Without a terminal the user must have confirmed it with a flag."""

from __future__ import annotations

import click

from claude_iterate.cli import output
from claude_iterate.cli.invocation import on_terminal
from claude_iterate.errors import UsageProblem


def confirmed(what: str, question: str, again: str, warning: str = "") -> bool:
    """True for a yes. `again` is the command that does not ask; it is the advice where there is no terminal."""
    if not on_terminal():
        raise UsageProblem(
            f"Deleting {what} must be confirmed, and there is no terminal to ask on.", f"If you are sure: {again}"
        )
    if warning:
        output.warn(warning)
    return click.confirm(question, err=True)
