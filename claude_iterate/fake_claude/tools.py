"""The fake's tools: each really does its work, and prints the call before it and the answer after it."""

from __future__ import annotations

import os

from claude_iterate.fake_claude.printer import Stream
from claude_iterate.fake_claude.shapes import Document


def contents(path: str) -> bytes:
    """All bytes of a file."""
    with open(path, "rb") as file:
        return file.read()


def load(path: str) -> str | None:
    """A file's text, every byte kept (odd ones as surrogates), or None."""
    try:
        return contents(path).decode("utf-8", "surrogateescape")
    except OSError:
        return None


def replace(path: str, data: bytes) -> None:
    """Replace the file in one step, so that no reader sees half of it."""
    temporary = os.path.join(os.path.dirname(path), f".fake-{os.getpid()}.tmp")
    try:
        with open(temporary, "wb") as file:
            file.write(data)
        os.replace(temporary, path)
    finally:
        remove(temporary)  # there only if it failed or was interrupted


def remove(path: str) -> None:
    """Remove the file, if there is one."""
    try:
        os.unlink(path)
    except FileNotFoundError:
        return


def read(stream: Stream, path: str) -> str | None:
    """Read a file; None, and an error for the model, when it does not exist."""
    identity = stream.call("Read", {"file_path": path})
    text = load(path)
    if text is None:
        where = f"your current working directory is {os.getcwd()}"
        stream.answer(identity, f"File does not exist. Note: {where}.", None, True)
        return None
    lines = text.split("\n")
    file = {"filePath": path, "content": text, "numLines": len(lines), "startLine": 1, "totalLines": len(lines)}
    numbered = "\n".join(f"{number}\t{line}" for number, line in enumerate(lines, 1))
    stream.answer(identity, numbered, {"type": "text", "file": file})
    return text


def write(stream: Stream, path: str, text: str) -> None:
    """Write a file whole."""
    before = load(path)
    facts = {"type": "create" if before is None else "update", "filePath": path, "content": text}
    more: Document = {"structuredPatch": [], "originalFile": before, "userModified": False}
    created = f"File created successfully at: {path}" if before is None else ""
    _save(stream, "Write", {"file_path": path, "content": text}, text, {**facts, **more}, created)


def edit(stream: Stream, path: str, old: str, new: str, text: str) -> None:
    """Replace one line by another. The caller gives the whole new text: it knows which of two equal lines is it."""
    given = {"replace_all": False, "file_path": path, "old_string": old, "new_string": new}
    before = load(path) or ""
    start = before.partition(old)[0].count("\n") + 1
    patch = {"oldStart": start, "oldLines": 1, "newStart": start, "newLines": 1, "lines": [f"-{old}", f"+{new}"]}
    facts = {"filePath": path, "oldString": old, "newString": new, "originalFile": before}
    switches = {"userModified": False, "replaceAll": False}
    _save(stream, "Edit", given, text, {**facts, **switches, "structuredPatch": [patch]})


def _save(stream: Stream, tool: str, given: Document, text: str, facts: Document, done: str = "") -> None:
    identity = stream.call(tool, given)
    path = given["file_path"]
    try:
        replace(path, text.encode("utf-8", "surrogateescape"))
    except OSError as problem:
        stream.answer(identity, f"{problem.strerror}, open '{path}'", None, True)
    else:
        stream.answer(identity, done or f"The file {path} has been updated successfully.", facts)


def echo(stream: Stream, text: str) -> None:
    """Bash, with the one command whose output is known without starting a shell."""
    command = "echo '" + text.replace("'", "'\\''") + "'"
    identity = stream.call("Bash", {"command": command, "description": "Say what was done"})
    facts = {"stdout": text, "stderr": "", "interrupted": False, "isImage": False, "noOutputExpected": False}
    stream.answer(identity, text, facts)
