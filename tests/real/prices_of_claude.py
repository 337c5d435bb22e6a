"""What Claude Code counts for an answer that used certain tokens, by model. `scripts/prices` makes our table of it.

python -m tests.real.prices_of_claude CLAUDE
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

from tests.mocks.messages_api import Message, MessagesApi, Usage, text

TABLE = Path(__file__).parents[2] / "claude_iterate" / "core" / "prices.py"
_FORM = ("-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose")
_TOKENS = 10_000
"""Of each kind alone; some models cost more when the prompt is large."""
_KINDS = (Usage(_TOKENS, 0), Usage(0, _TOKENS), Usage(0, 0, _TOKENS), Usage(0, 0, 0, _TOKENS))
_MADE = re.compile(r"(?<=# Made by scripts/prices\.\n).*?(?=# The end of what scripts/prices made\.)", re.DOTALL)


def costs(
    claude: str, environment: dict[str, str], api: MessagesApi, models: Iterable[str], usages: Sequence[Usage]
) -> dict[str, list[float]]:
    """Dollars of each usage, of those models that Claude Code has a price for. One Claude is asked by one model after
    the other: each start of it costs a second."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with (
        tempfile.TemporaryDirectory() as folder,
        subprocess.Popen([claude, *_FORM], cwd=folder, env=environment, **pipes) as process,  # type: ignore[call-overload]
    ):
        found = {}
        used: dict[str, Any] = {}
        for model in models:
            _choose(process, api, model)
            rows = [used.get(model, {"costUSD": 0.0})]  # it may have stood in for another
            for usage in usages:
                used = _used_after(process, api, usage)
                rows.append(used.get(model, {}))
            if all(row and row.get("costBasis") != "unknown" for row in rows):
                found[model] = [now["costUSD"] - then["costUSD"] for then, now in pairwise(rows)]
        process.stdin.close()
    return found


def _choose(process: subprocess.Popen[bytes], api: MessagesApi, model: str) -> None:
    api.script(forever=Message((text("Yes."),), Usage(0, 0)))  # newer versions try the model
    request = {"type": "control_request", "request_id": model, "request": {"subtype": "set_model", "model": model}}
    _answer(process, request, "control_response")


def _used_after(process: subprocess.Popen[bytes], api: MessagesApi, usage: Usage) -> dict[str, Any]:
    """What all answers of each model used so far."""
    api.script(forever=Message((text("Done."),), usage))
    said = {"type": "user", "message": {"role": "user", "content": "Go on."}}
    used: dict[str, Any] = _answer(process, said, "result")["modelUsage"]
    return used


def _answer(process: subprocess.Popen[bytes], line: dict[str, Any], kind: str) -> dict[str, Any]:
    """Give Claude a line, and wait for a line of this kind."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(json.dumps(line).encode() + b"\n")
    process.stdin.flush()
    for printed in process.stdout:
        found: dict[str, Any] = json.loads(printed)
        if found["type"] == kind:
            return found
    raise AssertionError(f"Claude ended without a {kind}")


def _names(claude: str) -> list[str]:
    """The names of models that stand in the program."""
    found = re.findall(rb"claude-[a-z]{3,10}-\d(?:-\d)?\b", Path(claude).read_bytes())
    return sorted({name.decode() for name in found})


def main(claude: str) -> None:
    """Measure all models that the program names, and write the table."""
    api = MessagesApi()
    with tempfile.TemporaryDirectory() as home:
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": home,
            "ANTHROPIC_BASE_URL": api.url,
            "ANTHROPIC_API_KEY": "dummy-key",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
            "IS_SANDBOX": "1",
        }
        version = subprocess.run([claude, "--version"], env=environment, stdout=subprocess.PIPE, check=True).stdout
        found = costs(claude, environment, api, _names(claude), _KINDS)
    api.close()
    made = f'MEASURED = "{datetime.now(UTC):%Y-%m-%d}, Claude Code {version.decode().split()[0]}"\n'
    made += '"""When, and with which Claude Code."""\nPRICES: dict[str, Price] = {\n'
    for model, dollars in found.items():
        made += f'    "{model}": Price({", ".join(f"{round(each / _TOKENS * 1e6, 6)}" for each in dollars)}),\n'
    TABLE.write_text(_MADE.sub(made + "}\n", TABLE.read_text("utf-8")), "utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
