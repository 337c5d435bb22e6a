"""A figure with its target, and the table of them."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True)
class Row:
    """One figure. `target` is the highest accepted value; None: for information only."""

    id: str
    what: str
    value: float
    original: float | None = None
    """The same figure of the TypeScript original; None: not measured, or it cannot do this."""
    unit: str = field(default="x", kw_only=True)
    target: float | None = field(default=None, kw_only=True)

    @property
    def verdict(self) -> str:
        if self.target is None:
            return ""
        return "ok" if self.value <= self.target else "over"

    def document(self, with_original: bool) -> dict[str, Any]:
        made = asdict(self) | {"verdict": self.verdict}
        if not with_original:
            del made["original"]
        return made

    def cells(self, with_original: bool) -> list[str]:
        other = [""] if self.original is None else [f"{self.original:.2f} {self.unit}"]
        target = "" if self.target is None else f"{self.target:g} {self.unit}"
        shown = [self.id, self.what, f"{self.value:.2f} {self.unit}"]
        return [*shown, *(other if with_original else []), target, self.verdict]


def print_table(rows: list[Row], with_original: bool) -> None:
    header = ["", "measurement", "value", *(["original"] if with_original else []), "target", ""]
    shown = [header, *(row.cells(with_original) for row in rows)]
    widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
    for line in shown:
        padded = [
            cell.ljust(width) if place < 2 else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(line[:-1], widths, strict=False))
        ]
        print("  ".join([*padded, line[-1]]).rstrip())
