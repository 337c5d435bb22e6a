"""What a call of Claude comes to: tokens, denied tools, an outcome. Small structs that events are made of."""

from __future__ import annotations

import msgspec

from claude_iterate.core.events.vocabulary import Kind


class Tokens(msgspec.Struct, frozen=True, omit_defaults=True):
    """Tokens by kind, as Claude's last result of a process counts them."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_creation: int = 0

    def __add__(self, other: Tokens) -> Tokens:
        """Sum over processes."""
        return Tokens(
            self.input + other.input,
            self.output + other.output,
            self.cache_read + other.cache_read,
            self.cache_creation + other.cache_creation,
        )


class Outcome(msgspec.Struct, frozen=True, omit_defaults=True):
    """How one call of the agent ended. `kind` is a row of `core.outcomes.classes`; `resets_at` the moment (epoch
    seconds) at which a usage limit ends, if it is known."""

    kind: Kind
    message: str = ""
    advice: str = ""
    resets_at: float | None = None
    window: str = ""


class Denial(msgspec.Struct, frozen=True, omit_defaults=True):
    """A tool call that Claude was not allowed to make."""

    tool: str
    detail: str = ""
