"""The proof of a claim as lines: checks and review, and what the end of a run says of the claim; hooks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from claude_iterate.core import events
from claude_iterate.core.events import RunFinished
from claude_iterate.core.events.enums import Meaning
from claude_iterate.core.formats import duration, indent, join_names, one_line, plural, shorten
from claude_iterate.core.outcomes.classes import RETRIED
from claude_iterate.core.rules.endings import changed_proof, first_finding
from claude_iterate.core.rules.hooks import describe_end
from claude_iterate.core.rules.proof import flaky_check
from claude_iterate.core.state.run_state import RunState
from claude_iterate.core.tampering import descriptions

SHOWN = 15
"""Lines of what a check printed; the log has all that is kept."""
_LONGEST = 300
"""Characters of a line of it, and of a cause."""
UNHELD = "  ❌ The review could not be held"
CUTS = {"timeout": "did not end in time", "stopped": "was stopped", "duration": "the run's time was over"}


def verification_started(event: events.VerificationStarted) -> list[str]:
    """What is about to be checked."""
    if event.changed:
        return [f"  ⚠ The checks changed the project ({join_names(event.changed)}): they run once more..."]
    parts = [plural(event.checks, "check")] if event.checks else []
    parts += [f"{plural(event.green, 'check')} green before the wait"] if event.green else []
    parts += [f"a {event.review} review by Claude"] if event.review else []
    return [f"Verifying the work: {' and '.join(parts) or 'nothing to check'}..."]


def check_finished(event: events.CheckFinished, flaky: bool = False, whole: bool = False) -> list[str]:
    """A check and, when it is red, the end of what it printed; `whole`: all of it."""
    name = one_line(event.command)
    before = "red" if event.code == 0 else "green"
    told = [f"    ⚠ Flaky: it was {before} before, and no file changed since."] if flaky else []
    if event.code == 0:
        return [f"  ✓ {name} ({duration(event.duration)})", *told]
    printed = tail(event.output, None if whole else SHOWN)
    return [f"  ❌ {name}: {check_result(event)}", *indent(printed, "    "), *told]


def check_result(check: Any) -> str:
    """`exit code 1, tests/test_a.py is gone (2.3s)`."""
    how = f"exit code {check.code}" if check.code is not None else CUTS.get(check.cut, "could not be run")
    gone = f", {join_names(check.gone)} is gone" if check.gone and check.code != 0 else ""
    return f"{how}{gone} ({duration(check.duration)})"


def tail(output: str, most: int | None) -> list[str]:
    """The last lines of what a check printed, after a line that says where the rest is. `most` None: all of it, whole;
    else the end of each line."""
    lines = output.strip("\n").rstrip().split("\n") if output.strip() else []
    if most is not None:
        lines = [line if len(line) <= _LONGEST else f"...{line[-_LONGEST:]}" for line in lines]
    missing = len(lines) - most if most is not None else 0
    return [f"({plural(missing, 'earlier line')} in the log)", *lines[missing:]] if missing > 0 else lines


def review_finished(event: events.ReviewFinished, dry_run: bool = False) -> list[str]:
    """The verdict and the findings."""
    if dry_run:
        return [f"  Review: {event.verdict} (dry run: the stand-in did not look at the work)"]
    if event.outcome is not None:  # it could not be held
        again = event.outcome.kind in RETRIED
        return ["  ↻ The review will be repeated" if again else f"{UNHELD}: {one_line(event.summary)}"]
    sign = "✓" if event.verdict == "verified" else "❌"
    lines = [f"  {sign} Review: {review_result(event)}"]
    lines += [f"    {number}. {one_line(item)}" for number, item in enumerate(event.findings, 1)]
    return [*lines, f"    Report: {event.report}"] if event.report and event.verdict != "invalid" else lines


def review_result(review: Any) -> str:
    """`verified, 3 of 3 requirements met - It all works.`; not every review lists requirements."""
    verdict = {"invalid": "no verdict", "unheld": "not held"}.get(review.verdict, review.verdict)
    met, asked = sum(one.status == "met" for one in review.requirements), len(review.requirements)
    listed = f", {met} of {plural(asked, 'requirement')} met" if asked else ""
    return f"{verdict}{listed}{f' - {one_line(review.summary)}' if review.summary else ''}"


def verification_finished(event: events.VerificationFinished, dry_run: bool = False) -> list[str]:
    """What it came to."""
    if dry_run:
        return ["Verification finished (dry run: it proves nothing)."]
    if event.passed and event.changes:
        return [f"⚠ {changed_proof(event.known_by, [change.path for change in event.changes])}."]
    why = shorten(one_line(first_finding(event.findings)), _LONGEST)
    return ["✓ Verification passed." if event.passed else f"❌ Verification failed{': ' + why if why else ''}."]


def hook_finished(event: events.HookFinished, whole: bool = False) -> list[str]:
    """A hook and how it ended. One that ended well is in the log alone, with what it printed."""
    took, name = duration(event.duration), one_line(event.path)
    printed = indent(tail(event.output, None if whole else SHOWN), "    ")
    if event.means == Meaning.GO_ON:
        return [f"  ✓ Hook {event.point}: {name} ({took})", *printed] if whole else []
    if event.means == Meaning.SKIP:
        return [f"  Hook {event.point}: {name} skips iteration {event.number} ({took})", *printed]
    return [f"  ❌ Hook {event.point}: {name} {describe_end(event)} ({took})", *printed]


def claim_remarks(finished: RunFinished, state: RunState) -> list[str]:
    """What has to be known of the claim and its proof beside the reason. Findings name flaky checks themselves."""
    proof = state.proof if state.proof is not None and state.proof.passed else None
    found = [one_line(finished.about_claim)] if finished.about_claim else []
    found += [one_line(flaky_check(command)) for command in (proof.flaky if proof else ())]
    told = one_line(describe_changes(finished.changes)) if finished.changes else ""
    # A claim that was refused for it has it as its cause.
    return [*found, told] if told and told.partition(": ")[2] not in finished.cause else found


def describe_changes(changes: Sequence[Any]) -> str:
    """What changed of that which defines the proof, and in which run; empty: nothing."""
    return descriptions.describe_changes(changes) if changes else ""
