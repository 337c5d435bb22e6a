"""What is checked when a fault is over. A check returns what is wrong, or an empty text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from claude_iterate.selftest.harness.fault import Check, FaultProject
from claude_iterate.selftest.harness.scripted_project import Done, TooSlow
from claude_iterate.system import processes
from claude_iterate.workspace.run_folder import run_lock

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
    return lambda _project, done: _missing("not printed", words, done.out + done.err)


def logs(*words: str) -> Check:
    """The newest log contains these words."""
    return lambda project, _done: _missing("not in the log", words, project.log())


def prompt_holds(call: int, *words: str) -> Check:
    """The prompt of this call contains these words."""
    return lambda project, _done: _missing(f"not in the prompt of call {call}", words, _prompt(project, call))


def outcome_says(number: int, *words: str) -> Check:
    """The journal gives this reason for the failure of an iteration."""
    return lambda project, _done: _missing(
        f"not in outcome {number}",
        words,
        project.events("IterationFinished")[number - 1]["outcome"].get("message", ""),
    )


def _missing(where: str, words: Sequence[str], text: str) -> str:
    missing = [word[:80] for word in words if word not in text]
    return f"{where}: {', '.join(missing)}" if missing else ""


def prompt_lacks(call: int, text: str) -> Check:
    """The prompt of this call does not contain the text."""
    return lambda project, _done: f"in the prompt of call {call}: {text}" if text in _prompt(project, call) else ""


def _prompt(project: FaultProject, call: int) -> str:
    return Path(project.record(call)["stdin"]).read_text("utf-8", "replace")


def numbers(*expected: int) -> Check:
    """The iterations that finished, in order, over all runs."""
    return lambda project, _done: _differs(
        "iterations", [event["number"] for event in project.events("IterationFinished")], list(expected)
    )


def called(times: int) -> Check:
    """How often Claude was called."""
    return lambda project, _done: _differs("calls of Claude", len(list(project.state.glob("call-*.json"))), times)


def costs(dollars: float) -> Check:
    """What the workspace cost in total, according to the end of the last run."""
    return lambda project, _done: _differs(
        "cost", f"{project.events('RunFinished')[-1].get('cost_usd', 0.0):.9f}", f"{dollars:.9f}"
    )


def has(kind: str, count: int, **fields: object) -> Check:
    """The journals contain so many events of a kind with these fields."""
    return lambda project, _done: _differs(
        f"{kind} {fields or ''}",
        sum(all(event.get(name) == value for name, value in fields.items()) for event in project.events(kind)),
        count,
    )


def _differs(what: str, found: object, expected: object) -> str:
    return "" if found == expected else f"{what}: {found} instead of {expected}"


def memory_below(size: int) -> Check:
    """The runner never needed more memory than this."""
    return lambda project, _done: _too_large("memory of the runner", project.peak_memory, size)


def journal_below(size: int) -> Check:
    """Output of the model does not fill the journal."""
    return lambda project, _done: _too_large(
        "journal", sum(project.layout.journal(run).stat().st_size for run in project.layout.run_ids()), size
    )


def arguments_are_short(project: FaultProject, _done: Done) -> str:
    """No argument is longer than a system accepts."""
    return _too_large("argument", max(len(word.encode()) for word in project.record(1)["argv"]), LONGEST_ARGUMENT)


def _too_large(what: str, size: int, most: int) -> str:
    return "" if size < most else f"{what}: {size} bytes, more than {most}"


def process_is_gone(project: FaultProject, _done: Done) -> str:
    """The process whose id is in the file `left` of the workspace is not alive."""
    alive = processes.is_alive(int((project.workspace / "left").read_text()))
    return "the process in left is alive" if alive else ""


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


def log_is_there(project: FaultProject, done: Done) -> str:
    """The log that the run names exists and is whole."""
    log = project.log()
    named = project.layout.logs()[-1].name in done.out
    return "" if named and "RUN METADATA" in log and "RUN FINISHED" in log else "the log is not whole"


def raw_is_there(number: int) -> Check:
    """What Claude printed in this iteration was kept."""
    return lambda project, _done: (
        ""
        if Path(project.layout.raw(project.layout.run_ids()[-1], f"{number:04d}")).is_file()
        else "the raw output is missing"
    )


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
