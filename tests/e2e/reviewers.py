"""A Claude that claims completion, and reviews the claim as the test says."""

from __future__ import annotations

import shlex
import sys

from tests.e2e.conftest import Loop


def reviewing(loop: Loop, verdict: str, findings: str = "None.", body: str = "", refuses: str = "-") -> None:
    """A Claude that works (claims) when asked to work, and reviews in prose, as told, when asked to review. It ignores
    options that it does not know, but for the one that it `refuses`; `structured` in the body answers by schema."""
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
count = folder / "calls"; count.write_text((count.read_text() if count.exists() else "") + "x")
print(json.dumps({{"type": "system", "subtype": "init", "session_id": "s"}}))
answer = "fine"
structured = None
if prompt.startswith("Independent verification"):
    identity = re.search(r"VERIFICATION-ID: (\\S+)", prompt)[1]
    report = pathlib.Path(re.search(r"^Report file: (.+)$", prompt, re.M)[1])
    listing = prompt.partition("numbered the requirements")[2].partition("\\nGive ")[0]
    numbers = re.findall(r"^([0-9]+)[.] ", listing, re.M)
    text = "## Summary\\nLooked.\\n\\n## Requirements\\n"
    text += "".join(n + ". met | read a.txt:1 | seen\\n" for n in numbers)
    text += "\\n## Findings\\n{findings}\\n\\n"
    text += "VERIFICATION-ID: " + identity + "\\nVERDICT: {verdict}\\n"
    {body or "report.write_text(text)"}
else:
    (folder / ("prompt-" + str(len(count.read_text())))).write_text(prompt)
    (folder / ".status.json").write_text(json.dumps({{"complete": True, "t": len(count.read_text())}}))
result = {{"type": "result", "subtype": "success", "is_error": False, "result": answer, "total_cost_usd": 0.5}}
if structured is not None: result["structured_output"] = structured
print(json.dumps(result))
"""
    )
    loop.env["CLAUDE_ITERATE_CLAUDE__COMMAND"] = str(program)
