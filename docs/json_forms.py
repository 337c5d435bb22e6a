"""The JSON Schema of what commands print with `--json`, and the page that explains it. Part of docs/generate.py."""

from __future__ import annotations

import ast
import inspect
import json
from typing import Any

import msgspec

from claude_iterate.cli import output
from claude_iterate.views import (
    documents,
    history_view,
    iteration_rows,
    night_report,
    plan_view,
    run_view,
    settings_view,
    story,
    workspace_view,
)
from claude_iterate.workspace import run_summary

INTRODUCTION = """\
With `--json` a command prints exactly one JSON document on standard output; a command that ends with an error may print
none. All documents speak one dialect: keys are in camelCase, moments are ISO 8601 in UTC, durations are seconds,
money is US dollars. On this page `format` is the version of the dialect. From 0.1.0 on new keys may be added at any
time, but no key is renamed or removed without a new number. The small documents of other commands, such as `doctor` and
`archive list`, have no such number. The entries of a journal are printed as they are in the file: their `at` is seconds
since 1970 (UTC).

The same as a JSON Schema: [json-schema.json](json-schema.json). With `logs --follow --json` each line is an entry of
the journal: [events](events.md)."""


def page() -> list[str]:
    """A table for each document and for each of its parts."""
    described = schema()["$defs"]
    names = {form.__name__: command for command, form in documents.FORMS.items()}
    lines = ["# JSON documents", "", *INTRODUCTION.split("\n"), ""]
    for name, command in names.items():
        lines += [f"## {command}", "", *_form(described[name])]
    lines += ["## Parts", ""]
    for name in sorted(described.keys() - names):
        lines += [f"### {name}", "", *_form(described[name])]
    return lines


def schema() -> dict[str, Any]:
    """The schema, with what the code says about each key."""
    forms, parts = msgspec.json.schema_components(documents.FORMS.values(), ref_template="#/$defs/{name}")
    for name in {form["$ref"].rpartition("/")[2] for form in forms}:
        parts[name]["properties"] = {"format": {"const": output.VIEW_FORMAT}, **parts[name]["properties"]}
        parts[name]["required"] = ["format", *parts[name].get("required", [])]
    texts = _sentences()
    for name, form in parts.items():
        if "description" in form:  # until Python 3.12 a docstring keeps the indentation of the code
            form["description"] = inspect.cleandoc(form["description"])
        for key, value in form["properties"].items():
            if text := next((texts[kind, key] for kind in _family(name) if (kind, key) in texts), ""):
                value["description"] = text
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "What claude-iterate prints with --json",
        "oneOf": list(forms),
        "$defs": parts,
    }


def schema_text() -> str:
    """The schema as the file holds it."""
    return json.dumps(schema(), indent=2, ensure_ascii=False) + "\n"


def _form(form: dict[str, Any]) -> list[str]:
    rows = [
        f"| `{key}` | {_type(value)} | {value.get('description', '')} |" for key, value in form["properties"].items()
    ]
    about = " ".join(form.get("description", "").split())
    return [about, "", "| Key | Type | Meaning |", "| --- | --- | --- |", *rows, ""]


def _type(value: dict[str, Any]) -> str:
    if "$ref" in value:
        name = value["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "anyOf" in value:
        return " or ".join(_type(one) for one in value["anyOf"])
    if "enum" in value:
        return ", ".join(f"`{word}`" for word in value["enum"])
    if "const" in value:
        return f"`{value['const']}`"
    if value.get("type") == "array":
        return f"list of {_type(value['items'])}"
    return str(value.get("type", "anything"))


def _family(name: str) -> list[str]:
    """A form and the classes that it is made from."""
    return [kind.__name__ for kind in _kinds()[name].__mro__] if name in _kinds() else [name]


def _kinds() -> dict[str, type]:
    found: dict[str, type] = {}
    for module in _modules():
        found |= {name: kind for name, kind in vars(module).items() if isinstance(kind, type)}
    return found


def _modules() -> list[Any]:
    """The modules that declare forms and their parts."""
    return [
        documents,
        history_view,
        run_view,
        workspace_view,
        run_summary,
        iteration_rows,
        night_report,
        plan_view,
        settings_view,
        story,
    ]


def _sentences() -> dict[tuple[str, str], str]:
    """The text below each field of each class, by class and JSON key."""
    found = {}
    for module in _modules():
        kinds = [node for node in ast.parse(inspect.getsource(module)).body if isinstance(node, ast.ClassDef)]
        for kind in kinds:
            for field, text in zip(kind.body, kind.body[1:], strict=False):
                if isinstance(field, ast.AnnAssign) and isinstance(text, ast.Expr):
                    first, *rest = ast.unparse(field.target).split("_")
                    key = first + "".join(word.capitalize() for word in rest)
                    found[kind.name, key] = " ".join(str(ast.literal_eval(text.value)).split())
    return found
