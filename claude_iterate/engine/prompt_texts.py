"""The prompts of an iteration, made at its start from the files as they are then: users edit them during a run."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

from msgspec.structs import replace

from claude_iterate.core.events.enums import Purpose
from claude_iterate.core.reports.review import list_requirements, requirements_in
from claude_iterate.core.reports.status import describe
from claude_iterate.core.settings.declared import Settings
from claude_iterate.core.settings.modes import Mode
from claude_iterate.errors import WorkspaceProblem
from claude_iterate.prompts import Prompts, Texts
from claude_iterate.system import untrusted_files
from claude_iterate.system.file_errors import unreadable
from claude_iterate.workspace import creation, settings_reader
from claude_iterate.workspace.layout import Layout
from claude_iterate.workspace.project import Project
from claude_iterate.workspace.run_folder import notes, status_file
from claude_iterate.workspace.task_file import LARGEST, LONG_MATERIAL

ANY_ID = "<the id of the iteration>"
"""Stands in the log for the id that a report is asked to have."""


def read_instructions(layout: Layout) -> str:
    """INSTRUCTIONS.md, or a WorkspaceProblem that says what is wrong with it."""
    path, again = layout.instructions, f"Write it: claude-iterate setup {layout.name}"
    try:
        found = untrusted_files.look(path, LARGEST)
        if not found.whole:
            raise WorkspaceProblem(f"{path} is larger than 10 MB.", LONG_MATERIAL)
        text = found.data.decode("utf-8")
    except FileNotFoundError:
        raise WorkspaceProblem(
            f"Instructions not found. Run setup first: claude-iterate setup {layout.name}", f"Expected: {path}"
        ) from None
    except UnicodeDecodeError as error:
        raise WorkspaceProblem(
            f"{path} is not valid UTF-8 (byte {error.start}).", "Save it in UTF-8 and try again."
        ) from None
    except OSError as error:
        raise unreadable(WorkspaceProblem, path, error, "Check its permissions.") from None
    if not text.strip():
        raise WorkspaceProblem(f"{path} is empty.", again)
    return text


class TextSource:
    """Renders the prompts of one run: those of the workspace come first, then the project's, then the user's."""

    def __init__(self, project: Project, layout: Layout, settings: Settings, mode: Mode) -> None:
        self.max_iterations = mode.max_iterations if settings.max_iterations is None else settings.max_iterations
        self.folders = [
            layout.prompts,
            project.root / "claude-iterate" / "prompts",
            untrusted_files.settle(settings_reader.user_folder(project.environ) / "prompts", project.root),
        ]
        self._layout = layout
        self._settings = settings
        agents = settings.claude.agents_file
        self._agents_file = untrusted_files.settle(layout.root / agents, layout.root) if agents else None
        self._prompts = Prompts(self.folders, mode.name)

    def iteration(self, number: int, failure: str, identity: str) -> Texts:
        """The texts of iteration `number`, whose report is asked to have the id `identity`."""
        if self._layout.dry_run_folder is not None:
            creation.refresh_copy(self._layout)
        instructions = read_instructions(self._layout)
        waiting = notes.pending_notes(self._layout)
        values = self._values(number, failure, instructions, [note.text for note in waiting])
        rendered = self._prompts.iteration_prompts({**values, "report_id": identity})
        # The id is this iteration's own. The log shows the instructions around it, which all iterations share.
        shared = rendered.status_instructions.replace(identity, ANY_ID)
        names = tuple(note.name for note in waiting)
        return replace(rendered, instructions=instructions, status_instructions=shared, notes=names)

    def describe_appended(self, texts: Texts) -> str:
        """What was added to the prompt of an iteration."""
        missing = " and ".join(f"{{{{ {name} }}}}" for name in texts.appended)
        return f"The prompt {self._prompts.find('iteration')} does not use {missing}: added at its end."

    def review(self, depth: str, depth_note: str) -> Texts:
        """The texts of a review, and the instructions that it judges by."""
        instructions = read_instructions(self._layout)
        more = {"depth": depth, "depth_note": depth_note}
        more["requirements"] = list_requirements(requirements_in(instructions))
        more["checks"] = "\n".join(f"- `{check}`" for check in self._settings.verification.checks)
        return replace(self._with_form("verify-completion", "verify-answer", more), instructions=instructions)

    def grading(self) -> Texts:
        """The texts of a validation."""
        criteria = self._prompts.render("validation-criteria", {})
        return self._with_form("validate", "validate-answer", {"validation_criteria": criteria})

    def _with_form(self, prompt: str, form: str, more: Mapping[str, object]) -> Texts:
        """A prompt with the form of its answer. A prompt of the user that does not name the form has it at its end."""
        asked = self._prompts.render(form, {**self._place(), **more})
        texts = self._about_workspace(prompt, {**more, "answer_form": asked})
        if asked.strip() in texts.user:
            return texts
        return replace(texts, user=f"{texts.user.rstrip()}\n\n{asked}")

    def one_off(self, purpose: Purpose, more: Mapping[str, str]) -> Texts:
        """The texts of a one-off call: setup or edit."""
        criteria = self._prompts.render("validation-criteria", {})
        return self._about_workspace(purpose.value, {"validation_criteria": criteria, "goal": "", **more})

    def _about_workspace(self, prompt: str, more: Mapping[str, object]) -> Texts:
        values = {**self._place(), **more}
        return Texts(self._prompts.render("workspace-system", values), self._prompts.render(prompt, values))

    def _place(self) -> dict[str, str]:
        layout = self._layout
        return {
            "project_root": str(layout.root),
            "workspace_path": str(layout.agent_folder),
            "workspace_name": layout.name,
        }

    def _values(self, number: int, failure: str, instructions: str, waiting: list[str]) -> Mapping[str, object]:
        layout, settings, agents = self._layout, self._settings, self._agents_file
        path = layout.status_instructions
        own = _read_text(path, str(path), "Fix it or remove it.") if untrusted_files.exists(path) else ""
        seen = status_file.look(layout.status).reading
        status = seen.status if seen else None
        return {
            **self._place(),
            "iteration": number,
            "max_iterations": self.max_iterations,
            "instructions": instructions,
            "status_instructions": own,
            "previous_status": describe(status) if status else "",
            "previous_summary": (status.summary or "") if status else "",
            "failures": failure,
            "notes": waiting,
            "commands": {name: getattr(settings.commands, name) or "" for name in ("test", "build", "lint")},
            "proof_wanted": bool(settings.verification.checks) or settings.verification.auto_verify,
            "now": datetime.now().astimezone().strftime("%Y-%m-%d %H:%M %z"),
            "status_file": str(layout.status),
            "todo_file": str(layout.todo),
            "plan_file": str(layout.plan),
            "impl_folder": str(layout.impl),
            "spec_dir": settings.paths.spec_dir,
            "src_dir": settings.paths.src_dir or "",
            "agents_text": _read_text(agents, f"`claude.agents_file` ({agents})", "Fix the setting.") if agents else "",
        }


def _read_text(path: Path, shown: str, hint: str) -> str:
    try:
        return untrusted_files.look(path, untrusted_files.LARGE).data.decode("utf-8")
    except UnicodeDecodeError:
        raise WorkspaceProblem(f"{shown} cannot be read: it is not UTF-8.", hint) from None
    except OSError as error:
        raise unreadable(WorkspaceProblem, shown, error, hint) from None
