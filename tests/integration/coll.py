#!/usr/bin/env python3
"""`rdmabench coll` under mpirun: every operation, type and reduction; planted faults are found.

Usage: coll.py RDMABENCH FAULTY_MODULE REAL_MODULE SCHEMA LAUNCHER...
as: coll.py ... librdmabench-mpi-openmpi.so ... mpirun.openmpi --oversubscribe
"""

import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import jsonschema

from command import free_port

RDMABENCH, FAULTY, REAL, SCHEMA = sys.argv[1:5]
LAUNCHER = sys.argv[5:]
MPICH = "mpich" in "".join(LAUNCHER[:1])
PMIX = os.environ.get("TEST_PMIX", "ON") == "ON"  # whether the program was built with it
# What the launcher ends with where a rank hangs. MPICH's may give the signal by which it ended the rank that was stopped.
STOPPED = (1, 9) if MPICH else (1,)
SECONDS = 90
OURS = ("RDMABENCH_", "PMI", "OMPI_", "SLURM_", "MASTER_", "RANK", "WORLD_SIZE")
TIMEOUT = "3s"
# Open MPI removes the folder that all launchers of a user share when the last one ends, while another may begin.
TEMPORARY = tempfile.TemporaryDirectory(prefix="coll")


def environment(**more: str) -> dict[str, str]:
    clean = {name: value for name, value in os.environ.items()
             if not name.startswith(OURS) or name == "RDMABENCH_TOKEN_FILE"}
    clean.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                 OMPI_MCA_btl="self,vader", OMPI_MCA_pml="ob1", OMPI_MCA_osc="^ucx",
                 OMPI_MCA_mpi_yield_when_idle="1", TMPDIR=TEMPORARY.name)
    return {**clean, **more}


def launched() -> dict[str, str]:
    """Open MPI's launcher says by PMIx where rank 0 is; MPICH's does not say it."""
    if PMIX and not MPICH:
        return {}
    return {"RDMABENCH_RENDEZVOUS": f"127.0.0.1:{free_port()}"}


def coll(ranks: int, *arguments: str, **more: str) -> subprocess.CompletedProcess:
    """All end within the time, whatever happens: nothing is left behind.

    A document comes by a file: mpirun of Open MPI 5.0.7 gives bytes of standard output to standard error.
    """
    if "json" in arguments and "--output" not in arguments:
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "coll.json")
            done = coll(ranks, *arguments, "--output", path, **more)
            if os.path.exists(path):
                with open(path, encoding="utf-8") as file:
                    done.stdout = file.read()
            return done
    process = subprocess.Popen([*LAUNCHER, "-n", str(ranks), RDMABENCH, "coll", *arguments],
                               env=environment(**launched(), **more), stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True, start_new_session=True)
    try:
        out, err = process.communicate(timeout=SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        out, err = process.communicate()
        raise AssertionError(f"it hangs: {out}\n{err}") from None
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


def document(done: subprocess.CompletedProcess) -> dict:
    """mpirun's own words may stand behind the document."""
    assert done.stdout, done
    body, _ = json.JSONDecoder().raw_decode(done.stdout)
    with open(SCHEMA, encoding="utf-8") as file:
        jsonschema.validate(body, json.load(file))
    return body


class Everything(unittest.TestCase):
    def check(self, ranks: int) -> None:
        done = coll(ranks, "all", "--type", "all", "--reduction", "all", "--place", "both", "--root", "1",
                    "--size", "1000", "-n", "2", "--warmup", "1", "--format", "json")
        self.assertEqual(done.returncode, 0, done)
        body = document(done)
        self.assertIsNone(body["error"])
        self.assertEqual(len(body["ranks"]), ranks)
        rows = body["results"]
        # three that reduce by six reductions, seven that do not; twelve types; two places
        self.assertEqual(len(rows), (3 * 6 + 7) * 12 * 2)
        skipped = {row["operation"] for row in rows if row["skipped"]}
        self.assertEqual(skipped, {"all-to-all-v", "send-receive"})
        self.assertTrue(all(row["in_place"] for row in rows if row["skipped"]))
        for row in rows:
            if row["skipped"]:
                continue
            results = ranks
            if row["operation"] in ("reduce", "gather"):
                results = 1  # the root's alone
            elif row["operation"] == "broadcast" and not row["in_place"]:
                results = ranks - 1  # MPI's root sends from where it has it, and gets nothing
            self.assertEqual(row["wrong"], {"checked_results": 3 * results, "wrong_results": 0,
                                            "wrong_elements": 0, "first": None}, row)
            self.assertEqual(row["iterations"], 2)
            self.assertGreater(row["bus_bytes_per_s"], 0)
            self.assertEqual(len(row["ranks"]), ranks)

    def test_two_ranks(self) -> None:
        self.check(2)

    def test_four_ranks(self) -> None:
        self.check(4)

    def test_batches_and_sizes(self) -> None:
        done = coll(2, "all-reduce,all-to-all-v,send-receive", "--size", "8,64K,3M", "-n", "6", "--batch", "4",
                    "--format", "json", "--expect", "busbw>=0.001MB/s@64K+", "--expect", "p50<=1ns@8")
        self.assertEqual(done.returncode, 1, done)
        body = document(done)
        self.assertEqual([one["status"] for one in body["expectations"]], 6 * ["PASS"] + 3 * ["FAIL"])
        for row in body["results"]:
            self.assertEqual(row["batch"], 4)
            self.assertEqual(row["wrong"]["wrong_elements"], 0)


class Few(unittest.TestCase):
    """What may differ between MPIs, in few seconds."""

    def check(self, ranks: int, *arguments: str) -> list[dict]:
        done = coll(ranks, *arguments, "--warmup", "1", "--format", "json")
        self.assertEqual(done.returncode, 0, done)
        rows = document(done)["results"]
        for row in rows:
            self.assertGreater(row["wrong"]["checked_results"], 0, row)
            self.assertEqual(row["wrong"]["wrong_results"], 0, row)
        return rows

    def test_operations_types_and_reductions(self) -> None:
        for ranks in (2, 4):
            rows = self.check(ranks, "all-reduce,reduce-scatter,all-to-all-v,send-receive", "--type",
                              "float32,bfloat16,int64", "--reduction", "sum,avg", "--size", "1000", "-n", "2")
            self.assertEqual(len(rows), (2 * 2 + 2) * 3)

    def test_more_outstanding_than_mpich_looks_at_together(self) -> None:
        for row in self.check(2, "all-reduce,send-receive", "--size", "8", "-n", "140", "--batch", "70"):
            self.assertEqual(row["batch"], 70)


class Faults(unittest.TestCase):
    def faulty(self, ranks: int, *arguments: str, **more: str) -> subprocess.CompletedProcess:
        return coll(ranks, *arguments, RDMABENCH_MPI_MODULE=FAULTY, FAULTY_MPI_REAL=REAL, **more)

    def test_a_corrupted_result_is_reported_with_rank_and_offset(self) -> None:
        done = self.faulty(2, "all-reduce", "--size", "64K", "-n", "8", "--warmup", "0", "--format", "json",
                           FAULTY_MPI_RANK="1", FAULTY_MPI_CORRUPT="4096:512")
        self.assertEqual(done.returncode, 1, done)
        wrong = document(done)["results"][0]["wrong"]
        self.assertEqual(wrong["wrong_results"], 1)
        self.assertEqual(wrong["wrong_elements"], 128)
        first = wrong["first"]
        self.assertEqual((first["rank"], first["iteration"], first["offset_bytes"], first["run_bytes"]),
                         (1, 3, 4096, 512))
        self.assertEqual(first["actual"], "0x5a5a5a5a")

    def test_a_byte_past_the_end_of_a_result_is_reported(self) -> None:
        done = self.faulty(2, "all-reduce", "--size", "64K", "-n", "8", "--warmup", "0", "--format", "json",
                           FAULTY_MPI_RANK="1", FAULTY_MPI_PAST_END="1")
        self.assertEqual(done.returncode, 1, done)
        wrong = document(done)["results"][0]["wrong"]
        self.assertEqual(wrong["wrong_results"], 1, wrong)
        first = wrong["first"]
        self.assertEqual((first["rank"], first["iteration"], first["offset_bytes"], first["run_bytes"],
                          first["pattern"], first["actual"]), (1, 3, 65536, 1, "past the end", "0x5a"))

    def test_a_stopped_rank_is_named_within_its_deadline(self) -> None:
        begin = time.monotonic()
        done = self.faulty(4, "all-reduce", "--size", "8,1K", "-n", "8", "--warmup", "0", "--timeout", TIMEOUT,
                           "--format", "json", FAULTY_MPI_RANK="2", FAULTY_MPI_STOP="1", FAULTY_MPI_AT="11")
        self.assertLess(time.monotonic() - begin, 30)
        self.assertIn(done.returncode, STOPPED, done)
        body = document(done)
        self.assertEqual(body["blame"]["ranks"], [2])
        self.assertRegex(body["error"], r"rank 2 \(\S+, process \d+\) hangs: .*[\d.]+ s; .*all-reduce of 1K, iteration \d+$")
        self.assertEqual(len(body["results"]), 1)  # what was finished is there

    def test_a_rank_that_stops_before_mpi_is_up_is_named(self) -> None:
        done = self.faulty(2, "all-reduce", "--size", "8", "--timeout", TIMEOUT, "--format", "json",
                           FAULTY_MPI_RANK="1", FAULTY_MPI_STOP_INIT="1")
        self.assertIn(done.returncode, STOPPED, done)
        self.assertRegex(done.stderr, r"rank 1 \(\S+, process \d+\) hangs")

    def test_a_delayed_rank_is_the_late_one(self) -> None:
        done = self.faulty(4, "all-reduce", "--size", "8", "-n", "30", "--format", "json",
                           FAULTY_MPI_RANK="3", FAULTY_MPI_DELAY_MS="30")
        self.assertEqual(done.returncode, 0, done)
        late = document(done)["results"][0]["late"]
        self.assertEqual(late["rank"], 3, late)
        self.assertGreater(late["by_ns"], late["error_bound_ns"])


class Documents(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def measured(self, name: str, *arguments: str, **more: str) -> str:
        path = os.path.join(self.folder.name, name)
        done = coll(2, "all-reduce,broadcast", "--size", "8,1K", "-n", "12", "--format", "json", "--output", path,
                    *arguments, **more)
        self.assertIn(done.returncode, (0, 1), done)
        return path

    def read(self, command: str, *arguments: str) -> subprocess.CompletedProcess:
        return subprocess.run([RDMABENCH, command, *arguments], capture_output=True, text=True, timeout=SECONDS)

    def test_a_signal_to_the_launcher_loses_no_finished_row(self) -> None:
        """Open MPI's kills the ranks within milliseconds of their SIGTERM: a file has the rows all the same."""
        path = os.path.join(self.folder.name, "cut.json")
        side, terminal = os.openpty()  # for rank 0's progress
        process = subprocess.Popen(
            [*LAUNCHER, "-n", "2", "sh", "-c", f'exec "$0" "$@" 2>{os.ttyname(terminal)}', RDMABENCH, "coll", "all-reduce",
             "--size", "8,64M", "-n", "200", "--format", "json", "--output", path],
            env=environment(**launched()), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        try:
            shown = ""
            end = time.monotonic() + SECONDS
            while "1 of 2 rows" not in shown:
                self.assertTrue(process.poll() is None and time.monotonic() < end, f"no row, but {shown!r}")
                if select.select([side], [], [], 0.1)[0]:
                    shown += os.read(side, 4096).decode()
            process.send_signal(signal.SIGTERM)
            process.wait(timeout=SECONDS)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
            os.close(side)
            os.close(terminal)
        with open(path, encoding="utf-8") as file:
            body = json.load(file)
        self.assertEqual([row["size_bytes"] for row in body["results"]], [8])
        self.assertRegex(body["error"], "^interrupted by SIGTERM$|^the run was killed|is gone")

    def test_report_reads_it_in_every_format(self) -> None:
        path = self.measured("a.json", RDMABENCH_MPI_MODULE=FAULTY, FAULTY_MPI_REAL=REAL, FAULTY_MPI_RANK="1",
                             FAULTY_MPI_CORRUPT="0:4", FAULTY_MPI_AT="7")
        for form, expected in (("markdown", r"\| all-reduce \| float32 \| sum \| 8 \| out"),
                               ("junit", r'failure [^>]*rank 1, iteration 7, byte 0 for \d+ bytes'),
                               ("csv", r"(?m)^.*collective.*all-reduce"),
                               ("prometheus", r'operation="broadcast"')):
            done = self.read("report", path, "--format", form)
            self.assertEqual(done.stderr, "", form)
            self.assertRegex(done.stdout, expected, form)

    def test_compare_reads_it(self) -> None:
        done = self.read("compare", self.measured("a.json"), self.measured("b.json"))
        self.assertIn("all-reduce float32 sum", done.stdout + done.stderr, done)


class Refusals(unittest.TestCase):
    def alone(self, *arguments: str, **more: str) -> subprocess.CompletedProcess:
        return subprocess.run([RDMABENCH, "coll", *arguments], env=environment(**more), capture_output=True,
                              text=True, timeout=SECONDS)

    def test_one_rank_has_no_bus_bandwidth(self) -> None:
        done = coll(1, "all-reduce", "--size", "1K", "-n", "5")
        self.assertEqual(done.returncode, 0, done)
        self.assertIn("-: with one rank nothing crosses a bus", done.stdout)

    def test_one_rank_where_the_launcher_says_more(self) -> None:
        done = self.alone("all-reduce", "--ranks", "1", WORLD_SIZE="8", RANK="3")
        self.assertEqual(done.returncode, 2, done)
        self.assertIn("by options, but WORLD_SIZE is 8", done.stderr)

    def test_no_module(self) -> None:
        done = self.alone("all-reduce", "--ranks", "1", RDMABENCH_MPI_MODULE="/nonexistent.so")
        self.assertEqual(done.returncode, 3, done)
        self.assertIn("/nonexistent.so: no such file", done.stderr)

    def test_words(self) -> None:
        for arguments, expected in ((["all-redcue", "--ranks", "1"], "operation 'all-redcue'"),
                                    (["all-reduce", "--type", "flaot", "--ranks", "1"], "type 'flaot'"),
                                    (["broadcast", "--root", "1", "--ranks", "1"], "invalid --root 1"),
                                    (["all-reduce", "-n", "3Q"], "3Q")):
            done = self.alone(*arguments)
            self.assertEqual(done.returncode, 2, done)
            self.assertIn(expected, done.stderr)


if __name__ == "__main__":
    if not LAUNCHER or shutil.which(LAUNCHER[0]) is None:
        print(f"no {LAUNCHER}")
        sys.exit(77)
    # All of it once is enough: MPICH's ranks spin, and take a minute where others want the cores too.
    unittest.main(argv=[sys.argv[0], *(["Few", "Faults"] if MPICH else [])], verbosity=2)
