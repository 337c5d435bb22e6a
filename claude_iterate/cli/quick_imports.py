"""A start imports less: modules that nothing uses are loaded when something does, and our own are found at once.

`importlib.util.LazyLoader` does not serve: click uses one function each of `inspect` and `gettext` at every start, and
that would load them. What a stand-in cannot do until it is used: it has no `__spec__` (`importlib.util.find_spec` of
its name fails), and `dir` of it is short.
"""

from __future__ import annotations

import os
import sys
from _thread import allocate_lock
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec, SourceFileLoader
from types import ModuleType
from typing import Any

_OURS = "claude_iterate."
_ONE_AT_A_TIME = allocate_lock()


def arrange() -> None:
    """From now on imports cost less. What is loaded already stays as it is."""
    for name, used in _LATE.items():
        if name not in sys.modules:
            sys.modules[name] = late = _Late(name)
            vars(late).update(used)
    if _Finder not in sys.meta_path:
        sys.meta_path.insert(0, _Finder)


class _Late(ModuleType):
    """Stands in the place of a module; becomes like it when something is asked for that it does not have."""

    def __getattr__(self, name: str) -> Any:
        if name == "__path__":  # an import asks whether it is a package; none is
            raise AttributeError(name)
        real = _real(self.__name__)
        vars(self).update(vars(real))
        return getattr(real, name)


def _real(name: str) -> ModuleType:
    with _ONE_AT_A_TIME:  # else a thread could take away what another has just loaded, and load it a second time
        if isinstance(sys.modules.get(name), _Late):
            del sys.modules[name]
    return import_module(name)


def _cleandoc(text: str) -> str:
    """click cleans the help of each option, and ours are one line each."""
    clean = text.isprintable() and not text.startswith(" ")
    return text if clean else str(_real("inspect").cleandoc(text))


_LATE: Mapping[str, Mapping[str, Callable[..., Any]]] = {
    "gettext": {"gettext": lambda text: text, "ngettext": lambda one, many, count: one if count == 1 else many},
    "inspect": {"cleandoc": _cleandoc},
    "ipaddress": {},
    "locale": {},
    "platform": {"system": lambda: os.uname().sysname} if hasattr(os, "uname") else {},
    "textwrap": {},
}
"""What click, msgspec, pathlib, subprocess and uuid import, and what they use of it at every start. There are no
translations of ours, so a text is its own."""


class _Finder:
    """Finds modules of ours that are Python files; Python looks for all else, as ever. For each it would ask several
    finders, and each finder looks at the folder and for other sorts of files."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None, _target: ModuleType | None = None, /) -> ModuleSpec | None:
        if not path or not name.startswith(_OURS):
            return None
        place = f"{path[0]}/{name.rpartition('.')[2]}"
        for source, inside in ((f"{place}/__init__.py", [place]), (f"{place}.py", None)):
            if os.access(source, os.R_OK):
                spec = ModuleSpec(name, SourceFileLoader(name, source), origin=source)
                spec.has_location, spec.submodule_search_locations = True, inside
                return spec
        return None
