"""The hooks of a run: programs of the user that were there when it began, run as they were then.

Claude could write a hook. So one that was added or changed since is not run: it would do what Claude itself may not.
"""

from __future__ import annotations

from claude_iterate.core.events import HookFinished, HookStarted, Warned
from claude_iterate.core.events.enums import Meaning, Point, Purpose
from claude_iterate.core.events.run import HookState
from claude_iterate.core.formats import plural
from claude_iterate.core.rules import endings, hooks
from claude_iterate.core.rules.during import HOOK_RULES
from claude_iterate.core.rules.verdicts import Finish
from claude_iterate.engine.recorder import Recorder
from claude_iterate.engine.run_spec import RunSpec
from claude_iterate.engine.shell_command import Program, ProgramEnd, run_program
from claude_iterate.engine.supervisor import Supervisor
from claude_iterate.workspace.run_folder import hook_files
from claude_iterate.workspace.run_folder.hook_files import HookFile

_GONE = "it is gone"
_CHANGED = "it was changed during the run"
_UNDECIDED = {Meaning.GO_ON, Meaning.FAILED}


class Hooks:
    """`points` are those that have a hook; `warnings` say which files are none, though they look like one."""

    def __init__(self, spec: RunSpec, recorder: Recorder) -> None:
        self._spec = spec
        self._recorder = recorder
        wanted = spec.request.purpose == Purpose.RUN and spec.settings.hooks.enabled
        found = hook_files.find(spec.layout.project, spec.layout.folder) if wanted else []
        self.warnings = [
            Warned(f"{file.shown} is not run: {file.problem}.", f"Before the next run: {file.fix}")
            for file in found
            if file.problem
        ]
        if found and spec.request.dry_run and not spec.cassette:
            trial = f"Try one: claude-iterate hook test {found[0].point} -w {spec.layout.name}"
            self.warnings = [Warned(f"A dry run calls no hooks: {plural(len(found), 'hook')} left out.", trial)]
            found = []
        self._files = [file for file in found if not file.problem]
        self.points = tuple(dict.fromkeys(file.point for file in self._files))

    def run(self, supervisor: Supervisor, point: Point, number: int, ending: Finish | None = None) -> None:
        """All hooks of a point that have not run for this iteration yet, until one of them decides."""
        before = self._recorder.state.hooks
        ran = before.hooks_ran if (before.hook_point, before.hook_number) == (point, number) else ()
        due = [file for file in self._files if file.point == point and file.scope not in ran]
        for left, file in zip(range(len(due) - 1, -1, -1), due, strict=True):
            if self._run_one(supervisor, file, number, left, ending).means not in _UNDECIDED:
                break
        if due:
            self._recorder.sinks.flush()

    def _run_one(
        self, supervisor: Supervisor, file: HookFile, number: int, left: int, ending: Finish | None
    ) -> HookFinished:
        again = self._was_cut_off(file, number)
        if again:
            cut_off = f"The hook {file.shown} was running when the run was killed. It runs again for {file.point}."
            self._recorder.record(Warned(cut_off))
        self._recorder.record(HookStarted(file.point, file.shown, file.scope, number, again))
        ended = self._call(supervisor, file, number, again, ending)
        cut = ended.cut.cause if ended.cut is not None else ""
        means = hooks.meaning(file.point, ended.code, cut, self._spec.settings.hooks)
        finished = HookFinished(
            *(file.point, file.shown, file.scope, ended.code, means, number),
            *(ended.duration, ended.output, cut, ended.problem, left if means in _UNDECIDED else 0),
        )
        self._recorder.record(finished)
        if means == Meaning.FAILED:
            self._warn(finished)
        return finished

    def _call(
        self, supervisor: Supervisor, file: HookFile, number: int, again: bool, ending: Finish | None
    ) -> ProgramEnd:
        now = hook_files.digest(file.path)
        if now != file.digest:
            return ProgramEnd(None, problem=_CHANGED if now else _GONE)
        state, layout, reason, cause = self._recorder.state, self._spec.layout, "", ""
        if ending is not None:
            told = endings.run_finished_event(ending, state, supervisor.facts())
            reason, cause = told.reason, told.cause
        here = hooks.Situation(
            *(state, file.point, number, str(layout.root), str(layout.folder)),
            *(self._recorder.now(), reason, cause, again),
        )
        given = hooks.variables(here), hooks.document(here)
        program = Program((str(file.path),), f"The hook {file.shown}", *given, interrupts=False)
        return run_program(supervisor, program, HOOK_RULES)

    def _was_cut_off(self, file: HookFile, number: int) -> bool:
        before = self._spec.before.resumed.hooks if self._spec.before.resumed is not None else HookState()
        known = before.hook_point, before.hook_number, before.hook_running
        return known == (file.point, number, file.scope)

    def _warn(self, hook: HookFinished) -> None:
        """The same trouble is told once."""
        if hook.point == Point.FINISHED:  # the run is over
            said, hint = f"The hook {hook.path} {hooks.describe_end(hook)}.", ""
        else:
            said = f"The hook {hook.path} {hooks.describe_end(hook)}; the run continues."
            hint = "To end the run instead: claude-iterate config hooks.fail_on_error true"
        if hook.problem in {_GONE, _CHANGED}:
            hint = "To use it as it is now, start the run again."
        self._recorder.warn_once(said, hint)
