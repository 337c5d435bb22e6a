"""Money as people read it."""

from __future__ import annotations


def money(dollars: float) -> str:
    """`$0.42`; a fraction of a cent is not called nothing."""
    return f"${dollars:.4f}" if 0 < dollars < 0.01 else f"${dollars:.2f}"
