#!/usr/bin/env python3
"""Our command and Debian's perftest in turn on one RDMA device, and the ratio. Bandwidths are compared
by their medians, latencies by their lower quartiles: there both tools fall into two modes.

  tests/softroce/vm run --timeout 600 -- bench/versus/perftest_vm.py BUILD_DIR
  tests/softroce/vm run -- bench/versus/perftest_vm.py            perftest alone

Servers run on CPU 0 and clients on the last one: two programs that spin on one CPU would measure
the scheduler. Prints TSV; the ratio is ours / perftest, so below 1 is better for latency.
"""

import argparse
import json
import math
import os
import re
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

LIMIT_S = "60"  # of every process
PERFTEST_PORT, OUR_PORT = 18520, 18530
MIB = 1 << 20
# Unit: the column of perftest's result line, our JSON key, and what one of ours is in this unit.
UNITS = {"us": (4, "p50_ns", 1e-3), "MiB/s": (3, "bits_per_s", 1 / 8 / MIB),
         "Mpps": (4, "messages_per_s", 1e-6)}


@dataclass
class Case:
    kind: str  # lat or bw
    op: str
    size: int
    iterations: int
    unit: str

    @property
    def name(self) -> str:
        return f"{self.op} {self.kind} {self.size} B"

    @property
    def perftest(self) -> list:
        """Its tool, with the atomic it should do; an atomic is of 8 bytes there and has no -s."""
        if self.op in ATOMICS:
            return [f"ib_atomic_{self.kind}", "-A", ATOMICS[self.op]]
        return [f"ib_{self.op}_{self.kind}", "-s", self.size]


ATOMICS = {"fetch-add": "FETCH_AND_ADD", "compare-swap": "CMP_AND_SWAP"}
OPERATIONS = ("write", "read", "send")
CASES = [*(Case("lat", op, 8, 2000, "us") for op in (*OPERATIONS, *ATOMICS)),
         *(Case("bw", op, 65536, 500, "MiB/s") for op in OPERATIONS),
         *(Case("bw", op, 4096, 2000, "MiB/s") for op in OPERATIONS),
         *(Case("bw", op, 64, 5000, "Mpps") for op in OPERATIONS)]


class Failed(Exception):
    pass


def pinned(cpu: int, *command) -> list[str]:
    return ["taskset", "-c", str(cpu), "timeout", "--foreground", LIMIT_S, *map(str, command)]


def client(*command) -> str:
    done = subprocess.run(pinned(os.cpu_count() - 1, *command), capture_output=True, text=True,
                          check=False)
    if done.returncode != 0:
        raise Failed(f"{' '.join(map(str, command))}: exit status {done.returncode}: {done.stderr}")
    return done.stdout


def wait_until_listening(port: int, server: subprocess.Popen) -> None:
    """Without connecting, because perftest's server serves the first connection and ends."""
    listening = re.compile(rf":{port:04X} \S+ 0A ")
    while not any(listening.search(Path("/proc/net", name).read_text(encoding="ascii"))
                  for name in ("tcp", "tcp6")):
        if server.poll() is not None:
            raise Failed(f"the server on port {port} ended with {server.returncode}")
        time.sleep(0.05)


def device_and_gid() -> tuple[str, int]:
    """The device and the index of its first RoCE GID made of an IPv4 address."""
    for gid in sorted(Path("/sys/class/infiniband").glob("*/ports/1/gids/*")):
        if ":0000:ffff:" in gid.read_text(encoding="ascii"):
            return gid.parts[4], int(gid.name)
    raise Failed("no RDMA device has an IPv4 GID")


def run_perftest(case: Case, address: str) -> float:
    device, gid = device_and_gid()
    command = [*case.perftest, "-d", device, "-x", gid, "-F", "-p", PERFTEST_PORT,
               "-n", case.iterations]
    with subprocess.Popen(pinned(0, *command), stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL) as server:
        try:
            wait_until_listening(PERFTEST_PORT, server)
            output = client(*command, address)
        finally:
            server.terminate()
    for line in output.splitlines():
        words = line.split()
        if words[:2] == [str(case.size), str(case.iterations)]:
            return float(words[UNITS[case.unit][0]])
    raise Failed(f"perftest printed no result:\n{output}")


def run_ours(case: Case, address: str, program: Path) -> float:
    output = client(program, case.kind, address, "--port", OUR_PORT, "--backend", "verbs", "--op",
                    case.op, "--size", case.size, "--iterations", case.iterations,
                    "--format", "json")
    _, key, scale = UNITS[case.unit]
    return json.loads(output)["results"][0][key] * scale


def repeated(measure, case: Case, *arguments) -> float:
    """One usable value. perftest's guess of the clock rate fails at times, and it prints inf."""
    for _ in range(5):
        value = measure(case, *arguments)
        if math.isfinite(value) and value > 0:
            return value
        print(f"{measure.__name__} {case.name}: {value}, once more", file=sys.stderr)
    raise Failed(f"{measure.__name__} {case.name}: no usable value in 5 runs")


def typical(case: Case, values: list) -> float:
    if case.kind == "bw" or len(values) < 4:
        return statistics.median(values)
    return statistics.quantiles(values, n=4, method="inclusive")[0]


def perftest_alone(address: str, repetitions: int, cases: list) -> None:
    for case in cases:
        values = [repeated(run_perftest, case, address) for _ in range(repetitions)]
        print(f"{case.name}\t{typical(case, values):.6g}\t{case.unit}", flush=True)


def compare(address: str, repetitions: int, cases: list, program: Path) -> None:
    print("case\tunit\tours\tperftest\tratio\tours min..max\tperftest min..max")
    with subprocess.Popen(["taskset", "-c", "0", program, "serve", "--port", str(OUR_PORT)],
                          stderr=subprocess.DEVNULL) as server:
        try:
            wait_until_listening(OUR_PORT, server)
            for case in cases:
                ours, theirs = [], []
                for _ in range(repetitions):
                    ours.append(repeated(run_ours, case, address, program))
                    theirs.append(repeated(run_perftest, case, address))
                both = typical(case, ours), typical(case, theirs)
                print(case.name, case.unit, *(f"{one:.6g}" for one in both),
                      f"{both[0] / both[1]:.3f}",
                      *(f"{min(v):.6g}..{max(v):.6g}" for v in (ours, theirs)),
                      sep="\t", flush=True)
        finally:
            server.terminate()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build_dir", nargs="?", type=Path)
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--kind", choices=("lat", "bw"), help="these cases alone")
    options = parser.parse_args()
    cases = [case for case in CASES if options.kind in (None, case.kind)]
    address = os.environ.get("RDMABENCH_ADDRESS")
    try:
        if not address:
            raise Failed("set RDMABENCH_ADDRESS to the RDMA device's address, as `vm run` does")
        if options.build_dir:
            compare(address, options.repetitions, cases, options.build_dir / "tools/rdmabench")
        else:
            perftest_alone(address, options.repetitions, cases)
    except Failed as error:
        print(f"perftest_vm: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
