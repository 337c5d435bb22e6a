"""The person at the terminal, if there is one: asked before each iteration, or listened to while it runs."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator

from claude_iterate.cli.invocation import on_terminal
from claude_iterate.cli.terminal import attended, keys
from claude_iterate.engine.plan import Plan


@contextlib.contextmanager
def at_terminal(plan: Plan) -> Iterator[Plan]:
    """The plan, with that person's answers or keys in it."""
    if plan.purpose != "run" or not on_terminal():
        yield plan
    elif plan.settings.attended:
        question = attended.Question(plan.layout)
        yield dataclasses.replace(plan, ask=question, listen=question.held)
    elif plan.settings.output != "progress":
        yield plan
    else:
        with keys.listening() as listen:
            yield dataclasses.replace(plan, listen=listen)
