"""Shipped prompts made into Python: the same bytes as Jinja2 gives, and only while the template is as it was."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from claude_iterate.errors import ExpectedError
from claude_iterate.prompts import Prompts, environment, shipped_folder
from claude_iterate.shipped_prompts import SHIPPED

ROOT = Path(__file__).parents[1]
TEXTS = ["workspace_name", "workspace_path", "project_root", "todo_file", "status_file", "report_path", "now"]
TEXTS += ["instructions", "previous_status", "failures", "agents_text", "status_instructions", "goal"]
TEXTS += ["validation_criteria", "depth", "depth_note", "checks", "nonce", "report_id", "answer_form", "requirements"]
TEXTS += ["plan_file", "impl_folder", "spec_dir", "src_dir"]
VALUES = st.fixed_dictionaries(
    {name: st.text(max_size=20) for name in TEXTS}
    | {
        "iteration": st.integers(1, 999),
        "max_iterations": st.integers(0, 2),
        "notes": st.text(max_size=5) | st.lists(st.text(max_size=5), max_size=3),
        "commands": st.dictionaries(st.text(max_size=5), st.text(max_size=5), max_size=3),
        "mode": st.sampled_from(["loop", "iterative", "plan", "build"]),
        "by_schema": st.booleans(),
        "proof_wanted": st.booleans(),
    }
)


@pytest.fixture(scope="module")
def script() -> ModuleType:
    """`scripts/compile_prompts.py`, which is no part of the package."""
    path = ROOT / "scripts" / "compile_prompts.py"
    specification = importlib.util.spec_from_file_location("compile_prompts", path)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def test_the_module_is_up_to_date(script: ModuleType) -> None:
    """claude_iterate/shipped_prompts.py is what scripts/compile_prompts.py would write."""
    assert script.TARGET.read_text("utf-8") == script.compiled(), "run: python scripts/compile_prompts.py"


@pytest.mark.parametrize(
    "name", sorted(path.relative_to(shipped_folder()).as_posix() for path in shipped_folder().rglob("*.md"))
)
def test_the_same_bytes_as_jinja2(name: str) -> None:
    """For any values and every shipped prompt."""
    source = (shipped_folder() / name).read_text("utf-8")
    template = environment().from_string(source)

    @settings(max_examples=40)
    @given(VALUES)
    def is_the_same(values: dict[str, object]) -> None:
        assert "".join(SHIPPED[name][1](source, values)) == template.render(values)

    is_the_same()


def test_a_missing_value_is_reported_as_by_jinja2() -> None:
    """An ExpectedError with file, line and name, although the prompt was made into Python."""
    with pytest.raises(ExpectedError) as caught:
        Prompts([], "loop").render("edit", {"workspace_name": "w"})
    assert f"{shipped_folder() / 'edit.md'}, line 3," in caught.value.message
    assert "'workspace_path' is undefined" in caught.value.message


def test_a_changed_shipped_prompt_is_used_as_changed(tmp_path: Path) -> None:
    """In a checkout an edit of templates/prompts counts for the next run. The one under way keeps what it has read."""
    for folder in ("claude_iterate", "templates"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    code = (
        "import sys; from claude_iterate.prompts import Prompts, shipped_folder; prompts = Prompts([], 'loop')\n"
        "first = prompts.render('validation-criteria', {}); assert 'jinja2' not in sys.modules\n"
        "path = shipped_folder() / 'validation-criteria.md'; path.write_text('Changed: {{ mode }}')\n"
        "assert prompts.render('validation-criteria', {}) == first; prompts = Prompts([], 'loop')\n"
        "print(path, prompts.render('validation-criteria', {}), prompts.render('validation-criteria', {}), sep='|')"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", code],
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    shipped = tmp_path / "templates" / "prompts" / "validation-criteria.md"
    assert done.stdout.rstrip("\n") == f"{shipped}|Changed: loop|Changed: loop"
