"""What the start of a run costs: a quiet first iteration imports only what it uses."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from tests.e2e.conftest import Loop

UNUSED = {
    "httpx": "no notification is sent",
    "watchdog": "the status is not watched; otherwise a call on a slow machine would need it",
    "tomlkit": "no settings file is written",
    "regex": "the user set no pattern",
    "textual": "only `watch` needs it",
    "starlette": "only `dashboard` needs it",
    "uvicorn": "only `dashboard` needs it",
}
CLAUDE = """#!/bin/sh
[ "$1" = --version ] && { echo 9.9.9; exit; }
cat > /dev/null
echo '{"complete": false}' > "$CLAUDE_ITERATE_WORKSPACE/.status.json"
echo '{"type":"result","subtype":"success","is_error":false,"result":"One step.","num_turns":1,"session_id":"s"}'
"""
CODE = """
import sys
before = set(sys.modules)  # of the interpreter: one that measures coverage has more
from claude_iterate.cli import main, quick_imports
quick_imports.arrange()  # `main` does it, too, but here the engine is imported before
from claude_iterate.engine import loop
loop._LASTING = loop._LOADING = 1e9  # on a slow machine, too
code = main()
late = {name for name, module in sys.modules.items() if type(module).__name__ == "_Late"}  # nothing of it is loaded
print(*set(sys.modules) - before - late)
sys.exit(code)
"""


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """The modules at the end of a quiet run of one iteration that does not claim to be done."""
    folder = tmp_path_factory.mktemp("start")
    claude = folder / "claude"
    claude.write_text(CLAUDE)
    claude.chmod(0o755)
    settings = {"claude.command": [str(claude)], "notification.status_watch.enabled": False}
    loop = Loop(folder / "project", settings)
    try:
        loop.make()
        done = loop.run("-m", "1", "-q", program=(sys.executable, "-P", "-c", CODE))
        assert len(loop.events("IterationFinished")) == 1, done.err
        return set(done.out.split())
    finally:
        loop.close()


@pytest.mark.parametrize("module", UNUSED)
def test_a_quiet_first_iteration_does_without(imported: set[str], module: str) -> None:
    """What it does not need is imported where it is used, so no start pays for it."""
    assert module not in imported, UNUSED[module]


def test_the_modules_are_those_of_a_run(imported: set[str]) -> None:
    """The list above is about a real run, which had the engine and a call of Claude in it."""
    assert {"claude_iterate.engine.loop", "claude_iterate.engine.call", "msgspec"} <= imported


LOADED = """
import sys
from claude_iterate.cli import main
from claude_iterate.engine import loop
from claude_iterate.operations import late_imports
loop._LOADING, late_imports._PROMPTS_AFTER, late_imports._AT_A_TIME = 0, 0, 1e9  # all of it, before the first call
made, known = late_imports.loader, []

def loader():
    load = made()

    def noting():
        load()
        known.append(set(sys.modules))

    return noting

late_imports.loader = loader
code = main()
assert not {"textual", "uvicorn"} & set(sys.modules), "only `watch` and `dashboard` need them"
print(*(name for name in set(sys.modules) - known[0] if name.startswith(("claude_iterate.", "jinja2"))))
sys.exit(code)
"""


def test_a_run_that_lasts_imports_nothing_late(loop: Loop) -> None:
    """An upgrade of the package in the middle of the night cannot mix two versions: failures, a check that fails, a
    review, a limit, a denied tool, tests, a stop script and a hook need nothing that was not loaded by then."""
    loop.make()
    loop.env |= {"CLAUDE_ITERATE_COMMANDS__TEST": "echo 1 passed", "CLAUDE_ITERATE_PROGRESS__TESTS": "true"}
    loop.env |= {"CLAUDE_ITERATE_STOP__SCRIPTS": '["false"]'}
    hook = loop.workspace / "hooks" / "finished"
    hook.parent.mkdir()
    hook.write_text("#!/bin/sh\ntouch called\n")
    hook.chmod(0o755)
    loop.env |= {"CLAUDE_ITERATE_VERIFICATION__CHECKS": '["test -e fixed"]', "CLAUDE_ITERATE_LIMITS__RESET_MARGIN": "0"}
    done: list[dict[str, Any]] = [{"init": {}}, {"status": {"complete": True}}, {"result": {}}]
    rejected = {"rejected": {"window": "five_hour", "seconds": 1}}
    limit = {"is_error": True, "result": "You've hit your session limit", "api_error_status": 429}
    denied = {"permission_denials": [{"tool_name": "Bash", "tool_use_id": "t", "tool_input": {"command": "npm test"}}]}
    loop.script(
        [{"exit": 1}],
        [{"init": {}}, rejected, {"result": limit}],
        [{"init": {}}, {"grandchild": {"seconds": 300}}, {"result": denied}],
        done,
        [{"init": {}}, {"touch": str(loop.root / "fixed")}, *done[1:]],
        [{"init": {}}, {"result": {}}],
    )
    ended = loop.run("--verify", program=(sys.executable, "-P", "-c", LOADED))
    outcomes = [event["outcome"]["kind"] for event in loop.events("IterationFinished")]
    assert list(loop.root.rglob("called")) != []
    assert outcomes[:4] == ["crash", "usage_limit", "denied", "ok"], ended.err
    assert [word for word in ended.out.split() if word.startswith(("claude_iterate.", "jinja2"))] == []
