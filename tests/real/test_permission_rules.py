"""The rules that are offered after a denial are those that the real Claude Code wants, and no wider."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from tests.mocks.messages_api import text, tool
from tests.real.conftest import RealLoop

pytestmark = pytest.mark.real_claude

DENIED = [
    "python3 -m unittest -q 2>&1 | tail -5",
    "timeout 60 python3 -m json.tool --help > help.txt",
    "OTHER=b python3 -m this",
    "env OTHER=b python3 -m tokenize --help",
    "for f in a b; do python3 -m calendar; done",
    "(python3 -m site)",
    "python3 --no-such-option <<'EOT'\nimport this\nEOT",
    "for f in a b; do echo $f; done",
    "xargs python3 -m platform < /dev/null",
]
HOPELESS = ["(python3 -m site)", "for f in a b; do echo $f; done"]


def denials(real: RealLoop) -> list[str]:
    """The commands that were denied in the last iteration."""
    found = real.results()[-1]["permission_denials"]
    return [denial["tool_input"]["command"] for denial in found if denial["tool_name"] == "Bash"]


def test_what_is_offered_is_enough(real: RealLoop) -> None:
    """After the commands that the advice names, Claude Code denies only what the advice calls hopeless."""
    real.make()
    real.env.pop("CLAUDE_ITERATE_CLAUDE__PERMISSION_MODE")
    real.api.script(*(tool("Bash", command=command) for command in DENIED), real.report(False), text("I may not."))
    real.run("-m", "1", "--permission-mode", "default")
    assert denials(real) == DENIED
    advice = real.events("IterationFinished")[-1]["outcome"]["advice"].splitlines()
    reasons = ("Contains simple_expansion", "A variable in this command")
    assert [line for line in advice if "No rule is offered" in line and any(reason in line for reason in reasons)]
    for command in advice[0].removeprefix("Allow it: ").split(" && "):
        assert real.call(*shlex.split(command)[1:]).code == 0
    rules = [word for word in shlex.split(advice[0]) if word.startswith("Bash(")]
    assert all(rule.endswith(":*)") and len(rule.split()) > 2 for rule in rules), rules
    allowed = [command for command in DENIED if command != DENIED[6]]  # code on standard input: never a rule
    real.api.script(*(tool("Bash", command=command) for command in allowed), real.report(True), text("Done."))
    assert real.run("-m", "1").code == 0
    assert denials(real) == HOPELESS


def test_what_is_offered_for_files_is_enough(real: RealLoop, tmp_path: Path) -> None:
    """Within the project the mode alone; elsewhere a rule for each file, not for the program that writes it."""
    real.make()
    real.env.pop("CLAUDE_ITERATE_CLAUDE__PERMISSION_MODE")
    away = tmp_path / "away"
    away.mkdir()
    commands = ["touch x", "mkdir d", "echo a > y", f"touch {away}/z", f"echo a > {away}/w"]
    real.api.script(*(tool("Bash", command=command) for command in commands), real.report(False), text("I may not."))
    real.run("-m", "1", "--permission-mode", "default")
    assert denials(real) == commands
    outcome = real.events("IterationFinished")[-1]["outcome"]
    wanted = [["--permission-mode", "acceptEdits"], *(["--allow", f"Edit(/{away}/{name})"] for name in "wz")]
    assert outcome["allowed_by"] == wanted
    real.api.script(*(tool("Bash", command=command) for command in commands), real.report(True), text("Done."))
    assert real.run("-m", "1", *(word for option in wanted for word in option)).code == 0
    assert denials(real) == []
