"""Small charts as SVG: one bar for each iteration, drawn by hand so that a page needs no library and no network.

Pure functions from numbers to text. Colours come from the page's style sheet by class, so light and dark both work.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape

import msgspec

WIDTH, HEIGHT = 400, 120
_LEFT, _RIGHT, _TOP, _BOTTOM = 4, 4, 18, 16
_GAP = 0.25
"""The part of a bar's place that is left empty."""
_MOST = 200
"""Bars that can be told apart; of more values each bar is the largest of several."""


class Bar(msgspec.Struct, frozen=True):
    """One value. `mark` is a class of the style sheet: ok, bad or plain; `says` is read aloud and shown on hovering."""

    value: float
    says: str
    mark: str = "plain"


def bars(title: str, values: Sequence[Bar], write: Callable[[float], str], most: float | None = None) -> str:
    """A chart of bars with its largest value written above; empty without a value above zero. `most` fixes the
    scale."""
    shown = _gathered(values)
    top = most or max((bar.value for bar in shown), default=0.0)
    if top <= 0:
        return ""
    place = (WIDTH - _LEFT - _RIGHT) / len(shown)
    height = HEIGHT - _TOP - _BOTTOM
    drawn = "".join(_drawn(bar, number, place, height, top) for number, bar in enumerate(shown))
    base = HEIGHT - _BOTTOM
    largest = write(max(bar.value for bar in shown))
    label = f"{title}: {len(values)} values, the largest {largest}"
    return (
        f'<svg class="chart" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(label)}">'
        f'<text class="title" x="{_LEFT}" y="12">{escape(title)}</text>'
        f'<text class="largest" x="{WIDTH - _RIGHT}" y="12" text-anchor="end">{escape(largest)}</text>'
        f'{drawn}<line class="axis" x1="{_LEFT}" y1="{base}" x2="{WIDTH - _RIGHT}" y2="{base}"/>'
        f'<text class="tick" x="{_LEFT}" y="{HEIGHT - 3}">1</text>'
        f'<text class="tick" x="{WIDTH - _RIGHT}" y="{HEIGHT - 3}" text-anchor="end">{len(values)}</text></svg>'
    )


def _drawn(bar: Bar, number: int, place: float, height: float, top: float) -> str:
    tall = max(0.0, min(1.0, bar.value / top)) * height
    x, y = _LEFT + number * place + place * _GAP / 2, _TOP + height - tall
    place_of_it = f'x="{x:.1f}" y="{y:.1f}" width="{place * (1 - _GAP):.1f}" height="{tall:.1f}"'
    return f'<rect class="{escape(bar.mark)}" {place_of_it}><title>{escape(bar.says)}</title></rect>'


def _gathered(values: Sequence[Bar]) -> Sequence[Bar]:
    """As many bars as can be told apart: of more, each is the largest of its neighbours."""
    if len(values) <= _MOST:
        return values
    each = -(-len(values) // _MOST)
    groups = [values[start : start + each] for start in range(0, len(values), each)]
    return [max(group, key=lambda bar: bar.value) for group in groups]
