"""What secrets look like, and which names of variables, headers and settings stand for one. One place for all."""

from __future__ import annotations

import re

MASK = "[redacted]"

SHAPES = {
    "sk-ant-": r"sk-ant-[\w-]{12,}",
    "sk-proj-": r"sk-proj-[\w-]{12,}",
    "sk_live_": r"sk_live_\w{12,}",
    "ghp_": r"ghp_\w{20,}",
    "gho_": r"gho_\w{20,}",
    "ghs_": r"ghs_\w{20,}",
    "github_pat_": r"github_pat_\w{20,}",
    "glpat-": r"glpat-[\w-]{16,}",
    "xoxb-": r"xoxb-[\w-]{16,}",
    "xoxp-": r"xoxp-[\w-]{16,}",
    "AKIA": r"AKIA[0-9A-Z]{16}",
    "AIza": r"AIza[\w-]{30,}",
    "npm_": r"npm_[A-Za-z0-9]{30,}",
    "eyJhbGci": r"eyJhbGci[\w-]+\.[\w-]+\.[\w-]+",
    "PRIVATE KEY-----": r"-----BEGIN [A-Z ]*PRIVATE KEY-----(?:.|\n)*?-----END [A-Z ]*PRIVATE KEY-----",
    # What was typed into a command; `$TOKEN` is not a secret, and prose has no digits.
    "earer ": r"(?<=[Bb]earer )(?:(?<=uthorization: .{7})[\w.~+/-]{6,}|(?=[\w.~+/-]*\d)[\w.~+/-]{20,})=*",
    "uthorization: Basic ": r"(?<=uthorization: Basic )[\w+/-]{6,}=*",
    "-api-key: ": r"(?<=-api-key: )[\w.~+/-]{6,}=*",
}
"""Fixed characters that a secret contains, and its pattern."""


_SECRET = re.compile("|".join(SHAPES.values()))


def masked(text: str, mask: str = MASK) -> str:
    """The text with everything masked that looks like a secret."""
    return _SECRET.sub(mask, text) if any(needle in text for needle in SHAPES) else text


# Authorization is one; GIT_AUTHOR_NAME, XAUTHORITY and KEYBOARD are not.
_SECRET_NAME = re.compile(r"KEY(?!BOARD)|TOKEN|SECRET|PASSW|CREDENTIAL|AUTH(?!OR(?!I[SZ]))", re.IGNORECASE)


def is_secret_name(name: str) -> bool:
    """True for names such as GITHUB_TOKEN."""
    return _SECRET_NAME.search(name) is not None
