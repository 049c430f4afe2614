"""rdmabench fabric with several processes of this machine, over libfabric's tcp; and what becomes
of it when one is killed, stopped, or never comes.

fabric.py RDMABENCH SCHEMA
"""

import contextlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import command
import jsonschema
from command import free_port

SCHEMA = None  # a validator
# Short cells: eight processes that spin share what cores this machine has.
QUICK = ("--provider", "tcp", "-n", "20", "-s", "4K", "--timeout", "8s")


class Ranks:
    """One process for each rank, by the environment that torchrun gives."""

    def __init__(self, size: int, *words: str, missing: tuple = ()):
        self.size = size
        port = free_port()
        self.processes = {}
        for rank in range(size):
            if rank in missing:
                continue
            self.processes[rank] = subprocess.Popen(
                [command.TOOL, "fabric", *words], env=command.rank_of(rank, size, "127.0.0.1", port),
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def result(self, timeout: float = 150) -> tuple[int, str, str]:
        output, errors = self.processes[0].communicate(timeout=timeout)
        return self.processes[0].returncode, output, errors

    def codes(self, timeout: float = 30) -> dict[int, int]:
        return {rank: process.wait(timeout) for rank, process in self.processes.items()}

    def kill_all(self) -> None:
        for process in self.processes.values():
            with contextlib.suppress(ProcessLookupError):
                process.kill()
        for process in self.processes.values():
            process.wait()
            for stream in (process.stdout, process.stderr):
                stream.close()


@contextlib.contextmanager
def ranks(size: int, *words: str, missing: tuple = ()):
    started = Ranks(size, *words, missing=missing)
    try:
        yield started
    finally:
        started.kill_all()


def pairs(found: dict, good: bool = True) -> set:
    return {(m["sender"], m["receiver"]) for m in found["measurement"]
            if not m["confirming"] and (m["error"] is None) == good}


def wait_for_rounds(path: pathlib.Path, rounds: int, timeout: float = 90) -> None:
    """Until so many rounds are in the file."""
    deadline = time.monotonic() + timeout
    while time.monotonic() < deadline:
        if path.exists():
            done = {json.loads(line)["round"] for line in path.read_text().splitlines()
                    if '"measurement"' in line and line.endswith("}")}
            if len(done) >= rounds:
                return
        time.sleep(0.02)
    raise AssertionError(f"{rounds} rounds did not come")


class Whole(unittest.TestCase):

    def test_what_is_required_and_was_not_taken_fails_every_pair_by_name(self):
        with ranks(2, *QUICK, "--format", "json", "--require", "provider=verbs;ofi_rxm") as started:
            code, output, errors = started.result()
            self.assertEqual(code, 1, errors)
            found = command.records(output, SCHEMA)
            for one in found["measurement"]:
                self.assertRegex(one["error"], "--require.*|requirements.*")
                self.assertIn("The provider of tcp", one["error"])

    def test_a_topology_without_a_host_of_the_run_is_told_before_anything_is_measured(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, "net.csv")
            file.write_text("node,leaf\nelsewhere,1\n")
            with ranks(2, *QUICK, "--topology", str(file)) as started:
                code, output, errors = started.result()
                self.assertEqual(code, 2, errors)
                self.assertIn("which the topology lacks", errors)
                self.assertEqual(output, "")
                self.assertNotIn(None, started.codes().values())

    def test_every_pair_is_measured_both_ways(self):
        with ranks(4, *QUICK, "--format", "json", "--no-confirm", "--expect", "bw>=1kb/s",
                   "--expect", "p50<=1ns") as started:
            code, output, errors = started.result()
            found = command.records(output, SCHEMA)
            self.assertEqual(code, 1, errors)
            self.assertEqual([(one["expectation"], one["status"]) for one in found["expectations"][0]["expectations"]],
                             12 * [("bw>=1kb/s", "PASS")] + 12 * [("p50<=1ns", "FAIL")])
            self.assertEqual(pairs(found), {(a, b) for a in range(4) for b in range(4) if a != b})
            self.assertEqual(len(found["measurement"]), 12 * 2)
            self.assertEqual(len(found["plan"][0]["nodes"]), 4)
            self.assertEqual(len(found["verdict"]), 1)
            self.assertEqual({code for rank, code in started.codes().items() if rank}, {0})
            self.assertFalse(found["lost"])

    def test_table_and_csv(self):
        with ranks(2, *QUICK, "--metric", "latency") as started:
            _, output, errors = started.result()
            self.assertIn("Fabric of 2 ranks on one host", output, errors)
            self.assertIn("over ofi, provider tcp", output, "what auto took")
            self.assertIn("typical[us]", output)
            self.assertIn("All 2 ranks run on one host", output)
            self.assertLess(output.index("Verdict"), output.index("typical[us]"))
            self.assertEqual(errors, "", "no progress in a pipe")
        with ranks(2, *QUICK, "--pattern", "bisection", "--format", "csv") as started:
            _, output, errors = started.result()
            self.assertEqual(len(output.splitlines()), 1 + 4, errors)

    def test_launches_are_joined_and_judged(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "run.jsonl"
            with ranks(3, *QUICK, "--metric", "latency", "--no-confirm", "--launches", "2", "--output", str(path),
                       "--format", "json", "--expect", "p50<=1ns") as started:
                code, output, errors = started.result()
                self.assertEqual({**started.codes(), 0: 0}, {0: 0, 1: 0, 2: 0}, errors)
            self.assertEqual(output, path.read_text())
            found = command.records(output, SCHEMA)
            self.assertEqual([(one.get("launch"), one.get("over_launches")) for one in found["plan"]],
                             [(1, None), (2, None), (None, 2)])
            self.assertEqual((len(found["measurement"]), len(pairs(found))), (3 * 6, 6))
            self.assertEqual(found["measurement"][-1]["confirming"], False)
            self.assertRegex(found["verdict"][-1]["summary"], "in 2 of 2 launches")
            judged = found["expectations"][-1]["expectations"]
            self.assertEqual([one["launches"] for one in judged], 6 * [2])
            self.assertEqual("FAIL" in {one["status"] for one in judged}, code == 1)
            read = command.run("report", "--format", "markdown", str(path))
            self.assertEqual(read.stdout.count("Fabric of 3 ranks"), 3, read)
            with ranks(2, *QUICK, "--launches", "2", "--resume", str(path), missing=(1,)) as started:
                self.assertIn("--resume", started.result()[2])

    def end_within_launches(self, blow, rank: int, code: int, said: str) -> None:
        """In the second of many launches, by a signal to the process that launches. The others end at once."""
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "run.jsonl"
            with ranks(3, *QUICK, "--no-confirm", "--launches", "50", "--output", str(path)) as started:
                deadline = time.monotonic() + 60
                while (not path.exists() or '"launch":2' not in path.read_text()) and time.monotonic() < deadline:
                    time.sleep(0.02)
                started.processes[rank].send_signal(blow)
                ended, output, errors = started.result(timeout=40)
                self.assertEqual(ended, code, errors)
                self.assertRegex(output, said)
                codes = started.codes(timeout=10)
                self.assertEqual({codes[one] for one in (1, 2) if one != rank}, {0}, errors)
            self.assertIn('"over_launches":', path.read_text())

    def test_a_lost_rank_ends_the_launches_of_all(self):
        self.end_within_launches(signal.SIGKILL, 2, 1, r"\d of 50 launches: .*nodes lost: node 2")

    def test_a_signal_to_rank_0_ends_the_launches_of_all(self):
        self.end_within_launches(signal.SIGINT, 0, 128 + signal.SIGINT, r"\d of 50 launches: interrupted by SIGINT")

    def test_fans(self):
        for pattern in ("one-to-many", "many-to-one"):
            with self.subTest(pattern=pattern):
                with ranks(3, *QUICK, "--pattern", pattern, "--format", "json") as started:
                    _, output, errors = started.result()
                    self.assertEqual(len(pairs(command.records(output, SCHEMA))), 6, errors)

    def test_wrong_usage(self):
        for words, text in ((("--pattern", "ring"), "bisection"), (("--size", "0"), "size"),
                            (("--backend", "loop"), "loop"), (("--rails", "a,a"), "'a'")):
            with self.subTest(words=words):
                with ranks(2, *words, missing=(1,)) as started:
                    code, _, errors = started.result()
                    self.assertEqual(code, 2, errors)
                    self.assertIn(text, errors)


class Broken(unittest.TestCase):
    """Several ranks, one of which does not make it; the others have all their pairs."""
    RANKS = 4 if command.SANITIZED else 6

    def after(self, blow, reason: str, limit: float) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "run.jsonl"
            with ranks(self.RANKS, *QUICK, "--output", str(path), "--no-confirm") as started:
                wait_for_rounds(path, 1)
                started.processes[3].send_signal(blow)
                begin = time.monotonic()
                code, output, errors = started.result()
                self.assertEqual(code, 1, errors)
                self.assertLess(time.monotonic() - begin, limit)
                found = command.records(path.read_text(), SCHEMA)
                self.assertEqual([lost["rank"] for lost in found["lost"]], [3], errors)
                self.assertIn(reason, found["lost"][0]["reason"])
                self.assertRegex(output, rf"Verdict: 1 of {self.RANKS} nodes lost: node 3.*; .* {self.RANKS - 1} ")
                self.assertLess(len(output.splitlines()), 80, "what is alike is folded")
                others = {(a, b) for a in range(self.RANKS) for b in range(self.RANKS)
                          if a != b and 3 not in (a, b)}
                self.assertLessEqual(others, pairs(found))

    def test_tcp_that_nobody_asked_for_is_no_pass(self):
        folder = pathlib.Path("/sys/class/infiniband")
        if folder.is_dir() and any(folder.iterdir()):
            self.skipTest("this machine has an RDMA device")
        unasked = (*QUICK[2:], "--metric", "latency")
        with ranks(2, *unasked) as started:
            code, output, errors = started.result()
            self.assertEqual(code, 1, errors)
            self.assertRegex(output, r"^Verdict: NOT RDMA: measured over ofi, .*, no RDMA device on 2 of 2 nodes; ")
        with ranks(2, *unasked, "--allow-tcp", "--format", "json") as started:
            code, output, errors = started.result()
            self.assertEqual(code, 0, errors)
            (verdict,) = command.records(output, SCHEMA)["verdict"]
            self.assertEqual((verdict["not_rdma"]["nodes"], verdict["not_rdma"]["allowed"]), ([0, 1], True))
            self.assertTrue(verdict["summary"].startswith("NOT RDMA: "), verdict["summary"])

    def test_one_is_killed(self):
        self.after(signal.SIGKILL, "", limit=90)

    def test_one_is_stopped(self):
        self.after(signal.SIGSTOP, "no answer", limit=90)

    def test_one_never_comes(self):
        with ranks(4, *QUICK, "--wait", "8s", "--format", "json", missing=(2,)) as started:
            code, output, errors = started.result()
            self.assertEqual(code, 1, errors)
            found = command.records(output, SCHEMA)
            self.assertEqual([lost["rank"] for lost in found["lost"]], [2])
            self.assertIn("never came", found["lost"][0]["reason"])
            self.assertEqual(len(pairs(found)), 6)

    def test_rank_0_is_killed_and_the_run_gone_on_with(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "run.jsonl"
            with ranks(5, *QUICK, "--output", str(path), "--no-confirm") as started:
                wait_for_rounds(path, 2)
                started.processes[0].kill()
                codes = started.codes()
                self.assertEqual({codes[rank] for rank in range(1, 5)}, {1})
            kept = len(pairs(command.records(path.read_text(), SCHEMA)))
            self.assertGreaterEqual(kept, 8)
            self.assertLess(kept, 20)
            with path.open("a", encoding="utf-8") as stream:
                stream.write('{"record":"measu')
            with ranks(5, *QUICK, "--resume", str(path), "--no-confirm") as started:
                code, _, errors = started.result()
                self.assertIn(code, (0, 1), errors)
            found = command.records(path.read_text(), SCHEMA)
            self.assertEqual(len(found["plan"]), 2)
            self.assertEqual(len(pairs(found)), 20)
            self.assertEqual(len(found["measurement"]), 20 * 2)  # nothing good was measured twice
            with ranks(5, *QUICK, "--seed", "7", "--resume", str(path)) as started:
                code, _, errors = started.result()
                self.assertEqual(code, 2, errors)
                self.assertIn("another plan", errors)


@unittest.skipIf(command.SANITIZED, "the launcher is nothing that a sanitizer sees")
class Launched(unittest.TestCase):

    def test_by_mpirun(self):
        mpirun = shutil.which("mpirun")
        if mpirun is None:
            self.skipTest("no mpirun here")
        words = [mpirun, "-n", "4", "--oversubscribe", "--allow-run-as-root", command.TOOL,
                 "fabric", *QUICK, "--format", "json", "--no-confirm", "--launches", "2"]
        result = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)
        lines = [line for line in result.stdout.splitlines() if line.startswith("{")]
        found = command.records("\n".join(lines), SCHEMA)
        self.assertEqual((len(pairs(found)), len(found["measurement"])), (12, 3 * 12 * 2), result.stderr)
        self.assertFalse(found["lost"], result.stderr)


if __name__ == "__main__":
    arguments = command.take_tool()
    SCHEMA = jsonschema.Draft202012Validator(json.loads(pathlib.Path(arguments.pop(1)).read_text(encoding="utf-8")))
    sys.exit(command.run_cases(arguments[1:], at_once=2))
