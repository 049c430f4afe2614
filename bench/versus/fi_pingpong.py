#!/usr/bin/env python3
"""Our `lat --op send` and libfabric's fi_pingpong in turn over tcp on this machine's loopback.

  bench/versus/fi_pingpong.py BUILD_DIR [--repetitions 7]

Servers run on CPU 0 and clients on CPU 1. fi_pingpong knows only the mean, so means are compared; ours has
200 messages of warm-up before it, fi_pingpong's 20,000 messages make up for the want of one. Prints
tab-separated lines; the ratio is ours / fi_pingpong, so below 1 is better.
"""

import argparse
import json
import re
import statistics
import subprocess
import sys
import time
from pathlib import Path

ITERATIONS = 20000
LIMIT_S = 60
SIZES = (8, 65536)
PEER_PORT = "18540"


def pinned(cpu: int, *command) -> list[str]:
    return ["taskset", "-c", str(cpu), *map(str, command)]


def run_peer(size: int) -> float:
    iterations = ITERATIONS if size < 4096 else ITERATIONS // 10
    command = ["fi_pingpong", "-p", "tcp", "-e", "rdm", "-I", iterations, "-S", size]
    with subprocess.Popen(pinned(0, *command, "-B", PEER_PORT), stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL) as server:
        try:
            time.sleep(0.5)  # it has no way to say that it listens, and serves the first who connects
            done = subprocess.run(pinned(1, *command, "-P", PEER_PORT, "127.0.0.1"), text=True,
                                  capture_output=True, timeout=LIMIT_S, check=True)
        finally:
            server.terminate()
    # bytes #sent #ack total time MB/sec usec/xfer Mxfers/sec
    return float(done.stdout.splitlines()[-1].split()[6])


def run_ours(size: int, program: Path, port: str) -> tuple[float, float]:
    iterations = ITERATIONS if size < 4096 else ITERATIONS // 10
    done = subprocess.run(
        pinned(1, program, "lat", "127.0.0.1", "--port", port, "--backend", "ofi", "--provider",
               "tcp", "--op", "send", "--size", size, "-n", iterations, "--format", "json"),
        text=True, capture_output=True, timeout=LIMIT_S, check=True)
    row = json.loads(done.stdout)["results"][0]
    return row["mean_ns"] / 1e3, row["p50_ns"] / 1e3


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build_dir", type=Path)
    parser.add_argument("--repetitions", type=int, default=7)
    options = parser.parse_args()
    program = options.build_dir / "tools/rdmabench"
    print("case\tunit\tours\tfi_pingpong\tratio\tours min..max\tfi_pingpong min..max\tours p50")
    # libfabric 1.17's tcp needs the option (docs/limits.md).
    with subprocess.Popen(pinned(0, program, "serve", "--address", "127.0.0.1", "--port", "0", "--allow-provider", "tcp"),
                          stderr=subprocess.PIPE, text=True) as server:
        port = re.search(r":(\d+)$", server.stderr.readline().strip()).group(1)
        try:
            for size in SIZES:
                ours, medians, theirs = [], [], []
                for _ in range(options.repetitions):
                    mean, p50 = run_ours(size, program, port)
                    ours.append(mean)
                    medians.append(p50)
                    theirs.append(run_peer(size))
                mine, peer = statistics.median(ours), statistics.median(theirs)
                print(f"send lat {size} B over tcp, mean", "us", f"{mine:.4g}", f"{peer:.4g}",
                      f"{mine / peer:.3f}", *(f"{min(v):.4g}..{max(v):.4g}" for v in (ours, theirs)),
                      f"{statistics.median(medians):.4g}", sep="\t", flush=True)
        finally:
            server.terminate()
            server.stderr.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
