#!/usr/bin/env python3
"""64 and 200 clients of one server at once: does each get its share, and does the server hold what
it had? Usage: load.py RDMABENCH MANY_SESSIONS [--seconds N] [--clients N,N]

Each client is a process that runs session after session. The deadlines are 30 s instead of 10 s:
on two processors hundreds of clients wait for one another. Ends with 1 when a session fails, when
one client has more than twice the sessions of another, or when descriptors, threads or memory of
the server grow after a settling time.
"""

import argparse
import os
import subprocess
import sys
import time

import command


BASE_KIB = 16 << 10  # of memory that malloc(3) keeps for each thread that there may be


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tool")
    parser.add_argument("many_sessions")
    parser.add_argument("--seconds", type=float, default=45)
    parser.add_argument("--clients", default="64,200")
    return parser.parse_args()


def look(peer: command.Server) -> dict:
    """Once the threads of all sessions have ended."""
    deadline = time.monotonic() + 20
    while peer.threads() > 3 and time.monotonic() < deadline:  # its own, and those of signals and the log
        time.sleep(0.05)
    return {"resident_kib": peer.resident_bytes() >> 10, "descriptors": peer.descriptors(),
            "threads": peer.threads()}


def run_clients(options: argparse.Namespace, port: str, count: int, seconds: float,
                wrong: list[str]) -> list[int]:
    """The sessions of each client that did not fail."""
    words = [options.many_sessions, "127.0.0.1", port, "--seconds", str(seconds), "ofi", command.rdm_provider()]
    clients = [subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True) for _ in range(count)]
    for client in clients:
        client.stdout.readline()  # "ready"
    for client in clients:
        client.stdin.write("\n")
        client.stdin.flush()
    ended = [(client.communicate(timeout=seconds + 60), client.returncode) for client in clients]
    failed = [errors.strip() for (_, errors), code in ended if code != 0]
    if failed:
        wrong.append(f"{len(failed)} of {count} clients failed: {failed[:3]}")
    return [int(output) for (output, _), code in ended if code == 0] or [0]


def main() -> int:
    options = parse()
    command.TOOL = options.tool
    # Else each thread that there is at once may keep a heap of its own: that is no growth of ours.
    os.environ["MALLOC_ARENA_MAX"] = "2"
    wrong = []
    for count in map(int, options.clients.split(",")):
        with command.server("--max-clients", "256", "--max-address-clients", "256",
                            "--timeout", "30s") as peer:
            run_clients(options, peer.port, count, options.seconds / 4, wrong)
            first = look(peer)
            sessions = run_clients(options, peer.port, count, options.seconds * 3 / 4, wrong)
            last = look(peer)
            print(f"{count} clients: {sum(sessions)} sessions, {min(sessions)} to {max(sessions)} "
                  f"of each; {first}, then {last}", flush=True)
            if max(sessions) > 2 * (min(sessions) + 1):  # one may have been about to end
                wrong.append(f"{count} clients: {min(sessions)} to {max(sessions)} sessions of each")
            for name in ("descriptors", "threads"):
                if last[name] > first[name]:
                    wrong.append(f"{count} clients: {name} grew")
            if last["resident_kib"] > first["resident_kib"] + BASE_KIB:
                wrong.append(f"{count} clients: memory grew")
            if peer.stop() != 0:
                wrong.append("the server did not end with 0")
    print("\n".join(wrong) or "nothing grew, nothing failed")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
