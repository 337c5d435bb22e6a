"""The readers that must survive any input, each as a function of chance and a scratch folder."""

from __future__ import annotations

import contextlib
import io
import json
import re
import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from claude_iterate.agent.protocol.framing import LineFramer
from claude_iterate.agent.protocol.stream import Translator
from claude_iterate.core import foreign_json
from claude_iterate.core.events import (
    Entry,
    Event,
    IterationFinished,
    IterationStarted,
    ResultReported,
    RunStarted,
    StatusChanged,
    Warned,
)
from claude_iterate.core.outcomes.call import Call
from claude_iterate.core.outcomes.classes import JUST_PASSED, LONGEST, classify, plausible
from claude_iterate.core.outcomes.evidence import Evidence
from claude_iterate.core.redact import Redactor
from claude_iterate.core.reports import fallbacks, review, status
from claude_iterate.core.settings.declared import catalogue
from claude_iterate.core.settings.layers import layer_from_document, layer_from_environment, resolve
from claude_iterate.core.state.carry_over import resume_from
from claude_iterate.core.state.fold import fold
from claude_iterate.core.state.run_state import RunState
from claude_iterate.engine.recorder import Recorder
from claude_iterate.errors import ExpectedError, SettingsProblem
from claude_iterate.sinks.console import Console
from claude_iterate.sinks.fanout import Sink
from claude_iterate.sinks.notices import notices
from claude_iterate.sinks.text_log import TextLog
from claude_iterate.workspace import journal_reader, metadata, settings_reader
from claude_iterate.workspace.journal_writer import JournalWriter
from claude_iterate.workspace.layout import Layout
from claude_iterate.workspace.run_folder.control import RequestFolder
from tests import fuzz_inputs
from tests.core.building import evidence

RECORDINGS = sorted((Path(__file__).parent / "fixtures").glob("claude-*/*.ndjson"))
STARTED = RunStarted("r", "w", "loop", 5, 1, "h", "0", ("claude",))
STATUS = {
    "complete": False,
    "progress": {"completed": 3, "total": 9},
    "worked": True,
    "summary": "half way",
    "blocked": "no key",
    "blockers": ["a", "b"],
    "lastUpdated": "2026-11-16T03:00:00Z",
}
LIMITS = (
    "Claude AI usage limit reached|1762952400",
    "Claude usage limit reached. Your limit will reset at 7pm (Asia/Tokyo).",
    "5-hour limit reached ∙ resets 1am",
    "You've hit your limit · resets Feb 29, 9:30pm (Africa/Johannesburg)",
    "You have reached your specified workspace API usage limits. You will regain access on 2026-06-01 at 00:00 UTC.",
    "limit reached, resets Dec 31, 9999 at 12am (UTC)",
)
REPORT = (
    '```json\n{"summary": "all is well", "findings": [{"missing": true}]}\n```\n# Review\n1. one\n2. two\n'
    "---LOOP_STATUS---\nSTATUS: COMPLETE\nFILES_MODIFIED: 3\n---END_LOOP_STATUS---\n"
    "- [x] done\n1. [ ] open\n```\n- [ ] code\n```\n"
)
VALUES = (
    *fuzz_inputs.ODD,
    *("5m", "1h", 3, "https://x.y", {"A": "b"}),
    *(["a"], ["x{9999999999}"], ["(" * 3000 + ")" * 3000]),
)
"""What a user may try as the value of a setting."""


LEFT_OUT = re.compile(r"\((\d+) more such lines; the journal leaves them out\)")


@cache
def _recording(path: Path) -> list[bytes]:
    return path.read_bytes().splitlines(keepends=True)


class _Keeper:
    """A recorder with the real journal and the real sinks, none of which may raise."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "events.ndjson"
        self.log = folder / "run.log"
        self.path.unlink(missing_ok=True)
        self.log.unlink(missing_ok=True)
        self._journal = JournalWriter(self.path, _raise)
        self._sinks: list[Sink] = [
            TextLog(self.log, _raise),
            Console(io.StringIO(), io.StringIO(), "verbose", True),
            Console(io.StringIO(), io.StringIO(), "progress", False),
        ]
        self.count = 0
        troubles: list[Warned] = []
        redactor = Redactor({"A_TOKEN": "swordfish-swordfish"})
        self.recorder = Recorder(self._journal, self, redactor, troubles)

    def tick(self, now: float) -> None: ...

    def flush(self) -> None: ...

    def __call__(self, entry: Entry, state: RunState) -> None:
        self.count += 1
        for sink in self._sinks:
            sink(entry, state)
        notices(entry, state)

    def close(self) -> None:
        for sink in self._sinks:
            sink.close()
        self._journal.close()
        kept = 0
        for entry in journal_reader.read(self.path):
            counted = LEFT_OUT.match(getattr(entry.event, "text", ""))
            kept += int(counted[1]) if counted else 1
        assert kept == self.count, f"{self.count} entries were written, {kept} can be read or are counted"


def _raise(text: str) -> None:
    raise AssertionError(text)


def _mutated_stream(chance: Random) -> bytes:
    lines = list(_recording(chance.choice(RECORDINGS)))
    other = _recording(chance.choice(RECORDINGS))
    for _ in range(chance.randint(1, 4)):
        place = chance.randrange(len(lines))
        kind = chance.random()
        if kind < 0.6:
            with contextlib.suppress(ValueError):
                lines[place] = (
                    fuzz_inputs.encoded(chance, fuzz_inputs.document(chance, json.loads(lines[place]))) + b"\n"
                )
        elif kind < 0.8:
            lines[place] = fuzz_inputs.data(chance, lines[place])
        else:
            lines.insert(place, chance.choice(other))
    return b"".join(lines)


def stream(chance: Random, folder: Path) -> None:
    """What Claude prints, from bytes to journal, log, console, outcome and back."""
    keeper, framer, translator = _Keeper(folder), LineFramer(chance.choice((5000, 64_000_000))), Translator()
    keeper.recorder.record(STARTED)
    keeper.recorder.record(IterationStarted(1))
    for chunk in (*fuzz_inputs.chunks(chance, _mutated_stream(chance)), None):
        lines = framer.feed(chunk) if chunk is not None else framer.finish()
        keeper.recorder.record_printed(translator.read("stdout", lines))
    call = keeper.recorder.state.call
    outcome = classify(Evidence(call or Call(0, 0.0), chance.random() < 0.5, chance.choice((0.0, 1.7e9, 4e9))))
    result = call.result if call else None
    keeper.recorder.record(IterationFinished(1, outcome, denials=result.denials if result else ()))
    keeper.close()


def kept_journal(chance: Random, folder: Path) -> None:
    """A damaged journal: what can be read is folded, and a run can continue from it."""
    entries: list[Event] = [STARTED, IterationStarted(1), IterationFinished(1, classify(evidence()))]
    keeper = _Keeper(folder)
    for event in entries:
        keeper.recorder.record(event)
    keeper.close()
    lines = keeper.path.read_bytes().splitlines(keepends=True)
    place = chance.randrange(len(lines))
    changed = fuzz_inputs.document(chance, json.loads(lines[place]))
    lines[place] = fuzz_inputs.encoded(chance, changed) + b"\n"
    keeper.path.write_bytes(fuzz_inputs.data(chance, b"".join(lines)))
    state = fold(journal_reader.milestones(keeper.path))
    resume_from("r", state, 1.0)


def status_file(chance: Random, folder: Path) -> None:
    """The agent's report: parsed, compared, described, recorded."""
    raw = fuzz_inputs.encoded(chance, fuzz_inputs.document(chance, STATUS))
    reading = status.parse(fuzz_inputs.data(chance, raw) if chance.random() < 0.5 else raw)
    if reading.status is not None:
        before = status.parse(fuzz_inputs.encoded(chance, STATUS)).status
        change = status.compare(before, reading.status)
        status.describe(reading.status, change)
        keeper = _Keeper(folder)
        keeper.recorder.record(STARTED)
        keeper.recorder.record(StatusChanged(reading.status, change or status.Change()))
        keeper.recorder.record(IterationFinished(1, classify(evidence()), reading.status, reading.problems))
        keeper.close()


def limit_words(chance: Random, _folder: Path) -> None:
    """Messages about limits, at any time."""
    words = fuzz_inputs.text(chance, chance.choice(LIMITS))
    now = chance.choice((0.0, 1.0, 1.7e9, 1772323199.0, 4.1e9, 2.5e11))
    moment = classify(evidence(ResultReported("success", True, words), now=now)).resets_at
    assert moment is None or now - JUST_PASSED < moment <= now + LONGEST
    odd = chance.choice((None, -1, 0, now, now + 1, now * 1000, 1e300, -1e300))
    plausible(odd, now)


def reports(chance: Random, _folder: Path) -> None:
    """What agents without a schema or a status file write."""
    text = fuzz_inputs.text(chance, REPORT, 8)
    foreign_json.decode_written(text.encode("utf-8", "replace"))
    review.list_requirements(review.requirements_in(text))
    fallbacks.from_block(text)
    fallbacks.from_boxes(text)


def settings_file(chance: Random, folder: Path) -> None:
    """Settings in a file: a SettingsProblem, or settings."""
    path = folder / chance.choice(("a.toml", "a.json"))
    path.write_bytes(_settings_text(chance, path.suffix))
    with contextlib.suppress(SettingsProblem):
        resolve([layer_from_document("project", str(path), settings_reader.read_document(path))])


def _settings_text(chance: Random, kind: str) -> bytes:
    keys = chance.sample(sorted(catalogue()), 3)
    values = {key: chance.choice(VALUES) for key in keys}
    if kind == ".json":
        nested: dict[str, Any] = {}
        for key, value in values.items():
            head, _, tail = key.partition(".")
            nested[head] = {tail: value} if tail and chance.random() < 0.9 else value
        return fuzz_inputs.data(chance, fuzz_inputs.encoded(chance, nested), 2)
    lines = [f"{key} = {json.dumps(value)}" for key, value in values.items()]
    lines.append(
        chance.choice(("delay = " + "9" * 5000, "delay = 1979-05-27", "[claude]", "delay = 0x" + "f" * 400, ""))
    )
    return fuzz_inputs.data(chance, "\n".join(lines).encode("utf-8", "replace"), 2)


def settings_environment(chance: Random, _folder: Path) -> None:
    """Settings in variables."""
    odd = [str(value) for value in fuzz_inputs.ODD] + ["5m", "1e400", "-3s", "٣", "[1", '{"a":', "1_000", "true "]
    chosen = chance.sample(list(catalogue().values()), 2)
    environ = {setting.variable: fuzz_inputs.text(chance, chance.choice(odd), 1) for setting in chosen}
    with contextlib.suppress(SettingsProblem):
        resolve([layer_from_environment(environ)])


def workspace_metadata(chance: Random, folder: Path) -> None:
    """.metadata.json: an expected error, or metadata whose settings can be judged."""
    known = {"format": 3, "name": "a", "mode": "loop", "executionIterations": 4, "settings": {"delay": 3}}
    path = folder / ".metadata.json"
    raw = fuzz_inputs.encoded(chance, fuzz_inputs.document(chance, known))
    path.write_bytes(fuzz_inputs.data(chance, raw, 1))
    with contextlib.suppress(ExpectedError):
        about = metadata.read(path)
        metadata.changed_document(about)
        resolve([settings_reader.workspace_layer(about)])


def control(chance: Random, folder: Path) -> None:
    """Requests that are none: removed and told, never raised."""
    layout = Layout(folder, folder / "w")
    shutil.rmtree(layout.control, ignore_errors=True)
    layout.control.mkdir(parents=True)
    request = {"run": "r", "verb": chance.choice(("stop", "pause", "skip", "")), "now": True, "pid": 1}
    for number in range(chance.randint(1, 3)):
        path = layout.control / chance.choice((f"{number:020d}-stop-00000f.json", "é\udcff.json", "a b"))
        raw = fuzz_inputs.encoded(chance, fuzz_inputs.document(chance, request))
        path.write_bytes(fuzz_inputs.data(chance, raw, 2))
    foreign = {path for path in layout.control.iterdir() if not path.name.endswith("-stop-00000f.json")}
    list(RequestFolder(layout, "r").take(lambda _request: "so it is"))
    assert {path for path in layout.control.iterdir() if not path.name.startswith(".")} == foreign


TARGETS: dict[str, Callable[[Random, Path], None]] = {
    "stream": stream,
    "journal": kept_journal,
    "status": status_file,
    "limits": limit_words,
    "reports": reports,
    "settings": settings_file,
    "environment": settings_environment,
    "metadata": workspace_metadata,
    "control": control,
}
