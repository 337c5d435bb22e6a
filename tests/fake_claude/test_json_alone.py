"""The JSON of the fake Claude: to the byte what the module `json` writes and reads, which it does without."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claude_iterate.fake_claude import json_alone
from tests.fake_claude.conftest import FakeClaude

TEXT = st.text(st.characters())  # lone surrogates among them: a script can have any
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=12,
)


@given(VALUES)
def test_writes_what_json_writes(value: Any) -> None:
    """On one line, as short as can be, and indented."""
    assert json_alone.dumps(value) == json.dumps(value)
    assert json_alone.compact(value) == json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    assert json_alone.indented(value, " ") == json.dumps(value, indent=1)
    unicode = json.dumps(value, indent=2, ensure_ascii=False)
    assert json_alone.indented(value, "  ", json_alone.compact) == unicode


@given(VALUES, st.sampled_from(["", " \n", "x", "\0"]), st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]))
def test_reads_what_json_reads(value: Any, end: str, encoding: str) -> None:
    """In any encoding, as bytes or text; what is not JSON is the same error."""
    text = json.dumps(value, ensure_ascii=False) + end
    for data in (text, text.encode(encoding, "surrogatepass")):
        assert _read(json_alone.loads, data) == _read(json.loads, data)


def _read(loads: Any, data: str | bytes) -> str:
    try:
        return repr(loads(data))
    except ValueError as problem:
        return repr(problem)


@pytest.mark.parametrize("script", [b"{bad", b"", b"[1,", b'{"calls": [["\xff"]]}', b'"'])
def test_a_script_that_is_no_json_is_refused(fake: FakeClaude, script: bytes) -> None:
    """In the words of `json`, also in a process that has not loaded it."""
    fake.script()
    (fake.folder / "script.json").write_bytes(script)
    done = fake.run("-p")
    with pytest.raises((json.JSONDecodeError, UnicodeDecodeError)) as problem:
        json.loads(script)
    said = f"fake claude: cannot read the script {fake.folder / 'script.json'}: {problem.value!r}\n"
    assert (done.returncode, done.stdout, done.stderr.decode()) == (97, b"", said)
