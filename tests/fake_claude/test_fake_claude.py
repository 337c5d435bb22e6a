"""The built-in fake Claude without a script: options, formats, the work it does, the traces it leaves."""

from __future__ import annotations

import itertools
import json
import signal
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from claude_iterate.prompts import Prompts
from tests.fake_claude.conftest import FakeClaude

ROOT = Path(__file__).parents[2]
RECORDING = ROOT / "tests" / "fixtures" / "claude-2.1.197" / "a4-all-tools.ndjson"
ITERATIVE = "Complete as many items as you can this iteration."


def test_version_names_itself_as_the_fake(fake: FakeClaude) -> None:
    """`--version` answers at once, without a prompt, and cannot be mistaken for the real one."""
    done = fake.run("--version", stdin=b"")
    assert (done.returncode, done.stdout) == (0, b"0.0.0 (Claude Code, built-in fake)\n")


@pytest.mark.parametrize(
    ("argv", "stdin", "complaint"),
    [
        (["-p", "--nonsense"], "x", "error: unknown option '--nonsense'"),
        (["-p", "- [ ] do it"], "", "error: unknown option '- [ ] do it'"),
        (["-p", "--model"], "x", "error: option '--model <value>' argument missing"),
        (
            ["-p", "--output-format", "stream-json"],
            "x",
            "Error: When using --print, --output-format=stream-json requires --verbose",
        ),
        (
            ["-p"],
            "",
            "Error: Input must be provided either through stdin or as a prompt argument when using --print",
        ),
        (
            ["-p", "--allowedTools", "Bash", "the prompt"],
            "",
            "Error: Input must be provided either through stdin or as a prompt argument when using --print",
        ),
        (["-p"], "  \n", "Error: No messages returned from query"),
        (["-p", "--append-system-prompt-file", "/nope"], "x", "Error: Append system prompt file not found: /nope"),
    ],
)
def test_refuses_what_the_real_one_refuses(fake: FakeClaude, argv: list[str], stdin: str, complaint: str) -> None:
    """A bad command line: the words of the real one on stderr, nothing on stdout, exit code 1."""
    done = fake.run(*argv, stdin=stdin)
    assert (done.returncode, done.stdout, done.stderr.decode()) == (1, b"", complaint + "\n")


def test_loop_call_does_one_item_and_says_so_in_the_status_file(fake: FakeClaude) -> None:
    """Asked for ONE item, each call ticks one box and reports progress; the last one reports complete."""
    fake.instructions("# Task\n\n- first\n- [ ] second\n\n```\n- not this\n```\n3. third\n")
    seen = []
    for _ in range(3):
        fake.stream()
        status = fake.status()
        seen.append((status["complete"], status["progress"]["completed"], status["progress"]["total"]))
        assert status["lastUpdated"].endswith("Z")
        assert "worked" not in status
    assert seen == [(False, 1, 3), (False, 2, 3), (True, 3, 3)]
    assert fake.todo().count("- [x] ") == 3
    assert "not this" not in fake.todo()


def test_iterative_call_does_up_to_three_items_and_reports_worked(fake: FakeClaude) -> None:
    """Asked for as many as possible, a call does up to three, and says truthfully when none was left."""
    fake.env["CLAUDE_ITERATE_RUN"] = "r1"
    fake.instructions("\n".join(f"* item {number}" for number in range(5)) + "\nONE item is not the rule here.")
    prompt = ITERATIVE + "\n" + (fake.workspace / "INSTRUCTIONS.md").read_text()
    seen = []
    for _ in range(3):
        fake.stream(stdin=prompt)
        status = fake.status()
        seen.append((status["worked"], status["complete"], fake.todo().count("- [x] ")))
        assert "progress" not in status
    assert seen == [(True, False, 3), (True, True, 5), (False, True, 5)]


def test_a_list_of_somebody_else_is_replaced(fake: FakeClaude) -> None:
    """What was ticked in it stays ticked."""
    fake.instructions("- a\n- b\n- c\n")
    (fake.workspace / "TODO.md").write_text("My notes\n- [x] b\n")
    fake.stream()
    assert fake.todo().endswith("\n\n- [x] a\n- [x] b\n- [ ] c\n")


def test_events_come_in_the_order_of_a_real_session(fake: FakeClaude) -> None:
    """init first, result last; every tool answer follows its call and carries its id."""
    fake.instructions("- a\n- b\n")
    fake.stream()
    events = fake.stream()
    assert events[0]["subtype"] == "init"
    assert events[-1]["type"] == "result"
    blocks = [event["message"]["content"][0] for event in events[1:-1]]
    names = [block.get("name", block["type"]) for block in blocks if block["type"] != "tool_result"]
    assert names == ["text", "Read", "Read", "Read", "Edit", "Bash", "Write", "text"]
    for call, answer in itertools.pairwise(blocks):
        if call["type"] == "tool_use":
            assert answer["tool_use_id"] == call["id"]
    assert len({event["uuid"] for event in events}) == len(events)
    assert len({event["session_id"] for event in events}) == 1


def test_events_have_the_keys_of_recorded_ones(fake: FakeClaude) -> None:
    """The fake prints no key that the real one does not print, and leaves none out that we read."""
    fake.instructions("- a\n")

    def keys(events: Iterable[dict[str, Any]]) -> dict[tuple[str, str | None], set[str]]:
        return {(event["type"], event.get("subtype")): set(event) for event in events}

    recorded = keys(json.loads(line) for line in RECORDING.read_text().splitlines())
    for kind, printed in keys(fake.stream()).items():
        assert printed <= recorded[kind]
    wanted = {"is_error", "total_cost_usd", "usage", "modelUsage", "num_turns", "permission_denials", "result"}
    assert wanted <= keys(fake.stream())["result", "success"]


def test_a_prompt_that_begins_with_a_slash_is_a_command(fake: FakeClaude) -> None:
    """The trap of the real one: success, no turn, nothing done."""
    result = fake.stream(stdin="/work/INSTRUCTIONS.md says ONE item")[-1]
    assert (result["result"], result["num_turns"]) == ("Unknown command: /work/INSTRUCTIONS.md", 0)
    assert not (fake.workspace / ".status.json").exists()


def test_a_status_file_that_cannot_be_written_is_a_tool_error(fake: FakeClaude) -> None:
    """The real one ends well even when its Write failed; so does the fake, and leaves no debris."""
    fake.instructions("- a\n")
    (fake.workspace / ".status.json").mkdir()
    events = fake.stream()
    errors = [event for event in events if str(event.get("tool_use_result")).startswith("Error")]
    assert len(errors) == 1
    assert events[-1]["is_error"] is False
    assert not list(fake.workspace.glob(".fake-*"))


def test_sigint_ends_with_a_result_and_exit_code_0(fake: FakeClaude) -> None:
    """Interrupted in mid-work: result/error_during_execution, exit code 0."""
    fake.script([{"init": {}}, {"hang": True}])
    with fake.start() as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.send_signal(signal.SIGINT)
        rest = [json.loads(line) for line in process.stdout]
    assert process.returncode == 0
    assert (rest[-1]["subtype"], rest[-1]["is_error"]) == ("error_during_execution", True)


def test_sigterm_ends_at_once_without_a_result(fake: FakeClaude) -> None:
    """SIGTERM: exit code 143 and not another word."""
    fake.script([{"init": {}}, {"hang": True}])
    with fake.start() as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.send_signal(signal.SIGTERM)
        assert process.stdout.read() == b""
    assert process.returncode == 143
    assert "exit=143" in fake.log.read_text()


def test_interactive_setup_writes_instructions_only_where_there_are_none(fake: FakeClaude) -> None:
    """Without -p it writes a sample once and never overwrites."""
    path = fake.workspace / "INSTRUCTIONS.md"
    assert fake.run("--append-system-prompt", "x", "the setup prompt", stdin=b"").returncode == 0
    assert "- " in path.read_text() or "1. " in path.read_text()
    path.write_text("mine")
    assert fake.run("the setup prompt", stdin=b"").returncode == 0
    assert path.read_text() == "mine"


@pytest.mark.parametrize("mode", ["loop", "iterative"])
def test_answers_the_shipped_validate_and_verify_prompts(fake: FakeClaude, mode: str) -> None:
    """The other prompts are known by their first words: they get an answer as text, and the work is left alone."""
    fake.instructions("- a\n- b\n")
    fake.stream()
    before = fake.todo(), fake.status()
    prompts = Prompts([], mode)
    known = {"workspace_name": "w", "workspace_path": fake.workspace, "project_root": fake.folder}
    known.update(depth="quick", depth_note="", checks="", validation_criteria="ten", requirements="1. a\n2. b")
    form = {"answer_form": prompts.render("verify-answer", known)}
    graded = json.loads(fake.stream(stdin=prompts.render("validate", known | form))[-1]["result"])
    assert [one["grade"] for one in graded["criteria"]] == ["pass"] * 10
    review = json.loads(fake.stream(stdin=prompts.render("verify-completion", known | form))[-1]["result"])
    assert [one["number"] for one in review["requirements"]] == [1, 2]
    assert review["findings"] == [{"missing": True, "text": "Not done: b"}]
    assert (fake.todo(), fake.status()) == before
    fake.stream(stdin=prompts.render("setup", {**known, "goal": "Make {{ it }} so"}))
    assert "Make {{ it }} so" in (fake.workspace / "INSTRUCTIONS.md").read_text()


def test_with_a_schema_it_answers_by_schema(fake: FakeClaude) -> None:
    """As Claude Code: it has the tools that it may use and the one for the answer, which the result has twice."""
    fake.instructions("- a\n")
    fake.stream()
    prompts = Prompts([], "loop")
    known = {"workspace_name": "w", "workspace_path": fake.workspace, "project_root": fake.folder}
    known.update(depth="quick", depth_note="", checks="", requirements="1. a\n2. b")
    asked = prompts.render("verify-completion", {**known, "answer_form": prompts.render("verify-answer", known)})
    options = ("--disallowedTools", "Edit", "Write", "--json-schema", "{}")
    events = fake.stream(*options, stdin=asked)
    assert {"StructuredOutput", "Bash"} <= set(events[0]["tools"])
    assert not {"Edit", "Write"} & set(events[0]["tools"])
    answer = events[-1]["structured_output"]
    assert json.loads(events[-1]["result"]) == answer
    assert [(entry["number"], entry["status"]) for entry in answer["requirements"]] == [(1, "met"), (2, "met")]
    assert answer["findings"] == []
    assert not (fake.folder / "r.md").exists()
    graded = fake.stream(*options, stdin="Validation of the instructions")[-1]["structured_output"]
    assert [entry["grade"] for entry in graded["criteria"]] == ["pass"] * 10


def test_the_log_tells_of_each_call_and_keeps_secrets(fake: FakeClaude) -> None:
    """One line per call with exit code and sizes; no prompt, no system prompt, no unknown value."""
    fake.run("-p", "--model", "opus", "--append-system-prompt", "sk-secret " * 50, stdin="password 123")
    fake.run("-p", "--settings", '{"key": "sk-secret"}', "--nonsense")
    first, second = fake.log.read_text().splitlines()
    assert f"cwd={fake.folder}" in first
    assert "--model opus --append-system-prompt <500 characters> prompt=12 bytes exit=0" in first
    assert second.endswith("exit=1")
    assert "secret" not in fake.log.read_text()
    assert "123" not in first.rpartition("argv=")[2]


def test_a_log_that_cannot_be_written_is_ignored(fake: FakeClaude) -> None:
    """Logging is a courtesy: it never fails a call."""
    fake.env["CLAUDE_ITERATE_MOCK_LOG"] = str(fake.folder / "no" / "such" / "folder")
    assert fake.stream()[-1]["subtype"] == "success"
