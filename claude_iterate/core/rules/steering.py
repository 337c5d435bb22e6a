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

RequestRule = Callable[[RunState, Requested], Event | None]


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


REQUEST_RULES: tuple[RequestRule, ...] = (stop_request, end_wait, skip_at_question)


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
_NOTHING_TO_SKIP = "There is no iteration to skip: a claim is being verified."
_SKIP_IN_PAUSE = "There is no iteration to skip. The run stays paused."
_NOTHING_TO_RETRY = "There is nothing to retry: a claim is being verified."
_NOT_WAITING = "The run is not waiting, so there is nothing to retry."
UNCHANGED = frozenset({_PAUSED, _NOT_PAUSED, _NOTHING_TO_SKIP, _SKIP_IN_PAUSE, _NOTHING_TO_RETRY, _NOT_WAITING})
"""Answers to requests that change nothing."""


def answer(verb: Verb, state: RunState, now: bool = False, attended: bool = False) -> str:
    """What a request means for a run, in one line; `state` is the one before the request. In an `attended` run no
    iteration begins before the user agrees."""
    name = state.run.workspace or "The run"
    call = f"iteration {state.iteration}" if state.iteration else "this call"
    between = state.call is None and state.wait is None and not state.paused and not claim_is_open(state)
    if verb in {Verb.SKIP, Verb.RETRY} and attended and between:
        return "The next iteration begins when the question at its terminal is answered."
    match verb:
        case Verb.STOP:
            return f"{name} stops {f'after {call}' if state.iteration and not now else 'now'}."
        case Verb.PAUSE:
            return _answer_to_pause(state, name, call)
        case Verb.RESUME:
            return _answer_to_resume(state, name, call)
        case Verb.SKIP:
            return _answer_to_skip(state)
        case Verb.REBOOT if state.iteration:
            return f"Iteration {state.iteration} ends now and is repeated with fresh context."
        case Verb.REBOOT:
            return "The next iteration begins with fresh context."
        case Verb.RETRY:
            return _answer_to_retry(state)
        case Verb.GO:
            return f"Iteration {state.iterations + 1} begins."
        case Verb.DETACH:
            return f"Detached: {name} continues without its terminal."
        case _:
            assert_never(verb)


def _is_verifying(state: RunState) -> bool:
    """A review is under way, or a check, which is not a call of Claude."""
    return not state.iteration and state.wait is None and (state.call is not None or claim_is_open(state))


def _answer_to_pause(state: RunState, name: str, call: str) -> str:
    if _is_verifying(state):
        return f"{name} pauses after the verification, unless the claim holds."
    if state.call is not None:
        return f"{name} pauses after {call}{' (already requested)' if state.paused else ''}."
    if state.paused:
        return _PAUSED
    if state.wait is not None:
        return "Paused: when the wait is over, no iteration begins until `resume`."
    return "Paused: no iteration begins until `resume`."


def _answer_to_resume(state: RunState, name: str, call: str) -> str:
    if not state.paused:
        return _NOT_PAUSED
    if _is_verifying(state):
        return f"{name} does not pause after the verification."
    if state.wait is not None:
        return f"{name} continues when the wait is over."
    return "Continuing." if state.call is None else f"{name} does not pause after {call}."


def _answer_to_skip(state: RunState) -> str:
    held = " The run stays paused." if state.paused else ""
    if state.iteration:
        return f"Iteration {state.iteration} ends now.{held}"
    if _is_verifying(state):
        return _NOTHING_TO_SKIP
    if state.wait is not None:
        return f"The wait is over.{held}"
    return _SKIP_IN_PAUSE if held else "The next iteration begins now."


def _answer_to_retry(state: RunState) -> str:
    if state.wait is not None:
        return "The wait is over." + (" The run stays paused." if state.paused else " It tries again now.")
    if _is_verifying(state):
        return _NOTHING_TO_RETRY
    return _NOT_WAITING if state.call is not None or state.paused else "The next iteration begins now."
