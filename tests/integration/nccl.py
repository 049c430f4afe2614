#!/usr/bin/env python3
"""Ranks of `rdmabench coll --backend nccl` and of nccl-tests' command lines, over the fake NCCL and driver.

Usage: nccl.py RDMABENCH FAKE_NCCL_FOLDER FAKE_CUDA_FOLDER [SCHEMA]
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest

from command import free_port

TOOL = ""
FAKES = ""
SCHEMA = ""
SECONDS = 120


def clean(**settings: str) -> dict[str, str]:
    """The environment without a launcher's words or NCCL's."""
    kept = {name: value for name, value in os.environ.items()
            if not name.startswith(("NCCL_", "FAKE_", "RDMABENCH_RANK", "RDMABENCH_SIZE",
                                    "OMPI_", "PMI", "SLURM_"))}
    kept |= {"LD_LIBRARY_PATH": FAKES, "FAKE_CUDA_DEVICES": "4"}
    return kept | settings


class Ranks:
    """So many processes of one command."""

    def __init__(self, size: int, *words: str, each=None, **settings: str):
        common = clean(RDMABENCH_SIZE=str(size),
                       RDMABENCH_RENDEZVOUS=f"127.0.0.1:{free_port()}", **settings)
        self.processes = [
            subprocess.Popen([TOOL, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                             env=common | {"RDMABENCH_RANK": str(rank)} | (each(rank) if each else {}))
            for rank in range(size)]
        self.out, self.err, self.codes = [], [], []
        for process in self.processes:
            try:
                out, err = process.communicate(timeout=SECONDS)
            except subprocess.TimeoutExpired:
                for one in self.processes:
                    one.kill()
                raise
            self.out.append(out)
            self.err.append(err)
            self.codes.append(process.returncode)

    def said(self) -> str:
        return "\n".join(f"rank {i} gave {code}: {err}" for i, (code, err) in
                         enumerate(zip(self.codes, self.err)))


def coll(size: int, *words: str, each=None, **settings: str) -> Ranks:
    limit = [] if "--timeout" in words else ["--timeout", "30s"]
    return Ranks(size, "coll", *words, *limit, "--backend", "nccl", "--device", "lo", each=each,
                 **settings)


def facts(items: list) -> dict:
    return {item["name"]: item["value"] for item in items}


class Measures(unittest.TestCase):
    def document(self, ranks: Ranks) -> dict:
        self.assertEqual(ranks.codes, [0] * len(ranks.codes), ranks.said())
        return json.loads(ranks.out[0])

    def test_every_operation_in_and_out_of_place(self):
        for size in (2, 4):
            document = self.document(coll(size, "all", "--place", "both", "--size", "1K", "-n", "3",
                                          "--format", "json"))
            measured = [row for row in document["results"] if row["skipped"] is None]
            self.assertEqual(len(measured), 10 + 7)
            for row in measured:
                self.assertEqual(row["wrong"]["wrong_elements"], 0, row["operation"])
                self.assertGreater(row["wrong"]["checked_results"], 0)
            for row in document["results"]:
                if row["skipped"] is not None:
                    self.assertIn("in place", row["skipped"])
            self.assertEqual(facts(document["library"])["library"], "NCCL 2.28.9")
            if SCHEMA:
                try:
                    import jsonschema
                except ImportError:
                    continue
                jsonschema.validate(document, json.loads(pathlib.Path(SCHEMA).read_text()))

    def test_every_type_and_reduction(self):
        document = self.document(coll(2, "all-reduce", "--type", "all", "--reduction", "all", "--size",
                                      "256", "-n", "2", "--warmup", "1", "--format", "json"))
        self.assertEqual(len(document["results"]), 12 * 6)
        for row in document["results"]:
            self.assertIsNone(row["skipped"])
            self.assertEqual(row["wrong"]["wrong_elements"], 0, (row["type"], row["reduction"]))

    def test_an_older_nccl_groups_sends_and_has_no_fp8(self):
        with tempfile.TemporaryDirectory() as folder:
            trace = os.path.join(folder, "trace")
            document = self.document(coll(2, "all-to-all,gather,scatter", "--type", "float32,f8e4m3",
                                          "--size", "1K", "-n", "2", "--format", "json",
                                          FAKE_NCCL_VERSION="21805", FAKE_NCCL_TRACE=trace))
            called = pathlib.Path(trace).read_text()
        self.assertIn("ncclSend", called)
        self.assertNotIn("ncclAlltoAll", called)
        for row in document["results"]:
            if row["type"] == "f8e4m3":
                self.assertIn("2.24", row["skipped"])
            else:
                self.assertEqual(row["wrong"]["wrong_elements"], 0)

    def test_graphs_registration_and_misalignment(self):
        for more in (["--graph"], ["--register", "local"], ["--register", "symmetric"],
                     ["--misalign", "1"], ["--graph", "--register", "symmetric", "--batch", "4"]):
            with tempfile.TemporaryDirectory() as folder:
                trace = os.path.join(folder, "trace")
                document = self.document(coll(2, "all-reduce,all-gather", "--size", "1K,4K", "-n", "3",
                                              "--format", "json", *more, FAKE_NCCL_TRACE=trace))
                called = pathlib.Path(trace).read_text()
            for row in document["results"]:
                self.assertEqual(row["wrong"]["wrong_elements"], 0, more)
            if "local" in more:
                self.assertIn("register bytes=", called)
                self.assertIn("deregister", called)
            if "symmetric" in more:
                self.assertIn("window bytes=", called)
                self.assertIn("unwindow", called)

    def test_the_memory_of_operations(self):
        for more, memory, checked in ([], "own", 2 * 8), (["--memory-reuse"], "reused", 2):
            document = self.document(coll(2, "all-reduce", "--size", "1K", "-n", "3", *more, "--format", "json"))
            row = document["results"][0]
            self.assertIn(memory, facts(row["facts"])["memory"])
            self.assertEqual(row["wrong"]["wrong_elements"], 0)
            self.assertGreaterEqual(row["wrong"]["checked_results"], checked)
        said = " ".join(coll(1, "all-reduce", "--size", "1K", "-n", "3").out[0].split())
        self.assertIn("memory each operation has its own", said)

    def test_launches_are_joined_and_judged(self):
        over, *launches = self.document(coll(2, "all-reduce", "--size", "8,1K", "-n", "20", "--launches", "3", "--format", "json",
                                             "--expect", "busbw>=0.000001MB/s"))["documents"]
        self.assertEqual((over["over_launches"], len(launches)), (3, 3))
        self.assertEqual([(row["launches"], row["iterations"], row["wrong"]["checked_results"]) for row in over["results"]],
                         2 * [(3, 60, 3 * launches[0]["results"][0]["wrong"]["checked_results"])])
        self.assertEqual([(one["status"], one["launches"]) for one in over["expectations"]], 2 * [("PASS", 3)])
        self.assertEqual(len({one["ranks"][1]["process"] for one in launches}), 3)
        table = coll(2, "all-reduce", "--size", "8,1K", "-n", "20", "--launches", "2").out[0]
        self.assertRegex(table, r"(?s)launches.*p50 low.*busbw.*wrong")

    def test_rows_come_when_they_are_finished(self):
        """The second row blocks in NCCL; the first one is there before the time of that runs out."""
        for form, above in (("table", "Every row\n"), ("csv", "operation,type,")):
            common = clean(RDMABENCH_SIZE="1", RDMABENCH_RANK="0", RDMABENCH_RENDEZVOUS=f"127.0.0.1:{free_port()}",
                           FAKE_NCCL_BLOCK="0:12")
            rank = subprocess.Popen([TOOL, "coll", "all-reduce", "--size", "8,1K", "-n", "3", "--timeout", "60s", "--backend", "nccl",
                                     "--device", "lo", "--format", form], env=common, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            try:
                shown = ""
                while not shown.split("\n")[-2:][0].startswith("all-reduce"):
                    line = rank.stdout.readline()
                    self.assertTrue(line, shown)
                    shown += line
                self.assertIsNone(rank.poll(), shown)
            finally:
                rank.kill()
                rank.communicate()
            self.assertIn(above, shown)

    def test_it_says_that_it_was_not_rdma(self):
        def host(rank: int) -> list[str]:
            return ["unshare", "--uts", "sh", "-c", f'hostname node{rank}; exec "$0" "$@"']

        if subprocess.run([*host(0), "true"], capture_output=True, check=False).returncode != 0:
            self.skipTest("no namespaces here")
        for more, said in (([], True), (["--network", "Socket"], False)):
            common = clean(RDMABENCH_SIZE="2", RDMABENCH_RENDEZVOUS=f"127.0.0.1:{free_port()}")
            ranks = [subprocess.Popen([*host(rank), TOOL, "coll", "all-reduce", "--size", "1K", "-n", "3", "--backend", "nccl", "--device",
                                       "lo", "--format", "json", *more], env=common | {"RDMABENCH_RANK": str(rank)},
                                      stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for rank in range(2)]
            told = [rank.communicate(timeout=SECONDS) for rank in ranks]
            self.assertEqual([rank.returncode for rank in ranks], [0, 0], told)
            document = json.loads(told[0][0])
            self.assertEqual([rank["host"] for rank in document["ranks"]], ["node0", "node1"])
            self.assertEqual("not_rdma" in document, said, document.get("not_rdma"))
            if not said:
                continue
            self.assertRegex(document["not_rdma"], r"^NOT RDMA: measured over nccl, NET/Socket, ")
            with tempfile.TemporaryDirectory() as folder:
                path = pathlib.Path(folder) / "coll.json"
                path.write_text(told[0][0], encoding="utf-8")
                for form in ("junit", "markdown", "html"):
                    done = subprocess.run([TOOL, "report", path, "--format", form], capture_output=True, text=True, check=False)
                    self.assertIn("NOT RDMA: measured over nccl", done.stdout, form)

    def test_the_cpu_checks_where_it_is_asked_to(self):
        document = self.document(coll(2, "all-gather", "--size", "1K", "-n", "3", "--validate", "cpu", "--format", "json"))
        self.assertEqual(document["results"][0]["wrong"]["checked_results"], 2 * 8)
        self.assertTrue(facts(document["config"])["checked_by_cpu"])

    def test_calls_that_stay_in_progress(self):
        document = self.document(coll(2, "all-reduce", "--size", "1K", "-n", "3", "--batch", "4",
                                      "--format", "json", "--non-blocking",
                                      FAKE_NCCL_SLOW_ENQUEUE="1"))
        self.assertEqual(document["results"][0]["wrong"]["wrong_elements"], 0)

    def test_the_communicator_is_blocking_unless_asked(self):
        for more, kind in ([], "blocking"), (["--non-blocking"], "non-blocking"):
            with tempfile.TemporaryDirectory() as folder:
                trace = os.path.join(folder, "trace")
                document = self.document(coll(2, "all-reduce", "--size", "1K", "-n", "3", "--format",
                                              "json", *more, FAKE_NCCL_TRACE=trace))
                called = pathlib.Path(trace).read_text()
            self.assertEqual("init blocking" in called, kind == "blocking")
            self.assertEqual(facts(document["library"])["communicator"], kind)
            self.assertEqual(document["results"][0]["wrong"]["wrong_elements"], 0)

    def test_one_rank_has_no_bus(self):
        document = self.document(coll(1, "all-reduce", "--size", "1K", "-n", "3", "--format", "json"))
        self.assertIsNone(document["results"][0]["bus_bytes_per_s"])
        self.assertTrue(document["results"][0]["bus_reason"])


class Chooses(unittest.TestCase):
    """What NCCL tells its profiler, which the command is itself."""

    def run_rows(self, *words: str, each=None, **settings: str) -> tuple[list[dict], str]:
        with tempfile.TemporaryDirectory() as folder:
            trace = os.path.join(folder, "trace")
            ranks = coll(2, *words, "-n", "5", "--format", "json", each=each, FAKE_NCCL_TRACE=trace,
                         **settings)
            self.assertEqual(ranks.codes, [0, 0], ranks.said())
            rows = json.loads(ranks.out[0])["results"]
            for row in rows:
                self.assertEqual(row["wrong"]["wrong_elements"], 0)
            return [facts(row["facts"]) for row in rows], pathlib.Path(trace).read_text()

    def test_rows_say_what_was_chosen(self):
        for version, table, channels in (("22304", "v1", "channels_at_most"), ("22703", "v4", "channels"),
                                         ("22809", "v5", "channels"), ("23007", "v6", "channels")):
            for more in ([], ["--graph"]):
                rows, called = self.run_rows("all-reduce", "--size", "1K,1M", *more,
                                             FAKE_NCCL_VERSION=version)
                self.assertEqual([(row["algorithm"], row["protocol"], row[channels]) for row in rows],
                                 [("TREE", "LL", 2), ("RING", "SIMPLE", 8)], version)
                self.assertEqual(called.count(f"profiler rdmabench {table} mask=0"), 2)
                # One call of each row on each rank; the other ones are timed, and not told of.
                self.assertEqual(called.count("event 2 "), 4)
                self.assertNotIn("algorithm_differs", rows[0])

    def test_the_table_has_them(self):
        ranks = coll(2, "all-reduce", "--size", "1K", "-n", "3")
        self.assertEqual(ranks.codes, [0, 0], ranks.said())
        self.assertRegex(ranks.out[0], r"\balgorithm TREE LL x2\b")

    def test_ranks_that_differ(self):
        rows, _ = self.run_rows("all-reduce", "--size", "1K",
                                each=lambda rank: {"FAKE_NCCL_CHOICE": ["RING:LL:4", "TREE:LL:4"][rank]})
        self.assertEqual(rows[0]["algorithm"], "RING")
        self.assertEqual(rows[0]["algorithm_differs"], "rank 1: TREE, LL, 4 channels")

    def test_a_plugin_of_the_users_on_one_rank_silences_all(self):
        rows, called = self.run_rows("all-reduce", "--size", "1K",
                                     each=lambda rank: {"NCCL_PROFILER_PLUGIN": "none"} if rank else {})
        self.assertIn("rank 1: NCCL_PROFILER_PLUGIN is set", rows[0]["algorithm_unknown"])
        self.assertNotIn("algorithm", rows[0])
        self.assertNotIn("event", called)

    def test_an_nccl_without_profilers(self):
        rows, _ = self.run_rows("all-reduce", "--size", "1K", FAKE_NCCL_VERSION="21805")
        self.assertIn("came with 2.23", rows[0]["algorithm_unknown"])


class Fails(unittest.TestCase):
    def test_a_corrupted_result_is_reported_with_its_place(self):
        ranks = coll(2, "all-reduce", "--size", "1K", "-n", "3", "--warmup", "0", "--format", "json",
                     FAKE_NCCL_CORRUPT="1:0:100")
        self.assertEqual(ranks.codes[0], 1, ranks.said())
        first = json.loads(ranks.out[0])["results"][0]["wrong"]["first"]
        self.assertEqual(first["rank"], 1)
        self.assertEqual(first["offset_bytes"], 100)
        self.assertEqual(first["pattern"], "bit flip")

    def test_a_byte_past_the_end_of_a_result_is_reported(self):
        ranks = coll(2, "all-reduce", "--size", "1K", "-n", "3", "--warmup", "0", "--format", "json",
                     FAKE_NCCL_CORRUPT="1:0:1024")
        self.assertEqual(ranks.codes[0], 1, ranks.said())
        wrong = json.loads(ranks.out[0])["results"][0]["wrong"]
        self.assertEqual(wrong["wrong_results"], 3)
        first = wrong["first"]
        self.assertEqual((first["rank"], first["iteration"], first["offset_bytes"], first["run_bytes"],
                          first["pattern"]), (1, 0, 1024, 1, "past the end"))

    def test_a_stalled_rank_ends_the_run_in_time(self):
        begin = time.monotonic()
        ranks = coll(2, "all-reduce", "--size", "1K", "-n", "5", "--timeout", "2s",
                     FAKE_NCCL_STALL="1:2")
        self.assertLess(time.monotonic() - begin, 40)
        self.assertEqual(ranks.codes, [1, 1], ranks.said())

    def test_an_init_that_never_ends(self):
        for more, named in ([], "opening nccl did not"), (["--non-blocking"], "ncclCommInitRankConfig"):
            ranks = coll(2, "all-reduce", "--size", "1K", "--timeout", "2s", *more, FAKE_NCCL_INIT_HANG="1")
            self.assertEqual(ranks.codes, [1, 1], ranks.said())
            self.assertIn(named, ranks.said())

    def test_a_call_that_never_returns(self):
        for first, phase in (0, "preparing"), (3, "running"):
            begin = time.monotonic()
            ranks = coll(2, "all-reduce", "--size", "1K", "-n", "5", "--timeout", "2s",
                         FAKE_NCCL_BLOCK=f"1:{first}")
            self.assertLess(time.monotonic() - begin, 40)
            self.assertEqual(ranks.codes, [1, 1], ranks.said())
            self.assertIn(phase, ranks.said())

    def test_an_asynchronous_error_is_named(self):
        ranks = coll(2, "all-reduce", "--size", "1K", "-n", "5", FAKE_NCCL_ASYNC_ERROR="0:2:6")
        self.assertEqual(ranks.codes[0], 1, ranks.said())
        self.assertIn("ncclRemoteError", ranks.said())

    def test_an_output_that_is_full_is_told(self):
        for printed, words, says in (("/dev/full", (), "standard output"),
                                     (os.devnull, ("--output", "/dev/full"), "'/dev/full'")):
            environment = clean(RDMABENCH_SIZE="1", RDMABENCH_RANK="0", RDMABENCH_RENDEZVOUS=f"127.0.0.1:{free_port()}")
            with open(printed, "w", encoding="ascii") as to:
                done = subprocess.run([TOOL, "coll", "all-reduce", "--backend", "nccl", "--device", "lo", "-n", "2", *words],
                                      env=environment, stdout=to, stderr=subprocess.PIPE, text=True, timeout=SECONDS)
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertIn(says, done.stderr)

    def test_no_library(self):
        with tempfile.TemporaryDirectory() as nothing:
            ranks = coll(1, "all-reduce", "--size", "1K", RDMABENCH_NCCL=f"{nothing}/libnccl.so.2")
            self.assertEqual(ranks.codes[0], 3, ranks.said())
            self.assertIn(f"dlopen('{nothing}/libnccl.so.2')", ranks.said())
            self.assertIn("LD_LIBRARY_PATH", ranks.said())
            ranks = coll(1, "all-reduce", "--size", "1K",
                         LD_LIBRARY_PATH=f"{FAKES.split(':')[0]}:{nothing}")
            if ranks.codes[0] == 0:
                self.skipTest("this machine has a driver of its own")
            self.assertEqual(ranks.codes[0], 3, ranks.said())
            self.assertIn("libcuda.so.1", ranks.said())

    def test_no_gpu(self):
        ranks = coll(1, "all-reduce", "--size", "1K", FAKE_CUDA_DEVICES="0")
        self.assertEqual(ranks.codes[0], 3, ranks.said())

    def test_an_old_nccl_is_refused(self):
        ranks = coll(1, "all-reduce", "--size", "1K", FAKE_NCCL_VERSION="21705")
        self.assertEqual(ranks.codes[0], 3, ranks.said())
        self.assertIn("2.18 or newer", ranks.said())

    def test_more_ranks_than_gpus(self):
        ranks = coll(3, "all-reduce", "--size", "1K", "--timeout", "2s", FAKE_CUDA_DEVICES="2")
        self.assertNotEqual(ranks.codes[2], 0)
        self.assertIn("has no GPU", ranks.said())

    def test_a_launcher_that_shows_each_process_one_gpu(self):
        ranks = coll(2, "all-reduce", "--size", "1K", "-n", "2", FAKE_CUDA_DEVICES="1",
                     each=lambda rank: {"FAKE_CUDA_PCI": ["0000:1b:00.0", "0000:43:00.0"][rank]})
        self.assertEqual(ranks.codes, [0, 0], ranks.said())
        ranks = coll(2, "all-reduce", "--size", "1K", "--timeout", "2s", FAKE_CUDA_DEVICES="1")
        self.assertIn("ranks 0 and 1 are on one GPU", ranks.said())

    def test_a_cuda_error_is_not_available_only_at_the_beginning(self):
        for call, code in ("ncclCommInitRankConfig:1", 3), ("ncclCommRegister:1", 1):
            ranks = coll(1, "all-reduce", "--size", "1K", "-n", "2", "--register", "local", FAKE_NCCL_REFUSE=call)
            self.assertEqual(ranks.codes, [code], ranks.said())
            self.assertIn("ncclUnhandledCudaError", ranks.said())

    def judged(self, status: int, **settings) -> list[tuple[str, str, str]]:
        ranks = coll(2, "all-reduce", "--size", "1K", "-n", "2", "--require", "gpudirect", "--format", "json", **settings)
        self.assertEqual(ranks.codes[0], status, ranks.said())
        return [(one["row"].partition(" (")[0], one["status"], one["text"])
                for one in json.loads(ranks.out[0])["expectations"]]

    def test_gpudirect_is_required(self):
        """By NCCL's log of each rank; a rank that copies through host memory fails by name."""
        direct, staged = "NET/IB/0/GDRDMA", "NET/IB/0"
        self.assertEqual([one[:2] for one in self.judged(0, FAKE_NCCL_ROUTE=direct)],
                         [("rank 0", "PASS"), ("rank 1", "PASS")])
        mixed = self.judged(1, each=lambda rank: {"FAKE_NCCL_ROUTE": staged if rank else direct})
        self.assertEqual(mixed[0][1], "PASS")
        self.assertEqual(mixed[1][:2], ("rank 1", "FAIL"))
        self.assertRegex(mixed[1][2], f"^not all .*: {staged}$")
        for words, reason in (({"FAKE_NCCL_ROUTE": "P2P/CUMEM"}, "no connection of this rank"),
                              ({"NCCL_DEBUG": "WARN"}, "NCCL_DEBUG is set")):
            for _, status, text in self.judged(1, **words):
                self.assertEqual(status, "FAIL", "no rank has proved it")
                self.assertIn(reason, text)

    def test_two_ranks_on_one_gpu_as_two_hosts(self):
        words = ["all-reduce", "--size", "1K", "-n", "2", "--gpu", "0"]
        refused = coll(2, *words, "--timeout", "2s")
        self.assertIn("are on one GPU", refused.said())
        taken = coll(2, *words, each=lambda rank: {"NCCL_HOSTID": f"host{rank}"})
        self.assertEqual(taken.codes, [0, 0], taken.said())


class NcclTests(unittest.TestCase):
    def rows(self, text: str) -> list[list[str]]:
        return [line.split() for line in text.splitlines() if line and line[0] == " "]

    def test_local_ranks_print_the_table(self):
        done = subprocess.run([TOOL, "all_reduce_perf", "-b", "1K", "-e", "4K", "-f", "2", "-g", "2",
                               "-n", "4"], env=clean(), capture_output=True, text=True,
                              timeout=SECONDS)
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = self.rows(done.stdout)
        self.assertEqual([row[0] for row in rows], ["1024", "2048", "4096"])
        for row in rows:
            self.assertEqual(row[2:5], ["float", "sum", "-1"])
            self.assertEqual(len(row), 13)
            self.assertEqual((row[8], row[12]), ("0", "0"))
        self.assertIn("# Out of bounds values : 0 OK\n", done.stdout)
        self.assertRegex(done.stdout, r"#  Rank  1 Group  0 Pid +\d+ on +\S+ device  1 \[[0-9a-f:]+\] ")

    def test_every_program_under_a_launcher(self):
        for program in ("all_gather", "reduce_scatter", "broadcast", "reduce", "alltoall", "alltoallv",
                        "gather", "scatter", "sendrecv"):
            ranks = Ranks(2, f"{program}_perf", "-b", "1K", "-e", "1K", "-n", "2", "-z", "1")
            self.assertEqual(ranks.codes, [0, 0], program + ranks.said())
            row = self.rows(ranks.out[0])[0]
            self.assertEqual(row[8], "0", program)
            in_place = program not in ("alltoall", "alltoallv", "sendrecv")
            self.assertEqual(row[12], "0" if in_place else "N/A", program)

    def test_flags(self):
        with tempfile.TemporaryDirectory() as folder:
            name = os.path.join(folder, "out.json")
            ranks = Ranks(2, "all_reduce_perf", "-b", "1K", "-e", "1K", "-n", "4", "-I", "1", "-G", "1",
                          "-R", "2", "-u", "1", "-o", "all", "-d", "half", "-w", "2", "-J", name,
                          SECRET_TOKEN="do-not-write-me")
            self.assertEqual(ranks.codes, [0, 0], ranks.said())
            text = pathlib.Path(name).read_text()
        self.assertNotIn("do-not-write-me", text)
        document = json.loads(text)
        self.assertEqual(document["schema"], "rdmabench-coll/1")
        self.assertEqual(len(document["results"]), 6 * 2)
        self.assertNotIn("i_cv%", ranks.out[0])
        self.assertIn("-I 1 is switched off", ranks.err[0])
        self.assertIn("iters: 4 ", ranks.out[0])
        self.assertEqual(len(self.rows(ranks.out[0])), 6)

    def test_all_iterations_are_one_graph(self):
        with tempfile.TemporaryDirectory() as folder:
            trace = os.path.join(folder, "trace")
            ranks = Ranks(1, "all_reduce_perf", "-b", "1K", "-e", "1K", "-n", "6", "-w", "0", "-G", "2",
                          FAKE_NCCL_TRACE=trace, FAKE_NCCL_VERSION="21805")
            called = pathlib.Path(trace).read_text()
        self.assertEqual(ranks.codes, [0], ranks.said())
        # In and out of place each a plain one and six in the graph; in place then one of each for the check.
        self.assertEqual(called.count("ncclAllReduce"), 2 * (1 + 6) + 1 + 1)
        self.assertIn("iters: 6 ", ranks.out[0])

    def test_wrong_words_are_usage(self):
        for words in (["-d", "flaot"], ["-q"], ["-J", "x.csv"], ["-m", "2"]):
            done = subprocess.run([TOOL, "all_reduce_perf", *words], env=clean(), capture_output=True,
                                  text=True, timeout=SECONDS)
            self.assertEqual(done.returncode, 2, done.stderr)
        done = subprocess.run([TOOL, "hypercube_perf"], env=clean(), capture_output=True, text=True,
                              timeout=SECONDS)
        self.assertEqual(done.returncode, 2)
        self.assertIn("all_gather_perf", done.stderr)

    def test_rows_that_cannot_be_printed_blame_no_rank_and_leave_the_file(self):
        with tempfile.TemporaryDirectory() as folder, open("/dev/full", "w", encoding="ascii") as full:
            name = os.path.join(folder, "out.json")
            common = clean(RDMABENCH_SIZE="2", RDMABENCH_RENDEZVOUS=f"127.0.0.1:{free_port()}")
            words = [TOOL, "all_reduce_perf", "-b", "1K", "-e", "4K", "-f", "2", "-n", "4", "-J", name]
            ranks = [subprocess.Popen(words, stdout=full, stderr=subprocess.PIPE, text=True,
                                      env=common | {"RDMABENCH_RANK": str(rank)}) for rank in range(2)]
            errors = [rank.communicate(timeout=SECONDS)[1] for rank in ranks]
            document = json.loads(pathlib.Path(name).read_text())
        self.assertEqual([rank.returncode for rank in ranks], [1, 1], errors)
        self.assertRegex(errors[0], r"\Ardmabench: write to standard output[^\n]*\n\Z")
        self.assertEqual(errors[1], "")
        self.assertEqual((document["error"], document["blame"]), ("standard output could not be written", None))
        self.assertTrue(document["results"])

    def test_a_launcher_with_several_gpus_a_process(self):
        ranks = Ranks(1, "all_reduce_perf", "-g", "2")
        self.assertEqual(ranks.codes[0], 2)
        self.assertIn("under a launcher", ranks.said())

    def test_what_it_prints_is_read_back(self):
        with tempfile.TemporaryDirectory() as folder:
            for i in (1, 2):
                ranks = Ranks(2, "all_reduce_perf", "-b", "1K", "-e", "2K", "-f", "2", "-n", "4")
                self.assertEqual(ranks.codes, [0, 0], ranks.said())
                pathlib.Path(folder, f"{i}.txt").write_text(ranks.out[0])
            done = subprocess.run([TOOL, "report", f"{folder}/1.txt", "--format", "csv"],
                                  capture_output=True, text=True, timeout=SECONDS)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("all-reduce", done.stdout)
            done = subprocess.run([TOOL, "compare", f"{folder}/1.txt", f"{folder}/2.txt"],
                                  capture_output=True, text=True, timeout=SECONDS)
            self.assertIn("all-reduce", done.stdout + done.stderr)


class Wire(unittest.TestCase):
    def test_the_share_of_the_wire(self):
        if "ofi" not in subprocess.run([TOOL, "devices"], capture_output=True, text=True, check=False).stdout:
            self.skipTest("no libfabric here")
        words = ["all-reduce", "--size", "64K", "-n", "5", "--wire", "--wire-backend", "ofi",
                 "--wire-provider", "tcp", "--wire-duration", "200ms"]
        # The provider takes no GPU's memory, so that it would be staged: not unless it was asked for.
        for more, staged in ([], False), (["--wire-memory", "cuda:0"], True):
            ranks = coll(2, *words, *more, "--format", "json")
            self.assertEqual(ranks.codes, [0, 0], ranks.said())
            document = json.loads(ranks.out[0])
            row = facts(document["results"][0]["facts"])
            self.assertGreater(row["wire_bits_per_s"], 0)
            self.assertGreater(row["wire_share"], 0)
            self.assertEqual(row.get("wire_memory"), "staged" if staged else None)
            pairs = [note for note in document["notes"] if note.startswith("Wire, rank")]
            self.assertEqual(len(pairs), 2)
            for pair in pairs:
                if staged:
                    self.assertIn("memory cuda:0 (", pair)
                    self.assertIn("staged: the wire", pair)
                else:
                    self.assertRegex(pair, r", memory host, .* cuda:\d to cuda:\d: .*staged: ")
                self.assertRegex(pair, r"client's cuda:\d by staged; .*server's cuda:\d by staged")
        ranks = coll(2, *words, "--wire-memory", "cuda:0")
        self.assertEqual(ranks.codes, [0, 0], ranks.said())
        self.assertRegex(ranks.out[0], r"[0-9.]+ %, staged")

    def test_the_way_from_a_stream_to_the_collective(self):
        if "ofi" not in subprocess.run([TOOL, "devices"], capture_output=True, text=True, check=False).stdout:
            self.skipTest("no libfabric here")
        ranks = coll(3, "all-reduce", "--size", "96K", "-n", "5", "--wire", "--wire-shape", "nccl", "--wire-backend", "ofi",
                     "--wire-memory", "host", "--wire-duration", "50ms", NCCL_IB_QPS_PER_CONNECTION="2")
        self.assertEqual(ranks.codes, [0, 0, 0], ranks.said())
        lines = ranks.out[0].split("From that to all-reduce of 96K, ")[1].splitlines()[1:7]
        for line, name in zip(lines, ("one stream of writes of 1M", "messages of 4K", "2 in flight",
                                      r"on each of 16 queue pairs \(8 channels\)", "a clear-to-send before each",
                                      "the collective: kernels, copies, other ranks")):
            self.assertRegex(line, rf"^  {name} +\d+(\.\d+)?" + ("" if "stream" in name else r" +[+-]\d+\.\d %$"))


if __name__ == "__main__":
    TOOL = sys.argv[1]
    FAKES = f"{sys.argv[2]}:{sys.argv[3]}"
    SCHEMA = sys.argv[4] if len(sys.argv) > 4 and os.path.exists(sys.argv[4]) else ""
    unittest.main(argv=[sys.argv[0], *sys.argv[5:]])
