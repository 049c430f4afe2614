"""The matrix of matrix.sh: every operation over every transport in every shape, run or refused.

    matrix.py refused RDMABENCH HOST PORT   what verbs forbids; no server may run
    matrix.py run RDMABENCH HOST PORT FOLDER   all else, and single options; prints docs/matrix.md

A cell that runs must be validated, complete, and with the requested options. A cell that verbs
forbids must end with exit code 2 and an error that names it, while no server runs.
"""

import itertools
import json
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

SENDS = ("send", "send-imm")
WRITES = ("write", "write-imm")
ATOMICS = ("fetch-add", "compare-swap")
EXTENDED = ("atomic-write", "flush")  # the guest's Soft-RoCE has neither; extended_test takes them


def operations(program: str) -> tuple[str, ...]:
    """All that the command knows, but EXTENDED: what is new is tried over every transport."""
    script = subprocess.run([program, "completion", "bash"], capture_output=True, text=True, check=True).stdout
    words = re.search(r"--op\) words='([^']+)'", script.partition("    lat)")[2])
    return tuple(word for word in words[1].split() if word not in EXTENDED)


OPERATIONS = operations(sys.argv[2])
TRANSPORTS = ("rc", "rc by rdma_cm", "uc", "ud")
CARRIED = {"rc": OPERATIONS, "rc by rdma_cm": OPERATIONS, "uc": (*SENDS, *WRITES),
           "ud": SENDS}
SHAPES = {"latency": ["lat"], "bandwidth": ["bw"], "bidirectional": ["bw", "-b"]}
WAITS = {"poll": [], "events": ["-e"]}
QUEUE_PAIRS = (1, 4)
ITERATIONS = 40
AT_ONCE = 2  # most of a run is the start of its process, and nothing here is a measurement
FAILED, USAGE, UNAVAILABLE = 1, 2, 3


class Cell:
    def __init__(self, operation: str, transport: str, shape: str, wait: str, queue_pairs: int):
        self.key = (operation, transport, shape, wait, queue_pairs)
        self.operation, self.transport, self.shape, self.wait = operation, transport, shape, wait
        self.queue_pairs = queue_pairs

    def arguments(self) -> list[str]:
        way = ["-c", "rc", "-R"] if "rdma_cm" in self.transport else ["-c", self.transport]
        size = [] if self.operation in ATOMICS else ["-s", "64"]
        return [*SHAPES[self.shape], "--op", self.operation, *way, *WAITS[self.wait], "-q",
                str(self.queue_pairs), *size]

    def forbidden(self) -> list[str]:
        """What the refusal must name, or nothing where verbs has it."""
        if self.operation not in CARRIED[self.transport]:
            return [f"--op {self.operation} over {self.transport}"]
        if (self.shape, self.operation, self.wait) == ("latency", "write", "events"):
            return ["--op write", "--events"]
        return []


CELLS = [Cell(*key) for key in itertools.product(OPERATIONS, TRANSPORTS, SHAPES, WAITS,
                                                 QUEUE_PAIRS)]


class Runner:
    def __init__(self, program: str, host: str, port: str):
        self.program = program
        device = os.environ.get("RDMABENCH_DEVICE")
        self.after = [host, "--port", port, "--backend", "verbs", "--format", "json",
                      *(["--device", device] if device else [])]

    def __call__(self, arguments: list[str]) -> subprocess.CompletedProcess:
        command = [self.program, arguments[0], *self.after, "--no-watch", *arguments[1:]]
        try:
            return subprocess.run(command, capture_output=True, text=True, check=False, timeout=40)
        except subprocess.TimeoutExpired:
            return subprocess.CompletedProcess(command, 124, "", "no end in 40 s")


def measured(run: Runner, arguments: list[str], faults: list[str]) -> dict:
    """The report of a run that must succeed; what is wrong with it goes to `faults`."""
    ended = run(arguments)
    if ended.returncode != 0:
        faults.append(f"exit code {ended.returncode}: {ended.stderr.strip()}")
        return {}
    try:
        report = json.loads(ended.stdout)
    except json.JSONDecodeError as error:
        faults.append(f"no JSON: {error}")
        return {}
    if report["error"] is not None:
        faults.append(f"error: {report['error']}")
    if not report["results"]:
        faults.append("no result")
    for row in report["results"]:
        if row["validated"] is not ("--validate" in arguments):
            faults.append(f"validated: {row['validated']}")
        if row.get("lost"):
            faults.append(f"lost {row['lost']}")
        figure = row["bits_per_s"] if arguments[0] == "bw" else row["p50_ns"]
        if not figure > 0:
            faults.append(f"figure {figure}")
    return report


def faults_of(run: Runner, cell: Cell) -> list[str]:
    faults: list[str] = []
    report = measured(run, [*cell.arguments(), "--validate", "-n", str(ITERATIONS), "--warmup",
                            "4"], faults)
    if not report or not report["results"]:
        return faults
    row, config = report["results"][0], report["config"]
    shapes = {"latency": None, "bandwidth": "one_way", "bidirectional": "both_ways"}
    wanted = {
        "iterations": (row["iterations"], ITERATIONS),
        "operation": (row["operation"], cell.operation),
        "direction": (row.get("direction"), shapes[cell.shape]),
        "queue pairs": (config["queue_pairs"], cell.queue_pairs),
        "events": (config["events"], cell.wait == "events"),
        "rdma_cm": (config.get("rdma_cm", False), "rdma_cm" in cell.transport),
        "transport": (report["resolved"]["transport"], cell.transport[:2]),
    }
    if cell.operation in ATOMICS:
        wanted["succeeded"] = (row["succeeded"], ITERATIONS)
    faults += [f"{name}: {got}, not {due}" for name, (got, due) in wanted.items() if got != due]
    return faults


def detail(report: dict, name: str) -> str:
    return str(report["resolved"]["details"].get(name, ""))


def singles(folder: Path) -> list[tuple[list[str], object]]:
    """Options beside the matrix, and what a report must show for each (None: that it succeeds)."""
    file = folder / "memory"
    file.write_bytes(bytes(1 << 20))
    checked = ["--validate", "-n", "40", "--warmup", "4"]
    small = ["-s", "64", *checked]
    path = ["--tclass", "96", "--hop-limit", "5", "--qp-timeout", "12", "--retry-count", "3",
            "--rnr-timer", "10"]
    return [
        (["bw", "--srq", "-q", "4", *small], lambda r: r["config"]["shared_receives"]),
        (["bw", "--srq", "-c", "ud", *small], lambda r: r["config"]["shared_receives"]),
        (["bw", "-b", "--separate-cqs", *small], lambda r: r["config"]["separate_queues"]),
        (["bw", "--post-list", "16", *small], lambda r: r["config"]["post_list"] == 16),
        (["bw", "-b", "--op", "write", "--post-list", "16", "-q", "4", *small],
         lambda r: r["config"]["post_list"] == 16),
        *((["bw", "--op", operation, "--mr-per-qp", "-q", "4", *small],
           lambda r: len(set(detail(r, "rkey").split(","))) == len(set(detail(r, "remote_rkey").split(","))) == 4)
          for operation in ("send", "write", "read")),
        (["bw", "--op", "write", "--sge", "3", *small], lambda r: r["config"]["segments"] == 3),
        (["lat", "--sge", "3", *small], lambda r: r["config"]["segments"] == 3),
        (["bw", "-c", "ud", "--peers", "4", *small], lambda r: r["config"]["queue_pairs"] == 4),
        (["bw", "--op", "read", "--outstanding", "1", *small], None),
        (["bw", "--op", "fetch-add", "--outstanding", "1", "-q", "4", *checked], None),
        (["lat", *path, *small], None),
        (["lat", *path, "-R", *small], None),
        (["bw", "-m", "1024", "-s", "64K", *checked], lambda r: detail(r, "mtu") == "1024"),
        (["bw", "--misalign", "8", *small], None),
        (["bw", "--op", "compare-swap", "--misalign", "8", *checked], None),
        (["bw", "--op", "write", "--working-set", "1M", "--stride", "128", *small],
         lambda r: r["config"]["working_set_bytes"] == 1 << 20),
        (["bw", "--threads", "2", *small], lambda r: r["config"]["threads"] == 2),
        (["lat", "--threads", "2", "-q", "2", *small], lambda r: r["config"]["threads"] == 2),
        (["bw", "--rate", "5k", *small],
         lambda r: r["results"][0]["messages_per_s"] < 5500),
        (["bw", "--interval", "50ms", "-D", "300ms", "-s", "64", "--validate"],
         lambda r: len(r["results"][0]["intervals"]) > 1),
        (["lat", "-s", "1:4K", *checked], lambda r: len(r["results"]) == 13),
        (["load", "-D", "200ms", "-s", "64"],
         lambda r: len(r["results"]) > 10 and all(w["iterations"] > 0 for w in r["results"])),
        (["load", "-D", "200ms", "-s", "64", "--op", "write-imm", "--rate", "500", "--validate"],
         lambda r: r["results"][0]["achieved_messages_per_s"] > 0),
        (["lat", "--target-idle", "--op", "write", "-s", "64", "-n", "40"],
         lambda r: r["results"][0]["kind"] == "completion"),
        (["lat", "--target-idle", "--op", "fetch-add", "-n", "40"],
         lambda r: r["results"][0]["succeeded"] is None),
        (["bw", "--memory", "huge", *small], lambda r: r["config"]["memory"] == "huge"),
        (["bw", "--memory", f"file:{file}", *small],
         lambda r: r["config"]["memory"].startswith("file:")),
        (["lat", "--inline", "4K", "-s", "4K", *checked],
         lambda r: "inline 4096 reduced to" in detail(r, "reduced")),
        (["bw", "--depth", "16384", *small], lambda r: r["config"]["depth"] == 16384),
        (["bw", "-b", "--op", "read", "--depth", "16384", "-q", "2", "-s", "64", "-n", "40"], None),
    ]


def run_singles(run: Runner, folder: Path) -> tuple[list[str], int]:
    passed, bad = [], 0
    for arguments, shows in singles(folder):  # one by one: some of them are held to a rate
        faults: list[str] = []
        report = measured(run, arguments, faults)
        if not faults and shows is not None and not shows(report):
            report.pop("environment")
            faults.append(f"not what was asked for: {json.dumps(report)}")
        words = " ".join(arguments).replace(f"{folder}/", "")
        if faults:
            bad += 1
            print(f"FAILED: {words}: {'; '.join(faults)}", file=sys.stderr)
        else:
            passed.append(f"- `{words}`")
    return passed, bad


def check_refusals(run: Runner) -> int:
    bad = 0
    refused = [cell for cell in CELLS if cell.forbidden()]
    commands = [[*cell.arguments(), "--validate", "-n", str(ITERATIONS)] for cell in refused]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        endings = list(pool.map(run, commands))
    for cell, ended in zip(refused, endings):
        named = all(word in ended.stderr for word in cell.forbidden())
        if ended.returncode != USAGE or not named or ended.stdout:
            bad += 1
            print(f"FAILED: {cell.key}: exit code {ended.returncode}: {ended.stderr}",
                  file=sys.stderr)
    print(f"refused by name, with no server there: {len(refused) - bad} of {len(refused)}")
    return bad


def table(failed: set) -> list[str]:
    columns = list(itertools.product(SHAPES, WAITS, QUEUE_PAIRS))
    names = ["lat", "bw", "bw -b"]
    heads = [f"{names[list(SHAPES).index(shape)]}{' -e' if wait == 'events' else ''} -q {pairs}"
             for shape, wait, pairs in columns]
    lines = ["| operation | transport | " + " | ".join(heads) + " |",
             "|---|---|" + "---|" * len(heads)]
    cells = {cell.key: cell for cell in CELLS}
    for operation, transport in itertools.product(OPERATIONS, TRANSPORTS):
        keys = [(operation, transport, *column) for column in columns]
        words = ["refused" if cells[key].forbidden() else "FAILED" if key in failed else "ok"
                 for key in keys]
        lines.append(f"| {operation} | {transport} | " + " | ".join(words) + " |")
    return lines


def run_all(run: Runner, folder: Path) -> int:
    failed = set()
    due = [cell for cell in CELLS if not cell.forbidden()]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for cell, faults in zip(due, pool.map(lambda cell: faults_of(run, cell), due)):
            if faults:
                failed.add(cell.key)
                print(f"FAILED: {cell.key}: {'; '.join(faults)}", file=sys.stderr, flush=True)
    passed, bad = run_singles(run, folder)
    ended = run(["bw", "-c", "xrc", "-n", "40"])
    # Exit code 3 where this side finds out first, 1 where the server does.
    lacking = ended.returncode in (FAILED, UNAVAILABLE) and "IBV_DEVICE_XRC" in ended.stderr
    if ended.returncode != 0 and not lacking:
        bad += 1
        print(f"FAILED: xrc: exit code {ended.returncode}: {ended.stderr}", file=sys.stderr)
    print("\n".join(table(failed)))
    print(f"\n{len(due) - len(failed)} cells ran validated, {len(failed)} failed, "
          f"{len(CELLS) - len(due)} are refused.\n\nAlso run:\n")
    print("\n".join(passed))
    print(f"\nXRC: {'not supported by this device; the error says so' if lacking else 'runs'}.")
    return bad + len(failed)


def main() -> int:
    what, program, host, port = sys.argv[1:5]
    run = Runner(program, host, port)
    bad = check_refusals(run) if what == "refused" else run_all(run, Path(sys.argv[5]))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
