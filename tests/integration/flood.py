#!/usr/bin/env python3
"""Honest sessions of a server at which another address throws connections, 10,000 a second: half of the time they close
at once, half of the time they stay and say nothing.

Usage: flood.py RDMABENCH [--seconds N] [--rate N] [--limit SECONDS]. Ends with 1 when an honest session failed or took
--limit, or the server ended; with 77 when they were late and this machine does not make so many connections.
"""

import argparse
import collections
import contextlib
import multiprocessing
import socket
import struct
import sys
import time

import command

FROM = "127.0.0.2"
KEPT = 800  # more than may wait; a descriptor each
IP_BIND_ADDRESS_NO_PORT = 24  # the port is chosen by connect(2), among those free to this server


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tool")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--rate", type=float, default=10000, help="connections a second (%(default)s)")
    parser.add_argument("--limit", type=float, default=2, help="of an honest session (%(default)s s)")
    return parser.parse_args()


def attack(port: int, rate: float, kept: int) -> None:
    """Connects for ever, and keeps so many open."""
    open_ones: collections.deque = collections.deque()
    begin, made = time.monotonic(), 0
    while True:
        if made >= (time.monotonic() - begin) * rate:
            time.sleep(0.0005)
            continue
        one = socket.socket(socket.AF_INET, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
        one.setsockopt(socket.IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 1)
        one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # no TIME_WAIT
        one.bind((FROM, 0))
        one.connect_ex(("127.0.0.1", port))
        made += 1
        COUNT.value = made
        open_ones.append(one)
        while len(open_ones) > kept:
            open_ones.popleft().close()


@contextlib.contextmanager
def flood(port: str, rate: float, kept: int):
    attacker = multiprocessing.Process(target=attack, args=(int(port), rate, kept), daemon=True)
    attacker.start()
    try:
        yield
    finally:
        attacker.kill()
        attacker.join()


def honest(port: str, seconds: float, wrong: list[str]) -> list[float]:
    """How long one short session after the other takes."""
    times = []
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        begin = time.monotonic()
        done = command.run("lat", "127.0.0.1", "--port", port, "--backend", "ofi", "-n", "50", "--no-watch")
        times.append(time.monotonic() - begin)
        if done.returncode != 0:
            wrong.append(done.stderr.strip()[:300])
    return sorted(times)


COUNT = multiprocessing.Value("q", 0, lock=False)


def main() -> int:
    options = parse()
    command.TOOL = options.tool
    wrong: list[str] = []
    late: list[str] = []
    slow = False
    with command.server("--address", "127.0.0.1") as peer:
        quiet = honest(peer.port, 2, wrong)
        print(f"quiet: {quiet[len(quiet) // 2]:.2f} s")
        for name, kept in (("closing", 0), ("silent", KEPT)):
            begin = time.monotonic()
            with flood(peer.port, options.rate, kept):
                times = honest(peer.port, options.seconds / 2, wrong)
                rate = COUNT.value / (time.monotonic() - begin)
            slow = slow or rate < 0.9 * options.rate
            print(f"{name}: {rate:.0f} connections/s; {len(times)} honest sessions, "
                  f"median {times[len(times) // 2]:.2f} s, longest {times[-1]:.2f} s")
            if times[-1] >= options.limit:
                late.append(f"an honest session took {times[-1]:.1f} s beside the {name} connections")
        if peer.stop() != 0:
            wrong.append("the server did not end with 0")
    print("\n".join(wrong + late) or "nobody honest failed")
    if slow and late and not wrong:
        print(f"this machine does not make {options.rate:.0f} connections a second")
        return 77
    return 1 if wrong or late else 0


if __name__ == "__main__":
    sys.exit(main())
