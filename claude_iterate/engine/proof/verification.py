"""The proof of a claim: our own checks first, then Claude's review in fresh context. All of it is evidence."""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from claude_iterate.core import events
from claude_iterate.core.rules.between import decide_proof
from claude_iterate.core.rules.facts import Facts
from claude_iterate.core.rules.proving import (
    Finding,
    checks_are_green,
    checks_change_the_project,
    digest,
    flaky_check,
    proof_of,
    tampering,
)
from claude_iterate.core.state.claim_steps import said_no_of
from claude_iterate.engine import asking
from claude_iterate.engine.proof.check import Check
from claude_iterate.engine.proof.definition import Definition
from claude_iterate.engine.proof.held_review import HeldReview
from claude_iterate.engine.recorder import Recorder
from claude_iterate.engine.run_spec import RunSpec
from claude_iterate.engine.shell_command import ShellCommand
from claude_iterate.engine.supervisor import Supervisor
from claude_iterate.project.project_state import ProjectState
from claude_iterate.workspace import task_file

_LISTED = 20
"""Files that are named, of those that the checks changed."""


class _Checked(msgspec.Struct, frozen=True):
    """What came of the checks, and the project as they left it."""

    done: list[Check]
    findings: list[Finding]
    project: ProjectState


class Proof(msgspec.Struct):
    """Proves or refutes one claim of completion; without `review` only as far as the checks go."""

    _plan: RunSpec
    _recorder: Recorder
    _supervisor: Supervisor
    _claim: int
    _review: bool
    _definition: Definition | None

    def run(self) -> None:
        """From `VerificationStarted` to `VerificationFinished`. Without the latter the claim is still unproven: it was
        stopped, the time of the run is over, or the review is still to come."""
        settings = self._plan.settings.verification
        project = self._look()
        checked = self._checked(project)
        green, left = (len(checked.checks), ()) if checked is not None else (0, settings.checks)
        depth = settings.depth if self._review else ""
        self._recorder.record(events.VerificationStarted(self._claim, len(left), depth, green, task=self._task()))
        if self._facts().refuses_tampering and (changes := self._changes()):
            # Neither checks nor a review of changed rules would say anything.
            self._record_end([Finding(tampering(changes))], project.tree, "", changes)
            return
        checks = self._prove_by_checks(left, project)
        if checks is None:
            return
        findings, project, wavered = checks.findings, checks.project, False
        # A review of work that is known to be red would only cost money.
        if self._facts().review_wanted and not findings:
            if checks.done:
                self._record_green(checks.done, project)
            said_no = said_no_of(self._recorder.state, project.identity)
            found = self._hold_review(depth, project)
            if found is None:
                return
            findings, wavered = found, said_no
        changes = self._changes()
        if changes and self._facts().refuses_tampering:
            findings = [*findings, Finding(tampering(changes))]
        self._record_end(findings, project.tree, proof_of(bool(settings.checks), bool(depth)), changes, wavered)

    def _changes(self) -> tuple[events.ProofChange, ...]:
        """What is not as it was when the run began, of that which defines the proof."""
        definition = self._definition
        if definition is None:
            return ()
        definition.count_all()
        return self._supervisor.meanwhile(definition.changes)

    def _record_end(
        self,
        findings: list[Finding],
        tree: str,
        known_by: str,
        changes: tuple[events.ProofChange, ...],
        wavered: bool = False,
    ) -> None:
        flaky = self._recorder.state.claim.flaky
        told = [flaky_check(command) for command in flaky] if findings else []
        said = "\n\n".join([*(finding.text for finding in findings), *told])
        passed, detail = not findings, findings[0].detail if findings else ""
        self._recorder.record(
            events.VerificationFinished(
                self._claim, passed, said, tree, known_by, flaky, changes, detail=detail, wavered=wavered and passed
            )
        )

    def _checked(self, project: ProjectState) -> events.ChecksPassed | None:
        """The checks that were green before a wait, if the project is still the same."""
        checked = self._recorder.state.claim.checked
        if checked is None or not checked.project or not checks_are_green(self._recorder.state, self._facts()):
            return None
        return checked if project.identity == checked.project else None

    def _prove_by_checks(self, lines: tuple[str, ...], project: ProjectState) -> _Checked | None:
        """The checks, and once more if they are green and changed the project: what the first one saw must be what the
        last one left. None when the run is over before their end."""
        if not lines:
            return _Checked([], [], project)
        for again in (False, True):
            done = self._run_checks(lines, project.identity)
            if done is None:
                return None
            after = self._look()
            changed = after.changes_since(project)
            findings = [check.found for check in done if check.found]
            if findings or not changed:
                return _Checked(done, findings, after)
            if again:
                return _Checked(done, [Finding(checks_change_the_project(changed))], after)
            depth = self._plan.settings.verification.depth if self._review else ""
            self._recorder.record(events.VerificationStarted(self._claim, len(lines), depth, changed=changed[:_LISTED]))
            project = after
        return None

    def _run_checks(self, lines: tuple[str, ...], project: str) -> list[Check] | None:
        """All checks, each with what it found; None when the run is over before their end."""
        done, shell = [], ShellCommand(self._plan, self._recorder, self._supervisor)
        for line in lines:
            if self._is_over():
                return None
            gone = self._definition.gone(line) if self._definition is not None else ()
            done.append(Check(shell, self._recorder, line, project, gone))
            done[-1].run()
        return None if self._is_over() else done

    def _record_green(self, done: list[Check], project: ProjectState) -> None:
        named = digest(self._plan.settings.verification.checks)
        passed = tuple(replace(check.finished, output="") for check in done)
        self._recorder.record(events.ChecksPassed(self._claim, named, passed, project.identity, not self._review))

    def _hold_review(self, depth: str, project: ProjectState) -> list[Finding] | None:
        """What the review found; None when there was none."""
        if not depth or self._is_over():
            return None
        review = HeldReview(self._plan, self._recorder, self._supervisor, self._claim, self._look)
        found = review.hold(depth, project)
        return None if self._is_over() else found

    def _task(self) -> str:
        """What `verify` looks at: no iteration claimed anything."""
        return task_file.current(self._plan.layout.instructions) if self._facts().only_verify else ""

    def _is_over(self) -> bool:
        return decide_proof(self._recorder.state, self._facts()) is not None

    def _facts(self) -> Facts:
        return self._plan.facts(self._recorder.elapsed(), self._recorder.wall())

    def _look(self) -> ProjectState:
        return asking.look(self._plan, self._supervisor)
