"""A Claude that claims completion, and reviews the claim as the test says."""

from __future__ import annotations

import shlex
import sys

from tests.e2e.conftest import Loop


def reviewing(loop: Loop, *findings: str, body: str = "", refuses: str = "-") -> None:
    """An agent that works (claims) when asked to work, and when asked to review finds that all requirements are met and
    these things missing. It ignores options that it does not know, but for the one that it `refuses`. In `body` its
    `review` becomes `answer`, as text, or `structured`, by schema."""
    program = loop.folder / "claude"
    program.write_text(
        f"""#!/bin/sh
[ "$1" = --version ] && echo 1 && exit
exec {shlex.quote(sys.executable)} -S {shlex.quote(str(loop.folder / "claude.py"))} "$@"
"""
    )
    program.chmod(0o755)
    (loop.folder / "claude.py").write_text(
        f"""import json, os, pathlib, re, sys
if "{refuses}" in sys.argv: sys.exit("error: unknown option '{refuses}'")
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
    {body or "answer = json.dumps(review)"}
else:
    (folder / ("prompt-" + str(len(count.read_text())))).write_text(prompt)
    (folder / ".status.json").write_text(json.dumps({{"complete": True, "t": len(count.read_text())}}))
result = {{"type": "result", "subtype": "success", "is_error": False, "result": answer, "total_cost_usd": 0.5}}
if structured is not None: result["structured_output"] = structured
print(json.dumps(result))
"""
    )
    loop.env["CLAUDE_ITERATE_CLAUDE__COMMAND"] = str(program)
