"""Faults of the files that Claude and the user write in a workspace: the status report, instructions, metadata."""

from __future__ import annotations

import json
from collections.abc import Callable

from claude_iterate.selftest.harness.fault import Expected, Fault, FaultProject
from claude_iterate.selftest.harness.script_steps import COMPLETE, UNFINISHED, Step, finish, proceed, report_nothing

TWICE = Expected(outcomes=("ok", "ok"))
_CLAIM = json.dumps({"complete": True, "summary": "of last week"})


def _write(text: str, path: str = ".status.json", in_place: bool = True) -> Step:
    return {"write": {"path": path, "text": text, "in_place": in_place}}


def _add_claim(project: FaultProject) -> None:
    project.layout.status.write_text(_CLAIM)


def _link_to_claim(project: FaultProject) -> None:
    (project.root / "elsewhere.json").write_text(_CLAIM)
    project.layout.status.symlink_to(project.root / "elsewhere.json")


def _no_report(
    what: str, danger: str, *between: Step, prepare: Callable[[FaultProject], None] = lambda _project: None
) -> Fault:
    """Good calls in which Claude reports nothing and changes nothing: the second one ends the run."""
    idle, after_two = Expected("no_progress", 1, ("ok", "ok")), {"stop.no_progress": 2}
    says = ("Iteration 1: Claude wrote no report", "No progress in 2 iterations in a row")
    return Fault(what, danger, (report_nothing(*between),), idle, settings=after_two, prepare=prepare, says=says)


FAULTS = {
    "idle-agent": Fault(
        "an agent that neither works nor reports",
        "The run would pay for empty iterations all night.",
        (report_nothing(),),
        Expected("no_progress", 1, ("ok", "ok", "ok")),
        settings={"stop.no_progress": 3},
        says=("Iteration 1: Claude wrote no report", "No progress in 3 iterations in a row", "run my-task --reset"),
    ),
    "status-torn": Fault(
        "an incomplete status file, then a complete one",
        "A report that is read while Claude writes it would end the run or be lost.",
        (report_nothing(_write('{"complete": tr')), finish()),
        TWICE,
    ),
    "status-completed-later": Fault(
        "an incomplete status file that is completed a moment later",
        "A claim would be lost because the run read it too early.",
        (
            report_nothing(
                _write('{"complete": tr'), {"sleep": 0.3}, {"append": {"path": ".status.json", "text": "ue}"}}
            ),
        ),
    ),
    "status-missing": _no_report("no status file", "The run would crash, or treat a missing report as success."),
    "status-huge": Fault(
        "a status file of 2 MB",
        "A mistake of the model would fill the memory or end the run.",
        (report_nothing(_write('{"complete": true, "notes": "' + "x" * 2_000_000 + '"}')), finish()),
        TWICE,
    ),
    "status-wrong-types": Fault(
        "wrong types in every optional field",
        "A finished task would never end because of a mistake in its report.",
        (
            report_nothing(
                {"status": {"complete": True, "progress": "9 of 9", "worked": "yes", "summary": 5, "blockers": {}}}
            ),
        ),
    ),
    "status-untrue-types": Fault(
        "`complete` as a text",
        'The text "false" would end the task.',
        (report_nothing({"status": {"complete": "true"}}), finish()),
        TWICE,
    ),
    "status-folder": _no_report(
        "a folder in place of the status file",
        "A mistake of the model would crash the runner.",
        _write("x", ".status.json/x"),
    ),
    "status-link": _no_report(
        "a link to an old claim in another folder", "A stale claim would end the task.", prepare=_link_to_claim
    ),
    "status-stale": _no_report(
        "a claim of completion from last week", "A new run would end at once.", prepare=_add_claim
    ),
    "status-replaced": Fault(
        "a report that is replaced, removed and written again",
        "The final report of an iteration would be lost.",
        (finish(UNFINISHED, {"remove": ".status.json"}, UNFINISHED, _write(_CLAIM)),),
    ),
    "status-removed": Fault(
        "a claim that Claude withdraws by removing the file",
        "A withdrawn claim would end the task.",
        (report_nothing(COMPLETE, {"sleep": 0.2}, {"remove": ".status.json"}), finish()),
        TWICE,
    ),
    "instructions-edited": Fault(
        "the user edits the instructions during the run",
        "The change would not reach Claude.",
        (proceed(_write("- a new and better task\n", "INSTRUCTIONS.md", in_place=False)), finish()),
        TWICE,
        says=("Instructions changed; iteration 2 uses the new text",),
        logs=("INSTRUCTIONS (changed)",),
        prompts={2: "a new and better task"},
    ),
    "instructions-gone": Fault(
        "Claude deletes the instructions",
        "The night would end, or Claude would work without a task.",
        (proceed({"remove": "INSTRUCTIONS.md"}), finish()),
        TWICE,
        says=("Restored INSTRUCTIONS.md, which was deleted during iteration 1",),
    ),
    "workspace-gone": Fault(
        "Claude deletes the whole workspace",
        "The task would be lost, and with it the record of the run.",
        (report_nothing({"shell": 'rm -rf "$WORKSPACE"'}), finish()),
        TWICE,
        says=("Restored the workspace, which was deleted during iteration 1",),
        events={"IterationFinished": 2},
    ),
    "metadata-torn": Fault(
        "Claude damages .metadata.json",
        "A good run would be reported as failed.",
        (finish(_write("{", ".metadata.json")),),
        says=("cannot be written",),
    ),
}
