"""The shipped prompts as Python. Made from templates/prompts by scripts/compile_prompts.py; do not edit.

Each function takes the text of its template, which it cuts into pieces, and the values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

Pieces = Iterator[str]
Values = Mapping[str, Any]


def _build_iteration_system(text: str, values: Values) -> Pieces:
    yield f"{text[0:167]}{values['project_root']}{text[185:229]}{values['spec_dir']}{text[243:244]}"
    if values["src_dir"]:
        yield f"{text[260:276]}{values['src_dir']}{text[289:290]}"
    yield f"{text[302:329]}{values['workspace_path']}{text[349:373]}{values['workspace_path']}"
    yield f"{text[393:418]}{values['plan_file']}{text[433:461]}{values['impl_folder']}{text[478:521]}"
    yield f"{values['status_file']}{text[538:2109]}"
    if list(filter(None, values["commands"].values())):
        yield f"{text[2152:2180]}"
        for name, command in values["commands"].items():
            if command:
                yield f"{text[2235:2237]}{name}{text[2247:2250]}{command}{text[2263:2265]}"
    if values["agents_text"]:
        yield f"{text[2277:2278]}{values['agents_text']}{text[2289:2290]}"


def _build_iteration(text: str, values: Values) -> Pieces:
    yield f"{text[0:6]}{values['workspace_name']}{text[26:39]}{values['iteration']}"
    if values["max_iterations"]:
        yield f"{text[77:89]}{values['max_iterations']}"
    yield f"{text[120:122]}{values['now']}{text[131:195]}{values['instructions']}{text[213:230]}"
    if values["previous_status"]:
        yield f"{text[255:285]}{values['previous_status']}{text[306:327]}"
    if values["failures"]:
        yield f"{text[357:462]}{values['failures']}{text[476:489]}"
    if values["notes"]:
        yield f"{text[516:610]}"
        if isinstance(values["notes"], str):
            yield f"{values['notes']}{text[634:635]}"
        else:
            for note in values["notes"]:
                yield f"{note}{text[646:647]}"
        yield f"{text[718:727]}"
    yield f"{text[738:739]}{values['status_instructions']}"


def _build_status_instructions(text: str, values: Values) -> Pieces:
    yield f"{text[0:46]}{values['status_file']}{text[63:328]}{values['report_id']}{text[343:657]}"
    if values["proof_wanted"]:
        yield f"{text[678:710]}"
    yield f"{text[721:1021]}"


def _edit(text: str, values: Values) -> Pieces:
    yield f"{text[0:33]}{values['workspace_name']}{text[53:76]}{values['workspace_path']}"
    yield f"{text[96:114]}"
    if values["goal"]:
        yield f"{text[128:219]}{values['goal']}{text[229:500]}"
    else:
        yield f"{text[511:829]}"
    yield f"{text[841:1047]}"
    if values["mode"] == "iterative":
        yield f"{text[1076:1164]}"
    else:
        yield f"{text[1175:1266]}"
    yield f"{text[1278:1294]}{values['validation_criteria']}{text[1319:1321]}"
    if values["goal"]:
        yield f"{text[1335:1419]}"
    else:
        yield f"{text[1430:1583]}"


def _iteration_system(text: str, values: Values) -> Pieces:
    yield f"{text[0:171]}{values['project_root']}{text[189:240]}{values['workspace_path']}"
    yield f"{text[260:284]}{values['workspace_path']}{text[304:357]}{values['todo_file']}"
    yield f"{text[372:390]}{values['status_file']}{text[407:424]}"
    if values["mode"] == "iterative":
        yield f"{text[453:992]}"
    else:
        yield f"{text[1003:1533]}"
    yield f"{text[1545:2360]}"
    if list(filter(None, values["commands"].values())):
        yield f"{text[2403:2431]}"
        for name, command in values["commands"].items():
            if command:
                yield f"{text[2486:2488]}{name}{text[2498:2501]}{command}{text[2514:2516]}"
    if values["agents_text"]:
        yield f"{text[2528:2529]}{values['agents_text']}{text[2540:2541]}"


def _iteration(text: str, values: Values) -> Pieces:
    yield f"{text[0:6]}{values['workspace_name']}{text[26:39]}{values['iteration']}"
    if values["max_iterations"]:
        yield f"{text[77:89]}{values['max_iterations']}"
    yield f"{text[120:122]}{values['now']}{text[131:142]}"
    yield f"{'as many items as you can' if values['mode'] == 'iterative' else 'ONE item'}"
    yield f"{text[213:246]}{values['instructions']}{text[264:281]}"
    if values["previous_status"]:
        yield f"{text[306:336]}{values['previous_status']}{text[357:378]}"
    if values["failures"]:
        yield f"{text[408:513]}{values['failures']}{text[527:540]}"
    if values["notes"]:
        yield f"{text[567:661]}"
        if isinstance(values["notes"], str):
            yield f"{values['notes']}{text[685:686]}"
        else:
            for note in values["notes"]:
                yield f"{note}{text[697:698]}"
        yield f"{text[769:778]}"
    yield f"{text[789:790]}{values['status_instructions']}"


def _plan_iteration_system(text: str, values: Values) -> Pieces:
    yield f"{text[0:224]}{values['project_root']}{text[242:263]}{values['spec_dir']}{text[277:278]}"
    if values["src_dir"]:
        yield f"{text[294:310]}{values['src_dir']}{text[323:324]}"
    yield f"{text[336:363]}{values['workspace_path']}{text[383:407]}{values['workspace_path']}"
    yield f"{text[427:452]}{values['plan_file']}{text[467:485]}{values['status_file']}{text[502:1446]}"
    yield f"{values['impl_folder']}{text[1463:1990]}"
    if list(filter(None, values["commands"].values())):
        yield f"{text[2033:2061]}"
        for name, command in values["commands"].items():
            if command:
                yield f"{text[2116:2118]}{name}{text[2128:2131]}{command}{text[2144:2146]}"
    if values["agents_text"]:
        yield f"{text[2158:2159]}{values['agents_text']}{text[2170:2171]}"


def _plan_iteration(text: str, values: Values) -> Pieces:
    yield f"{text[0:6]}{values['workspace_name']}{text[26:39]}{values['iteration']}"
    if values["max_iterations"]:
        yield f"{text[77:89]}{values['max_iterations']}"
    yield f"{text[120:122]}{values['now']}{text[131:193]}{values['instructions']}{text[211:228]}"
    if values["previous_status"]:
        yield f"{text[253:283]}{values['previous_status']}{text[304:325]}"
    if values["failures"]:
        yield f"{text[355:460]}{values['failures']}{text[474:487]}"
    if values["notes"]:
        yield f"{text[514:608]}"
        if isinstance(values["notes"], str):
            yield f"{values['notes']}{text[632:633]}"
        else:
            for note in values["notes"]:
                yield f"{note}{text[644:645]}"
        yield f"{text[716:725]}"
    yield f"{text[736:737]}{values['status_instructions']}"


def _plan_status_instructions(text: str, values: Values) -> Pieces:
    yield f"{text[0:46]}{values['status_file']}{text[63:328]}{values['report_id']}{text[343:990]}"


def _setup(text: str, values: Values) -> Pieces:
    yield f"{text[0:19]}{values['workspace_name']}{text[39:62]}{values['workspace_path']}"
    yield f"{text[82:207]}"
    if values["goal"]:
        yield f"{text[221:261]}{values['goal']}{text[271:452]}"
    else:
        yield f"{text[463:798]}"
    yield f"{text[810:898]}"
    if values["mode"] == "iterative":
        yield f"{text[927:1093]}"
    else:
        yield f"{text[1104:1327]}"
    yield f"{text[1339:2020]}{values['validation_criteria']}{text[2045:2047]}"
    if values["goal"]:
        yield f"{text[2061:2166]}"
    else:
        yield f"{text[2177:2332]}"


def _status_instructions(text: str, values: Values) -> Pieces:
    yield f"{text[0:46]}{values['status_file']}{text[63:215]}"
    if values["mode"] == "iterative":
        yield f"{text[244:262]}"
    else:
        yield f"{text[273:318]}"
    yield f"{text[330:398]}{values['report_id']}{text[413:463]}"
    if values["mode"] == "iterative":
        yield f"{text[492:681]}"
    else:
        yield f"{text[692:818]}"
    yield f"{text[830:966]}"
    if values["proof_wanted"]:
        yield f"{text[987:1015]}"
    yield f"{text[1027:1326]}"


def _validate_answer(text: str, values: Values) -> Pieces:
    if values["by_schema"]:
        yield f"{text[19:522]}"
    else:
        yield f"{text[533:561]}"
    yield f"{text[573:590]}{values['workspace_name']}{text[610:1606]}"


def _validate(text: str, values: Values) -> Pieces:
    yield f"{text[0:35]}{values['workspace_name']}{text[55:78]}{values['workspace_path']}"
    yield f"{text[98:128]}{values['report_path']}{text[145:370]}{values['validation_criteria']}"
    yield f"{text[395:583]}{values['answer_form']}{text[600:601]}"


def _validation_criteria(text: str, values: Values) -> Pieces:
    yield f"{text[0:174]}"
    if values["mode"] == "iterative":
        yield f"{text[203:335]}"
    else:
        yield f"{text[346:501]}"
    yield f"{text[513:1295]}"
    if values["mode"] == "iterative":
        yield f"{text[1324:1422]}"
    else:
        yield f"{text[1433:1543]}"
    yield f"{text[1555:1772]}"


def _verify_answer(text: str, values: Values) -> Pieces:
    yield f"{text[0:170]}{values['requirements']}{text[188:190]}"
    if values["by_schema"]:
        yield f"{text[209:1055]}"
    else:
        yield f"{text[1066:1094]}"
    yield f"{text[1106:1125]}{values['workspace_name']}{text[1145:1579]}{values['nonce']}"
    yield f"{text[1590:1854]}"


def _verify_completion(text: str, values: Values) -> Pieces:
    yield f"{text[0:38]}{values['workspace_name']}{text[58:81]}{values['workspace_path']}"
    yield f"{text[101:131]}{values['report_path']}{text[148:156]}{values['depth']}{text[167:372]}"
    yield f"{values['project_root']}{text[390:476]}{values['workspace_path']}{text[496:516]}"
    yield f"{values['workspace_path']}{text[536:658]}"
    if values["mode"] == "iterative":
        yield f"{text[687:818]}"
    else:
        yield f"{text[829:911]}"
    yield f"{text[923:1142]}"
    if values["checks"]:
        yield f"{text[1158:1238]}{values['checks']}{text[1250:1251]}"
    yield f"{text[1262:1263]}{values['depth_note']}{text[1280:1282]}{values['answer_form']}"
    yield f"{text[1299:1300]}"


def _workspace_system(text: str, values: Values) -> Pieces:
    yield f"{text[0:28]}{values['project_root']}{text[46:120]}{values['workspace_path']}"
    yield f"{text[140:221]}{values['workspace_path']}{text[241:282]}{values['workspace_path']}"
    yield f"{text[302:332]}{values['workspace_path']}{text[352:393]}{values['workspace_path']}"
    yield f"{text[413:538]}"


SHIPPED: dict[str, tuple[int, Callable[[str, Values], Pieces]]] = {
    "build/iteration-system.md": (0x53395173, _build_iteration_system),
    "build/iteration.md": (0x830EDEDF, _build_iteration),
    "build/status-instructions.md": (0x48A13FA5, _build_status_instructions),
    "edit.md": (0xB0B5BE3F, _edit),
    "iteration-system.md": (0x81EBB3FC, _iteration_system),
    "iteration.md": (0xBA4463FC, _iteration),
    "plan/iteration-system.md": (0x1F8193EB, _plan_iteration_system),
    "plan/iteration.md": (0x33C6F733, _plan_iteration),
    "plan/status-instructions.md": (0x05E6CC96, _plan_status_instructions),
    "setup.md": (0xBA2D05C9, _setup),
    "status-instructions.md": (0xA531A3EA, _status_instructions),
    "validate-answer.md": (0x06C5E5FD, _validate_answer),
    "validate.md": (0x2E8662EB, _validate),
    "validation-criteria.md": (0x153DD1DC, _validation_criteria),
    "verify-answer.md": (0x58E466FC, _verify_answer),
    "verify-completion.md": (0xDA1EB661, _verify_completion),
    "workspace-system.md": (0xF9B83D35, _workspace_system),
}
"""By file name, with its folder if it is for one mode: the checksum of the template that the function was made from,
and the function."""
