#!/usr/bin/env python3
"""faults_client.py BUILD_DIR: the second command of `vm run2`, beside faults_server.sh.

What docs/faults.md says of each fault: how the client ends, within which time, and what it has written.
"""

import contextlib
import json
import os
import re
import resource
import shlex
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "integration"))
from command import Terminal  # noqa: E402

TOOL = f"{sys.argv[1]}/tools/rdmabench"
PEER = os.environ["RDMABENCH_PEER_ADDRESS"]
SIZES = {8: "8", 4096: "4K", 65536: "64K"}
failures = []


class Hands:
    """Makes things happen at the server."""

    def __init__(self):
        self._socket = socket.create_connection((PEER, 18600), timeout=30)
        self._answers = self._socket.makefile(encoding="ascii")

    def do(self, *words: str) -> None:
        self._socket.sendall(" ".join(words).encode() + b"\n")
        answer = self._answers.readline()
        if answer != "done\n":
            raise RuntimeError(f"the server's guest answered {answer!r} to {words}")


class Run:
    """One client. Ends at the latest after `limit` seconds, or that is a failure."""

    def __init__(self, name: str, *words: str, limit: float, prefix: tuple[str, ...] = (),
                 timeout: str = "3s", **options):
        self.name = name
        self._limit = limit
        self._output = Path(tempfile.mkdtemp()) / "result.json"
        command = [*prefix, TOOL, words[0], PEER, *words[1:], "--backend", "verbs", "--timeout",
                   timeout, "--format", "json", "--output", str(self._output)]
        self._begin = time.monotonic()
        self._terminal = Terminal(*command, **options)
        self._process = self._terminal.process

    def hit(self) -> None:
        """From here counts the time to the end. The second size is being measured."""
        try:
            self._terminal.wait_for("size 2 of 3")
        except AssertionError as error:
            self._wrong(f"before the fault {error}")
        self._begin = time.monotonic()

    def expect(self, status: int, *, error: str = "", peer: bool = True, sizes: int = 3) -> dict:
        """`sizes`: how many rows are there at least, all of them where the run succeeds."""
        watch = threading.Timer(self._limit + 5, self._process.kill)
        watch.start()
        errors = self._terminal.end()[2].rpartition("\x1b[K")[2]  # what follows the progress
        watch.cancel()
        seconds = time.monotonic() - self._begin
        print(f"{self.name}: {self._process.returncode} after {seconds:.1f} s"
              f"{': ' if errors else ''}{errors.strip()}", flush=True)
        if seconds > self._limit:
            self._wrong(f"it took {seconds:.1f} s, more than {self._limit} s")
        if self._process.returncode != status:
            self._wrong(f"it ended with {self._process.returncode} and not {status}")
        for pattern in ([PEER, error] if status and peer else [error]):
            if not re.search(pattern, errors):
                self._wrong(f"its error names no '{pattern}'")
        return self._document(status, sizes)

    def _document(self, status: int, sizes: int) -> dict:
        if sizes == 0:
            return {}
        try:
            document = json.loads(self._output.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            self._wrong(f"no result was written: {error}")
            return {"results": [], "suspicions": [], "resolved": {}}
        rows = document["results"]
        if [row["size_bytes"] for row in rows] != list(SIZES)[:len(rows)] or len(rows) < sizes:
            self._wrong(f"of the sizes {list(SIZES)} there are {[r['size_bytes'] for r in rows]}")
        if bool(document["error"]) != (status != 0):
            self._wrong(f"the error within the result is {document['error']!r}")
        return document

    def _wrong(self, text: str) -> None:
        print(f"FAILED: {self.name}: {text}", file=sys.stderr, flush=True)
        failures.append(self.name)


def check(name: str, holds: bool, text: str) -> None:
    if not holds:
        print(f"FAILED: {name}: {text}", file=sys.stderr, flush=True)
        failures.append(name)


def sh(line: str) -> None:
    subprocess.run(shlex.split(line), check=True)


@contextlib.contextmanager
def netem(what: str):
    """What this side sends suffers `what`, on the control channel too."""
    sh(f"tc qdisc add dev eth0 root netem {what}")
    try:
        yield
    finally:
        sh("tc qdisc del dev eth0 root")


def whole(kind: str, op: str, iterations: int) -> tuple[str, ...]:
    return (kind, "--op", op, "-s", "8,4K,64K", "-n", str(iterations), "--warmup", "4")


def long(kind: str, op: str) -> tuple[str, ...]:
    return (kind, "--op", op, "-s", "8,4K,64K", "-D", "3s", "--warmup", "4")


def suspects(document: dict) -> set[str]:
    return {found["code"] for found in document["suspicions"]}


def gaps(document: dict) -> int:
    return sum(counter["change"] or 0 for counter in document["counters"]["server"]
               if counter["name"] == "out_of_sequence_received")


def lossy_paths() -> None:
    """A guest that shares its CPU may answer late, which is a suspicion too; a gap within the
    sequence of packets only a lossy path makes."""
    name = "nothing wrong"
    document = Run(name, *whole("lat", "send", 50), limit=15).expect(0)
    check(name, gaps(document) == 0, f"{gaps(document)} gaps")

    # For ever is what 7 means to Soft-RoCE; any other count may be used up by a large message.
    for what, kind, op, count in (("loss 1%", "bw", "write", 200), ("loss 10%", "lat", "send", 50),
                                  ("delay 5ms reorder 5%", "bw", "write", 100)):
        with netem(what):
            document = Run(what, *whole(kind, op, count), "--retry-count", "7",
                           limit=40).expect(0)
        check(what, "retransmissions" in suspects(document), f"suspect of {suspects(document)}")
        check(what, gaps(document) > 0, "no gap was counted")

    name = "delay 50ms"
    with netem(name):
        document = Run(name, *whole("lat", "send", 10), limit=20).expect(0)
    for row in document["results"]:
        check(name, row["p50_ns"] >= 25e6, f"half a round trip took {row['p50_ns']} ns")


def broken_links(hands: Hands) -> None:
    run = Run("own link down for 2 s", *long("lat", "write"), limit=8)
    run.hit()
    sh("ip link set eth0 down")
    time.sleep(2)
    sh("ip link set eth0 up")
    run.expect(1, error="waiting for", sizes=1)
    hands.do("clean", "a client whose link was down")

    run = Run("wire cut for 2 s", *long("lat", "write"), "--qp-timeout", "17", timeout="10s",
              limit=25)
    run.hit()
    with netem("loss 100%"):
        time.sleep(2)
    run.expect(0)

    run = Run("own link down for good", *long("bw", "write"), limit=8)
    run.hit()
    sh("ip link set eth0 down")
    run.expect(1, error="waiting for", sizes=1)
    sh("ip link set eth0 up")
    hands.do("clean", "a client whose link was down")

    for kind, op in (("lat", "send"), ("bw", "send")):
        run = Run(f"wire cut for good, {kind} {op}", *long(kind, op), limit=8)
        run.hit()
        with netem("loss 100%"):
            run.expect(1, error="waiting for", sizes=1)
            time.sleep(1)
        hands.do("clean", "a client that was cut off")
    Run("after the wire", *whole("lat", "send", 20), limit=10).expect(0)


def broken_peers(hands: Hands) -> None:
    for kind, op in (("lat", "write"), ("bw", "send")):
        run = Run(f"server stopped, {kind} {op}", *long(kind, op), limit=8)
        run.hit()
        hands.do("stop")
        run.expect(1, error="waiting for", sizes=1)
        hands.do("continue")
        hands.do("clean", "a client that gave up")

        run = Run(f"server killed, {kind} {op}", *long(kind, op), limit=5)
        run.hit()
        hands.do("kill")
        run.expect(1, error="waiting for", sizes=1)
        hands.do("clean", "a killed server")
        Run("no server", *whole(kind, op, 20), limit=5).expect(1, error="refused", sizes=0)
        hands.do("start")
        Run("server restarted", *whole(kind, op, 20), limit=10).expect(0)


def limits() -> None:
    def lock_little() -> None:
        resource.setrlimit(resource.RLIMIT_MEMLOCK, (64 << 10, 64 << 10))

    # root may pass the limit unless it has lost that one capability.
    setpriv = ("setpriv", "--bounding-set=-ipc_lock", "--inh-caps=-ipc_lock")
    Run("memlock of 64 KiB", *whole("bw", "write", 20), limit=8, prefix=setpriv,
        preexec_fn=lock_little).expect(1, error=r"at the client: .*limited to 64 KiB.*ulimit -l", peer=False, sizes=0)

    name = "depth beyond the device"
    document = Run(name, *whole("bw", "send", 20), "--depth", "16384", "--qps", "4", limit=20).expect(0)
    reduced = document["resolved"].get("details", {}).get("reduced", "")
    check(name, "max_cqe" in reduced, f"reduced: {reduced!r}")
    for row in document["results"]:
        check(name, row["depth"] < 4 * 16384, f"the row says depth {row['depth']}")


def main() -> int:
    hands = Hands()
    hands.do("start")
    lossy_paths()
    broken_links(hands)
    broken_peers(hands)
    limits()
    hands.do("terminate")
    hands.do("clean", "all faults")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
