"""What people type without having read anything leads somewhere: help, other words, suggestions, options."""

from __future__ import annotations

import shlex
from pathlib import Path

import click
import pytest

from claude_iterate.cli.application import application
from claude_iterate.cli.command_table import ALIASES, COMMANDS
from claude_iterate.core.names import nearest
from claude_iterate.core.settings.layers import nearest_keys
from claude_iterate.workspace.project import Project
from tests.cli.conftest import Type


def test_help_fits_on_a_small_terminal(typed: Type) -> None:
    """All commands by group, in at most 30 lines of at most 80 columns."""
    lines = typed("--help").out.splitlines()
    assert len(lines) <= 30
    assert max(map(len, lines)) <= 80
    titles = [line.split("  ")[0] for line in lines if line[:1].strip()]
    assert titles[2:8] == ["Task", "Run", "Look", "Steer", "Keep", "Set up"]


@pytest.mark.parametrize("words", [["help"], ["help", "run"], ["help", "template", "save"], ["help", "ls"]])
def test_help_is_a_command_too(typed: Type, words: list[str]) -> None:
    """`help run` is `run --help`."""
    named = ["list" if word == "ls" else word for word in words[1:]]
    assert typed(*words) == typed(*named, "--help")


def test_help_of_what_there_is_not(typed: Type) -> None:
    """A usage error, as without `help`."""
    assert "Did you mean 'verify'?" in typed("help", "verfy").err
    assert typed("help", "verfy").code == 2
    assert "has no command 'x'" in typed("help", "run", "x").err


def test_help_tells_all_options_of_the_program(typed: Type) -> None:
    """The first page has no room for them."""
    shown = typed("help", "options").out
    options = [name for option in application.params if isinstance(option, click.Option) for name in option.opts]
    assert [name for name in options if name not in shown] == []


@pytest.mark.parametrize("alias", sorted(name for name, command in ALIASES.items() if command))
def test_other_words_for_commands_work(typed: Type, alias: str) -> None:
    """And the help that they lead to names the real command."""
    assert typed(alias, "--help").out.startswith(f"Usage: claude-iterate {ALIASES[alias]} ")


def test_status_is_list_or_show(typed: Type, project: Project) -> None:
    """With a name it shows that workspace, without one it lists all."""
    project.create("w")
    assert typed("status") == typed("list")
    assert typed("status", "--json") == typed("list", "--json")
    assert typed("status", "--status", "new") == typed("list", "--status", "new")
    assert typed("status", "w") == typed("show", "w")
    assert typed("status", "--json", "w") == typed("show", "w", "--json")


@pytest.mark.parametrize(
    ("typo", "meant"),
    [
        ("lsit", "list"),
        ("val", "validate"),
        ("statsu", "status"),
        ("delte", "clean"),
        ("hystory", "history"),
        ("rum", "run"),
    ],
)
def test_a_typo_is_answered_with_the_right_word(typed: Type, typo: str, meant: str) -> None:
    """The name of a command, even when the typo is that of another word for it."""
    answer = typed(typo)
    assert (answer.code, f"Did you mean '{meant}'?" in answer.err) == (2, True)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["list", "--jsn"], "Did you mean '--json'?"),
        (["run", "w", "--iterations", "3"], "Did you mean '--max-iterations'?"),
        (["run", "w", "--cost", "3"], "Did you mean '--max-cost'?"),
        (["--json", "list"], "It goes after the command: claude-iterate list ... --json"),
        (["list", "-C", "x"], "It goes before the command"),
        (["list", "--workspaces-dir", "w"], "It goes before the command"),
    ],
)
def test_an_unknown_option_is_answered_with_the_right_one(typed: Type, words: list[str], says: str) -> None:
    """Spelled alike, with this word in it, or in the wrong place."""
    answer = typed(*words)
    assert (answer.code, says in answer.err) == (2, True), answer.err


@pytest.mark.parametrize(
    ("spelled", "meant"),
    [
        ("model", ["claude.model"]),
        ("modle", ["claude.model"]),
        ("tools", ["claude.allowed_tools"]),
        ("claude.max_iterations", ["max_iterations"]),
        ("limits.idle", ["timeouts.idle"]),
        ("cost", ["limits.max_cost_usd", "limits.max_cost_per_iteration_usd"]),
        ("max_iteration", ["max_iterations"]),
        ("timeout", ["hooks.timeout", "timeouts"]),
        ("zzz", []),
    ],
)
def test_keys_that_may_have_been_meant(spelled: str, meant: list[str]) -> None:
    """The same name in another group comes first, then likeness."""
    assert nearest_keys(spelled)[: len(meant) or 1] == meant


def test_a_misspelt_variable_is_told(typed: Type, project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """By every command, once, with the right name; the command goes on, and JSON stays one document."""
    project.create("w")
    monkeypatch.setenv("CLAUDE_ITERATE_MAX_ITERATION", "5")
    for words in (["list", "--json"], ["show", "w"], ["config", "delay", "3"], ["note", "w", "text"]):
        answer = typed(*words)
        assert answer.code == 0
        assert answer.err.count("CLAUDE_ITERATE_MAX_ITERATION is not a setting") == 1
        assert "Did you mean CLAUDE_ITERATE_MAX_ITERATIONS?" in answer.err
    listed = typed("list", "--json")
    assert (bool(listed.document["workspaces"]), "MAX_ITERATION is" in listed.err) == (True, True)
    told = typed("doctor")
    assert (told.out + told.err).count("CLAUDE_ITERATE_MAX_ITERATION is not a setting") == 1


def test_names_that_begin_alike_come_first() -> None:
    """A short word is no beginning of a name."""
    assert nearest("val", ["vary", "validate"]) == ["validate"]
    assert nearest("va", ["validate"]) == []
    assert nearest("fix-clac", ["fix-calc", "other"], 3) == ["fix-calc"]


def test_a_question_that_is_not_answered_is_no_interrupt(typed: Type, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-D ends the command with a message of its own on a line of its own; Ctrl-C is `Interrupted.`."""

    def asked(ended_by: type[BaseException]) -> None:
        def command(_context: click.Context) -> None:
            try:
                raise ended_by
            except (EOFError, KeyboardInterrupt):
                raise click.Abort from None

        monkeypatch.setattr(application, "invoke", command)

    asked(EOFError)
    assert typed("list") == (1, "", "\nError: The question was not answered.\n")
    asked(KeyboardInterrupt)
    assert typed("list") == (130, "", "\nInterrupted.\n")


def test_help_shows_no_bounds_as_code(typed: Type) -> None:
    """Only people read it."""
    assert not [row.name for row in COMMANDS if ">=" in typed(row.name, "--help").out]


@pytest.mark.parametrize(
    ("variables", "coloured"),
    [
        ({}, False),
        ({"FORCE_COLOR": "1"}, True),
        ({"FORCE_COLOR": "0"}, False),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
        ({"FORCE_COLOR": "1", "TERM": "dumb"}, True),
    ],
)
def test_colour_can_be_forced(
    typed: Type, project: Project, monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], coloured: bool
) -> None:
    """For CI logs that show it; NO_COLOR is stronger."""
    layout = project.create("w")
    layout.instructions.write_text("- [ ] one\n")
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert ("\x1b[" in typed("list").out) == coloured
    answer = typed("run", "w", "--dry-run", "--no-delay", "-m", "1")
    assert ("\x1b[" in answer.err) == coloured
    assert ("\x1b[" in answer.out) == coloured


def test_signs_look_as_they_do_in_a_run(
    typed: Type, project: Project, monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    """A line of its own has one colour: green for what worked, yellow for a warning, red for what did not."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    project.create("w")
    assert typed("config", "delay", "3").out == f"\x1b[32m✓ delay = 3  ({folder / '.claude-iterate.toml'})\x1b[0m\n"
    monkeypatch.setenv("CLAUDE_ITERATE_DELAI", "3")
    for words in (["list"], ["config", "notify.url", "http://127.0.0.1:1/"]):
        assert typed(*words).err.startswith("\x1b[33m⚠ CLAUDE_ITERATE_DELAI is not a setting")
    assert "\x1b[31m❌ Not delivered to 127.0.0.1: " in typed("notify", "test").err


def test_folders(typed: Type, folder: Path) -> None:
    """Workspaces, templates and archives are where the flags say, and nowhere else."""
    places = ("--workspaces-dir", "w", "--templates-dir", str(folder / "t"), "--archive-dir", "a/b")
    assert typed(*places, "init", "one").code == 0
    (folder / "w" / "one" / "INSTRUCTIONS.md").write_text("- one\n")
    assert typed(*places, "template", "save", "one").code == 0
    assert typed(*places, "archive", "save", "one", "--keep").code == 0
    assert sorted(path.name for path in folder.iterdir()) == ["a", "t", "w"]
    assert [path.name for path in (folder / "t").iterdir()] == ["one"]
    assert len(list((folder / "a" / "b").iterdir())) == 1
    assert typed(*places, "show", "one").code == 0
    assert typed("show", "one").code == 1


def test_a_relative_folder_is_one_from_here(typed: Type, project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the user who types it in a sub-directory expects."""
    project.create("w")
    below = project.root / "below"
    below.mkdir()
    monkeypatch.chdir(below)
    assert typed("--workspaces-dir", "here", "init", "one").code == 0
    assert (below / "here" / "one").is_dir()


def test_an_empty_folder_is_refused(typed: Type, folder: Path) -> None:
    """And nothing is written."""
    assert typed("--workspaces-dir", "", "init", "one").code == 2
    assert list(folder.iterdir()) == []


def test_verbose(typed: Type, called: Type, project: Project) -> None:
    """It is the output level of every command, unless that has a level of its own."""
    layout = project.create("w")
    layout.instructions.write_text("- one\n")
    assert typed("--verbose", "config", "output").out == "verbose\n"
    assert "verbose" in typed("--verbose", "config", "output", "-w", "w", "--origin").out
    loud = called("--verbose", "run", "w", "--dry-run", "-m", "1")
    quiet = called("--verbose", "run", "w", "--dry-run", "-m", "1", "--quiet")
    assert "\U0001f527" in loud.out + loud.err
    assert quiet.out + quiet.err == ""


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["init", "w"], "setup w"),
        (["reset", "t"], "run t"),
        (["stop", "t"], "run t"),
        (["show", "nope"], "setup nope"),
        (["run", "t"], "setup t"),
        (["history", "t"], "run t"),
        (["plan", "t", "--show"], "plan t"),
    ],
)
def test_offered_commands_name_the_project(
    typed: Type, project: Project, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, words: list[str], offered: str
) -> None:
    """Whatever a message offers can be pasted in the folder where the command was typed; in the project itself it is as
    short as it can be."""
    project.create("t")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    root, place = project.root, project.root / "claude-iterate" / "workspaces"
    prefix = shlex.join(["claude-iterate", "-C", str(root), "--workspaces-dir", str(place)])
    assert f"{prefix} {offered}" in typed("-C", str(root), "--workspaces-dir", str(place), *words).err
    if words[0] != "init":
        monkeypatch.chdir(root)
        assert f" claude-iterate {offered}" in typed(*words).err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("dashboard", "--port", "70000"), "'70000' is not a whole number from 0 to 65535."),
        (("logs", "w", "-n", "x"), "'x' is not a whole number of at least 0."),
    ],
)
def test_a_number_out_of_bounds_names_the_bounds(typed: Type, words: tuple[str, ...], said: str) -> None:
    """Not the name of a type."""
    refused = typed(*words)
    assert refused.code == 2
    assert said in refused.err
