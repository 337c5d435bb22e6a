"""How a call of Claude ended: one ordered table from evidence to class, message and advice.

Success is judged from the last `result` and the exit code together, never from `subtype` and never from prose:
a model that writes "rate limit" has not met one. What shows the sort of a failure is in `evidence`.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable
from datetime import datetime

import msgspec

from claude_iterate.core.events import IterationFinished, Outcome
from claude_iterate.core.events.enums import Cause, Kind
from claude_iterate.core.formats import duration, shorten
from claude_iterate.core.outcomes import denials
from claude_iterate.core.outcomes.evidence import Evidence


class Class(msgspec.Struct, frozen=True):
    """One row of the table: a class of outcome and what it means for the run."""

    kind: Kind
    meaning: str
    advice: str
    holds: Callable[[Evidence], bool]


_DISABLED_BY_ADMIN = r"allocation has been disabled|limit is set to \$0|organization has been disabled"


def _shows(kind: Kind) -> Callable[[Evidence], bool]:
    return lambda evidence: evidence.points_to(kind)


def _cut_by(*causes: Cause) -> Callable[[Evidence], bool]:
    return lambda evidence: evidence.call.cut is not None and evidence.call.cut.cause in causes


def _has_subtype(name: str) -> Callable[[Evidence], bool]:
    return lambda evidence: evidence.call.result is not None and evidence.call.result.subtype == name


_took_too_long = _cut_by(Cause.IDLE, Cause.TIMEOUT)


def _is_transient(evidence: Evidence) -> bool:
    """Also a network that swallows everything: that is not this task's failure."""
    return (evidence.call.retrying and _took_too_long(evidence)) or evidence.points_to(Kind.TRANSIENT)


def _session_is_spoilt(evidence: Evidence) -> bool:
    """A resumed session that is unknown, poisoned or too full. A request that the API calls bad (400, 413) is taken
    for one as well: if the session is not to blame, the fresh one fails in the same way and is believed."""
    return bool(evidence.call.resumes) and evidence.points_to(Kind.REFUSED)


def _cannot_pay(evidence: Evidence) -> bool:
    """Also where Claude Code names a usage limit that no waiting cures: its type is that of all limits."""
    endless = evidence.points_to(Kind.USAGE_LIMIT) and evidence.mentions(_DISABLED_BY_ADMIN)
    return endless or evidence.points_to(Kind.BILLING)


def _limit_is_reached(evidence: Evidence) -> bool:
    """What is named as one, also by the user's patterns; and a window that is used up, unless Claude Code names another
    reason. A good result cannot be one, unless Claude's exit code takes it back. A rejection that names no window is a
    passing throttle, not the subscription's limit."""
    if evidence.points_to(Kind.USAGE_LIMIT) or evidence.matches_user_pattern:
        return True
    limit = evidence.call.rejected
    doubtful = evidence.has_failed or evidence.exit_code != 0
    other = evidence.typed_sorts or evidence.status in {401, 403}
    return doubtful and not other and limit is not None and bool(limit.window or limit.resets_at)


def _is_ok(evidence: Evidence) -> bool:
    """A good last result. An exit code spoils it only when nothing was written: MCP trouble exits 1 after success."""
    ended_well = evidence.exit_code == 0 or evidence.wrote_status or _cut_by(Cause.LINGERING)(evidence)
    return not evidence.has_failed and ended_well


def _is_denied(evidence: Evidence) -> bool:
    return not evidence.has_failed and bool(evidence.denials) and not evidence.wrote_status


CLASSES: tuple[Class, ...] = (
    Class(
        Kind.INTERRUPTED,
        "The run ended it because a stop was requested, or because the time of the run was up.",
        "",
        _cut_by(Cause.STOPPED, Cause.DURATION),
    ),
    Class(Kind.SKIPPED, "The run ended it because the user said `skip`.", "", _cut_by(Cause.SKIP)),
    Class(Kind.REBOOTED, "The run ended it because the user said `reboot`.", "", _cut_by(Cause.REBOOT)),
    Class(
        Kind.DENIED,
        "A tool was not allowed and no report was written.",
        "Allow it, if you want it: the commands are named with the iteration.",
        _is_denied,
    ),
    Class(Kind.OK, "Claude finished.", "", _is_ok),
    Class(Kind.MAX_TURNS, "The turn limit ended it: a normal end.", "", _has_subtype("error_max_turns")),
    Class(
        Kind.BUDGET,
        "The money for this iteration is spent.",
        "Raise `limits.max_cost_usd` or `limits.max_cost_per_iteration_usd`.",
        _has_subtype("error_max_budget_usd"),
    ),
    Class(
        Kind.IDLE,
        "Claude was silent for too long.",
        "Raise `timeouts.idle` if such silence is normal for this task.",
        lambda e: _cut_by(Cause.IDLE)(e) and not e.call.retrying,
    ),
    Class(
        Kind.TIMEOUT,
        "The iteration took too long.",
        "Raise `timeouts.iteration` or make the items smaller.",
        lambda e: _cut_by(Cause.TIMEOUT)(e) and not e.call.retrying,
    ),
    Class(
        Kind.BILLING,
        "The account cannot pay or may not: waiting does not help.",
        "Add credit or turn on extra usage, choose another `claude.model`, ask who manages the account, or log in with"
        " another one: claude /login",
        _cannot_pay,
    ),
    Class(
        Kind.USAGE_LIMIT,
        "The provider's usage limit is reached.",
        "Run again after the reset; nothing is lost.",
        _limit_is_reached,
    ),
    Class(
        Kind.AUTH,
        "Claude is not logged in.",
        "Log in: run `claude` and type /login; for servers: claude setup-token; with a key: check ANTHROPIC_API_KEY",
        _shows(Kind.AUTH),
    ),
    Class(
        Kind.AWAY,
        "Claude worked before in this run and cannot be called now: it is not there, or not logged in.",
        "The run keeps trying for a minute.",
        lambda _: False,  # `core.rules.waits` says when; it depends on the run, not on the call
    ),
    Class(
        Kind.SESSION,
        "The session cannot continue: unknown, damaged or too full.",
        "The same iteration is repeated with a fresh session.",
        _session_is_spoilt,
    ),
    Class(
        Kind.CONFIG,
        "Claude cannot work with these settings.",
        "Check `claude.model`, `claude.args` and `claude.command`: claude-iterate config --keys",
        _shows(Kind.CONFIG),
    ),
    Class(
        Kind.REFUSED,
        "The API refused the request: too long, malformed, or against the usage policy.",
        "If it was too long, make the items smaller; if it is against the usage policy, change the instructions.",
        _shows(Kind.REFUSED),
    ),
    Class(
        Kind.TRANSIENT,
        "The API or the network failed.",
        "Run again in a few minutes; nothing is lost.",
        _is_transient,
    ),
    Class(
        Kind.CRASH,
        "Claude ended without a good result.",
        "See the log; `claude-iterate doctor` checks the installation.",
        lambda _: True,
    ),
)

FINE = frozenset({Kind.OK, Kind.MAX_TURNS, Kind.SKIPPED})
"""Outcomes that are not failures: running into the turn limit is a normal end."""

WELL = FINE - {Kind.SKIPPED}
"""Claude came to its own end, so it had the whole prompt before it: notes count as delivered."""

RETRIED = frozenset({Kind.USAGE_LIMIT, Kind.TRANSIENT, Kind.AWAY, Kind.SESSION, Kind.REBOOTED})
"""Not failures either: the same iteration is repeated, after a wait if the provider was to blame."""

COUNTED_FAILURES = frozenset({Kind.CRASH, Kind.TIMEOUT, Kind.IDLE, Kind.REFUSED, Kind.BUDGET})
"""Failures that may pass: the run continues until `stop.failures` of them came in a row."""

ENDING_FAILURES = frozenset({Kind.BILLING, Kind.AUTH, Kind.CONFIG})
"""Failures that end the run at once, with their advice."""

REFUSALS = frozenset({Kind.USAGE_LIMIT, Kind.TRANSIENT, Kind.AWAY, Kind.AUTH, Kind.BILLING})
"""The API would not answer, whatever was asked: it says nothing about the work."""


def is_done_again(ended: IterationFinished) -> bool:
    """The same iteration is repeated, so it does not count: Claude could not be called at all, or met a limit or an
    overload. Work that is done is done, unless the user wants it again. One that a hook skips uses its number: so
    `max_iterations` bounds those, too."""
    kind, status = ended.outcome.kind, ended.status
    if not ended.outcome.called:
        return kind != Kind.SKIPPED
    claims = status is not None and status.complete
    return kind in RETRIED and (kind == Kind.REBOOTED or not claims)


LONGEST = 8 * 86400.0
"""The longest window is a week; a reset further away than this is a mistake."""
JUST_PASSED = 900.0
"""The message was on its way, and enforcement lags behind the time that it names."""
_REGAINED = re.compile(r"regain access on (\d{4}-\d\d-\d\d) at (\d\d:\d\d) UTC")
_ROOT = "cannot be used with root"
_ADVICE_FOR_ROOT = "Run as another user, or set IS_SANDBOX=1 in `claude.env` if this machine is a sandbox."


def classify(evidence: Evidence) -> Outcome:
    """The first class that holds, with Claude's own words."""
    found = next(row for row in CLASSES if row.holds(evidence))
    advice = _ADVICE_FOR_ROOT if found.kind == Kind.CONFIG and evidence.mentions(_ROOT) else found.advice
    allowed_by: tuple[tuple[str, str], ...] = ()
    if evidence.denials and found.kind in {Kind.DENIED, Kind.OK, Kind.MAX_TURNS}:
        remedy = denials.find_remedy(evidence.denials, evidence.granted)
        advice, allowed_by = denials.advice(evidence.denials, remedy, evidence.granted), denials.options(remedy)
    resets_at, window = _find_reset(evidence) if found.kind == Kind.USAGE_LIMIT else (None, "")
    throttled = found.kind == Kind.TRANSIENT and evidence.is_throttled
    message = _message(found, evidence)
    return Outcome(found.kind, message, advice, resets_at, window, allowed_by=allowed_by, throttled=throttled)


def _find_reset(evidence: Evidence) -> tuple[float | None, str]:
    """When the limit ends, and which window it is. Claude Code's event says it; the limits of an API key are announced
    in words alone. Without a moment the run probes with growing pauses."""
    limit, moment = evidence.call.rejected, None
    if found := _REGAINED.search(evidence.words):
        with contextlib.suppress(ValueError):
            moment = datetime.fromisoformat(f"{found[1]}T{found[2]}Z").timestamp()
    if limit is not None:
        moment = plausible(limit.resets_at, evidence.now) or moment
    return plausible(moment, evidence.now), limit.window if limit is not None else ""


def plausible(moment: float | None, now: float) -> float | None:
    """An epoch that can be a reset, or None. One that has just passed is a reset too."""
    return moment if moment is not None and now - JUST_PASSED < moment <= now + LONGEST else None


def _message(found: Class, evidence: Evidence) -> str:
    if found.kind in {Kind.OK, Kind.MAX_TURNS, Kind.INTERRUPTED, Kind.SKIPPED, Kind.REBOOTED}:
        return ""
    if found.kind == Kind.DENIED:
        return "not allowed: " + ", ".join(denials.missing_permissions(evidence.denials))
    if evidence.call.cut is not None and _took_too_long(evidence):
        doing = f" ({evidence.call.cut.doing})" if evidence.call.cut.doing else ""
        verb = "silent for" if evidence.call.cut.cause == Cause.IDLE else "ran for"
        return f"{verb} {duration(evidence.call.cut.after)}{doing}"
    lines = (line.strip() for line in evidence.full_words.strip().splitlines()[:4])
    words = shorten(" ".join(filter(None, lines)), 300)
    if found.kind == Kind.CRASH:
        return f"{_describe_exit(evidence)}{': ' + words if words else ''}"
    return words or found.meaning


def _describe_exit(evidence: Evidence) -> str:
    if evidence.exit_code < 0:
        return f"Claude was killed by signal {-evidence.exit_code}"
    without = " and no result" if evidence.call.result is None else ""
    return f"Claude exited with code {evidence.exit_code}{without}"
