"""The id that a prompt asks for in each report."""

from __future__ import annotations

from claude_iterate.fake_claude.json_alone import loads

_ASKED = '"iteration": "'


def asked_for(prompt: str) -> dict[str, str]:
    """The id that the report is to have, by its name, if the prompt asks for one."""
    for line in reversed(prompt.split("\n")):
        before, asked, rest = line.partition(_ASKED)
        value, quote, _ = rest.partition('"')
        if asked and quote and not before.strip(" "):
            return dict(loads(f'{{{_ASKED}{value}"}}'))
    return {}
