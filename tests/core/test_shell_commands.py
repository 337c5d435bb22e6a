"""The simple commands in a line of shell."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claude_iterate.core.shell.commands import simple_commands


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("npm test", ["npm test"]),
        ("python3 -m unittest -q 2>&1 | tail -5", ["python3 -m unittest -q", "tail -5"]),
        ("npm test &> log 2>>more <in && ls >& out", ["npm test", "ls"]),
        ("cat > x <<'EOT'\n{\"complete\": true}; rm -rf /\nEOT\nls", ["cat", "ls"]),
        ("cat <<-A <<B >x\n\tone\n\tA\ntwo\nB\npwd", ["cat", "pwd"]),
        ("cat <<EOT\ncut off in the mid", ["cat"]),
        ("cat <<< 'a; b' | wc", ["cat", "wc"]),
        ("for f in a b; do npm run $f; done | wc -l", ["npm run $f", "wc -l"]),
        ("for ((i=0; i<3; i++)); do ls; done", ["ls"]),
        ("while read l; do echo $l; done < a.py", ["read l", "echo $l"]),
        ("if npm test; then echo x; elif ls; then :; else pwd; fi", ["npm test", "echo x", "ls", ":", "pwd"]),
        ("case $x in a|b) ls;; *) pwd ;; esac; npm x", ["ls", "pwd", "npm x"]),
        ("[[ -f a && -n b ]] && ! npm t", ["npm t"]),
        ("f() { npm test; }", ["npm test"]),
        ("(cd x && npm test) & { ls; }", ["cd x", "npm test", "ls"]),
        ("A=b C='d e' npm test", ["A=b C='d e' npm test"]),
        ("A=b", []),
        ('echo $(npm test; ls) "$(pwd; id)" `a; b` <(c; d)', ['echo $(npm test; ls) "$(pwd; id)" `a; b` <(c; d)']),
        ("echo 'a; b && c' \"d | e\" f\\;g", ["echo 'a; b && c' \"d | e\" f\\;g"]),
        ("ls # no | rm\npwd", ["ls", "pwd"]),
        ("make\nmake \\\n install", ["make", "make install"]),
        ("git commit -m 'cut off; in the mid", ["git commit -m 'cut off; in the mid"]),
        ("", []),
        (" ;; | &", []),
    ],
)
def test_each_command_is_found_and_nothing_else(line: str, wanted: list[str]) -> None:
    """Redirections, here-documents, keywords, comments, tests and quotations are no commands."""
    assert [command.source for command in simple_commands(line)] == wanted


def test_a_pipe_is_told_from_other_separators() -> None:
    """What feeds a shell matters."""
    assert [command.feeds for command in simple_commands("a | b |& c && d; e || f")] == [True, True, *[False] * 4]


@given(st.text(alphabet="ab'\"`\\$(){}<>|&;#= \n[]!-1", max_size=60))
def test_any_text_has_an_answer(line: str) -> None:
    """And each command in it has a program."""
    assert all(command.words for command in simple_commands(line))
