"""Runs the rdmabench command: shared by the tests of this folder."""

import concurrent.futures
import contextlib
import json
import os
import pathlib
import pty
import re
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
import unittest

TOOL = ""  # set by take_tool(): the command under test
SANITIZED = "RDMABENCH_SANITIZED" in os.environ  # slow, and its memory says nothing about leaks


def run(*words: str, timeout: float = 240 if SANITIZED else 60) -> subprocess.CompletedProcess:
    return subprocess.run([TOOL, *words], capture_output=True, text=True, timeout=timeout)


def rdm_provider() -> str:
    """The one over sockets that needs no layer: 'net' of libfabric 1 became 'tcp' in libfabric 2."""
    return "net" if re.search(r" net +active", run("devices", "--wide").stdout) else "tcp"


@contextlib.contextmanager
def full_pipe():
    """The writing end of a pipe that takes no more."""
    reader, writer = os.pipe()
    try:
        os.set_blocking(writer, False)
        for size in (4096, 1):
            with contextlib.suppress(BlockingIOError):
                while os.write(writer, b"x" * size):
                    pass
        os.set_blocking(writer, True)  # of every process that has it
        yield writer
    finally:
        os.close(reader)
        os.close(writer)


def free_port() -> str:
    with contextlib.closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        return str(probe.getsockname()[1])


def wait_until_it_listens(port: str) -> None:
    """For a server whose line about it cannot be read. Its start takes seconds under a sanitizer."""
    end = time.monotonic() + 60
    while True:
        try:
            socket.create_connection(("127.0.0.1", int(port)), timeout=20).close()
            return
        except ConnectionRefusedError:
            if time.monotonic() > end:
                raise
            time.sleep(0.02)


class Server:
    """`rdmabench serve` on a free port; its log lines are collected as they come."""

    def __init__(self, *words: str, below: int = 0):
        """`below`: with so many descriptors, as a shell's soft limit gives."""
        start = ["bash", "-c", f'ulimit -Sn {below}; exec "$@"', "bash"] if below else []
        self.process = subprocess.Popen([*start, TOOL, "serve", "--port", "0", *words],
                                        stderr=subprocess.PIPE, text=True)
        first = self.process.stderr.readline()
        match = re.search(r"listening on .*:(\d+)", first)
        if match is None:
            raise AssertionError(f"no port in {first!r}")
        self.port = match.group(1)
        self.lines: list[str] = []
        self.arrived = threading.Condition()
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self) -> None:
        for line in self.process.stderr:
            with self.arrived:
                self.lines.append(line.rstrip())
                self.arrived.notify_all()

    def wait_lines(self, count: int, timeout: float = 30) -> list[str]:
        with self.arrived:
            if not self.arrived.wait_for(lambda: len(self.lines) >= count, timeout):
                raise AssertionError(f"{count} lines were due, there are {self.lines}")
            return list(self.lines)

    def descriptors(self) -> int:
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def mappings(self) -> int:
        with open(f"/proc/{self.process.pid}/maps", encoding="utf-8") as maps:
            return len(maps.readlines())

    def threads(self) -> int:
        return len(os.listdir(f"/proc/{self.process.pid}/task"))

    def resident_bytes(self) -> int:
        with open(f"/proc/{self.process.pid}/statm", encoding="ascii") as statm:
            return int(statm.read().split()[1]) * os.sysconf("SC_PAGESIZE")

    def peak_bytes(self) -> int:
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as status:
            return int(re.search(r"VmHWM:\s+(\d+)", status.read()).group(1)) << 10

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=30)

    def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            self.process.kill()
        self.process.wait()
        self.reader.join()
        self.process.stderr.close()


class Terminal:
    """A command whose standard error is a terminal, so that it shows its progress there."""

    def __init__(self, *words, **more):
        self.side, theirs = pty.openpty()
        self.shown = ""
        self.process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=theirs, text=True, **more)
        os.close(theirs)

    def read(self) -> bool:
        try:
            some = os.read(self.side, 65536).decode(errors="replace")
        except OSError:  # the command ended
            some = ""
        self.shown += some
        return bool(some)

    def wait_for(self, pattern: str) -> None:
        while not re.search(pattern, self.shown):
            if not self.read():
                raise AssertionError(f"it ended without {pattern!r}: {self.shown}")

    def end(self) -> tuple[int, str, str]:
        """Reads the terminal to its end, so that the command never waits for us."""
        while self.read():
            pass
        output = self.process.stdout.read()
        os.close(self.side)
        self.process.stdout.close()
        return self.process.wait(timeout=60), output, self.shown


def rank_of(rank: int, size: int, address: str, port: str) -> dict[str, str]:
    """The environment that torchrun gives a rank, and nothing of a launcher that runs this test."""
    launcher = ("RANK", "SIZE", "SLURM_", "PMIX_", "OMPI_", "PMI_", "MASTER_", "LOCAL_")
    clean = {k: v for k, v in os.environ.items() if not k.startswith(launcher)}
    return clean | {"RANK": str(rank), "WORLD_SIZE": str(size), "MASTER_ADDR": address, "MASTER_PORT": port}


def records(text: str, schema) -> dict[str, list]:
    """Those of a run of fabric by kind, each held against the schema, a validator."""
    found: dict[str, list] = {"plan": [], "measurement": [], "lost": [], "carried": [], "verdict": [],
                              "expectations": []}
    for line in text.splitlines():
        record = json.loads(line)
        schema.validate(record)
        found[record["record"]].append(record)
    return found


CHANNEL = pathlib.Path(__file__).parents[2] / "include/rdmabench/control/channel.h"
VERSION = int(re.search(r"kProtocolVersion = (\d+)", CHANNEL.read_text(encoding="utf-8"))[1])
START = b"RDMB" + struct.pack(">H", VERSION)  # of a frame


def dial(port: str) -> socket.socket:
    """To a server that may have been started in this moment."""
    deadline = time.monotonic() + 20
    while True:
        try:
            return socket.create_connection(("127.0.0.1", int(port)), timeout=20)
        except ConnectionRefusedError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.01)


def let_in(port: str) -> socket.socket:
    """A client of an insecure server, which waits for its request now."""
    connection = dial(port)
    connection.sendall(START + struct.pack(">HI", 2, 33) + b"\3" + b"n" * 32)
    if connection.recv(12) != START + struct.pack(">HI", 5, 0):
        raise AssertionError("the insecure server did not let a client in")
    return connection


@contextlib.contextmanager
def server(*words: str, below: int = 0):
    instance = Server(*words, below=below)
    try:
        yield instance
    finally:
        instance.kill()


def take_tool() -> list[str]:
    """Takes the command from the arguments, and leaves the rest to unittest."""
    global TOOL
    TOOL = sys.argv.pop(1)
    return sys.argv


def cases(suite) -> list[unittest.TestCase]:
    if isinstance(suite, unittest.TestCase):
        return [suite]
    return [case for part in suite for case in cases(part)]


def run_case(case: unittest.TestCase) -> bool:
    """Says how long it took, and what went wrong."""
    result = unittest.TestResult()
    begin = time.monotonic()
    case.run(result)
    word = "ok" if result.wasSuccessful() else "FAILED"
    lines = [f"{time.monotonic() - begin:5.1f} s  {word}  {case.id()}"]
    lines += [f"skipped: {reason}" for _, reason in result.skipped]
    lines += [f"{part.id()}:\n{trace}" for part, trace in result.failures + result.errors]
    print("\n".join(lines), file=sys.stderr, flush=True)
    return result.wasSuccessful()


def run_cases(names: list[str], at_once: int) -> int:
    """Runs the cases of the main module, or those named, several at once: they share nothing, and
    half of them wait for what does not come. Returns the exit code."""
    loader, module = unittest.defaultTestLoader, sys.modules["__main__"]
    found = loader.loadTestsFromNames(names, module) if names \
        else loader.loadTestsFromModule(module)
    begin = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
        # The longest comes last by its name.
        passed = list(pool.map(run_case, reversed(cases(found))))
    print(f"{sum(passed)} of {len(passed)} passed, {time.monotonic() - begin:.1f} s",
          file=sys.stderr)
    return 0 if passed and all(passed) else 1
