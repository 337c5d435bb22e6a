"""What is put around a command line: what is seen inside, what is written, which variables there are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from claude_iterate.agent.command import sandbox_host
from claude_iterate.agent.command.sandbox import Sandbox, enclose
from claude_iterate.agent.command.sandbox_host import Shown
from claude_iterate.core.settings.declared import SandboxSettings, Settings, build, catalogue
from claude_iterate.errors import UsageProblem

BWRAP = Sandbox(
    SandboxSettings(kind="bwrap"),
    program="/usr/bin/bwrap",
    home="/home/me",
    writable=("/home/me/project",),
    kept=("/home/me/project/.git/config",),
    of_claude=("/home/me/.claude",),
)


def changed(sandbox: Sandbox, **asked: Any) -> Sandbox:
    """The same, with other settings."""
    return replace(sandbox, asked=replace(sandbox.asked, **asked))


DOCKER = changed(replace(BWRAP, program="/usr/bin/docker", user="7:8", run="R"), kind="docker", image="img:1")
SECRETS = {
    "ANTHROPIC_API_KEY": "key",
    "AWS_SECRET_ACCESS_KEY": "aws",
    "PATH": "/bin",
    "LANG": "C",
    "HOME": "/elsewhere",
}
CLAUDE = ["claude", "-p"]


def settings(**values: object) -> Settings:
    return build({key.replace("__", "."): value for key, value in values.items()})


def pairs(argv: list[str], word: str) -> list[str]:
    """What follows a word, wherever it stands."""
    return [argv[index + 1] for index, found in enumerate(argv) if found == word]


def test_claude_sees_its_own_variables_and_no_others() -> None:
    """A secret of another service does not come in, and neither does a setting of ours; the key of Claude does."""
    environment = SECRETS | {"CLAUDE_ITERATE_NOTIFY__SECRET": "s", "CLAUDE_ITERATE_RUN": "R"}
    inside = enclose(CLAUDE, environment, BWRAP, "/p", for_claude=True).environment
    assert inside == {
        "ANTHROPIC_API_KEY": "key",
        "PATH": "/bin",
        "LANG": "C",
        "HOME": "/home/me",
        "IS_SANDBOX": "1",
        "CLAUDE_ITERATE_RUN": "R",
    }


def test_a_program_of_the_user_gets_neither_the_key_nor_the_folder_of_claude() -> None:
    """A check runs what Claude wrote: it has no login to spend."""
    inside = enclose(["sh"], SECRETS, BWRAP, "/p", for_claude=False)
    assert "ANTHROPIC_API_KEY" not in inside.environment
    assert "/home/me/.claude" not in inside.argv


@pytest.mark.setting("sandbox.env", "sandbox.kind")
@pytest.mark.parametrize("claude", [True, False], ids=["Claude", "a check"])
def test_named_variables_come_in(claude: bool) -> None:
    """`sandbox.env` lets a name through, and no other; a container is given the name alone."""
    environment, inside = SECRETS | {"GITHUB_TOKEN": "t"}, {}
    for kind in ("bwrap", "podman"):
        asked = settings(sandbox__kind=kind, sandbox__env=("AWS_SECRET_ACCESS_KEY",))
        made = sandbox_host.make_sandbox(asked, SECRETS, Path("/p"), "b", Shown())
        inside[kind] = enclose(CLAUDE, environment, made, "/p", for_claude=claude)
    assert inside["bwrap"].environment["AWS_SECRET_ACCESS_KEY"] == "aws"
    assert "GITHUB_TOKEN" not in inside["bwrap"].environment
    named = pairs(inside["podman"].argv, "-e")
    assert ("AWS_SECRET_ACCESS_KEY" in named, "GITHUB_TOKEN" in named) == (True, False)


def test_folders_come_before_what_is_in_them() -> None:
    """The home is empty, then the project is put into it, then what nothing inside may change."""
    argv = enclose(CLAUDE, SECRETS, BWRAP, "/home/me/project", for_claude=True).argv
    places = [argv.index(path) for path in ("/home/me", "/home/me/.claude", "/home/me/project")]
    assert places == sorted(places)
    assert argv.index("/home/me/project/.git/config") > places[-1]
    assert pairs(argv, "--bind") == ["/home/me/.claude", "/home/me/project"]
    assert "/home/me/project/.git/config" in pairs(argv, "--ro-bind")
    assert argv[-3:] == ["--", "claude", "-p"]


@pytest.mark.setting("sandbox.network")
@pytest.mark.parametrize("network", [True, False])
def test_a_network_or_none(network: bool) -> None:
    """Without one, Claude alone is given a way to its service; a program of the user has none."""
    made = sandbox_host.make_sandbox(settings(sandbox__network=network), SECRETS, Path("/p"), "b", Shown())
    made = replace(changed(made, kind="bwrap"), gate="/tmp/x/gate", relay=("python", "/r.py"), mirrored=80)
    claude = enclose(CLAUDE, SECRETS, made, "/p", for_claude=True)
    check = enclose(["sh"], SECRETS, made, "/p", for_claude=False)
    assert ("--unshare-net" in claude.argv, "--unshare-net" in check.argv) == (not network, not network)
    assert ("NO_PROXY" in claude.environment) is not network
    assert "NO_PROXY" not in check.environment
    assert "/tmp/x/gate" not in check.argv
    tail = ["python", "/r.py", "/tmp/x/gate", "80", *CLAUDE]
    assert (claude.argv[-len(tail) :] == tail) is not network


def test_the_whole_command_line_of_a_container() -> None:
    """Names of variables and never their values, which other users could read in the list of processes."""
    command = enclose(CLAUDE, SECRETS, DOCKER, "/home/me/project", for_claude=True)
    argv, environment = command.argv, command.environment
    assert argv == [
        *("/usr/bin/docker", "run", "--rm", "-i", "--init", "--pull=never", "--label", "iterate.run=R"),
        *("--memory", "4g", "--cpus", "2", "--user", "7:8"),
        *("--cap-drop", "ALL", "--security-opt", "no-new-privileges"),
        *("--tmpfs", "/home/me:mode=1777,exec"),
        *("-v", "/home/me/.claude:/home/me/.claude", "-v", "/home/me/project:/home/me/project"),
        *("-v", "/home/me/project/.git/config:/home/me/project/.git/config:ro"),
        *("-w", "/home/me/project", "-e", "ANTHROPIC_API_KEY", "-e", "HOME", "-e", "IS_SANDBOX", "-e", "LANG"),
        *("img:1", "claude", "-p"),
    ]
    assert environment["PATH"] == "/bin", "the program that starts the container needs its own"


def test_podman_keeps_the_number_of_the_user() -> None:
    """Rootless, another number would be mapped to one that does not own the project."""
    assert "keep-id" in enclose(CLAUDE, {}, changed(DOCKER, kind="podman"), "/p", for_claude=True).argv
    assert (
        "keep-id"
        not in enclose(CLAUDE, {}, replace(changed(DOCKER, kind="podman"), user="0:0"), "/p", for_claude=True).argv
    )


def test_a_container_without_a_network() -> None:
    """None at all for a program of the user."""
    argv = enclose(["sh"], {}, changed(DOCKER, network=False), "/p", for_claude=False).argv
    assert pairs(argv, "--network") == ["none"]


def test_a_conversation_has_the_terminal() -> None:
    """A session of its own would take the terminal away."""
    assert "--new-session" not in enclose(CLAUDE, {}, BWRAP, "/p", for_claude=True, terminal=True).argv
    assert "--new-session" in enclose(CLAUDE, {}, BWRAP, "/p", for_claude=True).argv
    assert "-t" in enclose(CLAUDE, {}, DOCKER, "/p", for_claude=True, terminal=True).argv


@pytest.mark.setting("sandbox.image")
@pytest.mark.setting("sandbox.memory")
@pytest.mark.setting("sandbox.cpus")
def test_the_limits_of_a_container_are_settings() -> None:
    """Image, memory and processors reach its command line."""
    asked = settings(sandbox__kind="podman", sandbox__image="other", sandbox__memory="512m", sandbox__cpus=0.5)
    made = sandbox_host.make_sandbox(asked, SECRETS, Path("/p"), "/usr/bin/podman", Shown())
    argv = enclose(CLAUDE, SECRETS, made, "/p", for_claude=True).argv
    assert argv[:2] == ["/usr/bin/podman", "run"]
    assert (pairs(argv, "--memory"), pairs(argv, "--cpus")) == (["512m"], ["0.5"])
    assert argv[argv.index("other") :] == ["other", *CLAUDE]


@pytest.mark.setting("sandbox.mounts")
def test_mounts_are_read_only_unless_marked(tmp_path: Path) -> None:
    """`~/` is the home; what is not there is refused before anything is started."""
    for name in ("cargo", "cache"):
        (tmp_path / name).mkdir()
    environ = SECRETS | {"HOME": str(tmp_path)}
    asked = settings(sandbox__kind="bwrap", sandbox__mounts=("~/cargo", f"{tmp_path}/cache:rw"))
    made = sandbox_host.make_sandbox(asked, environ, Path("/p"), "b", Shown())
    assert str(tmp_path / "cargo") in made.readable
    assert made.writable == (str(tmp_path / "cache"),)
    with pytest.raises(UsageProblem, match=r"there is no .*/nowhere"):
        sandbox_host.make_sandbox(settings(sandbox__mounts=("~/nowhere",)), environ, Path("/p"), "b", Shown())


def test_a_project_around_the_home_is_refused(tmp_path: Path) -> None:
    """It would show all that a sandbox is to hide."""
    (tmp_path / "me").mkdir()
    for root in (tmp_path, tmp_path / "me", Path("/")):
        with pytest.raises(UsageProblem, match="contains your home folder"):
            sandbox_host.make_sandbox(settings(), {"HOME": str(tmp_path / "me")}, root, "b", Shown())


def test_what_a_later_run_acts_on_is_kept(tmp_path: Path) -> None:
    """Settings that are there can be read inside and not changed; so can those of Claude itself. A link is not kept:
    Claude may have made it, and it would show what it leads to."""
    root, home = tmp_path / "p", tmp_path / "home"
    (root / ".claude").mkdir(parents=True)
    (home / ".claude").mkdir(parents=True)
    for path in (root / ".claude-iterate.toml", home / ".claude" / "settings.json", home / "secret"):
        path.touch()
    (root / ".mcp.json").symlink_to(home / "secret")
    shown = Shown(writable=(root,))
    made = sandbox_host.make_sandbox(settings(sandbox__kind="bwrap"), {"HOME": str(home)}, root, "b", shown)
    assert set(made.kept) == {str(root / ".claude"), str(root / ".claude-iterate.toml")}
    assert made.kept_of_claude == (str(home / ".claude" / "settings.json"),)


def test_what_is_ours_is_not_inside(tmp_path: Path) -> None:
    """Our folder is empty but for the workspace, and that is without its records. What is placed comes last."""
    ours, own = tmp_path / "claude-iterate", tmp_path / "claude-iterate" / "workspaces" / "t"
    (own / "runs").mkdir(parents=True)
    (own / ".lock").touch()
    shown = Shown((tmp_path, own), hidden=(ours, own / "runs"), masked=(own / ".lock",))
    made = sandbox_host.make_sandbox(settings(sandbox__kind="bwrap"), {"HOME": "/h"}, tmp_path, "b", shown)
    argv = enclose(CLAUDE, {}, replace(made, placed=(("/a", f"{own}/b", "read"),)), "/p", for_claude=False).argv
    order = [str(tmp_path), str(ours), str(own), f"{own}/runs", f"{own}/b"]
    places = [len(argv) - 1 - argv[::-1].index(path) for path in order]
    assert places == sorted(places)
    assert {str(ours), f"{own}/runs"} <= set(pairs(argv, "--tmpfs"))
    assert argv[argv.index(f"{own}/.lock") - 2 :][:2] == ["--ro-bind", "/dev/null"]
    assert argv[argv.index(f"{own}/b") - 2 :][:2] == ["--ro-bind", "/a"]


def test_the_author_of_commits_comes_in() -> None:
    """As settings of git, after those in files; unless the user passes on such settings."""
    author = (("user.name", "Me"), ("user.email", "me@example.org"))
    inside = enclose(["x"], {}, replace(BWRAP, author=author), "/p", for_claude=False).environment
    assert {name: value for name, value in inside.items() if name.startswith("GIT_")} == {
        "GIT_CONFIG_COUNT": "2",
        "GIT_CONFIG_KEY_0": "user.name",
        "GIT_CONFIG_VALUE_0": "Me",
        "GIT_CONFIG_KEY_1": "user.email",
        "GIT_CONFIG_VALUE_1": "me@example.org",
    }
    own = replace(changed(BWRAP, env=("GIT_CONFIG_COUNT",)), author=author)
    assert enclose(["x"], {"GIT_CONFIG_COUNT": "0"}, own, "/p", for_claude=True).environment["GIT_CONFIG_COUNT"] == "0"


@pytest.mark.parametrize(
    ("key", "bad"),
    [
        ("sandbox.kind", "jail"),
        ("sandbox.memory", "much"),
        ("sandbox.memory", "4"),
        ("sandbox.cpus", "0"),
        ("sandbox.mounts", "relative/path"),
        ("sandbox.mounts", "/a:/b"),
        ("sandbox.mounts", "/a/../b"),
        ("sandbox.env", "A=b"),
        ("sandbox.image", "--privileged"),
    ],
)
def test_bad_values_are_refused(key: str, bad: str) -> None:
    """Nothing that means something else to the program that makes the sandbox."""
    with pytest.raises(ValueError, match=r"."):
        catalogue()[key].kind.from_text(bad)
