"""The fake's tools: each really does its work, and prints the call before it and the answer after it."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

from claude_iterate.fake_claude.stream import Document, Stream


def load(path: Path) -> str | None:
    """A file's text, every byte kept (odd ones as surrogates), or None."""
    try:
        return path.read_bytes().decode("utf-8", "surrogateescape")
    except OSError:
        return None


def replace(path: Path, data: bytes) -> None:
    """Replace the file in one step, so that no reader sees half of it."""
    temporary = path.with_name(f".fake-{os.getpid()}.tmp")
    try:
        temporary.write_bytes(data)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)  # there only if it failed or was interrupted


def read(stream: Stream, path: Path) -> str | None:
    """Read a file; None, and an error for the model, when it does not exist."""
    identity = stream.call("Read", {"file_path": str(path)})
    text = load(path)
    if text is None:
        where = f"your current working directory is {Path.cwd()}"
        stream.answer(identity, f"File does not exist. Note: {where}.", None, True)
        return None
    lines = text.split("\n")
    file = {"filePath": str(path), "content": text, "numLines": len(lines), "startLine": 1, "totalLines": len(lines)}
    numbered = "\n".join(f"{number}\t{line}" for number, line in enumerate(lines, 1))
    stream.answer(identity, numbered, {"type": "text", "file": file})
    return text


def write(stream: Stream, path: Path, text: str) -> None:
    """Write a file whole."""
    before = load(path)
    facts = {"type": "create" if before is None else "update", "filePath": str(path), "content": text}
    more: Document = {"structuredPatch": [], "originalFile": before, "userModified": False}
    created = f"File created successfully at: {path}" if before is None else ""
    _save(stream, "Write", {"file_path": str(path), "content": text}, text, {**facts, **more}, created)


def edit(stream: Stream, path: Path, old: str, new: str, text: str) -> None:
    """Replace one line by another. The caller gives the whole new text: it knows which of two equal lines is it."""
    given = {"replace_all": False, "file_path": str(path), "old_string": old, "new_string": new}
    before = load(path) or ""
    start = before.partition(old)[0].count("\n") + 1
    patch = {"oldStart": start, "oldLines": 1, "newStart": start, "newLines": 1, "lines": [f"-{old}", f"+{new}"]}
    facts = {"filePath": str(path), "oldString": old, "newString": new, "originalFile": before}
    switches = {"userModified": False, "replaceAll": False}
    _save(stream, "Edit", given, text, {**facts, **switches, "structuredPatch": [patch]})


def _save(stream: Stream, tool: str, given: Document, text: str, facts: Document, done: str = "") -> None:
    identity = stream.call(tool, given)
    path = given["file_path"]
    try:
        replace(Path(path), text.encode("utf-8", "surrogateescape"))
    except OSError as problem:
        stream.answer(identity, f"{problem.strerror}, open '{path}'", None, True)
    else:
        stream.answer(identity, done or f"The file {path} has been updated successfully.", facts)


def echo(stream: Stream, text: str) -> None:
    """Bash, with the one command whose output is known without starting a shell."""
    identity = stream.call("Bash", {"command": f"echo {shlex.quote(text)}", "description": "Say what was done"})
    facts = {"stdout": text, "stderr": "", "interrupted": False, "isImage": False, "noOutputExpected": False}
    stream.answer(identity, text, facts)
