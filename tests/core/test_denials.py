"""The rule that would have allowed what was denied."""

from __future__ import annotations

import shlex

import pytest

from claude_iterate.core.events import Denial
from claude_iterate.core.outcomes.denials import flags, rules


@pytest.mark.parametrize(
    ("command", "wanted"),
    [
        ("npm test -- -v", ["Bash(npm:*)"]),
        ("cd /x && npm test", ["Bash(npm:*)"]),
        ("cd /x", ["Bash(cd:*)"]),
        ("FOO=1 BAR='a b' npm test", ["Bash(npm:*)"]),
        ("npm test | tee log; git status", ["Bash(git:*)", "Bash(npm:*)", "Bash(tee:*)"]),
        ("make\nmake install", ["Bash(make:*)"]),
        ("'my prog' x", ["Bash(my prog:*)"]),
        ("echo 'a; b && c'", ["Bash(echo:*)"]),
        ("git commit -m 'cut off in the mid", ["Bash(git:*)"]),
        ("", ["Bash"]),
        ("'", ["Bash"]),
    ],
)
def test_a_command_needs_a_rule_for_each_program_in_it(command: str, wanted: list[str]) -> None:
    """Changing the folder and setting variables need none; words in quotations are no programs."""
    assert list(rules((Denial("Bash", command),))) == wanted


def test_other_tools_are_named() -> None:
    """Each once, in an order that does not depend on who was denied first."""
    one, other = Denial("Write", "/x"), Denial("Edit", "/y")
    assert rules((one, other, one)) == rules((other, one)) == ("Edit", "Write")


@pytest.mark.parametrize("command", ["npm test", "'my prog' x", "it\\'s x", "$(x) y"])
def test_the_flags_survive_a_shell(command: str) -> None:
    """What is copied into a shell reaches us as the rule."""
    words = shlex.split(flags((Denial("Bash", command),)))
    assert words[0] == "--allow"
    assert tuple(words[1::2]) == rules((Denial("Bash", command),))
