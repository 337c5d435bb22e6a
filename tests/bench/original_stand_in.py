"""Speaks the commands of the TypeScript original that the bench uses."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

WORKSPACES = Path("claude-iterate", "workspaces")


def main(command: str, *words: str) -> int:
    if command == "init":
        folder = WORKSPACES / words[0]
        folder.mkdir(parents=True)
        (folder / ".metadata.json").write_text(json.dumps({"name": words[0], "executionIterations": 0}))
    elif command == "run":
        return run(WORKSPACES / words[0], words[1:])
    elif command == "list":
        print(sorted(path.name for path in WORKSPACES.iterdir()))
    elif command == "show":
        print((WORKSPACES / words[0] / ".metadata.json").read_text())
    elif command != "--help":
        return 1
    return 0


def run(folder: Path, flags: tuple[str, ...]) -> int:
    """Say on stdout what Claude says, if verbose."""
    claude = json.loads(Path(".claude-iterate.json").read_text())["claude"]
    prompt = (folder / "INSTRUCTIONS.md").read_text()
    verbose = "-v" in flags or "verbose" in flags
    count = int(flags[flags.index("-m") + 1])
    for _ in range(count):
        words = [claude["command"], *claude["args"], "--print", prompt]
        subprocess.run(words, stdin=subprocess.DEVNULL, stdout=None if verbose else subprocess.DEVNULL, check=True)
    (folder / ".metadata.json").write_text(json.dumps({"name": folder.name, "executionIterations": count}))
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
