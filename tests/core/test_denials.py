"""What would have allowed what was denied."""

from __future__ import annotations

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import astuple, replace

from claude_iterate.core.events import Denial
from claude_iterate.core.outcomes.denials import Granted, Remedy, find_remedy, missing_permissions
from claude_iterate.core.outcomes.denials import advice as advice_on

WORK = Granted("t", "acceptEdits", (), ("/project",))
APPROVAL = "This command requires approval"


def advice(denials: tuple[Denial, ...], granted: Granted) -> str:
    return advice_on(denials, find_remedy(denials, granted), granted)


def offered(command: str, said: str = "", granted: Granted = WORK) -> tuple[str, ...]:
    """Without the tool's name: all rules here are for Bash."""
    found = find_remedy((Denial("Bash", command, said),), granted).rules
    assert all(rule.startswith("Bash(") and rule.endswith(")") for rule in found)
    return tuple(rule[5:-1] for rule in found)


@pytest.mark.parametrize(
    ("command", "wanted"),
    [
        ("npm test -- -v", "npm test:*"),
        ("npm run build --if-present", "npm run build:*"),
        ("python3 -m unittest -q 2>&1 | tail -5", "python3 -m unittest:*"),
        ("python3 -u -m pytest x", "python3 -u -m pytest:*"),
        ("python3 scripts/check.py --all", "python3 scripts/check.py:*"),
        ("uv run python -m pytest x", "uv run python -m pytest:*"),
        ("npx vitest run", "npx vitest:*"),
        ("pytest tests/test_a.py", "pytest:*"),
        ("make -j4", "make:*"),
        ("make test", "make test:*"),
        ("npm --prefix web run build", "npm --prefix web run build:*"),
        ("./gradlew test", "./gradlew test:*"),
        ("/usr/bin/npm test", "/usr/bin/npm test:*"),
        ("git -C sub commit -m 'a; b'", "git -C sub commit:*"),
        ("bun run build", "bun run build:*"),
        ("cd /project/x && npm test", "npm test:*"),
        ("(cd x; npm test)", "npm test:*"),
        ("for f in a b; do npm test $f; done", "npm test:*"),
        ("if npm test &> log; then echo '; rm x'; fi # ; rm y", "npm test:*"),
        ("cat <<-A <<< 'b' | npm test\n\tone\n\tA", "npm test:*"),
        ("cat > x <<'EOT'\nrm -rf /\nEOT\nnpm test", "npm test:*"),
        ("timeout 60 npm run build", "npm run build:*"),
        ("timeout -k 5 60 nice -n 10 npm test", "npm test:*"),
        ("git commit -m 'cut off in the mid", "git commit:*"),
    ],
)
def test_a_rule_has_the_words_that_say_what_is_done(command: str, wanted: str) -> None:
    """Wrappers, folders, redirections and what only reads need none."""
    assert offered(command) == (wanted,)


@pytest.mark.parametrize(
    ("command", "wanted"),
    [
        ("A=b npm test", ("A=b npm test:*", "npm test:*")),
        ("env A=b npm test", ("env A=b npm test:*", "npm test:*")),
        ("npm test && git commit -m x", ("git commit:*", "npm test:*")),
    ],
)
def test_a_variable_needs_a_rule_of_its_own(command: str, wanted: tuple[str, ...]) -> None:
    """Claude Code compares it, too; without it the program is allowed alone."""
    assert offered(command) == wanted


@pytest.mark.parametrize(
    "command",
    [
        *(
            "sudo npm test",
            "bash -c 'npm test'",
            "python3 -c 'print(1)'",
            "python3 - <<'PY'\nprint(1)\nPY",
            "node -e 1",
        ),
        *("eval $X", "$X y", "awk '{print}' x", "env sh -c x", "xargs sh -c x", "timeout 5 sudo ls", "deno eval 1"),
        *("perl -pi -e s/a/b/ x", "rm $HOME", "chmod +x `which x`", "uv run python -c x", "/usr/bin/env python3 -c x"),
        "pnpm -C web exec python3 -c x",
    ],
)
def test_what_can_run_anything_is_never_offered(command: str) -> None:
    """It is said why there is no rule, and what to do instead."""
    found = find_remedy((Denial("Bash", command, APPROVAL),), WORK)
    assert found.rules == ()
    assert "would allow too much" in " ".join(found.hopeless)
    assert "claude-iterate note t " in advice((Denial("Bash", command),), WORK)


@pytest.mark.parametrize(
    "command",
    ["rm -rf build", "git push origin main", "git -C x push", "curl http://x", "npx --yes x", "xargs -n 1 ls"],
)
def test_what_can_do_harm_is_offered_for_exactly_this_command(command: str) -> None:
    """A rule without `:*` allows nothing else."""
    assert offered(f"timeout 5 {command} > log") == (command,)


@given(st.text(alphabet="npm test<>&|;()$'\"\\\n#={}1-") | st.text())
def test_any_text_has_an_answer(command: str) -> None:
    """What was denied may be cut off anywhere."""
    denials = (Denial("Bash", command),)
    assert missing_permissions(denials)
    assert advice(denials, WORK)


def test_claude_code_says_which_parts_need_a_rule() -> None:
    """The others have one, or need none."""
    said = "This Bash command contains multiple operations. The following part requires approval: npm test 2>&1"
    assert offered("npm test 2>&1 | tee x && git add .", said) == ("npm test:*",)
    assert offered("cat /etc/x") == ("cat:*",)
    assert offered("npm test | tee x && git add .") == ("git add:*", "npm test:*", "tee x:*")


@pytest.mark.parametrize("set_already", ["Bash(npm test:*)", "Bash(npm:*)", "Bash(npm *)", "Bash"])
def test_a_rule_that_is_set_is_not_offered_again(set_already: str) -> None:
    """Claude Code then had another reason, which is told in its own words."""
    denial = Denial("Bash", "npm test", "Contains simple_expansion")
    for one in (denial, Denial("Bash", "npm test")):
        found = find_remedy((one,), replace(WORK, tools=(set_already,)))
        assert (found.mode, found.rules, len(found.hopeless)) == ("", (), 1)
    assert "Contains simple_expansion" in advice((denial,), WORK)
    assert offered("npm tests", granted=replace(WORK, tools=("Bash(npm test:*)",))) == ("npm tests:*",)


def test_advice_about_commands_is_for_commands() -> None:
    """Where Write itself is refused although the mode allows it, Claude is not told to use Write."""
    found = advice((Denial("Write", "/project/.git/config"),), WORK)
    assert "claude-iterate note t 'Write will be refused again" in found
    assert "Use plain commands" not in found


@pytest.mark.parametrize(
    "said",
    [
        "Contains brace with quote character (expansion obfuscation)",
        "Contains while_statement",
        "A variable in this command can't be checked before it runs",
        "A nested command in this command can't be checked before it runs",
        "This command uses shell operators that require approval for safety",
        "find with '-delete' executes commands — cannot be auto-allowed by a Bash(find:*) prefix rule",
        "This command uses the `&` background operator, which defers execution. Approve only if you trust it.",
        "'source' evaluates arguments as shell code",
        "Claude requested permissions to edit /project/.git/x which is a sensitive file.",
        "Dangerous rm operation detected",
        "PreToolUse:Bash hook error: no",
    ],
)
def test_a_form_that_claude_code_refuses_has_no_rule(said: str) -> None:
    """Whatever the command is; the reason is told in its own words."""
    found = find_remedy((Denial("Bash", "npm test", said),), WORK)
    assert astuple(found)[:2] == ("", ())
    assert said[:40] in found.hopeless[0]


@pytest.mark.parametrize(("why", "rules"), [("safetyCheck", ()), ("hook", ()), ("other", ("npm test:*",))])
def test_the_type_of_a_reason_goes_before_its_words(why: str, rules: tuple[str, ...]) -> None:
    """Where it means that no rule lifts the refusal; `other` stands for anything."""
    found = find_remedy((Denial("Bash", "npm test", APPROVAL, why),), WORK)
    assert (found.rules, bool(found.hopeless)) == (tuple(f"Bash({rule})" for rule in rules), not rules)


@pytest.mark.parametrize("name", ["Edit", "Write", "MultiEdit", "NotebookEdit"])
def test_editing_needs_a_mode(name: str) -> None:
    """Within the project, unless that mode is set: then the file is protected."""
    denial = (Denial(name, "/project/a.py"),)
    assert find_remedy(denial, replace(WORK, mode="default")) == Remedy("acceptEdits")
    assert find_remedy(denial, replace(WORK, mode="plan")).mode == "acceptEdits"
    assert astuple(find_remedy(denial, WORK))[:2] == ("", ())
    assert find_remedy((Denial(name, "/elsewhere/a.py"),), WORK).rules == ("Edit(//elsewhere/a.py)",)


OLDER = "{} in '{}' was blocked. For security, Claude Code may only {} files in '/project'."
NEWER = "{} in '{}' needs approval. The path is {} the working directories for this session ('/project')."
BARE = replace(WORK, mode="default")


@pytest.mark.parametrize(
    ("command", "path", "verb", "granted", "wanted"),
    [
        ("touch x", "/project/x", "create", BARE, Remedy("acceptEdits")),
        ("echo a > y", "/project/y", "write to", BARE, Remedy("acceptEdits")),
        ("> y", "/project/y", "write to", BARE, Remedy("acceptEdits")),
        ("npm test > out.txt", "/project/out.txt", "write to", BARE, Remedy("acceptEdits", ("Bash(npm test:*)",))),
        ("sed -i s/a/b/ x", "/project/x", "edit", BARE, Remedy("acceptEdits", ("Bash(sed:*)",))),
        ("touch /etc/x", "/etc/x", "create or modify", WORK, Remedy(rules=("Edit(//etc/x)",))),
        ("touch /etc/x", "/etc/x", "create or modify", BARE, Remedy(rules=("Edit(//etc/x)",))),
        ("npm test > /etc/x", "/etc/x", "write to", WORK, Remedy(rules=("Edit(//etc/x)",))),
        ("cp a /etc/x", "/etc/x", "copy", WORK, Remedy(rules=("Edit(//etc/x)",))),
        ("rm /etc/x", "/etc/x", "remove", WORK, Remedy(rules=("Edit(//etc/x)",))),
    ],
)
def test_a_command_that_writes_needs_the_mode_or_the_file(
    command: str, path: str, verb: str, granted: Granted, wanted: Remedy
) -> None:
    """Claude Code names the path: within the project the mode allows it, elsewhere a rule for this one file does. Older
    and newer versions say it in other words, and mean the same."""
    where = "inside" if path.startswith("/project/") else "outside"
    for said in (OLDER.format("it", path, verb), NEWER.format("it", path, where)):
        assert find_remedy((Denial("Bash", command, said),), granted) == wanted


def test_a_folder_elsewhere_has_no_rule() -> None:
    """Not for looking into it either."""
    cd = "cd in '/etc' was blocked. For security, Claude Code may only change directories to '/project'."
    assert "leaves the project" in find_remedy((Denial("Bash", "cd /etc && ls", cd),), WORK).hopeless[0]


def test_edits_among_other_commands_need_the_mode_and_no_rule() -> None:
    """A rule for `touch` would allow it everywhere. Where the mode is set, a program that asks wants a rule."""
    said = "This Bash command contains multiple operations. The following parts require approval: touch x, npm test"
    wanted = Remedy("acceptEdits", ("Bash(npm test:*)",))
    assert find_remedy((Denial("Bash", "touch x && npm test", said, "subcommandResults"),), BARE) == wanted
    assert find_remedy((Denial("Bash", "ln -s x l", APPROVAL, "other"),), WORK).rules == ("Bash(ln:*)",)


def test_other_tools_have_rules_of_their_own() -> None:
    """As narrow as Claude Code can have them."""
    denials = (Denial("Read", "/etc/x"), Denial("WebFetch", "https://a.org/b"), Denial("mcp__x__y"), Denial("a tool"))
    assert find_remedy(denials, WORK).rules == ("Read(//etc/x)", "WebFetch(domain:a.org)", "mcp__x__y")


def test_what_was_missing_does_not_depend_on_the_order() -> None:
    """The same denials are the same words."""
    one, other = Denial("Write", "/x"), Denial("Edit", "/y")
    assert missing_permissions((one, other, one)) == missing_permissions((other, one)) == ("Edit", "Write")
    assert missing_permissions((Denial("Bash", ""),)) == ("Bash",)
    assert missing_permissions((Denial("Bash", "python3 -c 1"),)) == ("Bash (python3 -c)",)
    assert missing_permissions((Denial("Bash", "touch x; mkdir y"),)) == ("Bash(mkdir y:*)", "Bash(touch x:*)")
    assert missing_permissions((Denial("Bash", "x", "Contains simple_expansion"),)) == (
        "Bash (Contains simple_expansion)",
    )


@pytest.mark.parametrize("command", ["npm test", "git push 'a b'", 'FOO="a b" npm test'])
def test_the_commands_survive_a_shell(command: str) -> None:
    """What is pasted reaches us as the rules: to be saved, and for one run."""
    denials = (Denial("Bash", command), Denial("Write", "/project/x"))
    save, once = advice(denials, replace(WORK, mode="")).splitlines()
    wanted = find_remedy(denials, replace(WORK, mode="")).rules
    assert save.startswith("Allow it: claude-iterate config -w t claude.permission_mode acceptEdits && claude-iterate ")
    words = shlex.split(save.partition(" && ")[2])
    assert words[:5] == ["claude-iterate", "config", "-w", "t", "claude.allowed_tools"]
    assert tuple(words[6::2]) == wanted
    words = shlex.split(once.partition(": ")[2])
    assert words[:5] == ["claude-iterate", "run", "t", "--permission-mode", "acceptEdits"]
    assert tuple(words[6::2]) == wanted


def test_the_commands_are_those_of_the_program_as_it_was_called() -> None:
    """A run that was started with `-C` is steered with it."""
    found = advice((Denial("Bash", "npm test"),), Granted("t", program="claude-iterate -C '/my projects'"))
    assert found.count("claude-iterate -C '/my projects' ") == found.count("claude-iterate")


def test_a_write_into_the_checkout_of_a_run_in_a_worktree_is_not_allowed() -> None:
    """The run is to leave it as it is: instead of a rule there is a note to Claude."""
    granted = replace(WORK, roots=("/p/claude-iterate/worktrees/t",), checkout="/p")
    found = advice((Denial("Write", "/p/a.txt"),), granted).splitlines()
    assert (
        found[0] == "No rule is offered: /p/a.txt is in your checkout; the run works in /p/claude-iterate/worktrees/t."
    )
    assert found[1] == "Tell Claude: claude-iterate note t 'Work in /p/claude-iterate/worktrees/t, not in /p.'"
    assert len(found) == 2
