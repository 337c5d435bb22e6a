"""`plan` makes a plan and is judged by it; `build` works it off, and a finished plan is a claim and no proof."""

from __future__ import annotations

import json
import signal

import pytest

from claude_iterate.engine.prompt_texts import TextSource
from claude_iterate.engine.run_request import RunRequest
from claude_iterate.selftest.harness.script_steps import GO, READY, finish, proceed
from claude_iterate.workspace.project import Project
from tests.e2e.conftest import Loop

TASK = "my-task"


def plan_of(text: str) -> dict[str, object]:
    """A step of the fake: it writes the plan."""
    return {"write": {"path": "IMPLEMENTATION_PLAN.md", "text": text}}


def calls(loop: Loop) -> int:
    return len(loop.events("AgentStarted"))


def test_plan_then_build(loop: Loop) -> None:
    """The built-in stand-in plans and works it off; a dry run of each does so on a copy; the mode of the workspace
    stays, and every view tells mode and counts of the run."""
    loop.make("- one\n- two\n")
    assert "There is no plan. Make one: claude-iterate plan my-task" in loop.call("build", TASK).err
    assert not loop.layout.runs.exists()
    assert loop.call("plan", TASK, "--dry-run").code == 0
    assert not loop.layout.plan.exists()
    planned = loop.call("plan", TASK)
    assert "✓ Planned after 1 iteration: 2 tasks, 2 to do" in planned.out
    assert "Next: claude-iterate build my-task" in planned.out
    assert loop.layout.plan.read_text().count("- [ ]") == 2
    assert ("planned" in loop.call("list").out, "0/2" in loop.call("list").out) == (True, True)
    assert "\nProgress: 0/2 tasks of the plan\n" in loop.call("show", TASK).out
    assert " · Tasks: 0/2 · " in planned.out
    assert "Complete!" not in planned.out + planned.err
    assert loop.call("build", TASK, "--dry-run").code == 0
    assert loop.layout.plan.read_text().count("- [ ]") == 2
    built = loop.call("build", TASK)
    assert "nothing has proven that they are done (after 2 iterations)" in built.out
    assert loop.layout.plan.read_text().count("- [x]") == 2
    assert "loop (build)" in loop.call("list").out
    assert " · Tasks: 2/2 · " in built.out
    assert "item remaining" not in built.out + built.err
    assert "\nProgress: 2/2 tasks of the plan\n" in (shown := loop.call("show", TASK).out)
    assert "remaining" not in shown
    assert "in build mode: plan 2 done, 0 left" in loop.call("history", TASK).out
    run = loop.document("show", TASK)["lastRun"]
    assert (run["mode"], run["plan"]) == ("build", {"open": 0, "doing": 0, "done": 2})
    assert json.loads(loop.layout.metadata.read_text())["mode"] == "loop"
    loop.layout.instructions.write_text("- a rocket\n")
    before, made = loop.call("list").out, len(loop.layout.run_ids())
    refused = loop.call("build", TASK)
    assert (refused.code, "was made for different instructions" in refused.err) == (1, True)
    assert (loop.call("list").out, len(loop.layout.run_ids())) == (before, made)
    assert loop.call("build", TASK, "--accept-changes").code == 0


def test_a_finished_plan_makes_no_call_and_is_still_proven(loop: Loop) -> None:
    """Only ticked boxes: no call of Claude. With a red check it is not done, and then Claude is called."""
    loop.make(mode="build")
    loop.layout.plan.write_text("- [x] one\n1. [X] two\n```\n- [ ] an example\n```\n")
    quick = loop.run()
    assert (quick.code, calls(loop)) == (0, 0)
    assert "nothing has proven that they are done (after 0 iterations)" in quick.out
    loop.checks("test -e proof")
    (loop.root / "proof").touch()
    assert "proven by checks" in loop.run("--again").out
    assert calls(loop) == 0
    (loop.root / "proof").unlink()
    loop.script(proceed())
    red = loop.run("--again", "--detailed-exit-code")
    assert (red.code, calls(loop)) == (5, 1)
    assert "test -e proof" in loop.prompt(1)


def test_a_plan_that_grows_is_worked_off(loop: Loop) -> None:
    """After a completed build: an open task or a check that was added since is work, another `plan` is always possible,
    and only where nothing is open there is nothing to do."""
    loop.make()
    loop.layout.plan.write_text("- [ ] one\n")
    loop.script(finish(plan_of("- [x] one\n")), finish(plan_of("- [x] one\n- [x] two\n")))
    assert loop.call("build", TASK).code == 0
    assert "nothing to do. To run it again: claude-iterate build my-task --again" in loop.call("build", TASK).err
    loop.layout.plan.write_text("- [x] one\n- [ ] two\n")
    assert (loop.call("build", TASK).code, calls(loop)) == (0, 2)
    assert "nothing to do" in loop.call("build", TASK).err
    loop.layout.plan.unlink()
    assert "There is no plan. Make one" in loop.call("build", TASK).err
    loop.layout.plan.write_text("- [x] one\n")
    assert "proven by checks" in loop.call("build", TASK, "--check", "true").out
    assert "Planned after" in loop.call("plan", TASK).out


def test_a_planning_run_without_commits_goes_on(loop: Loop) -> None:
    """Claude writes the plan in steps and reports completion at the end; a claim without a plan counts for nothing, and
    the next prompt says so."""
    loop.make()
    loop.script(
        finish(),
        proceed(plan_of("- [ ] one\n")),
        proceed(plan_of("- [ ] one\n- [ ] two\n")),
        finish(plan_of("- [ ] 1\n- [ ] 2\n")),
    )
    ended = loop.call("plan", TASK)
    assert (ended.code, calls(loop)) == (0, 4)
    assert "The claim does not count: there is no plan" in ended.err
    assert "there is no plan: IMPLEMENTATION_PLAN.md has no task" in loop.prompt(2)
    assert [event.get("open", 0) for event in loop.events("PlanRead")] == [0, 1, 2, 2]
    assert "Planned after 4 iterations: 2 tasks, 2 of them without refs, 2 to do" in ended.out


def test_a_plan_that_the_breaker_ended_goes_on_with_its_own_command(loop: Loop) -> None:
    """With the options that were typed: `run` would do something else."""
    loop.make()
    loop.env["CLAUDE_ITERATE_STOP__NO_PROGRESS"] = "1"
    loop.script(proceed())
    assert "Next: claude-iterate plan my-task --max-iterations 4 --reset" in loop.call("plan", TASK, "-m", "4").err
    refused = loop.call("plan", TASK, "-m", "4")
    assert "Continue: claude-iterate plan my-task --max-iterations 4 --reset\n" in refused.err
    assert calls(loop) == 1


def test_an_open_task_outweighs_a_report(loop: Loop) -> None:
    """`complete: true` with a task under way is no claim; the run goes on to its bound and says how to go on."""
    loop.make()
    loop.layout.plan.write_text("- [x] one\n- [~] two\n")
    loop.script(finish())
    ended = loop.call("build", TASK, "-m", "2")
    assert [event["reason"] for event in loop.events("RunFinished")] == ["max_iterations"]
    assert "1 task of the plan is not done yet" in ended.err
    assert "claude-iterate build my-task --max-iterations 4" in ended.out


def test_open_tasks_that_the_agent_removes_are_no_work_done(loop: Loop) -> None:
    """The end says how many are gone, also without any proof and over a kill; with `on_tamper = refuse` a claim with
    green checks is refused."""
    loop.make(mode="build")
    whole, easy = "- [ ] one\n- [ ] two\n- [ ] three\n", plan_of("- [x] one\n")
    loop.layout.plan.write_text(whole)
    loop.script(proceed(easy, READY, GO), proceed())
    process = loop.start("run", TASK)
    loop.until((loop.workspace / "ready").exists, "the first iteration")
    process.send_signal(signal.SIGKILL)
    loop.finish(process)
    ended = loop.run()
    assert "All tasks of the plan are ticked; nothing has proven that they are done" in ended.out
    assert "IMPLEMENTATION_PLAN.md (2 open tasks removed; the plan)" in ended.out
    loop.layout.plan.write_text(whole)
    loop.checks("true")
    loop.env["CLAUDE_ITERATE_VERIFICATION__ON_TAMPER"] = "refuse"
    loop.script(proceed(easy))
    refused = loop.run("--again", "--detailed-exit-code")
    assert refused.code == 5
    assert "2 open tasks removed" in refused.err


def test_a_plan_that_is_lost_ends_the_run(loop: Loop) -> None:
    """It is not worked on without one."""
    loop.make()
    loop.layout.plan.write_text("- [ ] one\n")
    loop.script(proceed(plan_of("# Nothing\n")))
    ended = loop.call("build", TASK)
    assert ended.code == 1
    assert "There is no plan: it no longer has a task" in ended.err
    assert "claude-iterate plan my-task" in ended.err


def test_a_killed_build_goes_on_as_a_build_and_not_as_another_mode(loop: Loop) -> None:
    """`kill -9`, then `plan`: it counts from one. Then `build`: the plan says what is left."""
    loop.make()
    loop.layout.plan.write_text("- [ ] one\n- [ ] two\n")
    loop.script(proceed(plan_of("- [x] one\n- [ ] two\n")), proceed(READY, GO))
    process = loop.start("build", TASK)
    loop.until((loop.workspace / "ready").exists, "the second iteration")
    process.send_signal(signal.SIGKILL)
    loop.finish(process)
    shown = loop.call("show", TASK).out
    assert f"Continue: claude-iterate build {TASK}\n" in shown
    assert f"  claude-iterate build {TASK}  " in shown
    assert f"claude-iterate run {TASK}" not in shown
    loop.script(finish(plan_of("- [x] one\n- [x] two\n")))
    assert "Continuing run" not in loop.call("plan", TASK).err
    assert [event["mode"] for event in loop.events("RunStarted")] == ["build", "plan"]
    assert loop.call("build", TASK).code == 0


def test_ctrl_c_ends_a_build_after_its_task(loop: Loop) -> None:
    """As in every run; the next step is `build` again."""
    loop.make()
    loop.layout.plan.write_text("- [ ] one\n- [ ] two\n")
    loop.script(proceed(READY, GO, plan_of("- [x] one\n- [ ] two\n")))
    process = loop.start("build", TASK)
    loop.until((loop.workspace / "ready").exists, "the iteration")
    process.send_signal(signal.SIGINT)
    loop.until(lambda: loop.events("StopRequested"), "the record")
    loop.go()
    ended = loop.finish(process)
    assert ended.code == 130
    assert "Next: claude-iterate build my-task" in ended.err
    assert loop.events("PlanRead")[-1]["done"] == 1


def test_show_tells_how_the_plan_stands(loop: Loop) -> None:
    """Counts by state, tasks without refs, tasks by specification; as one document, too. Claude is not called."""
    loop.make()
    assert "does not exist" in loop.call("plan", TASK, "--show").err
    (loop.root / "docs").mkdir()
    (loop.root / "docs" / "parser.md").write_text("# Parser\n")
    loop.env["CLAUDE_ITERATE_PATHS__SPEC_DIR"] = "docs"
    loop.layout.plan.write_text("- [x] a (refs: docs/parser.md#one)\n- [~] b (refs: parser.md)\n* [ ] c\n")
    shown = loop.call("plan", TASK, "--show")
    tasks = "  [x] a (refs: docs/parser.md#one)\n  [~] b (refs: parser.md)\n  [ ] c\n"
    bare = "Without refs: 1\n  line 3 of IMPLEMENTATION_PLAN.md: c\n"
    assert f"3 tasks: 1 done, 1 under way, 1 open\n{tasks}{bare}" in shown.out
    told = loop.document("plan", TASK, "--show")
    assert [told[name] for name in ("tasks", "open", "doing", "done", "withoutRefs")] == [3, 1, 1, 1, 1]
    assert told["specifications"] == [{"file": "parser.md", "tasks": 2, "open": 1}]
    loop.layout.plan.write_text("- [ ]\n" * 200_000)
    assert loop.call("plan", TASK, "--show").code == 1
    assert not loop.layout.runs.exists()


@pytest.mark.setting("paths.spec_dir", "paths.src_dir")
def test_the_folders_of_the_project_reach_the_prompts(loop: Loop) -> None:
    """Those of the modes plan and build; without `paths.src_dir` nothing is said of it."""
    loop.make(mode="build")
    for values, wanted in (
        ({}, "Specifications: `specs`\n"),
        ({"SPEC": "rfcs", "SRC": "lib"}, "Specifications: `rfcs`; source code: `lib`\n"),
    ):
        environ = loop.env | {f"CLAUDE_ITERATE_PATHS__{name}_DIR": value for name, value in values.items()}
        project = Project(loop.root, environ)
        asked = RunRequest()
        settings = asked.settings_for(project, loop.layout)
        texts = TextSource(project, loop.layout, settings, asked.mode_for(loop.layout))
        assert wanted in texts.iteration(1, "", "").system
