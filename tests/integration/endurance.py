#!/usr/bin/env python3
"""Mixed sessions of one server, of which a random one is killed, stopped or cut off every second:
does an honest client keep its deadlines (--timeout) at every moment, and is nothing left at the end?

Usage: endurance.py RDMABENCH [--seconds N] [--backend ofi [--provider NAME] | --backend verbs]
[--host ADDRESS] [--clients N] [--seed N] [--starve]. Ends with 1 when an honest client failed, when the server
ended, or when its memory, descriptors, threads or verbs objects
are more at the end than after the first session. Cutting off takes pidfd_getfd(2): root, or the
same user where Yama allows it.

With --starve, in namespaces of its own: the clients of another address stop in the middle of an epoch, so that 256
threads of the server poll and find nothing. Ends with 1 when an honest client failed or took as long as --timeout.
"""

import argparse
import collections
import ctypes
import os
import pathlib
import random
import re
import signal
import socket
import subprocess
import sys
import threading
import time

import command
from soak import look

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "netns"))
import namespaces  # noqa: E402

PIDFD_GETFD = 438
DEADLINE = 10  # seconds: the default of --timeout
# glibc keeps a heap for each thread that there may be at once, and the provider may keep a descriptor.
MORE = {"resident_kib": 32 << 10, "mappings": 200, "descriptors": 1}
OPERATIONS = {"lat": ["send", "write", "read"], "bw": ["send", "write", "write-imm", "read"]}


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tool")
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--backend", default="ofi")
    parser.add_argument("--provider", default="", help="otherwise what a server offers to clients: not ofi_rxm (docs/limits.md)")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--clients", type=int, default=4, help="at once (%(default)s)")
    parser.add_argument("--seed", type=int, default=time.time_ns() % 1000000)
    parser.add_argument("--starve", action="store_true")
    return parser.parse_args()


def sockets_of(pid: int) -> list[socket.socket]:
    """Copies of the sockets of another process."""
    libc = ctypes.CDLL(None, use_errno=True)
    pidfd = os.pidfd_open(pid)
    found = []
    try:
        for name in os.listdir(f"/proc/{pid}/fd"):
            try:
                if not os.readlink(f"/proc/{pid}/fd/{name}").startswith("socket:"):
                    continue
            except FileNotFoundError:
                continue
            copy = libc.syscall(PIDFD_GETFD, pidfd, int(name), 0)
            if copy < 0:
                continue
            try:
                found.append(socket.socket(fileno=copy))
            except OSError:  # the number is another descriptor's by now
                os.close(copy)
    finally:
        os.close(pidfd)
    return found


def cut_off(pid: int, port: int) -> None:
    """Ends the connections of a client to the server's port, as a network would."""
    for one in sockets_of(pid):
        with one:
            try:
                if one.family in (socket.AF_INET, socket.AF_INET6) and one.getpeername()[1] == port:
                    one.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass  # not a connection, or it has ended


class Clients:
    """Processes that measure something random until something happens to them."""

    def __init__(self, options: argparse.Namespace, port: str):
        self.options = options
        self.port = port
        self.random = random.Random(options.seed)
        self.running: list[subprocess.Popen] = []
        self.stopped: list[tuple[float, subprocess.Popen]] = []
        self.counts: collections.Counter = collections.Counter()

    def words(self, test: str) -> list[str]:
        options = self.options
        words = [test, options.host, "--port", self.port, "--backend", options.backend]
        return words + (["--provider", options.provider] if options.provider else [])

    def start(self) -> None:
        test = self.random.choice(list(OPERATIONS))
        more = ["--op", self.random.choice(OPERATIONS[test]), "-D", self.random.choice(["100ms", "2s"]),
                "--size", self.random.choice(["8", "4K", "64K", "8,1K,32K"]), "--no-watch"]
        if test == "bw":
            more += self.random.choice([[], ["-b"], ["-q", "2"], ["--threads", "2"]])
        self.running.append(subprocess.Popen([command.TOOL, *self.words(test), *more],
                                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))

    def fill(self) -> None:
        for client in [one for one in self.running if one.poll() is not None]:
            self.counts["ended with 0" if client.returncode == 0 else "failed by themselves"] += 1
            self.running.remove(client)
        while len(self.running) < self.options.clients:
            self.start()

    def strike(self) -> None:
        """What happens to one of them. The stopped are killed after a while."""
        client = self.running.pop(self.random.randrange(len(self.running)))
        what = self.random.choice(["killed", "stopped", "cut off"])
        if client.poll() is None:
            self.counts[what] += 1
            if what == "cut off":
                cut_off(client.pid, int(self.port))
                self.stopped.append((time.monotonic() + 2, client))
            else:
                client.send_signal(signal.SIGKILL if what == "killed" else signal.SIGSTOP)
                self.stopped.append((time.monotonic() + 20, client))
        self.reap(time.monotonic())

    def reap(self, now: float) -> None:
        for entry in [one for one in self.stopped if one[0] <= now or one[1].poll() is not None]:
            entry[1].kill()
            entry[1].wait()
            self.stopped.remove(entry)

    def end(self) -> None:
        for client in self.running:
            client.kill()
            client.wait()
        self.reap(float("inf"))


class Honest(threading.Thread):
    """One short session after the other."""

    def __init__(self, words: list[str]):
        super().__init__()
        self.words = [*words, "-n", "50", "--no-watch"]
        self.over = threading.Event()
        self.times: list[float] = []
        self.failures: list[str] = []

    def run(self) -> None:
        while not self.over.wait(0.2):
            begin = time.monotonic()
            try:
                done = subprocess.run(self.words, capture_output=True, text=True, timeout=6 * DEADLINE, check=False)
                wrong = done.stderr.strip()[:300] if done.returncode != 0 else ""
            except subprocess.TimeoutExpired:
                wrong = "it did not end"
            self.times.append(time.monotonic() - begin)
            if wrong:
                self.failures.append(f"{self.times[-1]:.1f} s, {wrong}")


    def report(self) -> str:
        times = sorted(self.times)
        return f"{len(times)} honest sessions, median {times[len(times) // 2]:.2f} s, longest {times[-1]:.2f} s"


def words_at(node: int, test: str, port: str) -> list[str]:
    """A client on a node of the namespaces."""
    at = ["ip", "netns", "exec", f"node{node}", command.TOOL]
    return [*at, test, namespaces.address(0), "--port", port, "--backend", "ofi"]


def starve(seconds: float) -> int:
    namespaces.enter()
    namespaces.batch("ip", [f"link set port{node} up" for node in range(3)])
    for node in range(3):
        namespaces.batch("ip", ["link set eth0 up"], node)
    server = subprocess.Popen(["ip", "netns", "exec", "node0", command.TOOL, "serve", "--port", "0", "--max-idle", "15s"],
                              stderr=subprocess.PIPE, text=True)
    port = re.search(r"listening on .*:(\d+)", server.stderr.readline()).group(1)
    ended_for_idleness = 0
    spinning = 0

    def read() -> None:
        nonlocal ended_for_idleness
        for line in server.stderr:
            ended_for_idleness += "--max-idle" in line

    def threads() -> int:
        return len(os.listdir(f"/proc/{server.pid}/task"))

    reader = threading.Thread(target=read)
    reader.start()
    honest = Honest(words_at(2, "lat", port))
    honest.start()
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        idle = [subprocess.Popen([*words_at(1, "bw", port), "--threads", "64", "--timeout", "1m", "-D", "5m", "--no-watch"],
                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for _ in range(4)]
        time.sleep(5)  # until they measure
        for client in idle:
            client.send_signal(signal.SIGSTOP)
        spinning = max(spinning, threads())
        time.sleep(20)  # longer than --max-idle
        for client in idle:
            client.kill()
            client.wait()
    honest.over.set()
    honest.join()
    server.terminate()
    reader.join()
    wrong = [f"an honest client: {one}" for one in honest.failures[:5]]
    wrong += ["the server did not end with 0"] if server.wait() != 0 else []
    wrong += ["no session ended for its idleness"] if ended_for_idleness == 0 else []
    wrong += [f"{spinning} threads are none to starve others with"] if spinning < 100 else []
    wrong += ["an honest session took too long"] if max(honest.times) >= DEADLINE else []
    print(f"{spinning} threads of the server, {ended_for_idleness} sessions ended for their idleness; {honest.report()}")
    print("\n".join(wrong) or "nobody honest starved")
    return 1 if wrong else 0


def main() -> int:
    options = parse()
    command.TOOL = options.tool
    if options.starve:
        return starve(options.seconds)
    wrong = []
    with command.server(*(["--allow-provider", options.provider] if options.provider else [])) as peer:
        clients = Clients(options, peer.port)
        first = command.run(*clients.words("lat"), "-n", "50", "--no-watch")
        if first.returncode != 0:
            print(first.stderr)
            return 1
        before = look(peer, options.backend)
        honest = Honest([command.TOOL, *clients.words("lat")])
        honest.start()
        end = time.monotonic() + options.seconds
        while time.monotonic() < end and peer.process.poll() is None:
            clients.fill()
            time.sleep(1)  # this is the interval that is asked for
            clients.strike()
        clients.end()
        honest.over.set()
        honest.join()
        time.sleep(0 if peer.process.poll() is not None else DEADLINE + 2)  # sessions of the stopped
        if peer.process.poll() is not None:
            wrong.append(f"the server ended with {peer.process.returncode}")
        else:
            after = look(peer, options.backend)
            print(f"before: {before}\nafter:  {after}")
            wrong += [f"{name} grew" for name in after if after[name] > before[name] + MORE.get(name, 0)]
            if peer.stop() != 0:
                wrong.append("the server did not end with 0")
    print(f"seed {options.seed}, {options.seconds:.0f} s: {dict(clients.counts)}; {honest.report()}")
    wrong += [f"an honest client: {one}" for one in honest.failures[:5]]
    print("\n".join(wrong) or "nothing grew, nobody honest failed")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
