"""Where the files of a project and a workspace are, and which runs and logs exist. No file is read here."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path

import msgspec

from claude_iterate.core import names
from claude_iterate.system import untrusted_files

PROJECT_FILES = (".claude-iterate.toml", ".claude-iterate.json")
PROJECT_FOLDERS = ("workspaces", "templates", "archive", "hooks")
"""A `claude-iterate/` folder with any of these inside marks a project."""
_RUN_ID = re.compile(r"[0-9]{6,}(-[0-9a-z]+)*")


def project_root(start: Path) -> Path:
    """The nearest folder, from `start` upwards, that belongs to claude-iterate; else `start` itself."""
    start = start.resolve()
    return next((folder for folder in (start, *start.parents) if is_project(folder)), start)


def is_project(folder: Path) -> bool:
    """True for a folder with settings or workspaces of claude-iterate."""
    ours = folder / "claude-iterate"
    # A checkout of this tool has the same name and a templates folder; the folder around it is not a project.
    holds_project = any((ours / name).is_dir() for name in PROJECT_FOLDERS) and not (ours / "pyproject.toml").exists()
    return holds_project or any((folder / name).is_file() for name in PROJECT_FILES)


def named_folders(folder: Path) -> list[str]:
    """The names in a folder of workspaces or templates, sorted. A name that no command accepts is left out."""
    try:
        with untrusted_files.scan(folder) as entries:
            found = (it for it in entries if it.is_symlink() or it.is_dir())  # it may be one: then no use of it works
            return sorted(entry.name for entry in found if names.is_acceptable(entry.name))
    except FileNotFoundError:
        return []


class _File:
    """A path in a workspace. `agent`: the agent writes there, in a dry run in the copy."""

    def __init__(self, name: str, agent: bool = False) -> None:
        self._name = name
        self._agent = agent

    def __get__(self, layout: Layout, _owner: type[Layout]) -> Path:
        return (layout.agent_folder if self._agent else layout.folder) / self._name


class Layout(msgspec.Struct, frozen=True):
    """One workspace's paths. All are absolute. `root` is where Claude works: the project, or its worktree; then `main`
    is the project. `dry_run_folder`: where a dry run has its copy of the agent's files."""

    root: Path
    folder: Path
    dry_run_folder: Path | None = None
    main: Path | None = None

    instructions = _File("INSTRUCTIONS.md")
    todo = _File("TODO.md", agent=True)
    plan = _File("IMPLEMENTATION_PLAN.md", agent=True)
    impl = _File("impl", agent=True)
    """More files of the plan, if there is a README.md among them."""
    status = _File(".status.json", agent=True)
    metadata = _File(".metadata.json")
    status_instructions = _File(".status-instructions.md")
    lock = _File(".lock")
    runs = _File("runs")
    working = _File("working", agent=True)
    control = _File("control")
    """Requests to the running loop."""
    notes = _File("notes", agent=True)
    """Messages from the user to the next iteration."""
    prompts = _File("prompts")
    """The workspace's own prompts, if any."""

    @property
    def agent_folder(self) -> Path:
        """Where the agent works: the workspace; in a dry run the copy."""
        return self.dry_run_folder or self.folder

    @property
    def beside(self) -> tuple[str, ...]:
        """Where Claude works beside `root`: the workspace, if it is not below it, wherever links lead. Claude Code
        allows only what is below the folders that it is given."""
        folder, root = os.path.realpath(self.agent_folder), os.path.realpath(self.root)
        return () if os.path.commonpath((folder, root)) == root else (str(self.agent_folder),)

    @property
    def project(self) -> Path:
        """The project itself, wherever Claude works: its settings and prompts are there."""
        return self.main or self.root

    @property
    def name(self) -> str:
        """The workspace's name is its folder's name."""
        return self.folder.name

    def own_folders(self) -> list[Path]:
        """What claude-iterate writes in the project at any time: the folders of all workspaces, and archives."""
        usual = self.root / "claude-iterate"
        found = [usual / "workspaces", usual / "archive", usual / "worktrees", self.folder]
        if self.folder.parent != found[0]:  # such a folder may hold anything else as well
            beside = (self.folder.parent / name for name in untrusted_files.names_in(self.folder.parent))
            found += [path for path in beside if untrusted_files.exists(path / ".metadata.json")]
        return found

    def journal(self, run: str) -> Path:
        """The journal of one run."""
        return self.runs / run / "events.ndjson"

    def scratch(self, run: str) -> Path:
        """Temporary files of a run; empty before and after."""
        return self.runs / run / "scratch"

    def dry_run_copy(self, run: str) -> Path:
        """Where a dry run has its copy of the agent's files."""
        return self.runs / run / "dry-run"

    def raw(self, run: str, name: str) -> str:
        """What Claude printed in one call, byte for byte; `name` is 0001 for iteration 1, review-1 for a review."""
        return f"{self.runs}/{run}/raw/{name}.ndjson"

    def sent(self, run: str, name: str) -> str:
        """The prompt of the same call, as it was sent."""
        return f"{self.runs}/{run}/raw/{name}.prompt.md"

    def run_ids(self) -> list[str]:
        """The ids of all runs, oldest first: an id begins with a number that grows. No other folder is a run."""
        try:
            with untrusted_files.scan(self.runs) as entries:
                found = [it.name for it in entries if it.is_dir(follow_symlinks=False)]
            return sorted(name for name in found if _RUN_ID.fullmatch(name))
        except OSError:
            return []

    def logs(self) -> list[Path]:
        """All logs, oldest first. The original's names (with dashes) count too."""
        found = [(path, untrusted_files.status(path)) for path in untrusted_files.find(self.folder, "iterate-*.log")]
        files = [(about.st_mtime_ns, path) for path, about in found if about and stat.S_ISREG(about.st_mode)]
        return [path for _, path in sorted(files)]

    def abandoned(self, remove: bool = False) -> list[Path]:
        """What the atomic writes of killed processes left here, and no process is busy with. What cannot be removed
        stays."""
        places = (self.folder, *filter(untrusted_files.is_folder, (self.control, self.notes)))
        return [path for folder in places for path in untrusted_files.find_abandoned(folder, remove=remove)]

    def next_run_id(self, stamp: str) -> str:
        """The id of the next run: a number above all others, so that no clock can put runs out of order, then the time,
        then random digits, so that no run of any workspace has the same id. The caller holds the lock."""
        numbers = [int(name.split("-")[0]) for name in self.run_ids()]
        return f"{max(numbers, default=0) + 1:06d}-{stamp}-{os.urandom(3).hex()}"
