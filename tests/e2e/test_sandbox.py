"""What a sandbox keeps from Claude and from the programs of a run, and that nothing of it stays behind."""

from __future__ import annotations

import os
import shlex
import signal
import socket
import subprocess
from pathlib import Path

import pytest

from tests.bubblewrap import needs_bwrap
from tests.e2e.agents import acts, prompt, with_git
from tests.e2e.conftest import Loop, until

DONE = """report '{"complete": true, "iteration": "'$(id)'"}'"""
LOOK = """\
{ env; echo x > /proc/sys/kernel/core_pattern && echo reached
  cat %(home)s/secret; ls -A %(home)s; echo x > %(outside)s/made; echo x > /usr/made; touch %(root)s/.git/config
  (echo > /dev/tcp/127.0.0.1/%(port)d) && echo reached; echo x > "$W/runs/made"; ls /proc; } > %(root)s/%(name)s 2>&1
sleep 301 & setsid sleep 302 &
"""


def closed(loop: Loop, *deeds: str, kind: str = "bwrap") -> None:
    """A run in a sandbox; the stand-in for Claude lies outside of the project, so it is mounted."""
    acts(loop, *deeds)
    loop.env |= {
        "CLAUDE_ITERATE_SANDBOX__KIND": kind,
        "CLAUDE_ITERATE_SANDBOX__MOUNTS": f"{loop.folder}/agent:rw",
        "CLAUDE_ITERATE_SANDBOX__ENV": "CLAUDE_ITERATE_FAKE_STATE",
        "CLAUDE_ITERATE_KEEP_AWAKE": "false",
    }


def looking(loop: Loop, name: str, port: int) -> str:
    """A deed that writes down what it sees and reaches, and leaves processes behind."""
    places = {"home": loop.home, "root": loop.root, "outside": loop.folder / "outside"}
    return LOOK % {"name": name, "port": port, **{word: quoted(path) for word, path in places.items()}}


def quoted(path: Path) -> str:
    """For the shell: the project may be anywhere."""
    return shlex.quote(str(path))


@needs_bwrap
def test_neither_claude_nor_a_check_gets_out(loop: Loop) -> None:
    """Both see the project and no other file of the user, no other variable, no process and, without a network, not
    even this computer; what they leave running is gone, and is not told as left behind."""
    loop.make()
    (loop.home / "secret").write_text("plover\n")
    (loop.folder / "outside").mkdir()
    with_git(loop)
    config = (loop.root / ".git" / "config").read_bytes()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        closed(loop, "cat > \"$here/look\" <<'END'\n" + looking(loop, "seen", port) + 'END\nbash "$here/look"\n' + DONE)
        (loop.folder / "agent" / "check").write_text(looking(loop, "checked", port))
        loop.env |= {
            "SECRET_OF_MINE": "plover",
            "CLAUDE_ITERATE_SANDBOX__NETWORK": "false",
            "CLAUDE_ITERATE_VERIFICATION__CHECKS": f"bash {quoted(loop.folder / 'agent' / 'check')}; test -e seen",
        }
        loop.env["W"] = str(loop.workspace)
        done = loop.run()
    assert done.code == 0, done.err
    assert "in a sandbox: bwrap" in done.err
    for name in ("seen", "checked"):
        seen = (loop.root / name).read_text()
        assert "plover" not in seen
        assert "reached" not in seen
        assert "IS_SANDBOX=1" in seen
        assert f"HOME={loop.home}" in seen
        assert "CLAUDE_ITERATE_SANDBOX" not in seen
        processes = [line for line in seen.splitlines() if line.isdigit()]
        assert len(processes) < 20, "its own processes alone"
    assert not (loop.folder / "outside" / "made").exists()
    assert not Path("/usr/made").exists()
    assert not (loop.workspace / "runs" / "made").exists()
    assert (loop.root / ".git" / "config").read_bytes() == config
    assert loop.events("LeftoversEnded") == []
    assert [event["sandbox"] for event in loop.events("RunStarted")] == ["bwrap"]
    loop.gone()


@needs_bwrap
def test_the_second_ctrl_c_reaches_claude_inside(loop: Loop) -> None:
    """SIGINT arrives at Claude itself, which can end its own tools; then nothing lives, and nothing is called left."""
    loop.make()
    closed(
        loop, 'trap \'touch "$W/interrupted"; exit 0\' INT\nsleep 303 &\ntouch "$W/ready"\nwhile :; do sleep 0.05; done'
    )
    process = loop.working()
    process.send_signal(signal.SIGINT)
    until(lambda: loop.events("StopRequested"))
    process.send_signal(signal.SIGINT)
    assert loop.finish(process).code == 130
    assert (loop.workspace / "interrupted").exists()
    assert loop.events("LeftoversEnded") == []
    loop.gone()


@needs_bwrap
def test_what_ignores_signals_inside_is_ended_all_the_same(loop: Loop) -> None:
    """The last signal takes the whole sandbox with it."""
    loop.make()
    loop.env["CLAUDE_ITERATE_TIMEOUTS__TERMINATE_GRACE"] = "0.1s"
    loop.patch("agent.processes.child", AFTER_INTERRUPT=0.1)
    deaf = "trap '' INT TERM HUP"
    closed(loop, f'{deaf}\n({deaf}; setsid sleep 303) &\ntouch "$W/ready"\nwhile :; do sleep 0.05; done')
    process = loop.working()
    process.send_signal(signal.SIGTERM)
    assert loop.finish(process).code == 143
    assert loop.events("LeftoversEnded") == []
    loop.gone()


@needs_bwrap
def test_kill_9_of_the_runner_leaves_nothing(loop: Loop) -> None:
    """The sandbox dies with the runner, whatever runs in it; the next run does the iteration again."""
    loop.make()
    closed(loop, "trap '' INT TERM HUP\nsetsid sleep 303 &\ntouch \"$W/ready\"\nwhile :; do sleep 0.05; done", DONE)
    loop.kill(loop.working())
    assert loop.run().code == 0


def untouched(loop: Loop) -> bool:
    return sorted(os.listdir(loop.workspace)) == [".metadata.json", "INSTRUCTIONS.md"]


@pytest.mark.parametrize(
    ("kind", "program", "settings", "words"),
    [
        ("bwrap", "echo 'bwrap: No permissions to create new namespace' >&2; exit 1", {}, "No permissions to create"),
        ("docker", "exit 1", {}, "needs an image"),
        ("docker", "echo Cannot connect to the daemon >&2; exit 1", {"IMAGE": "img"}, "Cannot connect to the daemon"),
        ("podman", "[ $1 = info ]", {"IMAGE": "img"}, "The image img is not on this computer"),
    ],
)
def test_a_sandbox_that_does_not_work_is_told_before_anything_is_written(
    loop: Loop, kind: str, program: str, settings: dict[str, str], words: str
) -> None:
    """Why, and what to type next."""
    loop.make()
    closed(loop, DONE, kind=kind)
    loop.executable(kind, program)
    loop.env |= {f"CLAUDE_ITERATE_SANDBOX__{name}": value for name, value in settings.items()}
    done = loop.run()
    assert done.code != 0
    assert words in done.err
    assert len(done.err.strip().splitlines()) == 2, done.err
    assert untouched(loop)


def test_a_sandbox_that_is_not_installed(loop: Loop) -> None:
    """The command that installs it is named."""
    loop.make()
    closed(loop, DONE)
    folder = loop.folder / "programs"
    folder.mkdir()
    (folder / "sh").symlink_to("/bin/sh")
    loop.env["PATH"] = str(folder)
    done = loop.run()
    assert "bwrap is not installed" in done.err
    assert "apt install bubblewrap" in done.err
    assert untouched(loop)


DOCKER = """\
echo "$@" >> {log}
case $1 in
    run) ;;
    ps) cat {log}.containers 2>/dev/null; exit 0 ;;
    rm) rm -f {log}.containers; exit 0 ;;
    *) exit 0 ;;
esac
echo container-1 > {log}.containers
while [ "$1" != img ]; do shift; done
shift
"$@"
code=$?
rm -f {log}.containers
exit $code"""


def with_docker(loop: Loop, *deeds: str) -> Path:
    """A stand-in for docker that runs the command here and remembers its container as long as it lives."""
    closed(loop, *deeds, kind="docker")
    log = loop.folder / "docker"
    loop.executable("docker", DOCKER.format(log=quoted(log)))
    loop.env["CLAUDE_ITERATE_SANDBOX__IMAGE"] = "img"
    return log


def test_a_run_in_containers(loop: Loop) -> None:
    """Claude and a check each get a container with the run's label, which is gone at the end."""
    loop.make()
    log = with_docker(loop, DONE)
    loop.env["CLAUDE_ITERATE_VERIFICATION__CHECKS"] = "true"
    done = loop.run()
    assert done.code == 0, done.err
    (run,) = (event["run"] for event in loop.events("RunStarted"))
    label = f"--label iterate.run={run} "
    assert sum(label in line for line in log.read_text().splitlines()) == 2
    assert log.read_text().splitlines()[-1] == f"ps -aq --filter label=iterate.run={run}"
    assert "iteration 1 of" in prompt(loop, 1)


def test_kill_9_of_the_runner_ends_its_containers(loop: Loop) -> None:
    """By their label: the program that started them may be dead before them."""
    loop.make()
    log = with_docker(loop, "trap '' INT TERM\ntouch \"$W/ready\"\nwhile :; do sleep 0.05; done")
    process = loop.working()
    process.kill()
    process.wait()
    until(lambda: "rm -f container-1" in log.read_text())
    loop.gone()


def test_a_dry_run_needs_no_sandbox(loop: Loop) -> None:
    """It calls no Claude, and works where there is no sandbox."""
    loop.make()
    closed(loop, DONE)
    loop.executable("bwrap", "exit 1")
    done = loop.run("--dry-run")
    assert done.code == 0, done.err
    assert ["sandbox" in event for event in loop.events("RunStarted")] == [False]


@needs_bwrap
def test_doctor_tells_which_sandboxes_work(loop: Loop) -> None:
    """And why the others do not."""
    loop.executable("docker", "echo no daemon >&2; exit 1")
    done = subprocess.run(
        [*loop.program, "doctor"], cwd=loop.root, env=loop.env, capture_output=True, text=True, check=False
    )
    assert "bwrap works" in done.stdout
    assert "docker does not answer: no daemon" in done.stdout


@needs_bwrap
@pytest.mark.parametrize("linked", ["INSTRUCTIONS.md"])
def test_no_link_brings_a_file_of_the_user_in(loop: Loop, linked: str) -> None:
    """Claude makes a link where claude-iterate reads for it: the run ends and says so; the file is in no prompt."""
    loop.make()
    secret = loop.home / "secret"
    if linked == "prompts":
        secret.mkdir()
        (secret / "iteration.md").write_text("plover")
    else:
        secret.write_text("plover")
    path = loop.workspace / linked
    place = quoted(path)
    deed = f"mkdir -p {quoted(path.parent)}; rm -f {place}; ln -s {quoted(secret)} {place}"
    deed += """; report '{"complete": false}'"""
    closed(loop, deed)
    done = loop.run("-m", "3")
    assert done.code != 0
    assert f"{path} is a link; claude-iterate follows none inside a project" in done.err
    assert not (loop.folder / "agent" / "prompt-2").exists()


@needs_bwrap
def test_no_link_leads_us_to_a_file_of_the_user(loop: Loop) -> None:
    """Claude makes links in the place of files that claude-iterate writes, or reads for itself: what they lead to is in
    no prompt, and stays as it is."""
    loop.make()
    (loop.root / "work").write_text("begun")
    names = (".status.json", "TODO.md", "verification-report.md", ".lock", "IMPLEMENTATION_PLAN.md")
    links = {f'"$W/{name}"': loop.home / name for name in names}
    links[quoted(loop.root / "claude-iterate" / "snapshots.git")] = store = loop.home / "store"
    links['"$(ls "$W"/iterate-*.log)"'] = loop.home / "log"
    store.mkdir()
    text = '{"complete": false, "summary": "plover", "progress": {"completed": 1, "total": 3}}\n- [ ] plover\n'
    for path in links.values():
        if path != store:
            path.write_text(text)
    deed = "\n".join(f'P={place}; rm -rf "$P"; ln -s {quoted(path)} "$P"' for place, path in links.items())
    closed(loop, f"{deed}\ndate > {quoted(loop.root)}/work", DONE)
    loop.env["CLAUDE_ITERATE_VERIFICATION__CHECKS"] = "true"
    assert loop.run("-m", "1").code == 0
    (loop.workspace / ".status.json").unlink()
    assert loop.run("-m", "1").code == 0
    assert "plover" not in prompt(loop, 1) + prompt(loop, 2)
    assert list(store.iterdir()) == []
    assert {path.read_text() for path in links.values() if path != store} == {text}
