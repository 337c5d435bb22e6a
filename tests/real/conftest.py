"""The fixture `real`: claude-iterate and the real Claude Code as real processes, against a scripted Messages API.

Every test runs with the oldest Claude Code that we support and with the newest that we tested: `scripts/claude-code`
installs both into `.venv/claude-code`. CLAUDE_ITERATE_TEST_CLAUDE names another one to use alone; a `claude` that
happens to be installed is never used. Its environment is built from nothing, its home is empty, its key is a dummy, and
every address but the stand-in's leads back to the stand-in.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from claude_iterate.core import claude_versions
from tests.e2e.conftest import ROOT, Loop
from tests.mocks.messages_api import Block, MessagesApi, tool
from tests.package_path import PACKAGES

NAMED = os.environ.get("CLAUDE_ITERATE_TEST_CLAUDE")
INSTALLED = ROOT / ".venv" / "claude-code"
HINT = "the real Claude Code is not here; get it with scripts/claude-code, or name one in CLAUDE_ITERATE_TEST_CLAUDE"


class RealLoop(Loop):
    """A project with one workspace, the real Claude, and the API that it talks to."""

    def __init__(self, folder: Path, claude: str, api: MessagesApi) -> None:
        super().__init__(folder)
        self.api = api
        self.reports = 0
        (folder / "tmp").mkdir()
        self.env = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            "PYTHONPATH": str(PACKAGES),
            "PYTHONSAFEPATH": "1",
            "LANG": "C.UTF-8",
            "TZ": "UTC",
            "TMPDIR": str(folder / "tmp"),
            "CLAUDE_CODE_TMPDIR": str(folder / "tmp"),
            "ANTHROPIC_BASE_URL": api.url,
            "ANTHROPIC_API_KEY": "dummy-key",
            "HTTP_PROXY": api.url,
            "HTTPS_PROXY": api.url,
            "NO_PROXY": "127.0.0.1",
            "DISABLE_TELEMETRY": "1",
            "DISABLE_ERROR_REPORTING": "1",
            "DISABLE_AUTOUPDATER": "1",
            "DISABLE_BUG_COMMAND": "1",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "CLAUDE_CODE_MAX_RETRIES": "0",
            "IS_SANDBOX": "1",
            "BUN_JSC_useGC": "0",  # it lives for seconds; collecting garbage is a third of its processor time
            "CLAUDE_ITERATE_CONFIG_DIR": str(self.home / "config"),
            "CLAUDE_ITERATE_CLAUDE__COMMAND": json.dumps([claude]),
            "CLAUDE_ITERATE_CLAUDE__PERMISSION_MODE": "bypassPermissions",
            "CLAUDE_ITERATE_DELAY": "0",
            "CLAUDE_ITERATE_KEEP_AWAKE": "false",
        }

    def subscribe(self) -> None:
        """Log in with a subscription's token, a dummy one, in place of the key."""
        del self.env["ANTHROPIC_API_KEY"]
        self.env["CLAUDE_CODE_OAUTH_TOKEN"] = "dummy-token"

    def report(self, complete: bool, **more: Any) -> Block:
        """The model writes its report. It does not read the id in the prompt, so each report is a new text."""
        self.reports += 1
        document = json.dumps({"complete": complete, "notes": f"report {self.reports}", **more})
        return tool("Write", file_path=str(self.workspace / ".status.json"), content=document)

    def idler(self) -> str:
        """A program that sleeps, with a path by which its processes can be told from all others."""
        path = self.folder / "bin" / "sleep"
        path.parent.mkdir(exist_ok=True)
        path.symlink_to("/bin/sleep")
        return str(path)

    def iterations(self) -> list[tuple[int, str]]:
        """Every call of Claude: its iteration's number and its outcome."""
        return [(event["number"], event["outcome"]["kind"]) for event in self.events("IterationFinished")]

    def raw(self) -> bytes:
        """All that Claude printed."""
        paths = sorted(self.workspace.glob("runs/*/raw/*.ndjson"), key=lambda path: path.stat().st_mtime_ns)
        return b"".join(path.read_bytes() for path in paths)

    def results(self) -> list[dict[str, Any]]:
        """Every `result` that Claude printed, as it printed it."""
        lines = [json.loads(line) for line in self.raw().splitlines()]
        return [line for line in lines if line["type"] == "result"]

    def ending(self) -> dict[str, Any]:
        """How the last run ended."""
        found: dict[str, Any] = self.events("RunFinished")[-1]
        return found

    def processes(self) -> list[int]:
        """Living processes of this test, the runner excluded: they have its folder in their words or environment."""
        mark = str(self.folder).encode()
        return self._living(
            lambda process: any(mark in (process / name).read_bytes() for name in ("cmdline", "environ"))
        )


def program(version: str) -> Path | None:
    """The Claude Code of this version, if it is there."""
    if NAMED:
        assert os.access(NAMED, os.X_OK), f"CLAUDE_ITERATE_TEST_CLAUDE is not a program: {NAMED}"
        return Path(NAMED).absolute()
    found = INSTALLED.glob(f"{version}/node_modules/@anthropic-ai/claude-code-*/claude")
    return next((path for path in found if os.access(path, os.X_OK)), None)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Here and not in a fixture, so that all that is skipped is one line of the summary."""
    call = getattr(item, "callspec", None)
    if call is not None and "claude" in call.params and program(call.params["claude"]) is None:
        pytest.skip(HINT)


@pytest.fixture(params=["named"] if NAMED else [claude_versions.OLDEST, claude_versions.NEWEST])
def claude(request: pytest.FixtureRequest) -> str:
    """The path of the Claude Code to drive."""
    return str(program(request.param))


@pytest.fixture
def real(tmp_path: Path, claude: str) -> Iterator[RealLoop]:
    api = MessagesApi()
    made = RealLoop(tmp_path, claude, api)
    try:
        yield made
    finally:
        made.close()
        api.close()
    assert api.strays == [], "something tried to leave this computer"
