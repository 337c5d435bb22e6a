"""What may be looked at when a scenario is over. A check says what is wrong, or nothing."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from claude_iterate.selftest.harness.fault import Check
from claude_iterate.selftest.harness.fault_project import Done, Scene, TooSlow
from claude_iterate.system import processes
from claude_iterate.workspace.running import run_lock

LONGEST_ARGUMENT = 128 * 1024
_LEFT_OUT = re.compile(r"\((\d+) more such lines; the journal leaves them out\)")


def nothing_is_left(scene: Scene, _done: Done) -> str:
    """No process of the run lives."""
    try:
        scene.until(lambda: not scene.processes(), "the end of all processes", 10.0)
    except TooSlow:
        names = ", ".join(processes.describe(pid) for pid in scene.processes())
        return f"processes are left: {names}"
    return ""


def lock_is_free(scene: Scene, _done: Done) -> str:
    """The next run may begin."""
    who = run_lock.holder(scene.layout.lock)
    return f"the workspace is still locked by {who}" if who is not None else ""


def journals_are_whole(scene: Scene, _done: Done) -> str:
    """Each journal counts 1, 2, 3 without double, and without a gap but for the lines that it says it leaves out."""
    try:
        journals = scene.journals()
    except ValueError as error:
        return f"a journal has a bad line: {error}"
    for number, journal in enumerate(journals, 1):
        places = {entry["seq"] for entry in journal}
        if len(places) != len(journal):
            return f"journal {number} has doubles"
        # The line that tells of others stands in the place of the last of them.
        left_out = sum(int(found[1]) - 1 for entry in journal if (found := _LEFT_OUT.match(_text(entry["event"]))))
        if places and max(places) != len(places) + left_out:
            return f"journal {number} has gaps"
    return ""


def _text(event: dict[str, Any]) -> str:
    return str(event.get("text", "")) if event["event"] in {"ErrorPrinted", "GarbageSeen"} else ""


def no_bug_is_shown(_scene: Scene, done: Done) -> str:
    """Whatever happens, it is told in words."""
    return "a bug was shown" if "Traceback" in done.err or "This is a bug" in done.err else ""


ALWAYS: tuple[Check, ...] = (nothing_is_left, lock_is_free, journals_are_whole, no_bug_is_shown)


def says(*words: str) -> Check:
    """These words are shown."""

    def check(_scene: Scene, done: Done) -> str:
        missing = [word for word in words if word not in done.out + done.err]
        return f"not said: {', '.join(missing)}" if missing else ""

    return check


def logs(*words: str) -> Check:
    """These words are in the newest log."""

    def check(scene: Scene, _done: Done) -> str:
        text = scene.layout.logs()[-1].read_text("utf-8", "replace") if scene.layout.logs() else ""
        missing = [word for word in words if word not in text]
        return f"not in the log: {', '.join(missing)}" if missing else ""

    return check


def has(kind: str, count: int, **fields: object) -> Check:
    """The journals hold so many events of a kind with these fields."""

    def check(scene: Scene, _done: Done) -> str:
        found = scene.events(kind)
        fitting = [event for event in found if all(event.get(name) == value for name, value in fields.items())]
        return "" if len(fitting) == count else f"{len(fitting)} events {kind} {fields or ''} instead of {count}"

    return check


def numbers(*expected: int) -> Check:
    """The iterations that were finished, in order, over all runs."""

    def check(scene: Scene, _done: Done) -> str:
        found = [event["number"] for event in scene.events("IterationFinished")]
        return "" if found == list(expected) else f"iterations {found} instead of {list(expected)}"

    return check


def costs(dollars: float) -> Check:
    """What the workspace cost, by the last word of the journal."""

    def check(scene: Scene, _done: Done) -> str:
        found = float(scene.events("RunFinished")[-1].get("cost_usd", 0.0))
        return "" if abs(found - dollars) < 1e-9 else f"it cost ${found:.4f} instead of ${dollars:.4f}"

    return check


def called(times: int) -> Check:
    """Claude was called so often."""

    def check(scene: Scene, _done: Done) -> str:
        found = len(list(scene.state.glob("call-*.json")))
        return "" if found == times else f"Claude was called {found} times instead of {times}"

    return check


def prompt_holds(call: int, text: str) -> Check:
    """What Claude read in this call."""

    def check(scene: Scene, _done: Done) -> str:
        arrived = (scene.state / f"call-{call:04d}.stdin").read_text("utf-8", "replace")
        return "" if text in arrived else f"the prompt of call {call} lacks {text[:40]!r}"

    return check


def prompt_lacks(call: int, text: str) -> Check:
    """What Claude did not read in this call."""

    def check(scene: Scene, done: Done) -> str:
        return "" if prompt_holds(call, text)(scene, done) else f"the prompt of call {call} holds {text[:40]!r}"

    return check


def outcome_says(number: int, text: str) -> Check:
    """Why an iteration failed, by the journal."""

    def check(scene: Scene, _done: Done) -> str:
        said = scene.events("IterationFinished")[number - 1]["outcome"].get("message", "")
        return "" if text in said else f"the outcome says {said[:80]!r} and not {text!r}"

    return check


def memory_below(size: int) -> Check:
    """What the runner needed at most, where the system tells."""

    def check(scene: Scene, _done: Done) -> str:
        peak = scene.peak or 0
        return "" if peak < size else f"the runner needed {peak / 1e6:.0f} MB of memory"

    return check


def arguments_are_short(scene: Scene, _done: Done) -> str:
    """No argument is longer than a system takes."""
    argv = json.loads((scene.state / "call-0001.json").read_text())["argv"]
    longest = max(len(word.encode()) for word in argv)
    return "" if longest < LONGEST_ARGUMENT else f"an argument of {longest} bytes"


def journal_below(size: int) -> Check:
    """What the model shouts does not fill the journal."""

    def check(scene: Scene, _done: Done) -> str:
        (path,) = scene.layout.runs.glob("*/events.ndjson")
        return "" if path.stat().st_size < size else f"the journal has {path.stat().st_size} bytes"

    return check


def process_is_gone(file: str) -> Check:
    """The process whose id is in this file of the workspace does not live."""

    def check(scene: Scene, _done: Done) -> str:
        pid = int((scene.workspace / file).read_text())
        return f"process {pid} lives" if processes.is_alive(pid) else ""

    return check


def leaves(path: str, holds: Callable[[Path], bool], wrong: str) -> Check:
    """Something about a file of the workspace."""

    def check(scene: Scene, _done: Done) -> str:
        return "" if holds(scene.workspace / path) else wrong

    return check


def second_is_refused(scene: Scene, _done: Done) -> str:
    """The run that came while another was going on failed with 1, and was told whom to look for."""
    (first,) = scene.events("RunStarted")
    (other,) = scene.others
    if other.code != 1:
        return f"the second run ended with {other.code}"
    return "" if f"pid {first['pid']}" in other.err and "started 20" in other.err else "it was not told who is running"


def waited_to_the_end(scene: Scene, _done: Done) -> str:
    """The call after a limit did not begin before the announced moment."""
    entries = [entry for journal in scene.journals() for entry in journal]
    until = [entry["event"]["until"] for entry in entries if entry["event"]["event"] == "WaitStarted"]
    began = [entry["at"] for entry in entries if entry["event"]["event"] == "AgentStarted"]
    return "" if until and began[-1] >= max(until) - 0.01 else "Claude was called before the limit was over"


def waits_between(shortest: float, longest: float) -> Check:
    """How long the one wait was to last, in seconds."""

    def check(scene: Scene, _done: Done) -> str:
        entries = [entry for journal in scene.journals() for entry in journal]
        (planned,) = (
            entry["event"]["until"] - entry["at"] for entry in entries if entry["event"]["event"] == "WaitStarted"
        )
        return "" if shortest <= planned <= longest else f"it meant to wait {planned:.0f} s"

    return check


def nothing_begins_while_paused(scene: Scene, _done: Done) -> str:
    """Between `pause` and `resume` no iteration begins."""
    (journal,) = scene.journals()
    order = [entry["event"].get("verb") or entry["event"]["event"] for entry in journal]
    between = order[order.index("pause") : order.index("resume")]
    return "an iteration began in the pause" if "IterationStarted" in between else ""
