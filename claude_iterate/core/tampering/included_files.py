"""Which files a check's script takes in: what a shell script sources, what a Makefile includes, which modules beside it
a Python script imports, and which scripts for checks it runs. Only plain forms are read."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from claude_iterate.core.tampering.check_words import named_by

_MOST_LINES = 500
_SOURCED = re.compile(r"^[ \t]*(?:\.|source)[ \t]+[\"']?([^\s\"';&|#]+)", re.MULTILINE)
_OWN_FOLDER = re.compile(r"\$\(dirname [\"']?\$(?:0|\{0\}|\{?BASH_SOURCE(?:\[0\])?\}?)[\"']?\)|\$\{0%/\*\}")
_MADE = re.compile(r"^-?s?include[ \t]+([^#\n]+)", re.MULTILINE)
_MADE_VALUE = re.compile(r"^([A-Za-z_]\w*)[ \t]*(?::{0,2}|\?)=[ \t]*(\S+)[ \t]*$", re.MULTILINE)
_MADE_NAME = re.compile(r"\$[({](\w+)[)}]")
_WILDCARD = re.compile(r"\$[({]wildcard[ \t]+([^)}]+)[)}]")
_RULE = re.compile(r"^([^\s:#][^:\n]*):(?!=)")
_IMPORTED = re.compile(
    r"^[ \t]*(?:from[ \t]+(\.*[\w.]*)[ \t]+import[ \t]+([\w, \t*]+)|import[ \t]+([\w., \t]+))", re.MULTILINE
)
_MAKEFILES = frozenset({"makefile", "gnumakefile", "justfile", ".justfile"})
_FOR_CHECKS = re.compile(
    r"(?<![a-z])(?:tests?|testing|checks?|verif\w*|lint\w*|ci|specs?|valid\w*|smoke|e2e|unit|integration|coverage|cover"
    r"|assert\w*|runtests?|pre-?commit)(?![a-z])",
    re.IGNORECASE,
)
"""Names that say that something is there to check. A script that a check runs may be the very thing that is tested."""


def included(path: str, text: str) -> list[str]:
    """Paths that may be there, each once: as they are written, and from the folder of the file. `path` is that of the
    file in the project."""
    folder, _, name = path.rpartition("/")
    if name.endswith(".py"):
        # In the root of a project a module may be the very thing that is tested.
        found = _modules(text, folder) if folder else []
    elif name == "package.json":
        found = _of_package(text)
    elif name.endswith(".mk") or name.lower() in _MAKEFILES:
        found = [*_made(text), *_of_recipes(text)]
    else:
        text = _OWN_FOLDER.sub(".", text)
        found = [*_SOURCED.findall(text), *(run for line in text.splitlines()[:_MOST_LINES] for run in _run(line))]
    places = (place for word in found if "$" not in word for place in _places(folder, word))
    return list(dict.fromkeys(places))


def _run(command: str, for_checks: bool = False) -> list[str]:
    """The scripts that a line of a shell runs: all of them in a recipe for checks, else those with such a name."""
    if command.lstrip().startswith("#") or not ("." in command or "/" in command):
        return []
    return [script for script in named_by(command).scripts if for_checks or _FOR_CHECKS.search(script)]


def _of_package(text: str) -> list[str]:
    """What the scripts of a package.json run."""
    try:
        scripts = json.loads(text)["scripts"]
        named = [(str(name), str(command)) for name, command in scripts.items()]
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return []
    return [run for name, command in named for run in _run(command, _FOR_CHECKS.search(name) is not None)]


def _made(text: str) -> list[str]:
    """What a Makefile includes; its variables have the values that they are given in one word."""
    values = dict(_MADE_VALUE.findall(text))
    lines = (_MADE_NAME.sub(lambda one: values.get(one[1], one[0]), line) for line in _MADE.findall(text))
    return [word for line in lines for word in _WILDCARD.sub(r"\1", line).split()]


def _of_recipes(text: str) -> list[str]:
    """What the recipes of a Makefile or a justfile run."""
    found, for_checks = list[str](), False
    for line in text.splitlines()[:_MOST_LINES]:
        if line[:1].isspace():
            found += _run(line.strip().lstrip("@-+"), for_checks)
        elif rule := _RULE.match(line):
            for_checks = _FOR_CHECKS.search(rule[1]) is not None
    return found


def _places(folder: str, word: str) -> Iterator[str]:
    if not folder or word.startswith(("/", f"{folder}/")):
        yield word
        return
    yield f"{folder}/{word}"
    yield word


def _modules(text: str, folder: str) -> list[str]:
    found = []
    for source, names, plain in _IMPORTED.findall(text):
        modules = [word.split()[0] for word in plain.split(",") if word.split()]
        if source:
            module = source.lstrip(".")
            modules = [module] if module else []
            modules += [f"{module}.{word.split()[0]}".strip(".") for word in names.split(",") if word.split()]
        for module in modules:
            place = f"{folder}/{module.replace('.', '/')}"
            found += [f"{place}.py", f"{place}/__init__.py"]
    return [name for name in found if "*" not in name]
