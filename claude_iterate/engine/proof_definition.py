"""What defines the proof of a run, as it was before Claude could change it: looked at once, and compared later."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from msgspec.structs import replace

from claude_iterate.agent.command.command_line import run_environment
from claude_iterate.core.events import ProofChange, ProofDefined, ProofTestsCounted, Warned
from claude_iterate.core.rules.proof import digest
from claude_iterate.core.tampering import comparison, descriptions
from claude_iterate.core.tampering.check_words import named_by
from claude_iterate.engine.recorder import Recorder
from claude_iterate.engine.run_spec import RunSpec
from claude_iterate.project.proof_files import ProofFiles, Watched
from claude_iterate.system import untrusted_files
from claude_iterate.workspace import plan_file, settings_reader
from claude_iterate.workspace.layout import PROJECT_FILES

_AT_A_TIME = 0.01
"""Seconds: the engine has other things to do meanwhile."""
_NAMED_BY_CHECKS = ("check", "script", "config", "program")


class Definition:
    """The files that define the proof of one run, and what became of them."""

    def __init__(self, plan: RunSpec, recorder: Recorder) -> None:
        self._plan = plan
        self._recorder = recorder
        # Where no proof is wanted, a plan that is worked off is still what says that the work is done.
        known = {change.kind for change in plan.before.carried.changes} | set(
            plan.before.defined.files if plan.before.defined else ()
        )
        self._whole = plan.facts(0.0, 0.0).proof_wanted or bool(known - {"plan"})
        self._files = ProofFiles(_watched_files(plan) if self._whole else _plan_alone(plan))
        self._before: dict[str, dict[str, str]] = {}
        self._open: tuple[ProofChange, ...] = ()
        self._counted = not self._whole

    def define(self) -> None:
        """Look at everything, and tell what earlier runs of this task changed and left so. To be called before the
        first call of Claude: the tests are read now and counted later."""
        plan, now = self._plan, self._files.look()
        if plan.before.defined is not None:
            self._before = self._taken_over(plan.before.defined, now)
            self._counted = not self._whole or "test" in plan.before.defined.files
        else:
            tests = {change.path: change.now for change in plan.before.carried.changes if change.kind == "test"}
            found = {**now, "test": self._files.look_at_tests(tests) if tests else {}}
            self._open = comparison.still_open(plan.before.carried.changes, found)
            self._before = comparison.with_changes(now, self._open)
        if not self._counted:
            self._files.find_tests()
        named, refuses = digest(plan.settings.verification.checks), plan.facts(0.0, 0.0).refuses_tampering
        self._recorder.record(ProofDefined(named, dict(self._before), self._open, refuses))
        if self._open:
            self._warn("Changed during an earlier run", self._open)
        elif plan.before.defined is not None:
            before = {kind: paths for kind, paths in self._before.items() if kind != "test"}
            self._warn("Changed since the killed run began", comparison.compare(before, now))

    def _warn(self, when: str, changes: tuple[ProofChange, ...]) -> None:
        if changes:
            hint = f"Undo it, or accept it as it is: claude-iterate run {self._plan.layout.name} --accept-changes"
            described = descriptions.describe_all([replace(change, earlier=False) for change in changes])
            self._recorder.record(Warned(f"{when}, and part of the proof: {described}", hint))

    def _taken_over(self, defined: ProofDefined, now: Mapping[str, Mapping[str, str]]) -> dict[str, dict[str, str]]:
        """What a killed run began with. What other checks name is taken as it is now."""
        before = {kind: dict(paths) for kind, paths in defined.files.items()}
        if not before.keys() - {"plan"}:  # no proof was wanted
            before = {kind: dict(paths) for kind, paths in now.items()} | before
        if defined.digest != digest(self._plan.settings.verification.checks):
            for kind in _NAMED_BY_CHECKS:
                found, root = now.get(kind, {}), self._plan.layout.root
                # A file that is there, and that no check names any more, is not gone.
                was = before.get(kind, {})
                kept = {path: was[path] for path in was if path in found or not (root / path).exists()}
                before[kind] = {**found, **kept}
        return before

    def count_some(self) -> None:
        """While Claude works: count tests for a moment, and record the counts when all are there."""
        until = time.monotonic() + _AT_A_TIME
        self._count(lambda: time.monotonic() < until)

    def count_all(self) -> None:
        """Before a proof: what was counted is recorded, so that it holds over a kill."""
        self._count(lambda: True)

    def _count(self, goes_on: Callable[[], bool]) -> None:
        found = None if self._counted else self._files.count_tests(goes_on)
        if found is not None:
            self._counted = True
            earlier = [change for change in self._open if change.kind == "test"]
            tests = self._before["test"] = comparison.with_changes({"test": found}, earlier)["test"]
            self._recorder.record(ProofTestsCounted(tests, self._files.left_out))

    def changes(self) -> tuple[ProofChange, ...]:
        """What is not as it was when the run began. Only what changed is read, and nothing is recorded."""
        before = self._before if self._counted else {**self._before, "test": self._tests_touched()}
        now = {**self._files.look(), "test": self._files.look_at_tests(before.get("test", {}))}
        found = comparison.compare(before, now)
        known = {(change.kind, change.path, change.now): change for change in self._open}
        return tuple(known.get((change.kind, change.path, change.now), change) for change in found)

    def _tests_touched(self) -> dict[str, str]:
        """Tests that may have changed, as they were before this run, and before earlier ones that changed them."""
        earlier = [change for change in self._open if change.kind == "test"]
        return comparison.with_changes({"test": self._files.tests_touched()}, earlier)["test"]

    def missing_files(self, command: str) -> tuple[str, ...]:
        """The files that a check names, that were there when the run began and are not there now."""
        before = {*self._before.get("check", {}), *self._before.get("config", {}), *self._before.get("test", {})}
        named = named_by(command, self._plan.environ)
        words = dict.fromkeys(os.path.normpath(word) for word in (*named.files, *named.configuration))
        return tuple(word for word in words if word in before and not (self._plan.layout.root / word).exists())


_CLAUDE_FOLDERS = ("agents", "commands", "hooks", "rules", "skills", "output-styles")
_MOST_FOLDERS = 200


def _watched_files(plan: RunSpec) -> Watched:
    layout, root = plan.layout, plan.layout.root
    user = settings_reader.user_folder(plan.environ)
    claude = root / ".claude"
    own = tuple(f"{path.relative_to(root)}/" for path in layout.own_folders() if path.is_relative_to(root))
    environment = run_environment(plan.environ, plan.settings.claude, plan.run, layout.folder)
    return Watched(
        root=root,
        files={
            "instructions": [layout.instructions],
            "plan": _plan_files(plan),
            "settings": [
                *(layout.project / name for name in PROJECT_FILES),
                *(user / name for name in settings_reader.USER_FILES),
                layout.metadata,
            ],
            "prompt": [layout.status_instructions],
            "memory": _memory(plan),
        },
        folders={
            "prompt": plan.texts.folders,
            "memory": [claude / name for name in _CLAUDE_FOLDERS],
        },
        named=[named_by(command, environment) for command in plan.settings.verification.checks],
        path=environment.get("PATH", os.defpath).split(os.pathsep),
        counts=lambda name: not f"{name}/".startswith(own),
    )


def _plan_alone(plan: RunSpec) -> Watched:
    return Watched(plan.layout.root, {"plan": _plan_files(plan)}, {}, (), (), lambda _name: False)


def _plan_files(plan: RunSpec) -> list[Path]:
    """The plan, where the run works it off; where it is made, the agent writes it."""
    return plan_file.paths(plan.layout) if plan.mode.judged_by == "plan" else []


def _memory(plan: RunSpec) -> list[Path]:
    """What Claude reads in every session, the user's and that of the folders around the project included."""
    root, agents = plan.layout.root, plan.settings.claude.agents_file
    home = plan.environ.get("CLAUDE_CONFIG_DIR") or os.path.join(plan.environ.get("HOME", ""), ".claude")  # noqa: PTH118
    return [
        *(folder / name for folder in (root, *root.parents) for name in ("CLAUDE.md", "CLAUDE.local.md")),
        *(root / name for name in ("AGENTS.md", ".mcp.json", ".claude/CLAUDE.md")),
        *(folder / name for folder in _folders_in(root) for name in ("CLAUDE.md", "AGENTS.md")),
        *(folder / "SKILL.md" for folder in _folders_in(root / ".claude" / "skills")),
        *(root / ".claude" / name for name in ("settings.json", "settings.local.json")),
        Path(home) / "CLAUDE.md",
        *([plan.layout.project / agents] if agents else []),
    ]


def _folders_in(folder: Path) -> list[Path]:
    """Those that are there when the run begins; Claude reads a CLAUDE.md of a folder when it works there."""
    try:
        with untrusted_files.scan(folder) as entries:
            names = sorted(entry.name for entry in entries if not entry.name.startswith(".") and entry.is_dir())
    except OSError:
        return []
    return [folder / name for name in names[:_MOST_FOLDERS]]
