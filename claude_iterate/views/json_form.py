"""The JSON form of any view: its fields under the number of the format."""

from __future__ import annotations

from typing import Any

import msgspec

FORMAT = 1


def document(form: msgspec.Struct) -> dict[str, Any]:
    """A view, ready for JSON."""
    return {"format": FORMAT, **_round_money(msgspec.to_builtins(form))}


def _round_money(value: Any) -> Any:
    """Sums of money without the noise of binary fractions."""
    if isinstance(value, float):
        return round(value, 6)
    if isinstance(value, dict):
        # Entries of a journal are printed as they are.
        return {key: item if key == "entries" else _round_money(item) for key, item in value.items()}
    return [_round_money(item) for item in value] if isinstance(value, list | tuple) else value
