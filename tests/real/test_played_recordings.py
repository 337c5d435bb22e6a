"""What the real Claude Code printed is played again by the stand-in: the run that listens records the same events."""

from __future__ import annotations

import pytest

from tests.e2e.played import sequence
from tests.mocks.messages_api import text, tool
from tests.real.conftest import RealLoop
from tests.real.test_reviews import answer, entry

pytestmark = pytest.mark.real_claude


def test_a_recording_of_the_real_claude_gives_the_same_events(real: RealLoop) -> None:
    """Tools that work and one that fails, a report with progress, a claim that the review by schema refutes, and one
    that it verifies. Nothing reaches the API, and no file of the project is touched."""
    real.make("- one\n- two\n")
    code = real.root / "a.txt"
    read = tool("Read", file_path=str(real.workspace / ".status.json"))
    real.api.script(
        *(tool("Write", file_path=str(code), content="one\n" * 200), tool("Bash", command="cat a.txt; false")),
        *(real.report(False, progress={"completed": 1, "total": 2}, summary="one"), text("x" * 500)),
        *(read, real.report(True, progress={"completed": 2, "total": 2}), text("Done.")),
        answer(entry(1), entry(2, "not_met")),
        *(read, real.report(True, summary="now"), text("Done.")),
        answer(entry(1), entry(2)),
    )
    done = real.run("--verify")
    assert done.code == 0, done.err
    asked, written = len(real.api.requests), code.read_bytes()
    code.write_text("mine\n")
    real.env["CLAUDE_ITERATE_MOCK_LOG"] = str(real.folder / "mock.log")
    played = real.run("--verify", "--dry-run", "--cassette", "1")
    assert played.code == 0, played.err
    recorded, again = real.journals()
    assert sequence(again) == sequence(recorded)
    kinds = [found["event"]["event"] for found in again]
    assert (kinds.count("IterationFinished"), kinds.count("ReviewFinished")) == (3, 2)
    assert (len(real.api.requests), code.read_text()) == (asked, "mine\n")
    assert written == b"one\n" * 200
