#!/usr/bin/env python3
"""Our `lat` and `bw` over UCX and UCX's own ucx_perftest in turn on this machine, over tcp and posix, or over a device.

  bench/versus/ucx_perftest.py BUILD_DIR [--repetitions 7]
  tests/softroce/vm run --timeout 900 -- 'UCX_IB_GID_INDEX=2 bench/versus/ucx_perftest.py BUILD_DIR --transports rc,ud \
      --address $RDMABENCH_ADDRESS --device rxe0:1 --fewer 40'

Servers run on CPU 0 and clients on CPU 1. ucx_perftest (Debian: ucx-utils) has error handling (-e), as ours. Its median is of its last
2,048 messages. Its bandwidth ends when what it sent may be used again, ours when the target has counted. Prints tab-separated lines;
the ratio is ours / ucx_perftest: of latency below 1 is better, of bandwidth above.
"""

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import time
from pathlib import Path

LIMIT_S = 120
PEER_PORT = "18541"
# name, test of ucx_perftest, our command, size, messages
CASES = (
    ("send lat 8 B, median", "tag_lat", ("lat", "--op", "send"), 8, 20000),
    ("send lat 64 KiB, median", "tag_lat", ("lat", "--op", "send"), 65536, 2000),
    ("send bw 64 KiB", "tag_bw", ("bw", "--op", "send", "--depth", "32"), 65536, 5000),
    ("send bw 1 MiB", "tag_bw", ("bw", "--op", "send", "--depth", "32"), 1 << 20, 500),
    ("send rate 8 B", "tag_bw", ("bw", "--op", "send", "--depth", "32"), 8, 200000),
    # ucx_perftest leaves short active messages where they came; ours are copied into the receive.
    ("active send lat 8 B, median", "ucp_am_lat", ("lat", "--op", "send", "-c", "am"), 8, 20000),
    ("active send bw 64 KiB", "ucp_am_bw", ("bw", "--op", "send", "-c", "am", "--depth", "32"), 65536, 5000),
)


def pinned(cpu: int, *command) -> list[str]:
    return ["taskset", "-c", str(cpu), *map(str, command)]


def run_peer(place: argparse.Namespace, transport: str, test: str, size: int, messages: int) -> tuple[float, float]:
    environment = {**os.environ, "UCX_TLS": transport, "UCX_MM_ERROR_HANDLING": "y", "UCX_WARN_UNUSED_ENV_VARS": "n"}
    if place.device:
        environment["UCX_NET_DEVICES"] = place.device
    with subprocess.Popen(pinned(0, "ucx_perftest", "-p", PEER_PORT, "-e"), env=environment, stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL) as server:
        try:
            time.sleep(0.5)  # it has no way to say that it listens, and serves the first who connects
            command = ["ucx_perftest", place.address, "-p", PEER_PORT, "-e", "-t", test, "-s", size, "-n", messages,
                       "-w", max(messages // 10, 10), "-O", 32, "-f", "-v"]
            done = subprocess.run(pinned(1, *command), env=environment, text=True, capture_output=True, timeout=LIMIT_S, check=True)
        finally:
            server.terminate()
    values = done.stdout.splitlines()[-1].split(",")
    return float(values[1]), float(values[5]) * (1 << 20) * 8 / 1e9  # us; MB/s of 2^20 bytes to Gb/s


def run_ours(place: argparse.Namespace, port: str, transport: str, words: tuple[str, ...], size: int,
             messages: int) -> tuple[float, float]:
    device = ("--device", place.device) if place.device else ()
    done = subprocess.run(
        pinned(1, place.build_dir / "tools/rdmabench", words[0], place.address, "--port", port, "--backend", "ucx",
               "--ucx-tls", transport, *device, *words[1:],
               "--size", size, "-n", messages, "--warmup", max(messages // 10, 10), "--format", "json", "--no-watch"),
        text=True, capture_output=True, timeout=LIMIT_S, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{transport} {words} {size}: {done.stderr}")
    row = json.loads(done.stdout)["results"][0]
    # A ping-pong is half a round trip in both. Reads and writes are left out: ucx_perftest has its memory from UCX.
    return (row.get("p50_ns") or 0) / 1e3, (row.get("bits_per_s") or 0) / 1e9


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build_dir", type=Path)
    parser.add_argument("--repetitions", type=int, default=7)
    parser.add_argument("--only", default="", help="cases whose name and transport have this text")
    parser.add_argument("--transports", default="tcp,posix", help="of UCX_TLS [%(default)s]")
    parser.add_argument("--address", default="127.0.0.1", help="of this machine [%(default)s]")
    parser.add_argument("--device", default="", help="of UCX_NET_DEVICES")
    parser.add_argument("--fewer", type=int, default=1, help="so many times fewer messages [%(default)s]")
    options = parser.parse_args()
    program = options.build_dir / "tools/rdmabench"
    print("case\tunit\tours\tucx_perftest\tratio\tours min..max\tucx_perftest min..max")
    with subprocess.Popen(pinned(0, program, "serve", "--address", options.address, "--port", "0", "--allow-provider", "ucx"),
                          stderr=subprocess.PIPE, text=True) as server:
        port = re.search(r":(\d+)$", server.stderr.readline().strip()).group(1)
        try:
            for transport in options.transports.split(","):
                for name, test, words, size, messages in CASES:
                    if options.only not in f"{name} over {transport}":
                        continue
                    which = 0 if words[0] == "lat" else 1
                    messages = max(messages // options.fewer, 50)
                    ours, theirs = [], []
                    for _ in range(options.repetitions):
                        ours.append(run_ours(options, port, transport, words, size, messages)[which])
                        theirs.append(run_peer(options, transport, test, size, messages)[which])
                    mine, peer = statistics.median(ours), statistics.median(theirs)
                    print(f"{name} over {transport}", "us" if which == 0 else "Gb/s", f"{mine:.4g}", f"{peer:.4g}",
                          f"{mine / peer:.3f}", *(f"{min(v):.4g}..{max(v):.4g}" for v in (ours, theirs)), sep="\t", flush=True)
        finally:
            server.terminate()
            server.stderr.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
