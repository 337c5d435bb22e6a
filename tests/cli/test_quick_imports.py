"""Imports that cost a start less behave like those of Python."""

from __future__ import annotations

import subprocess
import sys
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from typing import Any

import pytest

import claude_iterate
from claude_iterate.cli import quick_imports
from tests.package_path import PACKAGES

PACKAGE = Path(claude_iterate.__path__[0])
FILES = [path.relative_to(PACKAGE.parent).with_suffix("") for path in PACKAGE.rglob("*.py")]
NAMES = [".".join(path.parts).removesuffix(".__init__") for path in FILES]
LATE = """
import sys
sys.path.insert(0, PACKAGES)
from claude_iterate.cli import quick_imports
quick_imports.arrange()
kind = quick_imports._Late
def loaded(name):
    return type(sys.modules[name]) is not kind

import claude_iterate.core.msgspec_alone, click, inspect, pathlib, platform, subprocess, uuid  # these want late modules
assert not any(map(loaded, quick_imports._LATE)), [*filter(loaded, quick_imports._LATE)]
text = "  First.\\n\\n    Second.\\n      Third.\\n"
assert inspect.cleandoc("A line.") == "A line." and not loaded("inspect")
assert inspect.cleandoc(text) == "First.\\n\\nSecond.\\n  Third." and loaded("inspect")
from gettext import gettext, ngettext
assert (gettext("a"), ngettext("a", "b", 1), ngettext("a", "b", 2), loaded("gettext")) == ("a", "a", "b", False)
said = platform.system()
for name in quick_imports._LATE:
    stood = click.core.inspect if name == "inspect" else sys.modules[name]
    try:
        stood.no_such_name
    except AttributeError:
        pass
    real = sys.modules[name]
    assert loaded(name) and {*dir(real)} <= {*dir(stood)}, name
    assert all(getattr(stood, word) is getattr(real, word) for word in dir(real)), name
    assert stood.__spec__ is real.__spec__
assert said == platform.system()
import httpx, jinja2, starlette.applications, textual.app, tomlkit, uvicorn, watchdog.observers
print("good")
"""


@pytest.mark.skipif("measuring" in sys.modules, reason="what measures coverage has loaded these modules")
def test_a_late_module_is_the_real_one_as_soon_as_it_is_used() -> None:
    """Until then nothing of it is loaded; what is used of it at every start does what the real one does."""
    code = LATE.replace("PACKAGES", repr(str(PACKAGES)))
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, timeout=120, check=False)
    assert (done.stdout, done.stderr) == ("good\n", "")


def facts(spec: ModuleSpec | None) -> dict[str, Any]:
    """All that a module gets from how it was found."""
    assert spec is not None
    assert type(spec.loader) is SourceFileLoader
    known = {"name", "origin", "cached", "has_location", "submodule_search_locations", "parent"}
    return {fact: getattr(spec, fact) for fact in known} | {"file": spec.loader.path}


def test_our_modules_are_found_where_python_finds_them() -> None:
    """Every module and every room, with the same facts about it."""
    assert len(NAMES) > 400
    for name in NAMES:
        if "." in name:
            room = [str(PACKAGE.parent.joinpath(*name.split(".")[:-1]))]
            assert facts(quick_imports._Finder.find_spec(name, room)) == facts(PathFinder.find_spec(name, room))


def test_a_room_goes_before_a_file_of_its_name(tmp_path: Path) -> None:
    """As in Python: an upgrade may have left an old file beside a new room."""
    (tmp_path / "views").mkdir()
    for place in ("views.py", "views/__init__.py"):
        (tmp_path / place).touch()
    name, room = "claude_iterate.views", [str(tmp_path)]
    assert facts(quick_imports._Finder.find_spec(name, room)) == facts(PathFinder.find_spec(name, room))


def test_a_module_is_loaded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread that comes late gets what the first has loaded, and takes nothing away."""
    monkeypatch.setitem(sys.modules, "textwrap", quick_imports._Late("textwrap"))
    first = quick_imports._real("textwrap")
    assert quick_imports._real("textwrap") is first is sys.modules["textwrap"]


@pytest.mark.parametrize("name", ["click", "claude_iterate", "claude_iterate_more.cli", "claude_iterate.no_such"])
def test_all_else_is_left_to_python(name: str) -> None:
    """Other packages, our own as a whole, and what is not there."""
    assert quick_imports._Finder.find_spec(name, None) is None
    assert quick_imports._Finder.find_spec(name, [str(PACKAGE)]) is None
