"""The fixture `real`: claude-iterate and the real Claude Code as real processes, against a scripted Messages API.

The program is the npm package in `.venv/claude-code`, or what CLAUDE_ITERATE_TEST_CLAUDE names; never a `claude` that
happens to be installed. Its environment is built from nothing, its home is empty, its key is a dummy, and every address
but the stand-in's leads back to the stand-in.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import ROOT, Loop
from tests.mocks.messages_api import Block, MessagesApi, tool
from tests.package_path import PACKAGES

INSTALLED = ROOT / ".venv" / "claude-code" / "node_modules" / ".bin" / "claude"
HINT = "the real Claude Code is not here; .ci/run installs it, or name one in CLAUDE_ITERATE_TEST_CLAUDE"


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

    def set(self, **settings: Any) -> None:
        """Settings by their variable's name: `timeouts__idle="3s"`."""
        self.env |= {f"CLAUDE_ITERATE_{name.upper()}": str(value) for name, value in settings.items()}

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


def program() -> Path | None:
    """The Claude to drive, if there is one."""
    named = os.environ.get("CLAUDE_ITERATE_TEST_CLAUDE")
    if named:
        assert os.access(named, os.X_OK), f"CLAUDE_ITERATE_TEST_CLAUDE is not a program: {named}"
        return Path(named).absolute()
    return INSTALLED if os.access(INSTALLED, os.X_OK) else None


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Here and not in a fixture, so that all that is skipped is one line of the summary."""
    if item.get_closest_marker("real_claude") and program() is None:
        pytest.skip(HINT)


@pytest.fixture
def real(tmp_path: Path) -> Iterator[RealLoop]:
    api = MessagesApi()
    made = RealLoop(tmp_path, str(program()), api)
    try:
        yield made
    finally:
        made.close()
        api.close()
    assert api.strays == [], "something tried to leave this computer"
