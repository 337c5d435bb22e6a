"""What the real Claude's own git does to the record of its run, and a login that is refused once."""

from __future__ import annotations

import shlex

import pytest

from tests.mocks.messages_api import Failure, Message, text, tool
from tests.real.conftest import RealLoop

pytestmark = pytest.mark.real_claude
GIT = "git -c user.name=a -c user.email=a@b"


@pytest.mark.needs_git
def test_its_git_stash_loses_nothing(real: RealLoop) -> None:
    """Its Bash tool commits everything and stashes in the next iteration; journal, log and sums are whole."""
    real.make()
    (real.workspace / ".gitignore").touch()
    here = f"cd {shlex.quote(str(real.root))}"
    real.api.script(
        tool("Bash", command=f"{here} && git init -q && git add -A && {GIT} commit -qm all"),
        real.report(False),
        Message((text("One is done."),)),
        tool("Bash", command=f"{here} && {GIT} stash -q && {GIT} stash pop -q"),
        tool("Read", file_path=str(real.workspace / ".status.json")),
        real.report(True),
        Message((text("All is done."),)),
    )
    done = real.run()
    assert (done.code, real.iterations()) == (0, [(1, "ok"), (2, "ok")]), done.err
    assert "the journal and the log, which were deleted or replaced" in done.err
    assert real.log().count("STATUS: success") == 2
    (journal,) = real.journals()
    assert [entry["seq"] for entry in journal] == list(range(1, len(journal) + 1))
    costs = [result["total_cost_usd"] for result in real.results()]
    assert real.ending()["cost_usd"] == pytest.approx(sum(costs))


@pytest.mark.needs_git
def test_its_git_clean_loses_neither_task_nor_report(real: RealLoop) -> None:
    """Its Write tool makes the folder of the report again; the workspace comes back around it."""
    real.make("- the task\n")
    here = f"cd {shlex.quote(str(real.root))}"
    real.api.script(
        tool("Bash", command=f"{here} && git init -q && git clean -qfdx"),
        real.report(False),
        Message((text("One is done."),)),
        tool("Read", file_path=str(real.workspace / ".status.json")),
        real.report(True),
        Message((text("All is done."),)),
    )
    done = real.run()
    assert (done.code, real.iterations()) == (0, [(1, "ok"), (2, "ok")]), done.err
    assert done.err.count("Restored the workspace, which was deleted during iteration 1.") == 1
    assert real.log().count("STATUS: success") == 2
    assert real.layout.instructions.read_text() == "- the task\n"


def test_one_401_after_a_good_iteration_is_tried_again(real: RealLoop) -> None:
    """The same iteration is done again after a few seconds."""
    real.patch("core.rules.waits", AWAY_PAUSES=(0.1,) * 4)
    real.make()
    real.api.script(
        real.report(False),
        Message((text("One is done."),)),
        Failure(401),
        tool("Read", file_path=str(real.workspace / ".status.json")),
        real.report(True),
        Message((text("All is done."),)),
    )
    done = real.run()
    assert (done.code, real.iterations()) == (0, [(1, "ok"), (2, "away"), (2, "ok")]), done.err
