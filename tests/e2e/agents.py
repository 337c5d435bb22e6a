"""Claudes of a few lines: a shell script for deeds that are short in the shell, and one that reviews in prose."""

from __future__ import annotations

import shlex
import sys

from tests.e2e.conftest import Loop

_SCRIPT = """\
here=%s W=%s last=%d
S=$W/.status.json
n=$(cat "$here/count" 2>/dev/null || echo 0); n=$((n + 1)); echo $n > "$here/count"
cat > "$here/prompt-$n"
id() { sed -n 's/^ *"iteration": "\\(.*\\)".*/\\1/p' "$here/prompt-${1:-$n}" | tail -n 1; }
report() { printf '%%s\\n' "$1" > "$S"; }
SAY="did call $n"
if [ -e "$here/deed-$n" ]; then . "$here/deed-$n"; else . "$here/deed-$last"; fi
printf '%%s\\n' '{"type":"system","subtype":"init","session_id":"s"}'
printf '%%s\\n' '{"type":"result","subtype":"success","is_error":false,"num_turns":1,"result":"'"$SAY"'"}'
"""


def acts(loop: Loop, *deeds: str) -> None:
    """In its first call Claude does the first of these deeds, and so on; then the last one again.

    In a deed, `$S` is the report, `report TEXT` writes it, `$W` is the workspace, `$(id)` the id that the prompt asks
    for (`id 1`: that of the first call), and `SAY` the answer, a string within JSON.
    """
    folder = loop.folder / "agent"
    folder.mkdir(exist_ok=True)
    for number, deed in enumerate(deeds, 1):
        (folder / f"deed-{number}").write_text(deed + "\n")
    loop.claude(_SCRIPT % (shlex.quote(str(folder)), shlex.quote(str(loop.workspace)), len(deeds)))


def prompt(loop: Loop, number: int) -> str:
    """The prompt of a call, from 1."""
    return (loop.folder / "agent" / f"prompt-{number}").read_text()


def with_git(loop: Loop) -> None:
    """Make the project a repository in which everything is committed."""
    loop.git("init", "-q")
    loop.git("add", "-A", "-f")
    loop.git("commit", "-q", "--allow-empty", "-m", "begin")


def reviewing(loop: Loop, *findings: str, body: str = "") -> None:
    """An agent that works (claims) when asked to work, and when asked to review finds that all requirements are met and
    these things missing. It ignores options that it does not know. In `body` its `review` becomes `structured`, the
    answer by schema."""
    loop.claude(f'exec {shlex.quote(sys.executable)} -S {shlex.quote(str(loop.folder / "claude.py"))} "$@"')
    (loop.folder / "claude.py").write_text(
        f"""import json, os, pathlib, re, sys
prompt = sys.stdin.read()
folder = pathlib.Path(os.environ["CLAUDE_ITERATE_WORKSPACE"])
report = folder / "verification-report.md"
count = folder / "calls"; count.write_text((count.read_text() if count.exists() else "") + "x")
print(json.dumps({{"type": "system", "subtype": "init", "session_id": "s"}}))
answer = "fine"
structured = None
if prompt.startswith("Independent verification"):
    listing = prompt.partition("numbered the requirements")[2].partition("\\nGive ")[0]
    numbers = [int(number) for number in re.findall(r"^([0-9]+)[.] ", listing, re.M)]
    review = {{
        "summary": "Looked.",
        "requirements": [
            dict(number=number, status="met", shown_by="read", file="a.txt", line=1, evidence="seen")
            for number in numbers
        ],
        "findings": [dict(missing=True, text=text) for text in {findings!r}],
    }}
    {body or "structured = review"}
else:
    (folder / ("prompt-" + str(len(count.read_text())))).write_text(prompt)
    (folder / ".status.json").write_text(json.dumps({{"complete": True, "t": len(count.read_text())}}))
result = {{"type": "result", "subtype": "success", "is_error": False, "result": answer, "total_cost_usd": 0.5}}
if structured is not None: result["structured_output"] = structured
print(json.dumps(result))
"""
    )
