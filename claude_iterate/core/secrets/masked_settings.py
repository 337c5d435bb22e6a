"""Settings that people and files may see: values with their secrets covered, and what differs from the defaults."""

from __future__ import annotations

import re
from typing import Any

from msgspec.structs import asdict

from claude_iterate.core.formats import plain
from claude_iterate.core.secrets.patterns import is_secret_name, masked
from claude_iterate.core.settings.declared import Group, Settings

COVER = "***"


def differing(settings: Settings) -> dict[str, Any]:
    """What differs from the defaults, by dotted key, as JSON has it, with secrets covered."""
    return {key: plain(masked_setting(key, value)) for key, value in _differing(settings, "").items()}


def _differing(group: Group, prefix: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    defaults = asdict(type(group)())
    for name, value in asdict(group).items():
        if isinstance(value, Group):
            found |= _differing(value, f"{prefix}{name}.")
        elif value != defaults[name]:
            found[prefix + name] = value
    return found


def masked_setting(key: str, value: Any) -> Any:
    """The value with secrets replaced by `***`."""
    if key == "notify.url" and isinstance(value, str):
        # User and password before the host, the query, and the end of the path, where services put their tokens: who
        # knows a topic of ntfy can read it and write to it.
        without_user = re.sub(r"//[^/@\s]*@", f"//{COVER}@", value)
        without_query = re.sub(r"([?#]).*$", rf"\g<1>{COVER}", without_user)
        return re.sub(r"(//[^/?#]+(?:/[^/?#]*)*/)[^/?#]+", rf"\g<1>{COVER}", without_query)
    if key == "notify.secret" and value:
        return COVER
    if key == "notify.headers" and isinstance(value, dict):
        return dict.fromkeys(value, COVER)
    if key == "claude.env" and isinstance(value, dict):
        value = {name: COVER if is_secret_name(name) else text for name, text in value.items()}
    return masked_value(value)


def masked_value(value: Any) -> Any:
    """The value of any setting with everything that looks like a secret replaced by `***`."""
    if isinstance(value, str):
        return masked(value, COVER)
    if isinstance(value, list | tuple):
        return [masked_value(item) for item in value]
    if isinstance(value, dict):
        return {name: masked_value(item) for name, item in value.items()}
    return value
