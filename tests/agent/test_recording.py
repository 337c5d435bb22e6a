"""What Claude printed is kept byte for byte, but not without end."""

from __future__ import annotations

from pathlib import Path

import pytest

from claude_iterate.agent.processes.child import CUT, Recording


@pytest.mark.parametrize("pieces", [[b"0123456789"], [b"01234", b"56789"], [b"0"] * 3, []])
def test_up_to_its_size_it_is_whole(tmp_path: Path, pieces: list[bytes]) -> None:
    """Whatever the pieces it comes in."""
    with Recording(str(tmp_path / "raw"), 10) as file:
        for piece in pieces:
            assert file.write(piece) == len(piece)
    assert (tmp_path / "raw").read_bytes() == b"".join(pieces)


def test_beyond_it_is_cut_once_and_says_so(tmp_path: Path) -> None:
    """The rest is dropped: the process that prints it must not wait."""
    with Recording(str(tmp_path / "raw"), 10) as file:
        for piece in (b"01234567", b"89abc", b"def", b"ghi"):
            assert file.write(piece) == len(piece)
    assert (tmp_path / "raw").read_bytes() == b"0123456789" + CUT


def test_it_is_for_the_user_alone(tmp_path: Path) -> None:
    """What Claude prints is not redacted here."""
    Recording(str(tmp_path / "raw")).close()
    assert (tmp_path / "raw").stat().st_mode & 0o777 == 0o600
