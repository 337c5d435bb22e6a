"""The JSON forms of all views, in one dialect: camelCase keys, moments in ISO 8601 (UTC), durations in seconds.

A view is its own JSON form. `FORMS` names the form of each command: the JSON Schema in
docs/reference is made from it. A key is never renamed or taken away without a new format number.
"""

from __future__ import annotations

import msgspec

from claude_iterate.core.events.enums import Why
from claude_iterate.core.state.run_state import RunState
from claude_iterate.views import history_view, run_view
from claude_iterate.views.history_view import HistoryView, history_of
from claude_iterate.views.iteration_rows import Row
from claude_iterate.views.night_report import NightReport
from claude_iterate.views.plan_view import PlanView
from claude_iterate.views.run_view import JournalView, RunsView, RunView
from claude_iterate.views.settings_view import KeysView, SettingReadView, SettingsView
from claude_iterate.views.story import EvidenceView, RunRecords
from claude_iterate.views.workspace_view import ListingView, WorkspaceView
from claude_iterate.workspace.layout import Layout
from claude_iterate.workspace.run_summary import summarise


class EndedRun(RunView, frozen=True, kw_only=True, rename="camel"):
    """A run that is over, and the exit code of the command."""

    workspace: str
    exit_code: int
    last: Row | None
    """The last iteration, as in `history`: what Claude reported, what changed, the tests, Claude's session. null: there
    was none."""
    usage_limit: bool
    """A usage limit of the provider delayed or ended the run."""


class EndedVerification(EvidenceView, frozen=True, kw_only=True, rename="camel"):
    """The result of `verify`; `claim` is 0 if nothing was verified."""

    workspace: str
    status: str
    """pass, fail or not_run."""
    exit_code: int
    reason: str | None
    """Why the run of `verify` ended, as for `run`."""
    cause: str
    next: str
    report: str | None
    """The text of the review's report."""


class OneOfManyRuns(EndedRun, frozen=True, kw_only=True, rename="camel"):
    """A run that is over, as `run` prints it."""


class RefusedRun(msgspec.Struct, frozen=True, rename="camel"):
    """A workspace that could not run, or whose run broke off."""

    workspace: str
    message: str
    hint: str
    exit_code: int


class EndedRuns(msgspec.Struct, frozen=True, rename="camel"):
    """The results of several runs of one command. A task that was already completed is in neither list."""

    runs: tuple[OneOfManyRuns, ...]
    refused: tuple[RefusedRun, ...]
    exit_code: int
    """0 only if all runs would have had 0 alone."""


FORMS: dict[str, type[msgspec.Struct]] = {
    "list": ListingView,
    "show": WorkspaceView,
    "history": HistoryView,
    "report": NightReport,
    "logs --list": RunsView,
    "logs": JournalView,
    "run": EndedRun,
    "run A B": EndedRuns,
    "plan --show": PlanView,
    "verify": EndedVerification,
    "config": SettingsView,
    "config KEY": SettingReadView,
    "config --keys": KeysView,
}
"""What each command prints with `--json`."""


def ended_run(layout: Layout, run: str, exit_code: int, state: RunState | None = None) -> EndedRun:
    """What `run --json` prints; `state` is the run's, if it is at hand."""
    records = RunRecords(layout)
    story = records.story(run)
    rows = history_of(story).iterations
    return summarise(
        EndedRun,
        run,
        state or story.state,
        running=False,
        workspace=layout.name,
        exit_code=exit_code,
        totals=history_view.totals(records, run) if story.started is not None else None,
        warnings=run_view.warnings(story),
        last=rows[-1] if rows else None,
        usage_limit=any(wait.why == Why.USAGE_LIMIT for wait in story.waits) or story.state.reason == "usage_limit",
    )


def ended_runs(ended: list[tuple[Layout, str, RunState, int, tuple[str, str] | None]], exit_code: int) -> EndedRuns:
    """What `run A B --json` prints; each with its workspace, run, state, exit code and why it was refused."""
    runs = tuple(
        OneOfManyRuns(**msgspec.structs.asdict(ended_run(layout, run, code, state)))
        for layout, run, state, code, _ in ended
        if state.started is not None
    )
    refused = tuple(RefusedRun(layout.name, *why, code) for layout, _, _, code, why in ended if why is not None)
    return EndedRuns(runs, refused, exit_code)


def ended_verification(
    workspace: str, exit_code: int, state: RunState, proof: EvidenceView, report: str | None
) -> EndedVerification:
    """What `verify --json` prints."""
    ended = summarise(RunView, proof.run, state, running=False)
    status = "not_run" if proof.passed is None else "pass" if proof.passed and not exit_code else "fail"
    return EndedVerification(
        workspace=workspace,
        status=status,
        exit_code=exit_code,
        report=report,
        reason=ended.reason,
        cause=ended.cause,
        next=ended.next,
        **msgspec.structs.asdict(proof),
    )
