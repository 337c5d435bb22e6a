"""`ulimit -f 0`: no file may grow. Every command says so; none ends as a bug."""

from __future__ import annotations

import resource

import pytest

from tests.e2e.conftest import Loop


def no_file_may_grow() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))


@pytest.mark.parametrize(
    "words",
    [
        ["run", "my-task"],
        ["run", "my-task", "--dry-run"],
        ["verify", "my-task"],
        ["validate", "my-task"],
        ["setup", "other", "--goal", "Write a poem."],
        ["edit", "my-task", "--goal", "Write a poem."],
        ["reset", "my-task"],
        ["doctor"],
        ["demo"],
        ["selftest", "--only", "hang-silent"],
    ],
    ids=" ".join,
)
def test_the_limit_is_named(loop: Loop, words: list[str]) -> None:
    """The message names the limit and says how to raise it; there is no stack trace, and Claude is not called."""
    loop.make()
    done = loop.call(*words, preexec_fn=no_file_may_grow)
    assert done.code == 1
    assert "ulimit -f" in done.out + done.err
    assert "Traceback" not in done.err
    assert "bug" not in done.err
    assert not loop.state.exists()
