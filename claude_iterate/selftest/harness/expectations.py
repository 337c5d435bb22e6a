"""What is checked when a fault is over. A check returns what is wrong, or an empty text."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from claude_iterate.selftest.harness.fault import Check, FaultProject
from claude_iterate.selftest.harness.scripted_project import Done, TooSlow
from claude_iterate.system import processes
from claude_iterate.workspace.running import run_lock

LONGEST_ARGUMENT = 128 * 1024
_LEFT_OUT = re.compile(r"\((\d+) more such lines; the journal leaves them out\)")


def no_process_is_left(project: FaultProject, _done: Done) -> str:
    """No process of the run is alive."""
    try:
        project.gone()
    except TooSlow:
        names = ", ".join(processes.describe(pid) for pid in project.processes())
        return f"processes are left: {names}"
    return ""


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
    return str(event.get("text", "")) if event["event"] in {"ErrorPrinted", "GarbageSeen"} else ""


def no_bug_is_shown(_project: FaultProject, done: Done) -> str:
    """Every problem is reported in words."""
    return "a bug was shown" if "Traceback" in done.err or "This is a bug" in done.err else ""


ALWAYS: tuple[Check, ...] = (no_process_is_left, lock_is_free, journals_are_whole, no_bug_is_shown)


def says(*words: str) -> Check:
    """The run prints these words."""

    def check(_project: FaultProject, done: Done) -> str:
        return _missing("not printed", words, done.out + done.err)

    return check


def logs(*words: str) -> Check:
    """The newest log contains these words."""

    def check(project: FaultProject, _done: Done) -> str:
        return _missing("not in the log", words, project.log())

    return check


def _missing(where: str, words: Sequence[str], text: str) -> str:
    missing = [word for word in words if word not in text]
    return f"{where}: {', '.join(missing)}" if missing else ""


def has(kind: str, count: int, **fields: object) -> Check:
    """The journals contain so many events of a kind with these fields."""

    def check(project: FaultProject, _done: Done) -> str:
        found = project.events(kind)
        fitting = [event for event in found if all(event.get(name) == value for name, value in fields.items())]
        return "" if len(fitting) == count else f"{len(fitting)} events {kind} {fields or ''} instead of {count}"

    return check


def numbers(*expected: int) -> Check:
    """The iterations that finished, in order, over all runs."""

    def check(project: FaultProject, _done: Done) -> str:
        found = [event["number"] for event in project.events("IterationFinished")]
        return "" if found == list(expected) else f"iterations {found} instead of {list(expected)}"

    return check


def costs(dollars: float) -> Check:
    """What the workspace cost in total, according to the end of the last run."""

    def check(project: FaultProject, _done: Done) -> str:
        found = float(project.events("RunFinished")[-1].get("cost_usd", 0.0))
        return "" if abs(found - dollars) < 1e-9 else f"it cost ${found:.4f} instead of ${dollars:.4f}"

    return check


def called(times: int) -> Check:
    """How often Claude was called."""

    def check(project: FaultProject, _done: Done) -> str:
        found = len(list(project.state.glob("call-*.json")))
        return "" if found == times else f"Claude was called {found} times instead of {times}"

    return check


def prompt_holds(call: int, text: str) -> Check:
    """The prompt of this call contains the text."""

    def check(project: FaultProject, _done: Done) -> str:
        arrived = Path(project.record(call)["stdin"]).read_text("utf-8", "replace")
        return "" if text in arrived else f"the prompt of call {call} lacks {text[:40]!r}"

    return check


def prompt_lacks(call: int, text: str) -> Check:
    """The prompt of this call does not contain the text."""

    def check(project: FaultProject, done: Done) -> str:
        return "" if prompt_holds(call, text)(project, done) else f"the prompt of call {call} holds {text[:40]!r}"

    return check


def outcome_says(number: int, text: str) -> Check:
    """The journal gives this reason for the failure of an iteration."""

    def check(project: FaultProject, _done: Done) -> str:
        said = project.events("IterationFinished")[number - 1]["outcome"].get("message", "")
        return "" if text in said else f"the outcome says {said[:80]!r} and not {text!r}"

    return check


def memory_below(size: int) -> Check:
    """The runner never needed more memory than this."""

    def check(project: FaultProject, _done: Done) -> str:
        peak = project.peak_memory
        return "" if peak < size else f"the runner needed {peak / 1e6:.0f} MB of memory"

    return check


def arguments_are_short(project: FaultProject, _done: Done) -> str:
    """No argument is longer than a system accepts."""
    longest = max(len(word.encode()) for word in project.record(1)["argv"])
    return "" if longest < LONGEST_ARGUMENT else f"an argument of {longest} bytes"


def journal_below(size: int) -> Check:
    """Output of the model does not fill the journal."""

    def check(project: FaultProject, _done: Done) -> str:
        (run,) = project.layout.run_ids()
        found = project.layout.journal(run).stat().st_size
        return "" if found < size else f"the journal has {found} bytes"

    return check


def process_is_gone(file: str) -> Check:
    """The process whose id is in this file of the workspace is not alive."""

    def check(project: FaultProject, _done: Done) -> str:
        pid = int((project.workspace / file).read_text())
        return f"process {pid} is alive" if processes.is_alive(pid) else ""

    return check


def leaves(path: str, holds: Callable[[Path], bool], wrong: str) -> Check:
    """A condition on a file of the workspace."""

    def check(project: FaultProject, _done: Done) -> str:
        return "" if holds(project.workspace / path) else wrong

    return check


def second_is_refused(project: FaultProject, _done: Done) -> str:
    """The second run failed with 1 and named the first."""
    (first,) = project.events("RunStarted")
    (other,) = project.others
    if other.code != 1:
        return f"the second run ended with {other.code}"
    named = f"pid {first['pid']}" in other.err and "started 20" in other.err
    return "" if named else "the second run did not name the first"


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
