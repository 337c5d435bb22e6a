"""The end of a run in words: its cause in one sentence, what to do about it, and the next step as a command.

They are recorded in `RunFinished`. Every reader prints them, and none makes its own.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from claude_iterate.core.events import PlanRead, ProofChange, RunFinished
from claude_iterate.core.events.enums import ENDINGS, ONE_OFF, Purpose, Reason
from claude_iterate.core.formats import one_line, plural, shorten
from claude_iterate.core.outcomes.classes import COUNTED_FAILURES
from claude_iterate.core.rules import completion, next_steps, proof
from claude_iterate.core.rules.facts import Facts
from claude_iterate.core.rules.next_steps import CommandLine
from claude_iterate.core.rules.verdicts import Finish
from claude_iterate.core.settings.modes import MODES
from claude_iterate.core.state.run_state import RunState
from claude_iterate.core.tones import CHANGED, UNPROVEN, Tone, tone

_LONGEST = 300
"""Characters of a cause."""
SIGNS: dict[Tone, str] = {"good": "✓", "warning": "⚠️"}
"""What a cause begins with where it is shown, by its tone; all others are errors."""
STOPPED_BY = {
    "SIGINT": "Ctrl-C",
    "SIGHUP": "the terminal was closed (SIGHUP)",
    "key": "the key s",
    "command": "the command `stop`",
    "answer": "your answer",
}
"""Who or what asked for the stop."""
_USUAL = CommandLine()


def told(verdict: Finish, state: RunState, facts: Facts, changes: tuple[ProofChange, ...] = ()) -> RunFinished:
    """The last event of a run that ends with this verdict now. `changes` are those of what defines the proof."""
    ending = RunFinished(
        verdict.reason,
        verdict.detail,
        "\n".join(filter(None, (_notes(facts), _changes(changes, verdict, state, facts), _advice(verdict, facts)))),
        *(state.iterations, state.cost_usd, facts.now + state.elapsed_before),
        known_by=completion.known_by(state, facts, verdict.reason, changes),
        about_claim=completion.about_the_claim(state, facts, verdict.reason, changes),
        cause=verdict.cause,
        next=_setup(state, facts) if _lost(facts) else verdict.next,
        cost_is_lower_bound=state.cost_is_lower_bound,
        changes=changes,
        tripped=verdict.tripped,
        replaced=facts.replaced if state.defined is None else (),
    )
    return in_words(ending, state, facts.command_line)


def in_words(ending: RunFinished, state: RunState, line: CommandLine = _USUAL) -> RunFinished:
    """With a cause and a next step. Only runs of older versions end without them."""
    cause = ending.cause or _cause(ending, state)
    step = ending.next or _next(ending, state, line)
    return replace(ending, cause=shorten(one_line(cause), _LONGEST), next=step)


def sign(ending: RunFinished) -> str:
    """What its cause begins with."""
    return SIGNS.get(tone(ending.reason, ending.known_by), "❌")


def _cause(ending: RunFinished, state: RunState) -> str:
    make = _CAUSES.get(ending.reason)
    if make is not None:
        return make(ending, state)
    what = _WHAT.get(ending.reason, ENDINGS[ending.reason].meaning.rstrip("."))
    detail = one_line(ending.detail)
    return f"{what}: {detail}" if detail else what


def _completed(ending: RunFinished, state: RunState) -> str:
    after = plural(ending.iterations, "iteration")
    purpose, dry_run = (state.started.purpose, state.started.dry_run) if state.started else (Purpose.RUN, False)
    if purpose == Purpose.RUN and made_plan(state):
        return _planned(after, state, dry_run)
    if state.started is not None and state.started.cassette:
        return f"Dry run of run {state.started.cassette} finished after {after}: it proves nothing"
    if dry_run:  # nobody should take it for the real thing
        return {
            Purpose.RUN: f"Dry run finished after {after}: checks were not run, no work was done",
            Purpose.VERIFY: "Dry run finished. It proves nothing: the stand-in did not look at the work.",
        }.get(purpose, f"{purpose.capitalize()} finished (dry run).")
    if purpose == Purpose.RUN:
        return _completed_line(ending, state, after)
    if ending.known_by == CHANGED:
        return f"{_changed_proof(ending, state)}."
    # The command says which verdict the grades come to, if there is one.
    words = {Purpose.VERIFY: "Verified: the task is done.", Purpose.VALIDATE: "Claude has answered."}
    return words.get(purpose, f"{purpose.capitalize()} finished.")


def _completed_line(ending: RunFinished, state: RunState, after: str) -> str:
    """What is proven comes first; so does what is not."""
    if ending.known_by == CHANGED:
        return f"{_changed_proof(ending, state)} (after {after})"
    known = completion.KNOWN_BY.get(ending.known_by, ending.known_by)
    if ending.known_by in UNPROVEN:
        return f"{known} (after {after})"
    return f"Task completed successfully after {after}{': ' + known if known else ''}"


def _changed_proof(ending: RunFinished, state: RunState) -> str:
    rests_on = state.proof.known_by if state.proof is not None else ""
    return completion.changed_proof(rests_on, [change.path for change in ending.changes])


def made_plan(state: RunState) -> bool:
    """The result of the run is a plan, and none of its work."""
    mode = MODES.get(state.started.mode) if state.started is not None else None
    return mode is not None and mode.makes_plan


def _planned(after: str, state: RunState, dry_run: bool) -> str:
    plan = state.plans.now or PlanRead()
    bare = f", {plan.without_refs} of them without refs" if plan.without_refs else ""
    dry = " (dry run: the plan is a sample)" if dry_run else ""
    return f"Planned after {after}: {plural(plan.tasks, 'task')}{bare}, {plan.left} to do{dry}"


def _maximum(ending: RunFinished, state: RunState) -> str:
    last = state.last_outcome
    failed = last is not None and last.kind in COUNTED_FAILURES
    return _used_up(ending, state) + (f"; the last one failed: {one_line(last.message)}" if last and failed else "")


def _used_up(ending: RunFinished, state: RunState) -> str:
    if state.started is not None and state.started.cassette and ending.iterations:
        return f"Played {plural(ending.iterations, 'iteration')} of run {state.started.cassette} (dry run)"
    most = state.started.max_iterations if state.started is not None else 0
    killed = state.started.resumed.iterations if state.started is not None and state.started.resumed else 0
    counted_in = f": the killed run that it went on with had done {killed}" if killed else ""
    return f"Reached maximum iterations ({most or ending.iterations}){counted_in}"


def _stagnated(ending: RunFinished, _state: RunState) -> str:
    idle = ending.detail
    if idle.isdecimal():
        idle = f"{plural(int(idle), 'consecutive iteration')} with no work"
    return f"Stagnation detected: {idle}"


def _refuted(ending: RunFinished, state: RunState) -> str:
    if state.started is not None and state.started.made_up:
        return "Dry run finished with the verdict `not done`. It proves nothing: the stand-in did not look at the work."
    what = "Not proven" if ending.detail.startswith(proof.NO_VERDICT) else "Not done"
    why = completion.why_refuted(state.proof) if state.proof is not None else completion.first_finding(ending.detail)
    return f"{what}: {why or 'the proof failed'}"


def _stopped(ending: RunFinished, _state: RunState) -> str:
    by = ending.detail.removeprefix("by ")
    if ending.reason == "terminated":
        return f"Terminated: {STOPPED_BY[by]}" if by == "SIGHUP" else f"Terminated by {by or 'a signal'}"
    what = "Interrupted" if ending.reason == "interrupted" else "Stopped"
    return f"{what} by {STOPPED_BY.get(by, by)}" if by else what


_WHAT: dict[Reason, str] = {
    "blocked": "Claude is blocked and needs you",
    "agent_failed": "Claude failed",
    "budget": "The budget is spent",
    "no_progress": "Nothing moves",
    "same_error": "The same error again",
    "test_failures": "The tests stay red",
    "pattern": "Stop pattern",
    "script": "A stop script says that the run is to end",
    "duration": "Time limit reached",
    "hook_abort": "Ended by a hook",
    "usage_limit": "Usage limit reached",
    "reserve": "The reserve is reached",
}
_CAUSES: dict[Reason, Callable[[RunFinished, RunState], str]] = {
    "completed": _completed,
    "max_iterations": _maximum,
    "stagnation": _stagnated,
    "verification_failed": _refuted,
    "stopped": _stopped,
    "interrupted": _stopped,
    "terminated": _stopped,
}


def _next(ending: RunFinished, state: RunState, line: CommandLine) -> str:
    """The step that fits most ends is to go on with the same command; after a completion, what it still lacks."""
    if ending.reason != "completed":
        return next_steps.again(state, line)
    purpose, dry_run = (state.started.purpose, state.started.dry_run) if state.started else (Purpose.RUN, False)
    if purpose not in {Purpose.RUN, Purpose.VERIFY}:
        return ""
    if dry_run:  # the same without it
        return next_steps.really(state, line)
    if ending.known_by == CHANGED:
        checks_only = ("--checks-only",) if state.proof is None or state.proof.known_by == proof.CHECKS else ()
        return next_steps.about(state, line, "verify", *checks_only, next_steps.ACCEPT)
    if ending.known_by in UNPROVEN:
        told = state.started.to_prove if state.started is not None else ""
        return told or next_steps.add_check(line, next_steps.name(state))
    return next_steps.about(state, line, "build" if purpose == Purpose.RUN and made_plan(state) else "report")


def _changes(changes: tuple[ProofChange, ...], verdict: Finish, state: RunState, facts: Facts) -> str:
    """What to do about changes of the proof; a run that completed has told them, and they are done with. Without
    instructions there is no run that could accept them."""
    if not changes or verdict.reason == "completed" or _lost(facts):
        return ""
    undo = "Undo what was changed of the proof, or accept it as it is"
    if next_steps.ACCEPT in verdict.next:
        return f"{undo} with the next step."
    return f"{undo}: {next_steps.about(state, facts.command_line, 'run', next_steps.ACCEPT)}"


def _advice(verdict: Finish, facts: Facts) -> str:
    """Without instructions nothing else helps."""
    if not _lost(facts):
        return verdict.advice
    copy = f" The last iteration had the text that is in {facts.last_prompt}" if facts.last_prompt else ""
    return f"INSTRUCTIONS.md can no longer be read.{copy}"


def _setup(state: RunState, facts: Facts) -> str:
    """Where a file is there that cannot be read, it is to be replaced."""
    force = ("--force",) if facts.instructions_spoilt else ()
    return next_steps.about(state, facts.command_line, "setup", *force)


def _lost(facts: Facts) -> bool:
    """A one-off call may be the one that writes them."""
    return bool(facts.instructions_lost) and facts.purpose not in ONE_OFF


def _notes(facts: Facts) -> str:
    """Notes that reached no iteration."""
    return f"Not read yet: {plural(facts.unread_notes, 'note')}." if facts.unread_notes else ""
