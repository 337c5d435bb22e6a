"""Which files a check's script takes in: what a shell script sources, what a Makefile includes, which modules beside it
a Python script imports. Only plain forms are read."""

from __future__ import annotations

import re
from collections.abc import Iterator

from claude_iterate.core.expressions import expression

_SOURCED = expression(r"^[ \t]*(?:\.|source)[ \t]+[\"']?([^\s\"';&|#]+)", re.MULTILINE)
_OWN_FOLDER = expression(r"\$\(dirname [\"']?\$(?:0|\{0\}|\{?BASH_SOURCE(?:\[0\])?\}?)[\"']?\)|\$\{0%/\*\}")
_MADE = expression(r"^-?s?include[ \t]+([^#\n]+)", re.MULTILINE)
_IMPORTED = expression(
    r"^[ \t]*(?:from[ \t]+(\.*[\w.]*)[ \t]+import[ \t]+([\w, \t*]+)|import[ \t]+([\w., \t]+))", re.MULTILINE
)
_MAKEFILES = frozenset({"makefile", "gnumakefile"})


def included(path: str, text: str) -> list[str]:
    """Paths that may be there, each once: as they are written, and from the folder of the file. `path` is that of the
    file in the project."""
    folder, _, name = path.rpartition("/")
    if name.endswith(".py"):
        # In the root of a project a module may be the very thing that is tested.
        found = _modules(text, folder) if folder else []
    elif name.endswith(".mk") or name.lower() in _MAKEFILES:
        found = [word for line in _MADE.findall(text) for word in line.split()]
    else:
        found = [_OWN_FOLDER.sub(".", word) for word in _SOURCED.findall(_OWN_FOLDER.sub(".", text))]
    places = (place for word in found if "$" not in word for place in _places(folder, word))
    return list(dict.fromkeys(places))


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
