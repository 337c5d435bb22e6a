"""What is checked when a fault is over: what holds after each fault, and what one of them expects.

A check returns what is wrong, or an empty text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from claude_iterate.selftest.harness.fault import Check, Fault, FaultProject
from claude_iterate.selftest.harness.scripted_project import Done, TooSlow
from claude_iterate.system import processes
from claude_iterate.workspace.run_folder import run_lock

LARGEST_JOURNAL = 1_000_000
_AGAIN = {"usage_limit", "transient", "away", "rebooted"}
_LEFT_OUT = re.compile(r"\((\d+) more such lines; the journal leaves them out\)")


def find_problems(fault: Fault, project: FaultProject, done: Done) -> list[str]:
    """What is wrong, now that the run has ended in this way."""

    def as_declared(project: FaultProject, done: Done) -> str:
        return "; ".join(_compare(fault, project, done))

    problems = []
    for check in (*ALWAYS, as_declared, *fault.checks):
        try:
            problem = check(project, done)
        except (OSError, ValueError, LookupError, TypeError) as missing:
            problem = f"{check.__qualname__.rpartition('.')[2]} found nothing to inspect: {missing!r}"
        if problem:
            problems.append(problem)
    return problems


def _compare(fault: Fault, project: FaultProject, done: Done) -> Iterator[str]:
    """What the fault gives as data, with what there is."""
    finished = project.events("IterationFinished")
    yield from _differs("iterations", [event["number"] for event in finished], _numbers(fault))
    called = len(fault.expected.outcomes) if fault.called is None else fault.called
    yield from _differs("calls of Claude", len(_calls(project)), called)
    if fault.costs is not None:
        cost = project.events("RunFinished")[-1].get("cost_usd", 0.0)
        yield from _differs("cost", f"{cost:.9f}", f"{fault.costs:.9f}")
    for described, count in fault.events.items():
        yield from _differs(described, sum(1 for _ in _find_events(project, described)), count)
    yield from _misses("not printed", fault.says, done.out + done.err)
    yield from _misses("not in the log", fault.logs, project.log() if fault.logs else "")
    for call, text in fault.prompts.items():
        yield from _misses(f"not in the prompt of call {call}", (text,), project.prompt(call))
    for number, text in fault.reasons.items():
        message = finished[number - 1]["outcome"].get("message", "")
        yield from _misses(f"not in outcome {number}", (text,), message)


def _numbers(fault: Fault) -> list[int]:
    """The iterations that finish, over all runs: one that found no service is done again under its number."""
    outcomes = fault.expected.outcomes
    return [1 + sum(kind not in _AGAIN for kind in outcomes[:place]) for place in range(len(outcomes))]


def _differs(what: str, found: object, expected: object) -> Iterator[str]:
    if found != expected:
        yield f"{what}: {found} instead of {expected}"


def _misses(where: str, words: tuple[str, ...], text: str) -> Iterator[str]:
    missing = [word[:80] for word in words if word not in text]
    if missing:
        yield f"{where}: {', '.join(missing)}"


def _find_events(project: FaultProject, described: str) -> Iterator[dict[str, Any]]:
    """`CutStarted cause=idle`: events of a kind with such fields."""
    kind, *fields = described.split()
    wanted = dict(field.split("=", 1) for field in fields)
    for event in project.events(kind):
        if all(str(event.get(name)) == value for name, value in wanted.items()):
            yield event


def _calls(project: FaultProject) -> list[Path]:
    return list(project.state.glob("call-*.json"))


def no_process_is_left(project: FaultProject, _done: Done) -> str:
    """No process of the run is alive, nor the one whose id a script has left in the file `left` of the workspace."""
    try:
        project.gone()
    except TooSlow:
        names = ", ".join(processes.describe(pid) for pid in project.processes())
        return f"processes are left: {names}"
    left = project.workspace / "left"
    alive = left.exists() and processes.is_alive(int(left.read_text()))
    return "the process in left is alive" if alive else ""


def lock_is_free(project: FaultProject, _done: Done) -> str:
    """The next run can start."""
    holder = run_lock.holder(project.layout.lock)
    return f"the workspace is still locked by {holder}" if holder is not None else ""


def journals_are_whole(project: FaultProject, _done: Done) -> str:
    """Each journal counts 1, 2, 3 without duplicates, and without gaps except for lines that it says it leaves out."""
    try:
        journals = project.journals()
    except ValueError as error:
        return f"a journal has a bad line: {error}"
    for number, journal in enumerate(journals, 1):
        places = {entry["seq"] for entry in journal}
        if len(places) != len(journal):
            return f"journal {number} has duplicates"
        # The line that stands for others has the place of the last of them.
        left_out = sum(int(found[1]) - 1 for entry in journal if (found := _LEFT_OUT.match(_text(entry["event"]))))
        if places and max(places) != len(places) + left_out:
            return f"journal {number} has gaps"
    return ""


def _text(event: dict[str, Any]) -> str:
    return str(event.get("text", "")) if event["event"] in {"ErrorPrinted", "UnparsedLine"} else ""


def journals_are_small(project: FaultProject, _done: Done) -> str:
    """Output of the model does not fill the disk twice."""
    journals = [project.layout.journal(run) for run in project.layout.run_ids()]
    size = sum(path.stat().st_size for path in journals if path.exists())
    return "" if size < LARGEST_JOURNAL else f"journal: {size} bytes"


def no_bug_is_shown(_project: FaultProject, done: Done) -> str:
    """Every problem is reported in words."""
    return "a bug was shown" if "Traceback" in done.err or "This is a bug" in done.err else ""


ALWAYS: tuple[Check, ...] = (
    no_process_is_left,
    lock_is_free,
    journals_are_whole,
    journals_are_small,
    no_bug_is_shown,
)


def no_run_is_left(project: FaultProject, _done: Done) -> str:
    """The workspace has no folder of runs."""
    return "the run left files" if project.layout.runs.exists() else ""


def second_is_refused(project: FaultProject, _done: Done) -> str:
    """The second run failed with 1 and named the first."""
    (first,) = project.events("RunStarted")
    (other,) = project.others
    if other.code != 1:
        return f"the second run ended with {other.code}"
    named = f"pid {first['pid']}" in other.err and "started 20" in other.err
    return "" if named else "the second run did not name the first"


def record_is_there(project: FaultProject, _done: Done) -> str:
    """The log is whole, and what Claude printed in the last iteration was kept."""
    log = project.log()
    if "RUN METADATA" not in log or "RUN FINISHED" not in log:
        return "the log is not whole"
    last = project.events("IterationFinished")[-1]["number"]
    raw = Path(project.layout.raw(project.layout.run_ids()[-1], f"{last:04d}"))
    return "" if raw.is_file() else "the raw output is missing"


def waited_to_the_end(project: FaultProject, _done: Done) -> str:
    """The call after a limit did not begin before the announced moment."""
    entries = project.journal()
    until = [entry["event"]["until"] for entry in entries if entry["event"]["event"] == "WaitStarted"]
    began = [entry["at"] for entry in entries if entry["event"]["event"] == "AgentStarted"]
    return "" if until and began[-1] >= max(until) - 0.01 else "Claude was called before the limit was over"


def waits_between(shortest: float, longest: float) -> Check:
    """The planned length of the only wait, in seconds."""

    def check(project: FaultProject, _done: Done) -> str:
        (entry,) = (entry for entry in project.journal() if entry["event"]["event"] == "WaitStarted")
        planned = entry["event"]["until"] - entry["at"]
        return "" if shortest <= planned <= longest else f"the planned wait was {planned:.0f} s"

    return check


def nothing_begins_while_paused(project: FaultProject, _done: Done) -> str:
    """No iteration begins between `pause` and `resume`."""
    order = [entry["event"].get("verb") or entry["event"]["event"] for entry in project.journal()]
    between = order[order.index("pause") : order.index("resume")]
    return "an iteration began in the pause" if "IterationStarted" in between else ""
