"""Which files and programs a check's command names: its words, and what stands behind `sh -c`, `timeout`, `cd`, `make`
or `npm test`. The language of the shell is read only as far as people use it in such commands."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from claude_iterate.core.tampering.known_tools import (
    CONFIGURATION,
    INTERPRETERS,
    PYTHON_TOOLS,
    RUNNERS,
    SHELLS,
    WRAPPERS,
    Wrapper,
)

_DEEPEST = 5
_MOST_WORDS = 1000
_BREAK = re.compile(r"[;&|()]+")
_REDIRECTION = re.compile(r"\d*(?:[<>]+&?|&>+)")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\+?=")
_VARIABLE = re.compile(r"\$(?:(\w+)|\{(\w+)(?::?[-=]([^{}]*))?\})")
"""`$NAME`, `${NAME}`, and `${NAME:-what it is otherwise}`."""
_PYTHON = re.compile(r"(?:python|pypy)[\d.]*")
_RESERVED = frozenset(
    {"if", "then", "else", "elif", "fi", "while", "until", "do", "done", "{", "}", "!", "time", "exec"}
)
_ELSEWHERE = frozenset({"-C", "--directory", "--prefix", "--cwd", "--chdir"})
"""Options that name the folder in which a tool works."""


class Named(msgspec.Struct, frozen=True):
    """Paths relative to the project, or absolute ones, and bare names of programs. `configuration` are files that the
    tools of a check read if they are there; `modules` what Python would run for `python -m NAME`. `scripts` are those
    of the files that the check runs; `folders` are those in which it looks for programs first, `imports` those in which
    Python looks for modules first."""

    files: tuple[str, ...] = ()
    configuration: tuple[str, ...] = ()
    programs: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    scripts: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    imports: tuple[str, ...] = ()


def named_by(command: str, environ: Mapping[str, str] | None = None) -> Named:
    """All that a command names, each once. Variables have their value in this environment, or in the command."""
    reader = _Reader(environ or {})
    reader.read(command, "", 0)
    return Named(*(tuple(dict.fromkeys(names)) for names in reader.found))


class _Reader:
    def __init__(self, environ: Mapping[str, str]) -> None:
        self.found: tuple[list[str], ...] = ([], [], [], [], [], [], [])
        self._files, self._configuration, self._programs, self._modules, *rest = self.found
        self._scripts, self._folders, self._imports = rest
        self._values = {name: value for name, value in environ.items() if name != "PWD"}

    def read(self, command: str, folder: str, depth: int) -> None:
        """One command line; `folder` is where it runs."""
        for written in _simple_commands(_words(command)):
            words = [self._valued(word, folder) for word in written]
            while words and _ASSIGNMENT.match(words[0]):
                self._assign(words.pop(0), folder)
            if words and words[0] == "export":
                for word in words[1:]:
                    self._assign(word, folder)
            elif words and words[0] == "cd":
                folder = _joined(folder, words[1]) if len(words) > 1 else folder
            elif words:
                self._read_simple(words, folder, depth)

    def _valued(self, word: str, folder: str) -> str:
        """With the values of variables that are known; the others stay as they are."""
        values = {"PWD": folder or ".", **self._values}
        if "$" not in word:
            return word
        return _VARIABLE.sub(lambda one: values.get(one[1] or one[2]) or (one[3] or one[0]), word)

    def _assign(self, word: str, folder: str) -> None:
        name, equals, value = word.partition("=")
        if not equals:
            return
        self._values[name] = value
        if name == "PATH":
            self._folders += [_joined(folder, place) for place in value.split(":") if place and "$" not in place]

    def _read_simple(self, words: list[str], folder: str, depth: int) -> None:
        while words:
            program, arguments = words[0], words[1:]
            name = program.rpartition("/")[2]
            self._name(program, folder)
            started = _command_behind(name, arguments)
            if started is None:
                break
            for word in arguments[: len(arguments) - len(started)]:
                if name == "env" and _ASSIGNMENT.match(word):
                    self._assign(word, folder)
            folder = _joined(folder, _folder_of(arguments[: len(arguments) - len(started)]))
            words = started
        else:
            return
        if name in SHELLS and depth < _DEEPEST and (script := _script(arguments)):
            self.read(script, folder, depth + 1)
            return
        if _PYTHON.fullmatch(name) or name in PYTHON_TOOLS:
            self._read_imports(arguments, folder)
        if _PYTHON.fullmatch(name) and "-m" in arguments[:-1]:
            name = self._read_module(arguments[arguments.index("-m") + 1], folder)
        if _PYTHON.fullmatch(name) or name in SHELLS or name in INTERPRETERS:
            script = next((word for word in arguments if not word.startswith("-")), "")
            self._scripts += _places(folder, script) if script else []
        works_in = _joined(folder, _folder_of(arguments))
        self._configuration += [_joined(works_in, file) for file in CONFIGURATION.get(name, ())]
        self._files += [place for word in arguments for path in _paths(word) for place in _places(folder, path)]

    def _read_imports(self, arguments: Sequence[str], folder: str) -> None:
        """The folder of the script, or the one in which it works; and those of PYTHONPATH."""
        script = next((word for word in arguments if word.endswith(".py")), "")
        own = script.rpartition("/")[0] if script and "-m" not in arguments else ""
        path = self._values.get("PYTHONPATH", "").split(":")
        self._imports += [_joined(folder, place) or "." for place in (own, *filter(None, path))]

    def _name(self, program: str, folder: str) -> None:
        if "/" in program:
            self._files += _places(folder, program)
            self._scripts += _places(folder, program)
        else:
            self._programs.append(program)

    def _read_module(self, module: str, folder: str) -> str:
        """Python looks for a module in the folder first, so one of that name takes the place of the installed one."""
        path = _joined(folder, module.replace(".", "/"))
        self._modules += [f"{path}.py", f"{path}/__init__.py", f"{path}/__main__.py"]
        return module.partition(".")[0]


def _words(command: str) -> list[str]:
    """The words and the operators between them; where quotes do not fit, what stands between spaces."""
    lexer = shlex.shlex(command.replace("\\\n", " ").replace("\n", " ; "), posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        return [word for word, _ in zip(lexer, range(_MOST_WORDS), strict=False)]
    except ValueError:
        return command.split()[:_MOST_WORDS]


def _simple_commands(words: Sequence[str]) -> Iterator[list[str]]:
    """The commands between the operators, without reserved words and files that are written; assignments first."""
    current: list[str] = []
    target = ""
    for word in [*words, ";"]:
        if _REDIRECTION.fullmatch(word):
            target = word
        elif target:
            if "<" in target and word not in {"", "-"}:
                current.append(word)  # a file that is read is one that it names
            target = ""
        elif _BREAK.fullmatch(word):
            if current:
                yield current
            current = []
        elif current or word not in _RESERVED:
            current.append(word)


def _command_behind(name: str, arguments: Sequence[str]) -> list[str] | None:
    """What `timeout 60`, `env A=b` or `uv run` starts; None if it starts nothing else."""
    if name in WRAPPERS:
        return _after_options(WRAPPERS[name], arguments)
    verbs, options = RUNNERS.get(name, (frozenset[str](), frozenset[str]()))
    rest = _after_options(Wrapper(options), arguments)
    return _after_options(Wrapper(options), rest[1:]) if rest and rest[0] in verbs else None


def _after_options(wrapper: Wrapper, arguments: Sequence[str]) -> list[str]:
    rest, words = list(arguments), wrapper.words
    while rest:
        if rest[0] == "--":
            del rest[0]
        elif rest[0].startswith("-") and len(rest[0]) > 1:
            del rest[: 2 if rest[0] in wrapper.options else 1]
        elif _ASSIGNMENT.match(rest[0]):
            del rest[0]
        elif words:
            del rest[0]
            words -= 1
        else:
            break
    return rest


def _script(arguments: Sequence[str]) -> str:
    """The command after `-c`, alone or among other letters (`-lc`)."""
    for number, word in enumerate(arguments):
        if re.fullmatch(r"-[a-z]*c[a-z]*", word):
            return next((text for text in arguments[number + 1 :] if not text.startswith("-")), "")
        if not word.startswith("-"):
            break
    return ""


def _folder_of(arguments: Sequence[str]) -> str:
    for number, word in enumerate(arguments):
        option, equals, value = word.partition("=")
        if option in _ELSEWHERE:
            return value if equals else (arguments[number + 1] if number + 1 < len(arguments) else "")
    return ""


def _paths(word: str) -> Iterator[str]:
    """What may be a path in a word: the word, what follows `--option=`, a test's file before `::`."""
    if "$" in word or "`" in word:
        return
    value = word.partition("=")[2] if word.startswith("-") else word.removeprefix("@")
    value = value.partition("::")[0]
    if value and not value.startswith("-") and "\n" not in value and len(value) < 1000:
        yield value


def _places(folder: str, path: str) -> list[str]:
    """In the folder of the last `cd`, and in the project: a subshell may have kept it to itself."""
    return [_joined(folder, path), path] if folder else [path]


def _joined(folder: str, path: str) -> str:
    if not folder or path.startswith(("/", "~")):
        return path
    return f"{folder}/{path}" if path else folder
