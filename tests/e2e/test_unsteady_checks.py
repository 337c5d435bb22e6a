"""Checks that end in another way on the same project, or that change the project which they prove."""

from __future__ import annotations

from tests.e2e.conftest import DONE, Loop


def codes(loop: Loop) -> list[int]:
    return [event["code"] for event in loop.events("CheckFinished")]


def test_a_check_that_is_red_then_green_on_the_same_project_is_called_flaky(loop: Loop) -> None:
    """In the line of the check, at the end of the run, in show and in JSON; it completes the run all the same."""
    loop.make()
    luck = loop.workspace / "luck"  # a file that is no part of the project
    loop.checks(f"test -e {luck} || {{ touch {luck}; exit 1; }}")
    loop.script(DONE)
    done = loop.run()
    assert (done.code, codes(loop)) == (0, [1, 0])
    assert "⚠ Flaky: it was red before, and no file changed since." in done.err
    assert "is flaky: it passed once and failed once, and no file changed in between." in done.out
    assert "flaky" in loop.call("show", "my-task").out
    told = loop.document("show", "my-task")
    assert [check["flaky"] for check in told["proof"]["checks"]] == [True]
    assert len(told["lastRun"]["flaky"]) == 1
    assert "is flaky" in loop.log()


def test_a_flaky_check_is_named_to_the_next_prompt(loop: Loop) -> None:
    """It was green for one claim and is red for the next, with nothing changed: the prompt says so."""
    loop.make()
    luck = loop.workspace / "luck"
    loop.checks(f"test ! -e {luck}", f"touch {luck}; false")
    loop.script(DONE)
    loop.env["CLAUDE_ITERATE_VERIFICATION__MAX_ATTEMPTS"] = "3"
    assert loop.run().code == 1
    assert "is flaky: it passed once and failed once" in loop.prompt(3)


def test_a_check_that_follows_a_change_is_not_flaky(loop: Loop) -> None:
    """Red, then repaired, then green: that is what a run is for."""
    loop.make()
    loop.checks("test -e fixed")
    repair = {"write": {"path": str(loop.root / "fixed"), "text": "yes"}}
    loop.script(DONE, [{"init": {}}, repair, *DONE[1:]])
    done = loop.run()
    assert (done.code, codes(loop)) == (0, [1, 0])
    assert "laky" not in done.out + done.err


def test_checks_that_change_the_project_run_once_more(loop: Loop) -> None:
    """A build that makes its files once: the second round finds nothing to change, and the claim holds."""
    loop.make()
    loop.checks("test -e built || echo made > built", "true")
    loop.script(DONE)
    done = loop.run()
    assert (done.code, codes(loop)) == (0, [0, 0, 0, 0])
    assert "The checks changed the project (built): they run once more..." in done.err
    told = loop.document("show", "my-task")
    assert [check["exitCode"] for check in told["proof"]["checks"]] == [0, 0]


def test_checks_that_always_change_the_project_prove_nothing(loop: Loop) -> None:
    """What is there now is not what they proved; the finding names the file."""
    loop.make()
    loop.checks("echo x >> log.txt")
    loop.env["CLAUDE_ITERATE_VERIFICATION__MAX_ATTEMPTS"] = "1"
    loop.script(DONE)
    done = loop.run("--detailed-exit-code")
    assert (done.code, codes(loop)) == (5, [0, 0])
    assert "the checks change the project, even when they run again: log.txt" in done.err


def test_a_check_that_spoils_what_another_proved_is_found_out(loop: Loop) -> None:
    """The second check breaks what the first one saw: the first one runs again, and is red."""
    loop.make()
    loop.checks("test ! -e spoilt", "touch spoilt")
    loop.env["CLAUDE_ITERATE_VERIFICATION__MAX_ATTEMPTS"] = "1"
    loop.script(DONE)
    assert (loop.run().code, codes(loop)) == (1, [0, 0, 1, 0])


def test_caches_that_checks_leave_are_no_change(loop: Loop) -> None:
    """One round is enough."""
    loop.make()
    loop.checks("mkdir -p __pycache__ .pytest_cache; echo $$ > __pycache__/x.pyc; echo $$ > .pytest_cache/y")
    loop.script(DONE)
    assert (loop.run().code, codes(loop)) == (0, [0])
