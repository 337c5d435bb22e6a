"""A review is about the project as it stands: a good one passes anywhere, one that changed it nowhere."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys

import pytest

from tests.e2e.agents import reviewing
from tests.e2e.conftest import Loop

SNEAK = "structured = review; pathlib.Path('new.txt').write_text('sneaked')"


def git(loop: Loop, *words: str, above: bool = False) -> None:
    folder = loop.root.parent if above else loop.root
    identity = ("-c", "user.name=a", "-c", "user.email=a@b")
    subprocess.run(["git", *identity, *words], cwd=folder, check=True, env=loop.env, capture_output=True)


def surround(loop: Loop, kind: str) -> None:
    """Put the project where a user may have it."""
    (loop.root / "work.txt").write_text("done\n")
    if kind == "subfolder":
        loop.git("init", "-q", folder=loop.root.parent)
        loop.git("commit", "-q", "--allow-empty", "-m", "x", folder=loop.root.parent)
    elif kind != "no-git":
        loop.git("init", "-q")
    if kind == "ignored":
        (loop.root / ".gitignore").write_text("claude-iterate/\n")
    if kind == "tracked":
        loop.git("add", "--all")
        loop.git("commit", "-qm", "everything, our own files included")


KINDS = [
    pytest.param("plain", marks=pytest.mark.needs_git),
    pytest.param("subfolder", marks=pytest.mark.needs_git),
    pytest.param("ignored", marks=pytest.mark.needs_git),
    pytest.param("tracked", marks=pytest.mark.needs_git),
    "no-git",
]


@pytest.mark.parametrize("kind", KINDS)
def test_a_good_review_passes_wherever_the_project_is(loop: Loop, kind: str) -> None:
    """Another workspace writes its log meanwhile and the reviewer's tests leave caches: neither is the project. `show`
    names the tree that was proven, where git knows one."""
    loop.make()
    surround(loop, kind)
    other = loop.workspace.parent / "other"
    other.mkdir()
    body = (
        "structured = review; (folder.parent / 'other' / 'iterate.log').write_text('busy')\n"
        "    pathlib.Path('__pycache__').mkdir(); pathlib.Path('__pycache__/x.pyc').write_text('cache')\n"
        "    pathlib.Path('.pytest_cache').mkdir(); pathlib.Path('.pytest_cache/y').write_text('cache')"
    )
    reviewing(loop, body=body)
    done = loop.run("--verify", "--detailed-exit-code")
    assert done.code == 0, done.err
    proof = loop.document("show", "my-task")["proof"]
    assert (proof["passed"], bool(re.fullmatch("[0-9a-f]{40}", proof["tree"]))) == (True, kind != "no-git")


@pytest.mark.parametrize("kind", [KINDS[0], "no-git"])
def test_a_review_that_changed_the_project_is_invalid_wherever_it_is(loop: Loop, kind: str) -> None:
    """And names the file."""
    loop.make()
    surround(loop, kind)
    reviewing(loop, body=SNEAK)
    told = loop.document("verify", "my-task")
    assert (told["passed"], told["review"]["verdict"]) == (False, "invalid")
    assert "the review changed the project" in told["review"]["summary"]
    assert "new.txt" in told["review"]["summary"]


def test_a_reviewer_that_cuts_the_instructions_proves_nothing(loop: Loop) -> None:
    """What is proven is what the user asked for."""
    loop.make()
    body = "structured = review; (folder / 'INSTRUCTIONS.md').write_text('nothing')"
    reviewing(loop, body=body)
    told = loop.document("verify", "my-task")
    assert (told["passed"], "INSTRUCTIONS.md" in told["review"]["summary"]) == (False, True)


@pytest.mark.needs_git
def test_a_report_may_lie_in_the_project(loop: Loop) -> None:
    """It is ours, so it is no change of the project."""
    loop.make()
    surround(loop, "plain")
    reviewing(loop)
    assert loop.call("verify", "my-task", "--report-path", str(loop.root / "report.md")).code == 0
    assert (loop.root / "report.md").exists()


def restricted(loop: Loop, *findings: str) -> None:
    """A Claude Code that reviews as the test says, and has no login in a call that is restricted."""
    reviewing(loop, *findings)
    answer = {"type": "result", "subtype": "success", "is_error": True, "result": "Not logged in"}
    loop.executable(
        "claude",
        f"""\
case " $* " in
    *" --version "*) echo "2.1.327 (Claude Code)" ;;
    *" --help "*) printf "Usage: claude\\n  --restricted  Ignore settings\\n" ;;
    *" --restricted "*) echo "$*" >> restricted; cat > /dev/null; echo {shlex.quote(json.dumps(answer))}; exit 1 ;;
    *) exec {shlex.quote(sys.executable)} -S {shlex.quote(str(loop.folder / "claude.py"))} "$@" ;;
esac""",
    )


def settings_of_claude(loop: Loop, document: dict[str, object]) -> None:
    (loop.root / ".claude").mkdir()
    (loop.root / ".claude" / "settings.json").write_text(json.dumps(document))


def test_a_lost_login_is_no_reason_to_read_settings_without_one(loop: Loop) -> None:
    """The project allows tools, and that is all it says: the review ends as it must, and blames nothing else."""
    loop.make()
    restricted(loop)
    settings_of_claude(loop, {"permissions": {"allow": ["Read"]}})
    done = loop.call("verify", "my-task")
    assert done.code == 1
    assert "Not logged in" in done.err
    assert "Without the settings" not in done.err
    assert not [*loop.workspace.rglob("*-unrestricted*")]


def test_a_login_in_the_project_is_found_for_every_review_and_named_once(loop: Loop) -> None:
    """One warning in a run of two reviews; each of them gives its verdict. The restricted call before it had the
    user's own settings, from where `claude.env` says that they are."""
    loop.make()
    restricted(loop, "Something is missing.")
    settings_of_claude(loop, {"permissions": {"allow": ["Read"]}, "env": {"ANTHROPIC_AUTH_TOKEN": "dummy"}})
    own = loop.folder / "own"
    own.mkdir()
    (own / "settings.json").write_text("{}")
    loop.call("config", "-w", "my-task", "claude.env.CLAUDE_CONFIG_DIR", str(own))
    loop.call("config", "-w", "my-task", "verification.max_attempts", "2")
    done = loop.run("--verify")
    assert (done.code, done.err.count("Without the settings of Claude Code")) == (1, 1), done.err
    assert len([*loop.workspace.rglob("*-unrestricted.prompt.md")]) == 2
    assert (loop.root / "restricted").read_text().count(f"--settings {own}/settings.json") == 2
