"""The part of a file that defines the proof: a ticked box, a new dependency or a new fixture is work, not a change of
the proof. Where a file cannot be read as what it should be, all of it counts."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

from claude_iterate.core.fingerprints import checksum
from claude_iterate.core.tampering import marks_of_plans

_BOX = re.compile(r"^([ \t]*(?:[-*+]|\d+[.)])[ \t]+\[)[xX](\])", re.MULTILINE)
_DESCRIPTIVE = frozenset(
    """
    name version description keywords homepage bugs license author contributors funding files repository private engines
    dependencies devDependencies peerDependencies optionalDependencies bundledDependencies peerDependenciesMeta
    overrides resolutions workspaces packageManager volta
    """.split()  # noqa: SIM905 - one name per line would take a page
)
_BUILDING = frozenset(
    {"poetry", "uv", "pdm", "hatch", "flit", "setuptools", "setuptools_scm", "maturin", "rye", "pixi"}
)
_CRATE = frozenset({"package", "dependencies", "dev-dependencies", "build-dependencies", "workspace"})
_HOOKS = re.compile(
    r"^.*(?:pytest_(?:collect|runtest|report|session|ignore|itemcollected|cmdline|configure|exception|terminal)"
    r"|collect_ignore|\bskip|\bxfail|_exit\b|exitstatus|sys\.modules|monkeypatch\.setattr\(pytest).*$",
    re.MULTILINE,
)
"""Lines of a `conftest.py` that can change which tests run and how they end."""
_REQUIREMENT = re.compile(r"^\s*require\s*\([^)]*\)|^\s*require\s.*$|^\s*//.*$|^\s*(?:go|toolchain)\s.*$", re.MULTILINE)
WORKSPACE_SETTINGS = ("config", "mode", "maxIterations", "delay", "stagnationThreshold", "notifyUrl", "notifyEvents")
"""Keys of `.metadata.json` that are settings; the others are written by runs."""


def proving_part(kind: str, name: str, text: str) -> str:
    """What of this file counts; empty when nothing does, as if it were not there."""
    if kind == "instructions":
        return _BOX.sub(r"\1 \2", text)
    if kind == "settings":
        return _settings(name, text)
    if kind == "plan":
        return marks_of_plans.written(text)
    form = _FORMS.get(name) if kind == "config" else None
    return text if form is None else form(text)


def _settings(name: str, text: str) -> str:
    """Each setting with a short digest of its value, so that it can be said which one changed."""
    found = _table(text, name.endswith(".toml"))
    if found is None:
        return f"unreadable={_digest(text)}"
    if name == ".metadata.json":
        own = found.get("config")
        rest = {key: found[key] for key in WORKSPACE_SETTINGS if key in found and key != "config"}
        found = rest | (own if isinstance(own, dict) else {"config": own} if own is not None else {})
    return " ".join(f"{key}={_digest(value)}" for key, value in sorted(_leaves(found)))


def changed_settings(was: str, now: str) -> tuple[str, ...]:
    """The names of the settings that differ between two such forms."""
    before, after = (dict(item.rpartition("=")[::2] for item in form.split()) for form in (was, now))
    return tuple(sorted(key for key in before.keys() | after.keys() if before.get(key) != after.get(key)))


def _leaves(table: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    for key, value in table.items():
        name = f"{prefix}{str(key).replace(' ', '_').replace('=', '_')}"
        if isinstance(value, dict):
            yield from _leaves(value, f"{name}.")
        else:
            yield name, json.dumps(value, sort_keys=True, default=str)


def _digest(text: str) -> str:
    return checksum(text.encode("utf-8", "surrogatepass"), 4)


def _package(text: str) -> str:
    found = _table(text, toml=False)
    return text if found is None else _kept({key: found[key] for key in found if key not in _DESCRIPTIVE})


def _pyproject(text: str) -> str:
    found = _table(text, toml=True)
    tools = found.get("tool", {}) if found is not None else None
    return text if not isinstance(tools, dict) else _kept({key: tools[key] for key in tools if key not in _BUILDING})


def _cargo(text: str) -> str:
    found = _table(text, toml=True)
    if found is None:
        return text
    about = found.get("package")
    automatic = (
        {key: value for key, value in about.items() if key.startswith("auto")} if isinstance(about, dict) else {}
    )
    return _kept({key: found[key] for key in found if key not in _CRATE} | automatic)


def _conftest(text: str) -> str:
    return "\n".join(match.group().strip() for match in _HOOKS.finditer(text))


def _go_module(text: str) -> str:
    return "\n".join(line.strip() for line in _REQUIREMENT.sub("", text).splitlines() if line.strip())


def _kept(table: dict[str, Any]) -> str:
    return json.dumps(table, sort_keys=True, default=str) if table else ""


def _table(text: str, toml: bool) -> dict[str, Any] | None:
    import tomllib

    try:
        if toml:
            return tomllib.loads(text)
        found = json.loads(text)
    except (ValueError, RecursionError):  # tomllib's error is a ValueError
        return None
    return found if isinstance(found, dict) else None


_FORMS: dict[str, Callable[[str], str]] = {
    "package.json": _package,
    "pyproject.toml": _pyproject,
    "Cargo.toml": _cargo,
    "conftest.py": _conftest,
    "go.mod": _go_module,
}
