"""Bytes become lines, whatever the chunks."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from claude_iterate.agent.protocol.framing import KEPT, LineFramer

CHUNKS = st.lists(st.binary(max_size=20) | st.sampled_from([b"\n", b"a\nb", "é\u2028".encode()]), max_size=20)


def lines_of(chunks: list[bytes], longest: int = 10**6) -> list[bytes]:
    framer = LineFramer(longest)
    return [line for chunk in chunks for line in framer.feed(chunk)] + framer.finish()


@given(CHUNKS)
def test_any_chunking_gives_the_same_lines(chunks: list[bytes]) -> None:
    """Whole, in these chunks, or one byte at a time; and nothing is lost or added."""
    data = b"".join(chunks)
    single = [data[index : index + 1] for index in range(len(data))]
    assert lines_of(chunks) == lines_of([data]) == lines_of(single)
    assert b"\n".join(lines_of([data])) == data.removesuffix(b"\n")


@given(CHUNKS, st.integers(1, 8))
def test_a_long_line_is_cut_the_same_in_any_chunking_and_the_next_ones_are_whole(
    chunks: list[bytes], longest: int
) -> None:
    """A line over the bound keeps its beginning; the lines after it are not touched."""
    data = b"".join(chunks)
    single = [data[index : index + 1] for index in range(len(data))]
    expected = [line if len(line) <= longest else line[:longest] for line in lines_of([data])]
    assert lines_of(chunks, longest) == lines_of(single, longest) == expected


def test_an_endless_line_is_not_kept_in_memory() -> None:
    """Only its first bytes are."""
    framer = LineFramer(longest=100_000)
    for _ in range(1000):
        assert framer.feed(b"x" * 1000) == []
    assert framer.feed(b"\nnext\n") == [b"x" * KEPT, b"next"]
