"""The shipped prompts as Python. Made from templates/prompts by scripts/compile_prompts.py; do not edit.

Each function takes the text of its template, which it cuts into pieces, and the values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

Pieces = Iterator[str]
Values = Mapping[str, Any]


def _edit(text: str, values: Values) -> Pieces:
    yield text[0:33]
    yield str(values["workspace_name"])
    yield text[53:76]
    yield str(values["workspace_path"])
    yield text[96:114]
    if values["goal"]:
        yield text[128:219]
        yield str(values["goal"])
        yield text[229:500]
    else:
        yield text[511:829]
    yield text[841:1047]
    if values["mode"] == "iterative":
        yield text[1076:1164]
    else:
        yield text[1175:1266]
    yield text[1278:1294]
    yield str(values["validation_criteria"])
    yield text[1319:1405]


def _iteration_system(text: str, values: Values) -> Pieces:
    yield text[0:171]
    yield str(values["project_root"])
    yield text[189:240]
    yield str(values["workspace_path"])
    yield text[260:284]
    yield str(values["workspace_path"])
    yield text[304:357]
    yield str(values["todo_file"])
    yield text[372:390]
    yield str(values["status_file"])
    yield text[407:424]
    if values["mode"] == "iterative":
        yield text[453:992]
    else:
        yield text[1003:1533]
    yield text[1545:2360]
    if list(filter(None, values["commands"].values())):
        yield text[2403:2431]
        for name, command in values["commands"].items():
            if command:
                yield text[2486:2488]
                yield str(name)
                yield text[2498:2501]
                yield str(command)
                yield text[2514:2516]
    if values["agents_text"]:
        yield text[2528:2529]
        yield str(values["agents_text"])
        yield text[2540:2541]


def _iteration(text: str, values: Values) -> Pieces:
    yield text[0:6]
    yield str(values["workspace_name"])
    yield text[26:39]
    yield str(values["iteration"])
    if values["max_iterations"]:
        yield text[77:89]
        yield str(values["max_iterations"])
    yield text[120:122]
    yield str(values["now"])
    yield text[131:142]
    yield str("as many items as you can" if values["mode"] == "iterative" else "ONE item")
    yield text[213:246]
    yield str(values["instructions"])
    yield text[264:281]
    if values["previous_status"]:
        yield text[306:336]
        yield str(values["previous_status"])
        yield text[357:378]
    if values["failures"]:
        yield text[408:513]
        yield str(values["failures"])
        yield text[527:540]
    if values["notes"]:
        yield text[567:661]
        if isinstance(values["notes"], str):
            yield str(values["notes"])
            yield text[685:686]
        else:
            for note in values["notes"]:
                yield str(note)
                yield text[697:698]
        yield text[769:778]
    yield text[789:790]
    yield str(values["status_instructions"])


def _setup(text: str, values: Values) -> Pieces:
    yield text[0:19]
    yield str(values["workspace_name"])
    yield text[39:62]
    yield str(values["workspace_path"])
    yield text[82:207]
    if values["goal"]:
        yield text[221:261]
        yield str(values["goal"])
        yield text[271:452]
    else:
        yield text[463:798]
    yield text[810:898]
    if values["mode"] == "iterative":
        yield text[927:1093]
    else:
        yield text[1104:1327]
    yield text[1339:2020]
    yield str(values["validation_criteria"])
    yield text[2045:2152]


def _status_instructions(text: str, values: Values) -> Pieces:
    yield text[0:46]
    yield str(values["status_file"])
    yield text[63:215]
    if values["mode"] == "iterative":
        yield text[244:262]
    else:
        yield text[273:318]
    yield text[330:398]
    yield str(values["report_id"])
    yield text[413:463]
    if values["mode"] == "iterative":
        yield text[492:681]
    else:
        yield text[692:818]
    yield text[830:1293]


def _validate_answer(text: str, values: Values) -> Pieces:
    if values["by_schema"]:
        yield text[19:522]
    else:
        yield text[533:561]
    yield text[573:590]
    yield str(values["workspace_name"])
    yield text[610:1606]


def _validate(text: str, values: Values) -> Pieces:
    yield text[0:35]
    yield str(values["workspace_name"])
    yield text[55:78]
    yield str(values["workspace_path"])
    yield text[98:128]
    yield str(values["report_path"])
    yield text[145:370]
    yield str(values["validation_criteria"])
    yield text[395:583]
    yield str(values["answer_form"])
    yield text[600:601]


def _validation_criteria(text: str, values: Values) -> Pieces:
    yield text[0:174]
    if values["mode"] == "iterative":
        yield text[203:335]
    else:
        yield text[346:501]
    yield text[513:1295]
    if values["mode"] == "iterative":
        yield text[1324:1422]
    else:
        yield text[1433:1543]
    yield text[1555:1772]


def _verify_answer(text: str, values: Values) -> Pieces:
    yield text[0:170]
    yield str(values["requirements"])
    yield text[188:190]
    if values["by_schema"]:
        yield text[209:1058]
    else:
        yield text[1069:1097]
    yield text[1109:1128]
    yield str(values["workspace_name"])
    yield text[1148:1581]
    yield str(values["nonce"])
    yield text[1592:1856]


def _verify_completion(text: str, values: Values) -> Pieces:
    yield text[0:38]
    yield str(values["workspace_name"])
    yield text[58:81]
    yield str(values["workspace_path"])
    yield text[101:131]
    yield str(values["report_path"])
    yield text[148:156]
    yield str(values["depth"])
    yield text[167:372]
    yield str(values["project_root"])
    yield text[390:476]
    yield str(values["workspace_path"])
    yield text[496:516]
    yield str(values["workspace_path"])
    yield text[536:688]
    if values["mode"] == "iterative":
        yield text[717:848]
    else:
        yield text[859:941]
    yield text[953:1233]
    yield str(values["depth_note"])
    yield text[1249:1251]
    yield str(values["answer_form"])
    yield text[1268:1269]


def _workspace_system(text: str, values: Values) -> Pieces:
    yield text[0:28]
    yield str(values["project_root"])
    yield text[46:120]
    yield str(values["workspace_path"])
    yield text[140:221]
    yield str(values["workspace_path"])
    yield text[241:282]
    yield str(values["workspace_path"])
    yield text[302:332]
    yield str(values["workspace_path"])
    yield text[352:393]
    yield str(values["workspace_path"])
    yield text[413:538]


SHIPPED: dict[str, tuple[int, Callable[[str, Values], Pieces]]] = {
    "edit.md": (0x75462BEF, _edit),
    "iteration-system.md": (0x81EBB3FC, _iteration_system),
    "iteration.md": (0xBA4463FC, _iteration),
    "setup.md": (0xB5EAFC30, _setup),
    "status-instructions.md": (0xE1138ECC, _status_instructions),
    "validate-answer.md": (0x06C5E5FD, _validate_answer),
    "validate.md": (0x2E8662EB, _validate),
    "validation-criteria.md": (0x153DD1DC, _validation_criteria),
    "verify-answer.md": (0x45E98EC5, _verify_answer),
    "verify-completion.md": (0x383536DA, _verify_completion),
    "workspace-system.md": (0xF9B83D35, _workspace_system),
}
"""By file name: the checksum of the template that the function was made from, and the function."""
