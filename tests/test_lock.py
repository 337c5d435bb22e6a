"""The lock of development and CI: what pyproject.toml asks for, and all that this needs, at exact versions."""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).parents[1]
LOCK = (ROOT / "requirements-dev.txt").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
ASKED = [
    Requirement(text)
    for text in (
        *PROJECT["build-system"]["requires"],
        *PROJECT["project"]["dependencies"],
        *PROJECT["dependency-groups"]["dev"],
    )
]
VERSIONS = ("3.11", "3.12", "3.13", "3.14")
PLATFORMS = ("linux", "darwin")


def locked() -> list[Requirement]:
    return [Requirement(entry.split("--hash")[0]) for entry in LOCK.replace("\\\n", " ").splitlines() if "==" in entry]


def chosen(version: str, platform: str) -> dict[str, Version]:
    """The packages that pip takes from the lock there."""
    place = {"python_version": version, "python_full_version": f"{version}.0", "sys_platform": platform}
    return {
        canonicalize_name(entry.name): Version(next(iter(entry.specifier)).version)
        for entry in locked()
        if entry.marker is None or entry.marker.evaluate(place)
    }


def fits(wanted: Requirement, found: dict[str, Version]) -> bool:
    version = found.get(canonicalize_name(wanted.name))
    return version is not None and wanted.specifier.contains(version)


def needed(asked: list[Requirement]) -> Iterator[Requirement]:
    """What is asked for, and what the installed packages ask for in turn, here."""
    seen, waiting = set(), list(asked)
    while waiting:
        wanted = waiting.pop()
        yield wanted
        for extra in ["", *wanted.extras]:
            if (step := (canonicalize_name(wanted.name), extra)) not in seen:
                seen.add(step)
                inner = [Requirement(text) for text in metadata.requires(wanted.name) or ()]
                waiting += [each for each in inner if each.marker is None or each.marker.evaluate({"extra": extra})]


@pytest.mark.parametrize("platform", PLATFORMS)
@pytest.mark.parametrize("version", VERSIONS)
def test_lock_satisfies_the_project(version: str, platform: str) -> None:
    """On every supported Python the lock has a version in range for each package that pyproject.toml names."""
    found = chosen(version, platform)
    unmet = [str(each) for each in ASKED if not fits(each, found)]
    assert unmet == [], "run scripts/lock"


def test_lock_misses_no_package() -> None:
    """What the installed packages need in turn is in the lock, too, in a version that they accept."""
    found = chosen(f"{sys.version_info.major}.{sys.version_info.minor}", sys.platform)
    unmet = {str(each) for each in needed(ASKED) if not fits(each, found)}
    assert unmet == set(), "run scripts/lock"


def test_lock_is_exact_and_names_no_server() -> None:
    """Each entry has one exact version and hashes, and the file works with the package index of each computer."""
    entries = [entry for entry in LOCK.replace("\\\n", " ").splitlines() if not entry.startswith("#")]
    shape = re.compile(r"[\w.-]+==[\w.]+ (; .+ )?( *--hash=sha256:\w{64})+")
    assert [entry for entry in entries if not shape.fullmatch(entry)] == []
