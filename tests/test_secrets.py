"""A key in any text, at any place and at any cut, is in nothing that is written, shown or sent."""

from __future__ import annotations

import contextlib
import io
import json
import os
import string
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any, Literal, get_args, get_origin

import msgspec
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from claude_iterate.agent.protocol.stream import Translator
from claude_iterate.cli.boundary import main
from claude_iterate.core.events import (
    Carried,
    Entry,
    Event,
    IterationFinished,
    IterationStarted,
    Outcome,
    RunFinished,
    RunStarted,
    WorktreeLeft,
    WorktreeMade,
)
from claude_iterate.core.events.enums import ENDINGS, Kind, Word
from claude_iterate.core.redact import MASK, WORDS, Redactor
from claude_iterate.core.settings.declared import NOTIFY_FORMATS, Settings
from claude_iterate.core.state.run_state import RunState
from claude_iterate.engine.recorder import Recorder
from claude_iterate.engine.shell_command import Tail
from claude_iterate.sinks.console import Console
from claude_iterate.sinks.fanout import Fanout
from claude_iterate.sinks.notices import notices
from claude_iterate.sinks.notifier import request
from claude_iterate.sinks.text_log import TextLog
from claude_iterate.system import processes
from claude_iterate.views import watched_workspace
from claude_iterate.views.pages.listing_page import WatchedProject
from claude_iterate.views.pages.run_page import WatchedRun
from claude_iterate.views.watched_workspace import WatchedWorkspace
from claude_iterate.workspace import metadata_updates
from claude_iterate.workspace.journal_writer import JournalWriter
from claude_iterate.workspace.layout import Layout
from claude_iterate.workspace.project import Project
from claude_iterate.workspace.run_folder import notes
from tests.cli.journals import RUN, beginning

LOG = "iterate-20260101-000000.log"
VARIABLE = "DEPLOY_TOKEN"
LETTERS = string.ascii_letters + string.digits


class Key(msgspec.Struct, frozen=True):
    """A key as it stands in a text, and its secret parts. `environ` holds it, if that is how it is known."""

    text: str
    secret: tuple[str, ...]
    environ: dict[str, str] = {}

    def is_in(self, shown: str) -> str:
        """The first piece of its secret parts that can be read, if any."""
        pieces = (part[at : at + 8] for part in self.secret for at in range(len(part) - 7))
        return next((piece for piece in pieces if piece in shown), "")


def key(kind: str, seed: int) -> Key:
    """Letters of chance: what hypothesis would shrink to stands in any text."""
    words = Random(seed)
    secret = "".join(words.choices(LETTERS, k=words.randint(40, 50)))
    lines = tuple("".join(words.choices(LETTERS + "+/", k=64)) for _ in range(6))
    block = "\n".join(["-----BEGIN RSA PRIVATE KEY-----", *lines, "-----END RSA PRIVATE KEY-----"])
    match kind:
        case "variable":
            value = f"{secret[:20]}'\"é{secret[20:]}"
            return Key(value, (secret[:20], secret[20:]), {VARIABLE: f"{value}\n"})
        case "variable of several lines":
            return Key(block, lines, {VARIABLE: block})
        case "private key":
            return Key(block, lines)
        case "cut private key":
            return Key(block.partition("\n-----END")[0], lines)
        case "AKIA":
            return Key(f"AKIA{secret[:16].upper()}", (secret[:16].upper(),))
        case "jwt":
            return Key(
                f"eyJhbGci{secret[:10]}.{secret[10:25]}.{secret[25:]}", (secret[:10], secret[10:25], secret[25:])
            )
    return Key(f"{kind}{secret}", (secret,))


KINDS = ["variable", "variable of several lines", "private key", "cut private key", "AKIA", "jwt"]
KINDS += [
    "Authorization: Bearer ",
    "-api-key: ",
    "sk-ant-api03-",
    "sk-proj-",
    "sk_live_",
    "ghp_",
    "gho_",
    "ghs_",
    "github_pat_",
]
KINDS += ["glpat-", "xoxb-", "xoxp-", "AIza", "npm_"]
KEYS = st.builds(key, st.sampled_from(KINDS), st.integers(0, 2**32))
EDGES = (40, 60, 80, 120, 160, 200, 300, 500, 1000, 2000, 4000, 20_000)
NEAR_EDGES = st.builds(lambda edge, before: max(0, edge - before), st.sampled_from(EDGES), st.integers(0, 60))
PLACES = st.integers(0, 600) | NEAR_EDGES


def around(text: str, place: int) -> str:
    """A text with this one at the place, and more behind it."""
    return f"{'wordy ' * (place // 6)}{'.' * (place % 6)} {text} {'and so on ' * 50}"


def filled(kind: Any, text: str, word: str) -> Any:
    """A value of this type with the text where there is room for one, and the word where the code expects its own."""
    origin, inner = get_origin(kind), get_args(kind)
    if kind is str:
        return text
    if kind is Any:
        return {text: [text]}
    if origin is Literal:
        return inner[0]
    if origin is tuple:
        return tuple(filled(one, text, word) for one in inner if one is not ...)
    if origin is dict:
        return {filled(inner[0], text, word): filled(inner[1], text, word)}
    if inner:  # a union
        return filled(inner[0], text, word)
    if issubclass(kind, Word):
        return next(iter(kind))
    if issubclass(kind, msgspec.Struct):
        given = {field.name: word if field.name in WORDS else text for field in msgspec.structs.fields(kind)}
        return kind(
            **{field.name: filled(field.type, given[field.name], word) for field in msgspec.structs.fields(kind)}
        )
    return kind(1) if kind is not bool else False


EVERY = get_args(Event)


@settings(deadline=None, max_examples=30)
@given(KEYS, PLACES)
def test_a_key_in_any_field_of_any_event_is_not_recorded(key: Key, place: int) -> None:
    """Not in names and words either: what has the shape of a key is no word of ours. What variables of the user hold is
    masked in texts only, for it may be the same as a word."""
    text = around(key.text, place)
    for kind in EVERY:
        event = filled(kind, text, "word" if key.environ else text)
        assert not key.is_in(repr(Redactor(key.environ).clean_struct(event))), kind


class Posted:
    """A sink that keeps every notification in every form."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def __call__(self, entry: Entry, state: RunState) -> None:
        for notice in notices(entry, state, "project"):
            for form in NOTIFY_FORMATS:
                self.said.append(repr(request(notice, replace(Settings().notify, format=form))))

    def tick(self, now: float) -> None: ...

    def flush(self) -> None: ...

    def close(self) -> None: ...


OUT_OF_ORDER = (RunStarted, RunFinished, IterationStarted, IterationFinished, WorktreeMade, WorktreeLeft)


def story(text: str, word: str, reason: Any) -> Iterator[Event]:
    """A run with the text in every field of its events."""
    about: dict[str, Any] = {
        "command": ("claude", text),
        "agent_version": text,
        "again": text,
        "to_prove": text,
        "sandbox": word,
    }
    yield beginning(RUN, "task", log=LOG, carried=filled(Carried, text, word), **about)
    yield IterationStarted(1, text, text, text)
    for kind in EVERY:
        if kind not in OUT_OF_ORDER:
            yield filled(kind, text, word)
    outcome = replace(filled(Outcome, text, word), kind=Kind.CRASH)
    yield replace(filled(IterationFinished, text, word), outcome=outcome)
    yield replace(filled(RunFinished, text, word), reason=reason)


def record(layout: Layout, redactor: Redactor, happened: Iterator[Event]) -> str:
    """What all sinks show of a run; journal and log are left where they belong."""
    shown, posted = io.StringIO(), Posted()
    levels = [Console(shown, shown, level) for level in ("quiet", "progress", "verbose")]
    writer = JournalWriter(layout.journal(RUN), pytest.fail)

    def fail(name: str, error: Exception) -> None:
        raise AssertionError(name) from error

    fanout = Fanout([TextLog(layout.folder / LOG, pytest.fail), *levels, posted], fail)
    recorder = Recorder(writer, fanout, redactor, [])
    for event in happened:
        recorder.record(event)
    fanout.close()
    writer.close()
    metadata_updates.record_run(layout, recorder.state, RUN)
    return "\n".join([shown.getvalue(), *posted.said])


def typed(folder: Path, *words: str) -> str:
    """What a command prints."""
    shown = io.StringIO()
    with contextlib.redirect_stdout(shown), contextlib.redirect_stderr(shown):
        main(["-C", str(folder), *words])
    return shown.getvalue()


COMMANDS = (
    *("show", "show --json", "history", "history --wide", "history --json", "list", "list --json"),
    *("logs", "logs --json", "logs --list", "logs --list --json", "report -o -", "report -o - --format md"),
    *("report --json", "plan --show", "plan --show --json", "watch --plain"),
    *(f"replay --speed max --output {level}" for level in ("quiet", "progress", "verbose")),
)


def pages(project: Project, layout: Layout) -> str:
    """The dashboard, and the full screen of `watch`."""
    drawn = WatchedRun(layout).draw(), WatchedProject(project).draw()
    seen = WatchedWorkspace(layout).look()
    return repr(drawn) + repr(watched_workspace.lines(seen, 1e9, 300, 300)) + repr(watched_workspace.row(seen, 1e9))


@settings(deadline=None, max_examples=25, suppress_health_check=list(HealthCheck))
@example(key("private key", 1), 40, "blocked", True)
@given(KEYS, PLACES, st.sampled_from(list(ENDINGS)), st.booleans())
def test_a_key_is_in_no_output(key: Key, place: int, reason: Any, ended: bool) -> None:
    """Of no sink and no view, whether it comes in an event or in a file that Claude or the user wrote."""
    text = around(key.text, place)
    with tempfile.TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:
        for known, value in {"HOME": name, **key.environ}.items():
            patch.setenv(known, value)
        folder = Path(name, "project")
        folder.mkdir()
        project = Project(folder, os.environ)
        project.create("task")
        layout = project.layout("task")
        layout.instructions.write_text(f"# Task\n{text}\n")
        layout.plan.write_text(f"- [ ] {' '.join(text.split())}\n")
        report = {"complete": False, "summary": text, "phase": text, "blocked": text, "blockers": [text]}
        layout.status.write_text(json.dumps(report))
        notes.add(layout, text)
        if ended:
            shown = record(layout, Redactor(key.environ), story(text, "word" if key.environ else text, reason))
            assert MASK in shown
            assert not key.is_in(shown), "sinks"
            assert not key.is_in((layout.folder / LOG).read_text()), "log"
            assert not key.is_in(layout.journal(RUN).read_text()), "journal"
            assert not key.is_in(layout.metadata.read_text()), "metadata"
        else:
            (layout.folder / LOG).write_text(text)  # the log of the original
        for command in COMMANDS:
            words = command.split()
            task = [] if words[0] == "list" else ["task"]
            assert not key.is_in(typed(folder, words[0], *task, *words[1:])), command
        assert not key.is_in(pages(project, layout)), "pages"


@settings(deadline=None, max_examples=60)
@given(KEYS, PLACES)
def test_what_is_cut_while_it_is_read_was_masked_before(key: Key, place: int) -> None:
    """Where the reader of Claude's output keeps only the beginning of a text: refusals, requests, remarks, lines."""
    text, redactor = around(key.text, place), Redactor(key.environ)
    asked = {"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": text}}
    said = {"type": "tool_result", "tool_use_id": "t", "is_error": True, "content": text}
    denied = {"tool_use_id": "t", "tool_name": "Bash", "tool_input": {"command": text}}
    documents = [
        {"type": "assistant", "message": {"content": [asked, {"type": "odd", "said": text}]}},
        {"type": "system", "subtype": "permission_denied", "tool_use_id": "t", "tool_name": "Bash", "message": text},
        {"type": "user", "message": {"content": [said, {"text": {"deep": text}}]}},
        {"type": "system", "subtype": "hook_response", "output": text},
        {"type": "system", "subtype": "permission_denied", "decision_reason_type": text},
        {"type": "unheard of", "text": text},
        {"type": "rate_limit_event", "text": text},
        {"type": "result", "is_error": True, "api_error": text, "result": text, "permission_denials": [denied]},
    ]
    translator = Translator(redactor=redactor)
    found = translator.read("stdout", [json.dumps(document).encode() for document in documents])
    found += translator.read("stdout", [line.encode() for line in text.split("\n")])
    found += translator.read("stderr", [line.encode() for line in text.split("\n")])
    assert len(found) > len(documents)
    assert not key.is_in(repr([redactor.clean_struct(event) for event in found]))


@settings(deadline=None, max_examples=60)
@given(KEYS, PLACES, st.integers(1, 300), st.integers(1, 7))
def test_the_end_of_an_output_has_no_rest_of_a_key(key: Key, place: int, most: int, together: int) -> None:
    """Wherever the beginning is dropped, however the lines come."""
    tail = Tail(most, Redactor(key.environ))
    lines = [line.encode() for line in f"{key.text} {'.' * (place % 400)}\nlast".split("\n")]
    for first in range(0, len(lines), together):
        tail.take("stdout", lines[first : first + together])
    assert not key.is_in(tail.text())


def test_a_process_is_named_without_what_it_was_given(tmp_path: Path) -> None:
    """Its command line is cut, and the key with it."""
    secret = key("ghp_", 7)
    program = [sys.executable, "-c", "print(flush=True); input()", "-" * (105 - len(sys.executable) - 30), secret.text]
    with subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        named = processes.describe(process.pid)
        assert named.startswith(sys.executable)
        assert not secret.is_in(named)
        process.communicate(b"\n")
