"""What signals and requests of the user mean, all in one place.

| | an iteration is under way | a check, a review, a wait, or nothing |
| --- | --- | --- |
| Ctrl-C, `stop` | the run ends after the iteration | the run ends at once: checks and reviews can be repeated |
| Ctrl-C again, SIGTERM, SIGHUP, `stop --now` | Claude is ended, then the run | the run ends at once |
| `pause`, `resume` | no iteration and no proof begins until `resume` | the same |
| `skip`, `reboot` | Claude is ended; `reboot` repeats the iteration with fresh context | `skip` ends a wait |
| `retry` | | ends a wait |

A signal ends a hook at once, but the first Ctrl-C lets `iteration_finished` end.

A signal or a request becomes an event (`stop_signal`, `REQUEST_RULES`), and its step in `core.state.fold` notes it in
the state. Then it decides between iterations (`stop`, `pause`, `ask_user`) and while Claude, a check or a hook works
(`urgent_stop`, `skip_or_reboot`, `stop_ends_check`, `signal_ends_hook`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import assert_never

from claude_iterate.core.events import Event, IterationFinished, Outcome, Requested, StopRequested, WaitEnded
from claude_iterate.core.events.enums import Cause, Kind, Verb
from claude_iterate.core.rules.facts import Facts
from claude_iterate.core.rules.verdicts import Ask, Cut, Finish, Limit, Verdict, Wait
from claude_iterate.core.state.claims import claim_is_open
from claude_iterate.core.state.run_state import RunState


def stop_signal(state: RunState, name: str) -> StopRequested:
    """Ctrl-C: stop after the iteration under way; at once if there is none, because checks and reviews can be
    repeated. A second Ctrl-C, or any other signal: at once."""
    return StopRequested(name, now=state.stop is not None or name != "SIGINT" or not state.iteration)


def stop_request(state: RunState, request: Requested) -> Event | None:
    """`stop`: after the iteration under way; at once with `--now`, or if there is none."""
    if request.verb != Verb.STOP:
        return None
    return StopRequested(request.by, now=request.now or not state.iteration)


def end_wait(state: RunState, request: Requested) -> Event | None:
    """`retry` or `skip` in a wait: the wait is over."""
    if request.verb not in {Verb.RETRY, Verb.SKIP} or state.wait is None:
        return None
    return WaitEnded(state.wait.why, by=request.verb)


def skip_at_question(state: RunState, request: Requested) -> Event | None:
    """`skip` as the answer of an attended run: the iteration's number is used up, and nothing else changes."""
    if request.verb != Verb.SKIP or request.by != "answer":
        return None
    number, session = state.iterations + 1, state.session
    return IterationFinished(number, Outcome(Kind.SKIPPED), session=session.id, context=session.context)


REQUEST_RULES: tuple[Callable[[RunState, Requested], Event | None], ...] = (stop_request, end_wait, skip_at_question)


def effect_of(state: RunState, request: Requested) -> Event | None:
    """What a request makes happen beyond its step in the fold: what the first rule that fits says."""
    return next((event for rule in REQUEST_RULES if (event := rule(state, request)) is not None), None)


def stop(state: RunState, facts: Facts) -> Verdict | None:
    """Ctrl-C: **interrupted**; SIGTERM or SIGHUP: **terminated**; `stop`: **stopped**."""
    if state.stop is None:
        return None
    by = state.stop.by
    if by == "SIGINT":
        return Finish("interrupted", by)
    if not by.startswith("SIG"):
        return Finish("stopped", f"by {by}")
    outlive = "To let a run continue without its terminal: start it with --detach, or press d while it is shown."
    return Finish("terminated", by, outlive if by == "SIGHUP" else "")


def pause(state: RunState, facts: Facts) -> Verdict | None:
    """The user said `pause`: wait for `resume`."""
    return Wait(float("inf")) if state.paused else None


def ask_user(state: RunState, facts: Facts) -> Verdict | None:
    """Attended mode, and the user has not said `go` for this iteration yet: ask."""
    number = state.iterations + 1
    return Ask(number) if facts.settings.attended and state.requests.approved < number else None


def urgent_stop(state: RunState, facts: Facts) -> Limit | None:
    """The user or the system wants an urgent stop (second Ctrl-C, SIGTERM, SIGHUP, `stop --now`): at once."""
    return (facts.now, Cut(Cause.STOPPED)) if state.stop is not None and state.stop.now else None


def skip_or_reboot(state: RunState, facts: Facts) -> Limit | None:
    """The user said `skip` or `reboot`: at once."""
    return (facts.now, Cut(state.requests.cut)) if state.requests.cut is not None else None


def stop_ends_check(state: RunState, facts: Facts) -> Limit | None:
    """The user wants the run to stop: at once, because a check can be repeated."""
    return (facts.now, Cut(Cause.STOPPED)) if state.stop is not None else None


def signal_ends_hook(state: RunState, facts: Facts) -> Limit | None:
    """A signal came while the hook ran: at once. The first Ctrl-C lets `iteration_finished` end."""
    return (facts.now, Cut(Cause.STOPPED)) if state.hooks.hook_signals > 0 else None


_PAUSED = "Already paused."
_NOT_PAUSED = "The run was not paused."
_NOTHING_TO_SKIP = "There is no iteration to skip."
_NOT_WAITING = "The run is not waiting, so there is nothing to retry."
UNCHANGED = frozenset({_PAUSED, _NOT_PAUSED, _NOTHING_TO_SKIP, _NOT_WAITING})
"""Answers to requests that change nothing."""


def answer(verb: Verb, state: RunState, now: bool = False, attended: bool = False) -> str:
    """What a request means for a run, in one line; `state` is the one before the request. In an `attended` run no
    iteration begins before the user agrees."""
    name, number = state.run.workspace or "The run", state.iteration
    idle = state.call is None and state.wait is None and not claim_is_open(state)
    # A review is under way, or a check, which is not a call of Claude.
    verifying = not idle and not number and state.wait is None
    held = " The run stays paused." if state.paused else ""
    if verb in {Verb.SKIP, Verb.RETRY} and attended and idle and not state.paused:
        return "The next iteration begins when the question at its terminal is answered."
    match verb:
        case Verb.STOP:
            return f"{name} stops {f'after iteration {number}' if number and not now else 'now'}."
        case Verb.PAUSE if number or verifying:
            what = f"iteration {number}" if number else "the verification, unless the claim holds"
            return f"{name} pauses after {what}."
        case Verb.PAUSE:
            return _PAUSED if state.paused else "Paused: no iteration begins until `resume`."
        case Verb.RESUME if not state.paused:
            return _NOT_PAUSED
        case Verb.RESUME:
            return "Continuing." if idle else f"{name} does not pause."
        case Verb.SKIP if number:
            return f"Iteration {number} ends now.{held}"
        case Verb.SKIP | Verb.RETRY if state.wait is not None:
            return f"The wait is over.{held}"
        case Verb.SKIP | Verb.RETRY if idle and not state.paused:
            return "The next iteration begins now."
        case Verb.SKIP:
            return _NOTHING_TO_SKIP
        case Verb.RETRY:
            return _NOT_WAITING
        case Verb.REBOOT if number:
            return f"Iteration {number} ends now and is repeated with fresh context."
        case Verb.REBOOT:
            return "The next iteration begins with fresh context."
        case Verb.GO:
            return f"Iteration {state.iterations + 1} begins."
        case Verb.DETACH:
            return f"Detached: {name} continues without its terminal."
        case _:
            assert_never(verb)
