"""What reaches Claude: the prompt on stdin byte for byte, the flags of one iteration, our mark in its environment."""

from __future__ import annotations

import re
from pathlib import Path

from claude_iterate.core.fingerprints import checksum
from claude_iterate.selftest.harness.script_steps import proceed
from tests.e2e.conftest import DONE, Loop


def stdin_of(loop: Loop, number: int) -> bytes:
    return Path(loop.record(number)["stdin"]).read_bytes()


def test_the_command_line_is_the_documented_one(loop: Loop) -> None:
    """Stream output, the system prompt, model, turns, permissions; nothing of the prompt in argv."""
    loop.make("- secret-word-of-the-task\n")
    loop.script(DONE)
    loop.run("--model", "opus", "--max-turns", "7", "--allow", "Bash(npm test:*)")
    argv = loop.record(1)["argv"]
    for flags in (
        ["-p"],
        ["--output-format", "stream-json"],
        ["--verbose"],
        ["--model", "opus"],
        ["--max-turns", "7"],
        ["--permission-mode", "acceptEdits"],
        ["--allowedTools", "Bash(npm test:*)"],
        ["--no-session-persistence"],
    ):
        at = argv.index(flags[0])
        assert argv[at : at + len(flags)] == flags
    system = argv[argv.index("--append-system-prompt") + 1]
    assert str(loop.workspace) in system
    assert "secret-word-of-the-task" not in " ".join(argv)


def test_every_output_level_makes_the_same_call(loop: Loop) -> None:
    """A level changes what is shown, never what is done."""
    loop.make()
    loop.script(DONE)
    for level in ("quiet", "progress", "verbose"):
        loop.run("--again", "--output", level)
    first, second, third = (loop.record(number)["argv"] for number in (1, 2, 3))
    assert first == second == third


def test_the_environment_is_ours_less_what_stops_claude(loop: Loop) -> None:
    """`CLAUDECODE` and friends do not reach Claude; the run's mark and `claude.env` do."""
    loop.make()
    loop.script(DONE)
    loop.env |= {
        "CLAUDECODE": "1",
        "CLAUDE_CODE_ENTRYPOINT": "cli",
        "CLAUDE_ITERATE_CLAUDE__ENV": '{"COLOUR": "red"}',
    }
    loop.run()
    env = loop.record(1)["env"]
    assert "CLAUDECODE" not in env
    assert "CLAUDE_CODE_ENTRYPOINT" not in env
    assert env["COLOUR"] == "red"
    assert env["CLAUDE_ITERATE_RUN"] == loop.events("RunStarted")[0]["run"]
    assert loop.record(1)["cwd"] == str(loop.root)


def test_the_log_has_texts_that_iterations_share_once(loop: Loop) -> None:
    """Also status instructions of the user that ask for the id of the iteration. The prompts have each its own id; the
    log has all iterations."""
    loop.make("- the task\n")
    (loop.workspace / "prompts").mkdir()
    (loop.workspace / "prompts" / "status-instructions.md").write_text("Report as {{ report_id }}.\n")
    loop.script([{"init": {}}, {"status": {"complete": False}}, {"result": {}}])
    loop.run("-m", "3", "--no-delay")
    lines = loop.log().splitlines()
    titles = [line for line in lines if re.match("(STATUS |SYSTEM |)(INSTRUCTIONS|PROMPT)", line)]
    assert titles == ["INSTRUCTIONS", "SYSTEM PROMPT", "STATUS INSTRUCTIONS"]
    assert sum(line.startswith("ITERATION ") for line in lines) == 3
    ids = [event["report_id"] for event in loop.events("IterationStarted")]
    assert len(set(ids)) == 3
    assert all(name.encode() in stdin_of(loop, number) for number, name in enumerate(ids, 1))


def test_what_was_sent_can_be_read_afterwards(loop: Loop) -> None:
    """The prompt of each call is kept beside its output, byte for byte and for the user alone; the journal has its
    hash, that of the instructions, what the run had set, the exit code and how much Claude said."""
    loop.make()
    (loop.root / ".claude-iterate.toml").write_text('[claude.env]\nMY_TOKEN = "hunter2hunter2"\n')
    loop.script([{"say": "four"}, {"status": {"complete": False}}, {"result": {}}])
    loop.run("-m", "2")
    run = loop.layout.run_ids()[0]
    first, second = loop.events("IterationStarted")
    for number, event in ((1, first), (2, second)):
        path = Path(loop.layout.sent(run, f"{number:04d}"))
        assert path.read_bytes() == stdin_of(loop, number)
        assert path.stat().st_mode & 0o777 == 0o600
        assert event["prompt_hash"] == checksum(path.read_bytes())
    assert first["prompt_hash"] != second["prompt_hash"]
    assert first["instructions_hash"] == second["instructions_hash"]
    (started,) = loop.events("RunStarted")
    assert (started["settings"]["max_iterations"], started["settings"]["claude.env"]) == (2, {"MY_TOKEN": "***"})
    assert [(event["exit_code"], event["said"]) for event in loop.events("IterationFinished")] == [(0, 4), (0, 4)]


def test_templates_can_use_the_documented_variables_and_no_others(loop: Loop) -> None:
    """A template with a mistake ends the run. The error about an unknown variable says where it is, and names all known
    ones: those of the documentation."""
    loop.make()
    (loop.workspace / "prompts").mkdir()
    (loop.workspace / "prompts" / "iteration.md").write_text("{{ no_such_variable }}")
    done = loop.run()
    assert done.code == 1
    assert "prompts/iteration.md, line 1, cannot be rendered: 'no_such_variable' is undefined." in done.err
    given = set(re.findall(r"\w+", done.err.partition("Variables it can use: ")[2].partition(".")[0]))
    page = Path(__file__).parents[2] / "docs" / "how-to" / "change-the-prompts.md"
    rows = page.read_text().partition("| Variable |")[2].partition("\n\n")[0].splitlines()[2:]
    assert given == {name for row in rows for name in re.findall(r"`(\w+)`", row.split("|")[1])}


def test_a_prompt_of_the_user_that_asks_for_nothing_still_gets_the_task(loop: Loop) -> None:
    """A prompt that was taken over from another loop: task and report are appended, with one warning for the run."""
    loop.make("- the task\n")
    own = loop.workspace / "prompts" / "iteration.md"
    own.parent.mkdir()
    own.write_text("Work as you always do.\n")
    loop.script(proceed(), DONE)
    assert loop.run().code == 0
    for number in (1, 2):
        sent = stdin_of(loop, number).decode()
        assert sent.startswith("Work as you always do.\n\n<instructions>\n- the task\n\n</instructions>\n\n")
        assert str(loop.workspace / ".status.json") in sent
    (warning,) = [event["text"] for event in loop.events("Warned") if "iteration.md" in event["text"]]
    assert (
        warning
        == f"The prompt {own} does not use {{{{ instructions }}}} and {{{{ status_instructions }}}}: added at its end."
    )
