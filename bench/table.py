"""A figure with its target, and the table of them."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Row:
    """One figure. `target` is the highest accepted value; None: for information only."""

    id: str
    what: str
    value: float
    unit: str = "x"
    target: float | None = None

    @property
    def verdict(self) -> str:
        if self.target is None:
            return ""
        return "ok" if self.value <= self.target else "over"

    def document(self) -> dict[str, Any]:
        return asdict(self) | {"verdict": self.verdict}


def print_table(rows: list[Row]) -> None:
    shown = [("", "measurement", "value", "target", "")]
    for row in rows:
        target = "" if row.target is None else f"{row.target:g} {row.unit}"
        shown.append((row.id, row.what, f"{row.value:.2f} {row.unit}", target, row.verdict))
    first, second, third, fourth, _ = (max(map(len, column)) for column in zip(*shown, strict=True))
    for name, what, value, target, verdict in shown:
        print(f"{name:{first}}  {what:{second}}  {value:>{third}}  {target:>{fourth}}  {verdict}".rstrip())
