"""Files are opened, made, listed and removed by `system/untrusted_files.py` alone, where an agent can write them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import claude_iterate

PACKAGE = Path(claude_iterate.__file__).parent
ELSEWHERE = {
    "system/untrusted_files.py": "it is the way",
    "selftest/": "projects of its own in the folder for temporary files",
    "fake_claude/": "a program of its own, which takes the place of the agent",
    "agent/command/sandbox_host.py": "git's own folder, and the user's folder of Claude",
    "agent/command/sandbox_network.py": "its socket, in the folder for temporary files",
    "agent/processes/guardian.py": "the folder of that socket",
    "cli/boundary.py": "/dev/null",
    "cli/commands/selftest.py": "a folder for temporary files that it has made",
    "cli/commands/setup.py": "a file that the user names outside of the project",
    "operations/dashboard/web_server.py": "a file for the browser, in the folder for temporary files",
    "operations/demo_project.py": "a project that it makes itself, before any agent works there",
    "operations/run_processes.py": "/dev/null",
    "project/agent_repository.py": "git's own folder",
    "project/git.py": "git's own folder",
    "project/snapshots.py": "the HEAD in git's own folder",
    "prompts.py": "the prompts of the package",
    "sinks/safe_stream.py": "/dev/null",
    "system/front_process.py": "/dev/null",
    "system/processes.py": "/proc",
    "system/restorable_file.py": "a file that is open already",
    "workspace/run_folder/run_lock.py": "a folder that is open already",
}
OF_MODULES = {
    "os": "open rename replace unlink remove mkdir makedirs listdir scandir walk fwalk rmdir removedirs readlink"
    " symlink link chmod utime truncate",
    "shutil": "copy copy2 copyfile copytree move rmtree",
    "glob": "glob iglob",
    "io": "open",
}
OF_PATHS = frozenset(
    """
    open read_text read_bytes write_text write_bytes mkdir unlink rename iterdir glob rglob walk rmdir touch chmod
    symlink_to hardlink_to readlink
    """.split()  # noqa: SIM905 - one name per line would take a page
)
OTHERS = {"untrusted_files", "tarfile", "webbrowser", "formatter", "settings_reader", "scope", "board"}
"""What else has such methods."""


def ways(tree: ast.AST) -> Iterator[str]:
    """The calls that open, make, list or remove something."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name(id="open")):
                yield "open"
            case ast.Call(func=ast.Attribute(value=ast.Name(id=module), attr=name)) if module in OF_MODULES:
                if name in OF_MODULES[module].split():
                    yield f"{module}.{name}"
            case ast.Call(func=ast.Attribute(value=ast.Name(id=module))) if module in OTHERS:
                pass
            case ast.Call(func=ast.Attribute(attr=name)) if name in OF_PATHS:
                yield name
            case ast.Call(func=ast.Attribute(attr="replace"), args=[_], keywords=[]):
                yield "replace"
            case ast.ImportFrom(module="os" | "shutil" | "glob" | "io", names=names):
                yield from (one.name for one in names if one.name in " ".join(OF_MODULES.values()).split())


def test_there_is_one_way_to_what_an_agent_can_write() -> None:
    """No module calls anything else to open, make, list or remove a file; each exception has its reason, and is one."""
    found = {
        path.relative_to(PACKAGE).as_posix(): list(ways(ast.parse(path.read_text("utf-8"))))
        for path in PACKAGE.rglob("*.py")
    }
    around = {name: calls for name, calls in found.items() if calls and not name.startswith(tuple(ELSEWHERE))}
    assert around == {}
    assert [
        name for name in ELSEWHERE if not any(calls for path, calls in found.items() if path.startswith(name))
    ] == []
