#!/usr/bin/env python3
"""Many short sessions against one server: what does it hold after 100, 1,000 and 10,000?

By hand, for it takes minutes: soak.py RDMABENCH MANY_SESSIONS [--sessions N]
[--backend ofi --provider tcp | --backend verbs] [--host ADDRESS] [--jobs N]. Ends with 1 when
descriptors, threads or verbs objects grew after the first tenth, or memory by more than
`--bytes-each` (default 64) a session.
"""

import argparse
import collections
import subprocess
import sys
import time

import command


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tool")
    parser.add_argument("many_sessions")
    parser.add_argument("--sessions", type=int, default=10000)
    parser.add_argument("--backend", default="ofi")
    parser.add_argument("--provider", default="")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--jobs", type=int, default=8, help="clients at once (%(default)s)")
    parser.add_argument("--bytes-each", type=float, default=64)
    return parser.parse_args()


def verbs_objects(pid: int) -> dict:
    """How many of each kind the process holds, as the kernel counts them."""
    held = collections.Counter()
    for kind in ("pd", "cq", "qp", "mr", "cm_id"):
        shown = subprocess.run(["rdma", "resource", "show", kind], capture_output=True, text=True,
                               check=True).stdout
        held[kind] = shown.count(f" pid {pid} ")
    return dict(held)


def look(peer: command.Server, backend: str) -> dict:
    """Once the threads of all sessions have ended."""
    deadline = time.monotonic() + 10
    while peer.threads() > 3 and time.monotonic() < deadline:
        time.sleep(0.05)
    held = {"resident_kib": peer.resident_bytes() >> 10, "mappings": peer.mappings(),
            "descriptors": peer.descriptors(), "threads": peer.threads()}
    return held | (verbs_objects(peer.process.pid) if backend == "verbs" else {})


def run_sessions(options: argparse.Namespace, port: str, count: int, words: list[str]) -> None:
    """In `--jobs` processes at once. Raises when one fails."""
    shares = [count // options.jobs + (job < count % options.jobs) for job in range(options.jobs)]
    clients = [subprocess.Popen([options.many_sessions, options.host, port, str(share), *words])
               for share in shares if share > 0]
    failed = [client.args for client in clients if client.wait() != 0]
    if failed:
        raise RuntimeError(f"failed: {failed}")


def main() -> int:
    options = parse()
    command.TOOL = options.tool
    begin = time.monotonic()
    marks = sorted({max(1, options.sessions // part) for part in (100, 10, 2, 1)})
    words = [options.backend, *([options.provider] if options.provider else [])]
    seen = {}
    with command.server("--allow-provider", "any") as peer:
        for done, count in zip([0, *marks], marks):
            run_sessions(options, peer.port, count - done, words)
            peer.wait_lines(count)
            seen[count] = look(peer, options.backend)
            print(f"{' '.join(words)} after {count} sessions, {time.monotonic() - begin:.0f} s: "
                  f"{seen[count]}", flush=True)
        if peer.stop() != 0:
            return 1
    first = seen[marks[-3] if len(marks) > 2 else marks[0]]
    last = seen[marks[-1]]
    grown = [name for name in last if name not in ("resident_kib", "mappings")
             and last[name] > first[name]]
    each = (last["resident_kib"] - first["resident_kib"]) * 1024 / (marks[-1] * 0.9)
    print(f"{each:.0f} resident bytes a session; grown: {grown or 'nothing'}")
    return 1 if grown or each > options.bytes_each else 0


if __name__ == "__main__":
    sys.exit(main())
