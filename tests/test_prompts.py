"""Prompts: which file is used, that a user's text arrives untouched, and that a mistake is shown where it is."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from claude_iterate import prompts as prompts_module
from claude_iterate.core.reports import review, status, validation
from claude_iterate.errors import ExpectedError
from claude_iterate.prompts import Prompts, shipped_folder
from tests.e2e.conftest import until
from tests.package_path import PACKAGES

MODES = ["loop", "iterative", "plan", "build"]
ABSENT = ["previous_status", "failures", "notes", "agents_text"]
PAGE = Path(__file__).parents[1] / "docs" / "how-to" / "change-the-prompts.md"


def values(**changes: Any) -> dict[str, Any]:
    """Everything a template of an iteration may use: what the documentation names."""
    rows = PAGE.read_text().partition("| Variable |")[2].partition("\n\n")[0]
    names = re.findall(r"`(\w+)`", "".join(row.split("|")[1] for row in rows.splitlines()[2:]))
    known: dict[str, Any] = {name: f"<{name}>" for name in names}
    known |= {
        "iteration": 3,
        "max_iterations": 50,
        "commands": {"test": "make check", "lint": ""},
        "notes": ["first note", "second note"],
        "status_instructions": "",
        "todo_file": "/w/TODO.md",
        "status_file": "/w/.status.json",
    }
    return known | changes


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_the_nearest_folder_wins_and_the_mode_before_the_plain_name(tmp_path: Path) -> None:
    """Folders first to last, in each `<mode>/<name>.md` before `<name>.md`, the shipped ones at the end."""
    near, far = tmp_path / "near", tmp_path / "far"
    prompts = Prompts([near, far], "loop")
    assert prompts.find("iteration") == shipped_folder() / "loop" / "iteration.md"
    for path in [far / "iteration.md", far / "loop" / "iteration.md", near / "iteration.md"]:
        write(path.parent, path.name, str(path))
        assert prompts.render("iteration", {}) == str(path)
    write(near, "iterative/iteration.md", "of another mode")
    assert prompts.render("iteration", {}) == str(near / "iteration.md")


def test_an_edited_or_removed_prompt_is_seen_at_the_next_rendering(tmp_path: Path) -> None:
    """Compiled templates are kept only as long as path, time and size are the same."""
    prompts = Prompts([tmp_path], "loop")
    path = write(tmp_path, "extra.md", "one {{ x }}")
    assert prompts.render("extra", {"x": 1}) == "one 1"
    path.write_text("longer {{ x }}")
    assert prompts.render("extra", {"x": 1}) == "longer 1"
    path.write_text("LONGER {{ x }}")
    os.utime(path, ns=(1, 1))
    assert prompts.render("extra", {"x": 1}) == "LONGER 1"
    path.unlink()
    with pytest.raises(ExpectedError, match="The prompt extra, line 1, cannot be rendered"):
        prompts.render("extra", {"x": 1})


HARD = "{{ x }} {% raw %} {# c #} $& $1 %s %(a)s \\n \"quotes\" 'single' <b>&amp; 😀 \u2028 caf\u00e9\r\nnext\r\n\t"


@given(st.text())
@example(HARD)
def test_any_text_arrives_untouched(text: str) -> None:
    """No text of a user is ever changed or taken for a template."""
    prompts = Prompts([], "loop").iteration_prompts(values(instructions=text, previous_summary=text, notes=text))
    assert f"<instructions>\n{text}\n</instructions>" in prompts.user


@pytest.mark.parametrize("mode", MODES)
def test_the_iteration_says_what_the_agent_must_know(mode: str) -> None:
    """Absolute paths, the mode's rule, the shape of the status file; system and user prompt together."""
    prompts = Prompts([], mode).iteration_prompts(values())
    both = prompts.system + prompts.user
    for needed in [
        "/w/TODO.md" if mode in {"loop", "iterative"} else "<plan_file>",
        "/w/.status.json",
        "<project_root>",
        "<instructions>",
        '"complete": false',
        "blocked",
    ]:
        assert needed in both
    assert ("ONE item" in prompts.user) == (mode == "loop")
    assert ("ONE task of the plan" in prompts.user) == (mode == "build")
    assert ("implement nothing" in prompts.user) == (mode == "plan")
    assert ('"progress": {"completed": ' in prompts.user) == (mode != "iterative")
    assert ('"worked": true' in prompts.user) == (mode == "iterative")
    assert prompts.user.endswith(prompts.status_instructions)
    assert "test: `make check`" in prompts.system
    assert "lint" not in prompts.system
    assert "first note\nsecond note\n" in prompts.user


@pytest.mark.parametrize("mode", MODES)
def test_the_example_of_a_report_is_one(mode: str) -> None:
    """What the prompt shows is read by the program, whole and without a complaint: an agent that does as it is shown
    has reported."""
    asked = status.iteration_id(3, b"some")
    text = Prompts([], mode).iteration_prompts(values(report_id=asked)).status_instructions
    (example,) = re.findall(r"```json\n(.*?)```", text, re.DOTALL)
    reading = status.parse(example.encode())
    assert (reading.problems, reading.identity, reading.dated) == ((), asked, True)
    assert reading.status is not None
    assert (reading.status.complete, reading.status.worked) == (False, True if mode == "iterative" else None)
    assert (reading.status.total is not None) == (mode != "iterative")


@pytest.mark.parametrize("mode", MODES)
def test_what_is_empty_is_not_mentioned(mode: str) -> None:
    """A first iteration has no previous report, no failures, no notes, and no headings for them."""
    prompts = Prompts([], mode).iteration_prompts(values(**dict.fromkeys(ABSENT, ""), commands={}, max_iterations=0))
    for word in ["previous", "Reported", "<failures>", "<notes>", "Commands of this project", "of at most"]:
        assert word not in prompts.system + prompts.user
    assert "\n\n\n" not in prompts.system + prompts.user


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ABSENT)
def test_what_is_there_is_mentioned(mode: str, name: str) -> None:
    """Each optional text reaches the prompt when it is not empty."""
    empty = dict.fromkeys(ABSENT, "")
    prompts = Prompts([], mode).iteration_prompts(values(**{**empty, name: "only this"}))
    assert "only this" in prompts.system + prompts.user


@pytest.mark.parametrize("mode", MODES)
def test_nothing_of_the_last_report_is_said_twice(mode: str) -> None:
    """The line of the last report has its summary in it."""
    said = values(previous_status="3/4 items - moved the users", previous_summary="moved the users")
    assert Prompts([], mode).iteration_prompts(said).user.count("moved the users") == 1


def test_each_mode_has_its_own_prompts_for_an_iteration(tmp_path: Path) -> None:
    """In a folder of its own; a file of the user wins over it, and can extend what all modes share."""
    for mode in MODES:
        for name in ("iteration", "iteration-system", "status-instructions"):
            assert Prompts([tmp_path], mode).find(name) == shipped_folder() / mode / f"{name}.md"
    own = "{% extends 'shared/iteration.md' %}{% block goal %}Half an item for {{ workspace_name }}.{% endblock %}"
    path = write(tmp_path, "iterative/iteration.md", own)
    assert Prompts([tmp_path], "loop").find("iteration") == shipped_folder() / "loop" / "iteration.md"
    assert Prompts([tmp_path], "iterative").find("iteration") == path
    prompts = Prompts([tmp_path], "iterative").iteration_prompts(values())
    assert "<now>. Half an item for <workspace_name>.\n\n<instructions>\n<instructions>\n" in prompts.user
    assert prompts.appended == ()


UPGRADED = """
from claude_iterate.prompts import Prompts, shipped_folder
from tests.package_path import PACKAGES
prompts, values = Prompts([], "loop"), dict.fromkeys(("workspace_path", "workspace_name", "project_root"), "x")
(shipped_folder() / "workspace-system.md").write_text("{{ of_another_version }}")
first = prompts.render("workspace-system", values)
(shipped_folder() / "workspace-system.md").unlink()
(shipped_folder() / "loop" / "workspace-system.md").write_text("{{ of_another_version }}")
print(first == prompts.render("workspace-system", values), first)
"""


def test_shipped_prompts_stay_as_they_were_read(tmp_path: Path) -> None:
    """An upgrade of the package that changes, removes or adds some in mid-run has no effect on this run."""
    copy = tmp_path / "claude_iterate"
    shutil.copytree(PACKAGES / "claude_iterate", copy, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(shipped_folder(), copy / "templates" / "prompts", dirs_exist_ok=True)
    command = [sys.executable, "-P", "-c", UPGRADED]
    done = subprocess.run(command, env={"PYTHONPATH": str(tmp_path)}, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("True You work in the project at `x`")


def test_status_instructions_of_the_workspace_replace_the_shipped_ones() -> None:
    """A text given for them is used as it is, and is not a template."""
    prompts = Prompts([], "loop").iteration_prompts(values(status_instructions="Mine {{ x }}"))
    assert prompts.user.endswith("Mine {{ x }}")
    assert '"complete"' not in prompts.user
    assert prompts.status_instructions == "Mine {{ x }}"


@pytest.mark.parametrize("text", ["/compact now", "- [ ] a box", "  /x", "--help"])
def test_the_user_prompt_never_begins_as_a_command_or_an_option(tmp_path: Path, text: str) -> None:
    """Even with a template that is nothing but the instructions."""
    write(tmp_path, "iteration.md", "{{ instructions }}")
    user = Prompts([tmp_path], "loop").iteration_prompts(values(instructions=text)).user
    assert user.lstrip()[0] not in "/-"
    assert text in user


@pytest.mark.parametrize(
    ("source", "line", "what"),
    [
        ("fine\n{{ unknown }}\n", 2, "'unknown' is undefined"),
        ("{% if unknown %}x{% endif %}", 1, "'unknown' is undefined"),
        ("a\nb\n{% if %}", 3, "Expected an expression"),
        ("{{ 1 / 0 }}", 1, "division by zero"),
        ("x\n{% include 'missing-one' %}", 2, "missing-one"),
        ("{{ x.__class__.__mro__ }}", 1, "unsafe"),
        ("x\n{% include 'extra.md' %}", 2, "it includes itself"),
        ("{% include '../outside' %}", 1, "outside"),
    ],
)
def test_a_mistake_in_a_template_is_shown_with_file_line_and_hint(
    tmp_path: Path, source: str, line: int, what: str
) -> None:
    """An ExpectedError, never a traceback: where it is, what it is, what may be used."""
    path = write(tmp_path, "extra.md", source)
    with pytest.raises(ExpectedError) as caught:
        Prompts([tmp_path], "loop").render("extra", {"x": 1, "workspace_name": "w"})
    assert f"{path}, line {line}," in caught.value.message
    assert what in caught.value.message
    assert "workspace_name, x" in caught.value.hint


def test_a_template_that_is_not_text_is_an_expected_error(tmp_path: Path) -> None:
    """Bytes that are no UTF-8 are named with their file."""
    (tmp_path / "extra.md").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ExpectedError, match=r"Cannot read the prompt .*extra\.md"):
        Prompts([tmp_path], "loop").render("extra", {})


@pytest.mark.parametrize(
    ("source", "appended"),
    [
        ("Do it.", ("instructions", "status_instructions")),
        ("Do {{ instructions }}", ("status_instructions",)),
        ("{% include 'parts/common.md' %}", ("status_instructions",)),
        ("{# {{ instructions }} #}{% raw %}{{ instructions }}{% endraw %}{{ status_instructions }}", ("instructions",)),
        ("{{ instructions | upper }}{{ status_instructions }}", ()),
        ("{{ instructions }}\n{% include 'status-instructions.md' %}", ()),
    ],
)
def test_what_an_iteration_cannot_do_without_is_appended(
    tmp_path: Path, source: str, appended: tuple[str, ...]
) -> None:
    """Only what the prompt and all that it includes do not ask for, each time it is rendered."""
    write(tmp_path, "iteration.md", source)
    write(tmp_path, "parts/common.md", "Common: {{ instructions }}")
    prompts = Prompts([tmp_path], "loop")
    for known in (values(instructions="the task"), values(instructions="another")):
        made = prompts.iteration_prompts(known)
        assert made.appended == appended
        assert made.user.count(f"<instructions>\n{known['instructions']}\n</instructions>") == (
            "instructions" in appended
        )
        assert made.user.count(made.status_instructions.strip()) == 1


def test_the_system_prompt_may_say_it_too(tmp_path: Path) -> None:
    """What one of the two prompts of an iteration asks for is not missing."""
    write(tmp_path, "iteration.md", "{{ instructions }}")
    write(tmp_path, "iteration-system.md", "{{ status_instructions }}")
    assert Prompts([tmp_path], "loop").iteration_prompts(values()).appended == ()


def test_a_mistake_in_an_included_prompt_is_shown_in_that_file(tmp_path: Path) -> None:
    """Prompts may include each other by name; the blame goes to the right one."""
    write(tmp_path, "outer.md", "{% include 'inner' %}")
    inner = write(tmp_path, "inner.md", "\n\n{{ unknown }}")
    with pytest.raises(ExpectedError, match="line 3") as caught:
        Prompts([tmp_path], "loop").render("outer", {})
    assert str(inner) in caught.value.message


ENDLESS = "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}"


@pytest.mark.parametrize(
    ("source", "what"),
    [
        (ENDLESS, "took longer than 1 s to render"),
        ("{{ 'x' * 10 ** 9 }}", "it needs too much memory"),
        ("{{ 'x' * 20000000 }}", "is longer than 10,000,000 characters"),
        ("{% for a in 'x' %}" * 30 + "{% endfor %}" * 30, "too many statically nested blocks"),
        ("{{ notes.append('x') }}", "unsafe"),
    ],
)
@pytest.mark.parametrize("name", ["iteration", "shared/iteration"])
def test_a_prompt_from_elsewhere_can_neither_hold_up_nor_fill_the_runner(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str, what: str, name: str
) -> None:
    """Whatever it does, also as a part of a shipped one: one error names it, and its process is gone."""
    if source is ENDLESS:
        monkeypatch.setattr(prompts_module, "_SECONDS", 1)
    path = write(tmp_path, f"{name}.md", source)
    before = psutil.Process().children()  # other tests of this worker have a browser
    with pytest.raises(ExpectedError) as caught:
        Prompts([tmp_path], "loop").render("iteration", values())
    assert f"The prompt {path}" in caught.value.message
    assert what in caught.value.message
    assert psutil.Process().children() == before


def test_shipped_prompts_alone_need_no_other_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And what they are given is not in question: a prompt from elsewhere that they do not use changes nothing."""
    write(tmp_path, "unused.md", ENDLESS)
    expected = Prompts([], "loop").iteration_prompts(values())
    monkeypatch.setattr(sys, "executable", "/bin/false")
    assert Prompts([tmp_path], "loop").iteration_prompts(values()) == expected
    with pytest.raises(ExpectedError, match=r"unused\.md cannot be rendered"):
        Prompts([tmp_path], "loop").render("unused", {})


def test_nothing_of_the_project_is_imported_to_render_a_prompt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder in which the runner works can have modules of any name."""
    for name in ("jinja2", "json", "msgspec", "claude_iterate"):
        write(tmp_path, f"{name}.py", f"open({str(tmp_path / 'imported')!r}, 'w')")
    write(tmp_path, "extra.md", "{{ x }}")
    monkeypatch.chdir(tmp_path)
    assert Prompts([tmp_path], "loop").render("extra", {"x": "caf\u00e9 \udcff\u2028"}) == "caf\u00e9 \udcff\u2028"
    assert not (tmp_path / "imported").exists()


RENDERING = """
import sys
from pathlib import Path
from claude_iterate import prompts
prompts._SECONDS = 2
prompts.Prompts([Path(sys.argv[1])], "loop").render("extra", {})
"""


def test_rendering_ends_without_the_runner(tmp_path: Path) -> None:
    """A runner that is killed leaves no process that is busy for ever."""
    write(tmp_path, "extra.md", ENDLESS)
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(PACKAGES)}
    with subprocess.Popen([sys.executable, "-P", "-c", RENDERING, str(tmp_path)], env=environment) as runner:
        until(lambda: psutil.Process(runner.pid).children())
        (rendering,) = psutil.Process(runner.pid).children()
        runner.send_signal(signal.SIGKILL)
    until(lambda: not rendering.is_running() or rendering.status() == psutil.STATUS_ZOMBIE)


OTHERS = {
    "workspace-system": ["project_root", "workspace_path"],
    "setup": ["workspace_name", "workspace_path", "validation_criteria", "goal"],
    "edit": ["workspace_name", "workspace_path", "validation_criteria", "goal"],
    "validate": ["workspace_name", "workspace_path", "validation_criteria", "answer_form"],
    "validate-answer": [],
    "validation-criteria": [],
    "verify-completion": [
        *[
            "project_root",
            "workspace_name",
            "workspace_path",
            "depth",
            "depth_note",
            "answer_form",
            "checks",
        ],
    ],
    "verify-answer": ["requirements"],
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", OTHERS)
def test_the_other_prompts_use_just_their_variables(mode: str, name: str) -> None:
    """Each renders with the documented variables, mentions every one, and begins with a word."""
    text = Prompts([], mode).render(name, {variable: f"<{variable}>" for variable in OTHERS[name]})
    assert text[0].isalpha()
    for variable in OTHERS[name]:
        assert f"<{variable}>" in text
    if name == "setup":
        assert "Find out what the user wants" not in text


@pytest.mark.parametrize("mode", MODES)
def test_setup_without_a_goal_interviews(mode: str) -> None:
    """No goal: ask the user. A goal: do not."""
    known = dict.fromkeys(OTHERS["setup"], "x")
    assert "Find out what the user wants" in Prompts([], mode).render("setup", {**known, "goal": ""})
    assert "Do not ask anything" in Prompts([], mode).render("setup", known)


@pytest.mark.parametrize("mode", MODES)
def test_the_forms_ask_for_what_is_judged(mode: str) -> None:
    """Seven required and three recommended criteria; every field of the two schemas stands in its prompt."""
    prompts = Prompts([], mode)
    criteria = prompts.render("validation-criteria", {})
    assert (criteria.count("(required)"), criteria.count("(recommended)")) == (7, 3)
    for form, schema in (("verify-answer", review.schema()), ("validate-answer", validation.schema())):
        text = prompts.render(form, dict.fromkeys(OTHERS[form], "x"))
        assert "StructuredOutput" in text
        named = set(re.findall(r"`(\w+)`", text))
        assert set(json.loads(schema)["properties"]) <= named
        assert set(re.findall(r'"(\w+)": \{"type"', schema)) - {"items"} <= named
