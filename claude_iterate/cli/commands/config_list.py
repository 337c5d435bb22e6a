"""Prints settings: their values, or all there is to know of each. Secrets are masked in lists."""

from __future__ import annotations

from typing import Any

from claude_iterate.cli import output
from claude_iterate.core.formats import plain
from claude_iterate.core.settings.declared import Setting, catalogue
from claude_iterate.core.settings.layers import Resolved
from claude_iterate.views.setting_values import as_text, masked_setting, masked_value
from claude_iterate.views.workspace_view import value_of


def entry(resolved: Resolved, setting: Setting, cover: bool = True) -> dict[str, Any]:
    """One effective value and its source. With `cover` secrets are masked by their key, always by their form."""
    value = value_of(resolved.settings, setting.key)
    origin = resolved.origin(setting.key)
    shown = masked_setting(setting.key, value) if cover else masked_value(value)
    return {"key": setting.key, "value": plain(shown), "source": origin.kind, "place": origin.place or None}


def source(found: dict[str, Any]) -> str:
    """Where an entry's value comes from, for people."""
    return place(found["source"], found["place"] or "", found["key"])


def place(kind: str, where: str, key: str) -> str:
    """A source in words."""
    if kind == "environment":
        return f"environment: {catalogue()[key].variable}"
    return f"{kind}: {where}" if where else kind


def values(resolved: Resolved, prefix: str, origin: bool, as_json: bool) -> None:
    """`key = value` for every setting whose key begins with `prefix`."""
    found = [entry(resolved, setting) for key, setting in catalogue().items() if key.startswith(prefix)]
    if as_json:
        output.document(found)
        return
    for item in found:
        shown = "(not set)" if item["value"] is None else as_text(item["value"])
        output.result(f"{item['key']} = {shown}" + (f"  ({source(item)})" if origin else ""))


def explain(resolved: Resolved, as_json: bool) -> None:
    """Everything about every setting."""
    if as_json:
        output.document({"keys": [_described(resolved, setting) for setting in catalogue().values()]})
        return
    for setting in catalogue().values():
        found = entry(resolved, setting)
        output.result(output.heading(setting.key) + f"  {setting.sentence}")
        default = "not set" if setting.default is None else as_text(setting.default) or '""'
        value = "not set" if found["value"] is None else as_text(found["value"]) or '""'
        output.result(f"    {setting.kind.expected}; default {default}; now {value} ({source(found)})")


def _described(resolved: Resolved, setting: Setting) -> dict[str, Any]:
    found = entry(resolved, setting)
    return {
        "key": setting.key,
        "kind": setting.kind.expected,
        "default": plain(setting.default),
        "current": {"value": found["value"], "source": found["source"], "place": found["place"]},
        "description": setting.sentence,
        "variable": setting.variable,
        "otherNames": list(setting.original),
    }
