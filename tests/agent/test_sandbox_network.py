"""The way out of a sandbox leads to Claude's service and nowhere else."""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from claude_iterate.agent.command import sandbox_network
from claude_iterate.agent.command.sandbox import Sandbox, enclose
from claude_iterate.core.settings.declared import SandboxSettings
from tests.bubblewrap import needs_bwrap
from tests.package_path import PACKAGES

PATIENCE = 120
MANY = 450


@pytest.fixture
def service() -> Iterator[int]:
    """A service on this computer that sends back what it gets."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            try:
                while True:
                    connection, _ = listener.accept()
                    with connection:
                        while data := connection.recv(1000):
                            connection.sendall(data)
            except OSError:
                return

        threading.Thread(target=serve, daemon=True).start()
        yield listener.getsockname()[1]
        listener.shutdown(socket.SHUT_RDWR)


def asked(path: str, question: bytes) -> bytes:
    """All that comes back."""
    with socket.socket(socket.AF_UNIX) as near:
        near.settimeout(PATIENCE)
        near.connect(path)
        near.sendall(question)
        near.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: near.recv(1000), b""))


def test_the_service_is_reached(service: int) -> None:
    """What follows the question goes to the service, and its answer comes back."""
    with sandbox_network.open_proxy((f"127.0.0.1:{service}",)) as path:
        answer = asked(path, b"CONNECT 127.0.0.1:%d HTTP/1.1\r\nHost: x\r\n\r\nhello" % service)
    assert answer.startswith(b"HTTP/1.1 200 ")
    assert answer.endswith(b"\r\n\r\nhello")


@pytest.mark.parametrize(
    "question",
    [
        b"CONNECT 127.0.0.1:%d HTTP/1.1\r\n\r\n",
        b"GET http://127.0.0.1:%d/ HTTP/1.1\r\n\r\n",
        b"CONNECT api.anthropic.com:443@127.0.0.1:%d HTTP/1.1\r\n\r\n",
        b"%d\r\n\r\n",
        b"CONNECT 127.0.0.1:%d",
        b"x" * 100_000 + b"%d",
    ],
)
def test_nothing_else_is(service: int, question: bytes) -> None:
    """Another address, another method, nonsense: refused, and no connection is made."""
    with sandbox_network.open_proxy(("api.anthropic.com:443",)) as path:
        try:
            answer = asked(path, question % service)
        except OSError:  # it may hang up while we still speak
            return
    assert answer.startswith(b"HTTP/1.1 403 ")


def test_the_socket_is_gone_afterwards() -> None:
    """With its folder: nothing of a run stays in the folder for temporary files."""
    with sandbox_network.open_proxy(()) as path:
        assert asked(path, b"").startswith(b"HTTP/1.1 403 ")
    with pytest.raises(FileNotFoundError):
        asked(path, b"")


@pytest.mark.parametrize(
    ("base", "addresses", "port"),
    [
        ("", sandbox_network.SERVICE, 0),
        ("https://gateway.example/v1", ("gateway.example:443",), 0),
        ("http://gateway.example:8080", ("gateway.example:8080",), 0),
        ("http://localhost:4000", ("127.0.0.1:4000",), 4000),
    ],
)
def test_the_address_is_that_of_the_service(base: str, addresses: tuple[str, ...], port: int) -> None:
    """From ANTHROPIC_BASE_URL, or the usual one."""
    environment = {"ANTHROPIC_BASE_URL": base}
    assert sandbox_network.addresses(environment) == addresses
    assert sandbox_network.port_on_this_computer(environment) == port


def test_a_question_that_does_not_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether it is silent or comes a byte at a time, without an end."""
    monkeypatch.setattr(sandbox_network, "_QUESTION", 0.2)
    with sandbox_network.open_proxy(()) as path, socket.socket(socket.AF_UNIX) as silent:
        silent.settimeout(PATIENCE)
        silent.connect(path)
        assert silent.recv(1) == b""
        with socket.socket(socket.AF_UNIX) as slow:
            slow.settimeout(0.01)
            slow.connect(path)
            for _ in range(sandbox_network._LONGEST_HEAD - 1):
                try:
                    slow.sendall(b"x")
                    assert slow.recv(1) == b""
                    return
                except TimeoutError:
                    continue
                except OSError:
                    return
    pytest.fail("It was heard out.")


def test_a_name_that_no_host_can_have_is_an_answer() -> None:
    """Not a traceback of a thread, which pytest would see."""
    name = b"a" * 70 + b".example:443"
    with sandbox_network.open_proxy((name.decode(),)) as path:
        assert asked(path, b"CONNECT %b HTTP/1.1\r\n\r\n" % name).startswith(b"HTTP/1.1 502 ")


OUT_OF_FILES = """
import os, resource, signal, socket, threading, time
from claude_iterate.agent.command import sandbox_network
signal.alarm(60)
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
failed = threading.Event()
time.sleep = lambda seconds: failed.set()
with sandbox_network.open_proxy(()) as path, socket.socket(socket.AF_UNIX) as near:
    held = []
    try:
        while True:
            held.append(os.open(os.devnull, os.O_RDONLY))
    except OSError:
        pass
    near.connect(path)
    failed.wait()
    for handle in held:
        os.close(handle)
    near.sendall(b"x\\r\\n\\r\\n")
    print(near.recv(12).decode())
"""


def test_it_outlives_a_lack_of_files() -> None:
    """Who asked meanwhile is answered when there are files again, and nothing is printed about it."""
    environment = {"PYTHONPATH": str(PACKAGES)}
    done = subprocess.run([sys.executable, "-c", OUT_OF_FILES], capture_output=True, env=environment, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"HTTP/1.1 403\n", b"")


class CountingService:
    """A service on this computer that counts how many connections it has at a time, and echoes."""

    def __init__(self) -> None:
        self.most, self._open, self._lock = 0, 0, threading.Lock()
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=MANY)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        try:
            while True:
                threading.Thread(target=self._serve, args=(self.listener.accept()[0],), daemon=True).start()
        except OSError:
            return

    def _serve(self, connection: socket.socket) -> None:
        with self._lock:
            self._open += 1
            self.most = max(self.most, self._open)
        with connection:
            while data := connection.recv(1000):
                connection.sendall(data)
        with self._lock:
            self._open -= 1


@pytest.fixture
def counting() -> Iterator[CountingService]:
    made = CountingService()
    with made.listener:
        yield made
        made.listener.shutdown(socket.SHUT_RDWR)


def inside(gate: str, script: str, *arguments: object, mirrored: int = 0, base: str = "") -> list[str]:
    """What a program in bwrap, in the place of Claude, prints; it must not complain."""
    assert shutil.which("bwrap")
    readable = {sys.prefix, sys.base_prefix, str(Path(sys.executable).resolve().parents[1]), str(PACKAGES)}
    sandbox = Sandbox(
        SandboxSettings(kind="bwrap", network=False),
        program="bwrap",
        home="/home/of-nobody",
        readable=tuple(sorted(readable)),
        gate=gate,
        relay=(sys.executable, "-I", "-S", str(Path(sandbox_network.__file__).resolve())),
        mirrored=mirrored,
    )
    environment = {"PATH": "/usr/bin:/bin", "ANTHROPIC_BASE_URL": base}
    argv = [sys.executable, "-I", "-S", "-c", script, *map(str, arguments)]
    command = enclose(argv, environment, sandbox, "/", for_claude=True)
    done = subprocess.run(
        command.argv, env=command.environment, capture_output=True, text=True, check=False, timeout=PATIENCE
    )
    assert (done.returncode, done.stderr) == (0, ""), done
    return done.stdout.splitlines()


TUNNELS = """
import os, socket, sys, urllib.parse
proxy, question = urllib.parse.urlsplit(os.environ["HTTPS_PROXY"]), sys.argv[2].encode()
def ask(words):
    near = socket.create_connection((proxy.hostname, proxy.port), 100)
    near.sendall(words)
    return near
silent = [ask(b"CONNECT") for _ in range(int(sys.argv[1]))]
for near in [ask(b"CONNECT %b HTTP/1.1\\r\\n\\r\\n" % question) for _ in range(int(sys.argv[1]))]:
    with near, near.makefile("rb") as answer:
        words = answer.readline()
        answer.readline()
        near.sendall(b"hello\\n")
        print(words.split()[1].decode(), answer.readline().decode().strip())
"""


@needs_bwrap
def test_a_crowd_waits_for_its_turn(counting: CountingService, monkeypatch: pytest.MonkeyPatch) -> None:
    """450 connections from inside that say nothing, and 450 that ask at once: there are never more than so many at a
    time, but for those whose end the service has not seen yet; those that say nothing are given up, and in the end each
    of the others has its answer."""
    monkeypatch.setattr(sandbox_network, "_QUESTION", 0.5)
    address = f"127.0.0.1:{counting.port}"
    with sandbox_network.open_proxy((address,)) as gate:
        assert inside(gate, TUNNELS, MANY, address) == ["200 hello"] * MANY
    assert 1 < counting.most < 2 * sandbox_network._MOST


GATEWAY = """
import os, socket, urllib.parse
base, proxy = (urllib.parse.urlsplit(os.environ[name]) for name in ("ANTHROPIC_BASE_URL", "HTTPS_PROXY"))
with socket.create_connection((base.hostname, base.port or 80), 100) as near, near.makefile("rb") as answer:
    near.sendall(b"hello\\n")
    print(base.path, base.hostname, base.port != proxy.port, answer.readline().decode().strip())
"""


@needs_bwrap
@pytest.mark.parametrize("port", [80, 443, 3128, 4000])
@pytest.mark.parametrize("host", ["localhost", "127.0.0.1"])
def test_a_gateway_may_have_any_port(tmp_path: Path, host: str, port: int) -> None:
    """Also one that only root may take, and one that others use for a proxy. The gate here answers as the proxy does,
    so that nothing outside has to have this port."""
    gate, questions = str(tmp_path / "gate"), []
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(gate)
        listener.listen()

        def answer() -> None:
            near = listener.accept()[0]
            with near, near.makefile("rb") as words:
                questions.append(words.readline().strip())
                words.readline()
                near.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
                near.sendall(words.readline())

        thread = threading.Thread(target=answer, daemon=True)
        thread.start()
        base = f"http://{host}/v1" if port == 80 else f"http://{host}:{port}/v1"
        assert inside(gate, GATEWAY, mirrored=port, base=base) == [f"/v1 {host} True hello"]
        thread.join()
    assert questions == [b"CONNECT 127.0.0.1:%d HTTP/1.1" % port]
