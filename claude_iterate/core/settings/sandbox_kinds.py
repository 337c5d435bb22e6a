"""Kinds of values that only the settings of the sandbox have."""

from __future__ import annotations

import re
from typing import Any

from claude_iterate.core.settings.kinds import Kind, each


def _require(holds: bool) -> None:
    if not holds:
        raise ValueError


def _memory(value: Any) -> str:
    _require(isinstance(value, str) and re.fullmatch(r"[1-9][0-9]*[bkmgBKMG]", value) is not None)
    return str(value).lower()


def _processors(value: Any) -> float:
    _require(isinstance(value, int | float) and not isinstance(value, bool) and 0 < value <= 1024)
    return float(value)


def _place(value: Any) -> str:
    """A comma or a colon would mean something else to docker, and so would a link upwards."""
    _require(isinstance(value, str) and re.fullmatch(r"(/|~/)[^\0:,\n]+(:rw)?", value) is not None)
    _require(".." not in value.removesuffix(":rw").split("/"))
    return str(value)


def _variable(value: Any) -> str:
    _require(isinstance(value, str) and re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", value) is not None)
    return str(value)


def _image(value: Any) -> str:
    _require(isinstance(value, str) and re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._/:@-]*", value) is not None)
    return str(value)


MEMORY = Kind("a size with its unit, such as 512m or 4g", _memory)
PROCESSORS = Kind("a number of processors above 0, such as 2 or 0.5", _processors, float)
PLACES = each(Kind("an absolute path or one from ~/, with `:rw` at its end if it may be written", _place))
VARIABLES = each(Kind("the name of an environment variable", _variable))
IMAGE = Kind("the name of an image, such as my-image:latest", _image)
