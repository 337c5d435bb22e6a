"""One call of Claude, from the prompt to the outcome."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from claude_iterate.agent import command, sweep
from claude_iterate.agent.ladder import Ladder
from claude_iterate.agent.process import AgentProcess, Exited, Message, Printed, StreamEnded
from claude_iterate.agent.stream import Translator
from claude_iterate.core.decide import Cut, decide_running
from claude_iterate.core.durations import describe
from claude_iterate.core.events import (
    AgentExited,
    AgentStarted,
    CutStarted,
    ErrorPrinted,
    Event,
    IterationFinished,
    IterationStarted,
    LeftoversEnded,
    Outcome,
    Tokens,
)
from claude_iterate.core.outcome import Evidence, classify
from claude_iterate.core.state import Iteration
from claude_iterate.engine.inbox import Inbox
from claude_iterate.engine.plan import Plan, Texts
from claude_iterate.engine.recorder import Recorder
from claude_iterate.engine.status import StatusDesk
from claude_iterate.errors import AgentProblem, ExpectedError

_LEAK = 0.25
_ABANDON = 2.0


class IterationRun:
    """Runs one iteration on the engine's inbox."""

    def __init__(
        self,
        plan: Plan,
        recorder: Recorder,
        inbox: Inbox,
        desk: StatusDesk,
        number: int,
        own_children: tuple[int, ...] = (),
    ) -> None:
        self._plan = plan
        self._recorder = recorder
        self._inbox = inbox
        self._desk = desk
        self._number = number
        self._own_children = own_children
        self._translator = Translator()
        self._open_streams = {"stdout", "stderr"}
        self._exited_at: float | None = None
        self._last_heard = 0.0
        self._ladder: Ladder | None = None

    def run(self) -> None:
        """Everything from the prompt to `IterationFinished`. What Claude does is an outcome, never an exception."""
        began = self._recorder.elapsed()
        self._desk.iteration_begins()
        try:
            texts = self._plan.texts(self._number, self._previous_failure())
            prompt = texts.user.encode("utf-8", "replace")
            self._record_start(texts, len(prompt))
            with self._raw() as raw, self._system_prompt_file(texts.system) as file:
                self._converse(texts, prompt, raw, file)
        except ExpectedError as problem:
            # Claude or the instructions went away in mid-run, or a prompt was edited into nonsense.
            self._finish(began, Outcome("config", problem.message, problem.hint))
            return
        self._sweep()
        self._finish(began, None)

    def _previous_failure(self) -> str:
        """What went wrong in the iteration before, for the next prompt."""
        outcome = self._recorder.state.last_outcome
        return outcome.message if outcome is not None and outcome.kind not in {"ok", "max_turns"} else ""

    def _record_start(self, texts: Texts, prompt_bytes: int) -> None:
        self._recorder.record(
            IterationStarted(
                self._number,
                texts.instructions,
                texts.status_instructions,
                texts.system,
                prompt_bytes,
                len(texts.system.encode("utf-8", "replace")),
            )
        )

    def _converse(self, texts: Texts, prompt: bytes, raw: BinaryIO | None, file: Path | None) -> None:
        plan = self._plan
        claude = plan.settings.claude
        argv = command.arguments(
            claude, texts.system, file, plan.skip_permissions, plan.budget(self._recorder.state.total_cost_usd)
        )
        environment = command.environment(plan.environ, claude, plan.run, plan.layout.folder)
        program = shutil.which(argv[0], path=environment.get("PATH"))
        if program is None:
            raise AgentProblem(
                "Claude CLI not found. Make sure 'claude' is installed and in PATH.", "Try: claude-iterate doctor"
            )
        process = AgentProcess([program, *argv[1:]], environment, plan.layout.root, prompt, raw, self._inbox.post)
        self._last_heard = self._recorder.elapsed()
        self._recorder.record(AgentStarted(process.pid))
        while not self._is_over(process):
            self._attend(process)

    def _attend(self, process: AgentProcess) -> None:
        """Wait for whatever comes first: a message, or the moment to do something about Claude."""
        message = self._inbox.receive(self._next_moment(process))
        # An abandoned process of an earlier iteration may still have had something in the inbox.
        if message is not None and message.pid == process.pid:
            self._take(message)

    def _next_moment(self, process: AgentProcess) -> float:
        now = self._recorder.elapsed()
        if self._exited_at is not None:
            return self._exited_at + (_LEAK if now < self._exited_at + _LEAK else _ABANDON)
        if self._ladder is None:
            verdict = decide_running(self._recorder.state, self._plan.facts(now, self._last_heard))
            if not isinstance(verdict, Cut):
                return verdict.until
            self._cut(process, verdict, now)
        assert self._ladder is not None
        self._ladder.climb(now)
        return self._ladder.due

    def _cut(self, process: AgentProcess, verdict: Cut, now: float) -> None:
        running = self._recorder.state.iteration
        self._recorder.record(CutStarted(verdict.cause, _doing(running, now), verdict.after))
        self._ladder = Ladder(process, now, self._plan.settings.timeouts.terminate_grace)

    def _take(self, message: Message) -> None:
        match message:
            case Printed(_, stream, lines, done):
                self._last_heard = self._recorder.elapsed()
                self._print(stream, lines)
                done()
            case StreamEnded(_, stream):
                self._open_streams.discard(stream)
            case Exited(_, code):
                self._exited_at = self._recorder.elapsed()
                self._recorder.record(AgentExited(code))

    def _print(self, stream: str, lines: list[bytes]) -> None:
        if stream == "stdout":
            translate = self._translator.translate
            events: list[Event] = [event for line in lines for event in translate(line)]
        else:
            events = [ErrorPrinted(line[:20000].decode("utf-8", "replace")) for line in lines]
        self._recorder.record_printed(events)

    def _is_over(self, process: AgentProcess) -> bool:
        """Claude is gone and its pipes are empty; or somebody holds them, and then he is ended or left alone."""
        if self._exited_at is None:
            return False
        if not self._open_streams:
            return True
        late = self._recorder.elapsed() - self._exited_at
        if late > _LEAK:
            self._sweep()
        if late > _ABANDON:
            process.abandon()
            return True
        return False

    def _sweep(self) -> None:
        thorough = self._ladder is not None or bool(self._open_streams)
        ended = sweep.end_leftovers(self._plan.run, self._own_children, thorough)
        if ended:
            self._recorder.record(LeftoversEnded(ended))

    def _finish(self, began: float, failure: Outcome | None) -> None:
        reading = self._desk.iteration_ends()
        now = self._recorder.state.iteration or Iteration(self._number, began)
        status = reading.status if reading else None
        result = now.result
        outcome = failure or classify(_evidence(now, status is not None))
        self._recorder.record(
            IterationFinished(
                self._number,
                outcome,
                status,
                reading.problems if reading else (),
                result.denials if result else (),
                self._recorder.elapsed() - began,
                result.cost_usd if result else 0.0,
                result.tokens if result else Tokens(),
                result.turns if result else 0,
                now.tools,
            )
        )

    @contextlib.contextmanager
    def _raw(self) -> Iterator[BinaryIO | None]:
        path = self._plan.layout.raw(self._plan.run, self._number)
        try:
            file = open(path, "wb", buffering=0)  # noqa: PTH123 - pathlib costs more than the call itself
        except OSError:
            yield None
            return
        try:
            yield file
        finally:
            file.close()

    @contextlib.contextmanager
    def _system_prompt_file(self, text: str) -> Iterator[Path | None]:
        data = text.encode("utf-8", "replace")
        if len(data) <= command.LARGEST_ARGUMENT:
            yield None
            return
        handle, name = tempfile.mkstemp(prefix="claude-iterate-system-", suffix=".md")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            yield Path(name)
        finally:
            Path(name).unlink(missing_ok=True)


def _evidence(now: Iteration, wrote_status: bool) -> Evidence:
    return Evidence(now.result, now.exit_code or 0, now.cut, now.rejected, now.error_said, now.stderr, wrote_status)


def _doing(now: Iteration | None, elapsed: float) -> str:
    """What Claude is busy with, as far as it told."""
    if now is None or not now.open_tools:
        return ""
    _, name, since = now.open_tools[-1]
    return f"{name} has been running for {describe(elapsed - since)}"
