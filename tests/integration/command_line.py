#!/usr/bin/env python3
"""The command line: help, errors, exit codes and output. Usage: command_line.py RDMABENCH"""

import csv
import ctypes
import fcntl
import glob
import json
import os
import pathlib
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
import unittest

import command
from command import run


def driver_is_here() -> bool:
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    return True


class Expectations(unittest.TestCase):
    LOOP = ("bw", "--backend", "loop", "-s", "64K", "-D", "50ms")

    def test_a_kept_limit_passes(self):
        result = run(*self.LOOP, "--expect", "bw>=1kb/s")
        self.assertEqual(result.returncode, 0, result)
        self.assertRegex(result.stdout, r"(?m)^PASS bw>=1kb/s: send of 64K: ")

    def test_a_broken_limit_is_the_exit_code_and_in_every_format(self):
        broken = (*self.LOOP, "--expect", "bw>=9e15Gb/s", "--expect", "bw>=90%line")
        result = run(*broken)
        self.assertEqual(result.returncode, 1, result)
        self.assertRegex(result.stdout, r"(?m)^FAIL bw>=9e15Gb/s: ")
        self.assertRegex(result.stdout, r"(?m)^OPEN bw>=90%line: .*rate of the link")
        result = run(*broken, "--format", "json")
        self.assertEqual(result.returncode, 1, result)
        judged = json.loads(result.stdout)["expectations"]
        self.assertEqual([one["status"] for one in judged], ["FAIL", "OPEN"])
        self.assertRegex(result.stderr, "FAIL bw>=9e15Gb/s")
        page = subprocess.run([command.TOOL, "report", "-", "--format", "junit"], input=result.stdout,
                              capture_output=True, text=True, check=True)
        self.assertIn("bw>=9e15Gb/s", page.stdout)

    def test_a_limit_that_is_none_is_refused_before_measuring(self):
        result = run(*self.LOOP, "--expect", "bw>=9Gbps")
        self.assertEqual(result.returncode, 2, result)
        self.assertIn("'Gbps' is not a unit of bw", result.stderr)

    def test_a_baseline_that_cannot_be_read_is_refused_before_measuring(self):
        with tempfile.TemporaryDirectory() as folder:
            started = time.monotonic()
            result = run("bw", "--backend", "loop", "-D", "30s", "--expect", f"bw>=95%{folder}/none.json")
            self.assertLess(time.monotonic() - started, 20)
        self.assertEqual(result.returncode, 2, result)
        self.assertIn("none.json", result.stderr)

    def test_a_table_in_a_file_has_what_was_judged(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, "table.txt")
            result = run(*self.LOOP, "--expect", "bw>=1kb/s", "--output", str(file))
            self.assertRegex(file.read_text(encoding="utf-8"), r"(?m)^PASS bw>=1kb/s: ")
        self.assertRegex(result.stderr, r"(?m)^PASS bw>=1kb/s: ")

    def test_limits_of_a_profile(self):
        with tempfile.NamedTemporaryFile("w", suffix=".json") as profile:
            json.dump({"rate_gbps": 400, "expect": ["rate>=1", "bw<=1b/s@64K"]}, profile)
            profile.flush()
            result = run(*self.LOOP, "--profile", profile.name)
            self.assertEqual(result.returncode, 1, result)
            self.assertRegex(result.stdout, r"(?m)^PASS rate>=1: ")
            self.assertRegex(result.stdout, r"(?m)^FAIL bw<=1b/s@64K: ")
            self.assertNotIn("expect", run("doctor", "--profile", profile.name).stderr)


class Usage(unittest.TestCase):
    def refused(self, *words: str, code: int = 2) -> str:
        result = run(*words)
        self.assertEqual(result.returncode, code, result)
        self.assertEqual(result.stdout, "", "an error is no data")
        return result.stderr

    def test_help_of_every_command_goes_to_standard_output(self):
        for words in ([], ["lat"], ["bw"], ["serve"], ["devices"], ["demo"], ["reg"],
                      ["compare"], ["project"]):
            result = run(*words, "--help")
            self.assertEqual(result.returncode, 0)
            self.assertIn("rdmabench", result.stdout)

    @unittest.skipIf(driver_is_here(), "NCCL may work here")
    def test_what_ends_every_rank_is_told_once(self):
        port = command.free_port()
        ranks = [subprocess.Popen([command.TOOL, "coll", "all-reduce", "--size", "8", "--backend", "nccl", "--insecure"],
                                  env=command.rank_of(rank, 3, "127.0.0.1", port), stderr=subprocess.PIPE, text=True)
                 for rank in range(3)]
        errors = [rank.communicate(timeout=60)[1] for rank in ranks]
        self.assertEqual([rank.returncode for rank in ranks], [3, 3, 3], errors)
        self.assertEqual([error.count("rdmabench: ") for error in errors], [1, 0, 0], errors)

    def test_version(self):
        self.assertRegex(run("--version").stdout, r"rdmabench \d+\.\d+\.\d+")

    def test_an_unknown_flag_names_the_nearest(self):
        self.assertIn("--size", self.refused("lat", "host", "--sise", "8"))
        self.assertIn("'latt'", self.refused("latt", "host"))

    def test_a_number_with_a_tail_names_the_value(self):
        self.assertIn("'3Q'", self.refused("lat", "host", "--size", "3Q"))
        self.assertIn("'1e6'", self.refused("lat", "host", "-n", "1e6"))
        self.assertIn("--outstanding 16", self.refused("lat", "host", "-o", "16"))
        self.assertIn("'fast'", self.refused("bw", "host", "-D", "fast"))

    @unittest.skipIf(glob.glob("/sys/class/infiniband/*"), "this machine has an RDMA device")
    def test_datagrams_of_all_sizes_need_a_device_before_an_mtu(self):
        self.assertRegex(self.refused("ib_send_bw", "-c", "UD", "-a", "host", code=3), "no RDMA device|not in this program")
        # A server too: it does not wait for a client that could not be served.
        self.assertRegex(self.refused("ib_write_bw", "-d", "nosuch0", code=3), "no (RDMA )?device|not in this program")
        self.assertRegex(self.refused("ib_write_bw", "--backend", "ofi", "-d", "nosuch0", code=3),
                         "nosuch0|not in this program")
        self.assertIn("mean 10Gb", self.refused("bw", "host", "--rate", "10G"))
        self.assertIn("has no --sl", self.refused("lat", "--backend", "loop", "--sl", "3"))

    @unittest.skipIf(driver_is_here(), "it may have a GPU")
    def test_what_is_not_here_is_told_by_its_option(self):
        self.assertIn("--memory cuda:0: ", self.refused("lat", "--backend", "loop", "--memory", "cuda:0", code=3))
        self.assertIn("--use_cuda cuda:0: ", self.refused("ib_write_bw", "--backend", "loop", "--use_cuda=0", code=3))
        self.assertIn(" -e ", self.refused("ib_send_bw", "--backend", "loop", "-e", "-n", "10"))

    def test_a_server_needs_its_device_before_it_listens(self):
        result = run("serve", "--device", "nosuch0", "--port", "0", "--insecure")
        self.assertIn(result.returncode, (2, 3), result)
        self.assertNotIn("listening", result.stderr)
        self.assertIn("nosuch0", result.stderr)

    def test_standard_output_by_its_sign(self):
        with tempfile.TemporaryDirectory() as folder:
            for words in (("lat", "--backend", "loop", "-n", "10", "--no-watch"), ("doctor", "--only", "limit"), ("devices",)):
                result = subprocess.run([command.TOOL, *words, "-o", "-", "--json", "it.json"], cwd=folder, capture_output=True,
                                        text=True, timeout=60, check=False)
                self.assertIn(result.returncode, (0, 1), result)
                self.assertTrue(result.stdout, words)
                self.assertTrue(json.loads(pathlib.Path(folder, "it.json").read_text(encoding="utf-8"))["schema"])
                self.assertEqual(os.listdir(folder), ["it.json"])
        for words in (("lat", "--backend", "loop", "--json", "-"), ("doctor", "--collect", "-"), ("demo", "--json", "-"),
                      ("fabric", "--rank", "0", "--ranks", "2", "--rendezvous", "127.0.0.1:1", "--insecure", "-o", "-")):
            self.assertIn("'./-'", self.refused(*words))

    def test_impossible_pairs(self):
        self.assertIn("--duration", self.refused("lat", "host", "-n", "5", "-D", "1s"))
        self.assertIn("loop", self.refused("lat", "host", "--backend", "loop"))
        self.assertIn("--backend verbs",
                      self.refused("lat", "host", "--backend", "ofi", "--transport", "rc"))
        self.assertIn("HOST", self.refused("lat"))
        self.assertIn("--signal-every", self.refused("bw", "--backend", "loop", "-t", "4",
                                                     "--signal-every", "8"))

    def test_values_out_of_range(self):
        self.assertIn("65536", self.refused("lat", "host", "--port", "65536"))
        self.assertIn("16384", self.refused("bw", "--backend", "loop", "--depth", "20000"))
        self.assertIn("256M", self.refused("lat", "--backend", "loop", "--size", "1G"))
        self.assertIn("'pigeon'", self.refused("lat", "host", "--op", "pigeon"))

    def test_a_word_that_is_none(self):
        lat = ("lat", "host")
        server = ("serve", "--port", "0", "--address", "127.0.0.1", "--insecure")
        coll = ("coll", "all_reduce", "--ranks", "1", "--rank", "0")
        for before, options in (
                (lat, ("--op", "--backend", "--transport", "--memory", "--peer-memory", "--gpu-mapping", "--require",
                       "--format", "--auth")),
                (server, ("--allow", "--allow-provider", "--auth")),
                (("fabric", "--ranks", "2", "--rank", "0"), ("--pattern", "--metric", "--op", "--require", "--format", "--transport")),
                (coll, ("--type", "--reduction", "--place", "--backend", "--mpi", "--validate", "--format", "--groups",
                        "--expect")),
                (("doctor",), ("--only", "--expect", "--format")),
                (("netplugin", "no.so"), ("--only", "--format", "--auth")),
                (("report", "none.json"), ("--format", "--as")),
                (("compare", "a", "b"), ("--format", "--metric")),
                (("project", "a"), ("--curve", "--model", "--parallel", "--algorithm", "--stragglers")),
                (("decide", "a", "b"), ("--format", "--language"))):
            for option in options:
                with self.subTest(command=before[0], option=option):
                    self.assertIn("nonsense", self.refused(*before, option, "nonsense"))

    def test_lists_take_commas(self):
        server = ("serve", "--port", "0", "--address", "127.0.0.1", "--insecure")
        self.assertIn("'here'", self.refused(*server, "--allow", "10.0.0.0/8,here"))
        self.assertIn("'nobody'", self.refused(*server, "--allow-provider", "tcp,shm,nobody"))
        self.assertIn("'nobody'", self.refused("doctor", "--only", "limit,nobody"))
        self.assertIn("'nobody'", self.refused("netplugin", "no.so", "--only", "order,nobody"))
        self.assertEqual(run("doctor", "--only", "limit,os.swap").returncode & ~1, 0)

    def test_memory_that_is_none(self):
        if "no verbs" in run("reg").stderr:  # this build cannot register any
            self.assertIn("RDMABENCH_VERBS", self.refused("reg", "--memory", "hots", code=3))
            return
        self.assertIn("'hots'", self.refused("reg", "--memory", "hots"))
        self.assertIn("'near'", self.refused("reg", "--numa", "near"))
        self.assertIn("'cuda:x'", self.refused("reg", "--memory", "cuda:x"))
        if not driver_is_here():
            self.assertIn("libcuda.so.1", self.refused("reg", "--memory", "cuda:0", code=3))
            self.assertIn("libcuda.so.1", self.refused("lat", "host", "--memory", "cuda:0", code=3))

    def test_gpu_memory_that_cannot_be(self):
        gpu = ("host", "--memory", "cuda:0")
        for words, remedy in (
                (("lat", *gpu, "--op", "write"), "--op write-imm"),
                (("lat", *gpu, "--op", "read", "--target-idle"), "--target-idle"),
                (("lat", *gpu, "--inline", "8"), "leave it out"),
                (("bw", *gpu, "--odp"), "leave it out"),
                (("bw", *gpu, "--peer-memory", "file:/etc/passwd"), "host, huge or cuda"),
                (("bw", *gpu, "--gpu-mapping", "bar1"), "data-direct"),
                (("bw", "host", "--gpu-mapping", "pcie"), "--memory cuda:N")):
            with self.subTest(words=words):
                self.assertIn(remedy, self.refused(*words))

    def test_registration_without_a_device(self):
        self.assertRegex(self.refused("reg", "--device", "nosuch9", code=3),
                         "no RDMA device 'nosuch9'|no verbs")

    def test_nobody_listens(self):
        self.assertIn("rdmabench serve",
                      self.refused("lat", "127.0.0.1", "-p", "1", "--timeout", "1s", "--insecure", code=1))


    def test_help_as_a_command(self):
        for words in ([], ["lat"], ["fi_rdm_bw"]):
            asked, usual = run("help", *words), run(*words, "--help")
            self.assertEqual((asked.returncode, asked.stdout, asked.stderr),
                             (usual.returncode, usual.stdout, usual.stderr))
            self.assertIn("Usage", asked.stdout + asked.stderr)

    def test_a_name_that_is_nearly_right(self):
        for words, hint in ((("completion",), "bash, zsh or fish"), (("fi_info",), "fi_pingpong"), (("latency", "host"), "mean lat?"), (("bandwidth",), "mean bw?"),
                            (("ib_send",), "ib_send_bw"), (("gather_perf2", "x"), "gather_perf"),
                            (("ucx_perftst", "host"), "ucx_perftest"), (("ucx_info",), "ucx_perftest"), (("ucx_perftest", "host"), "-t tag_lat"),
                            (("bw", "host", "--bidi"), "--bidirectional"),
                            (("lat", "host", "--bidi"), "--bidirectional is an option of bw"),
                            (("coll", "all-reduce", "--bidi"), "--bidirectional is an option of bw"),
                            (("help", "nosuch"), "'nosuch' is not known"), (("help", "latt"), "mean lat?"),
                            (("fi_info", "--help"), "fi_rdm_pingpong"), (("hlep", "lat"), "mean help?"),
                            (("coll", "allreduc"), "mean all-reduce?"), (("coll", "all-reduc"), "mean all-reduce?"),
                            (("coll", "allredoce"), "all-reduce"), (("frobnicate",), "'frobnicate'"),
                            (("band" "with", "node2"), "mean bw?"), (("demo", "-D", "1s"), "-D is an option of lat"),
                            (("lat", "host", "more"), "'more'")):
            with self.subTest(words=words):
                self.assertIn(hint, self.refused(*words))

    def test_a_hint_names_the_help_of_its_command(self):
        self.assertIn("'rdmabench bw --help'", self.refused("bw", "host", "--sise", "8"))
        self.assertIn("'rdmabench fabric --help'", self.refused("fabric", "--metric", "both2"))
        self.assertIn("'rdmabench --help'", self.refused("latt", "host"))

    def test_mpi_spells_a_collective_otherwise(self):
        for name in ("allreduce", "all_reduce", "all-reduce", "AllReduce"):  # known: only the ranks are missing
            result = run("coll", name, "--rank", "1", "--ranks", "2")
            self.assertIn("rendezvous", result.stderr.lower())

    def test_a_host_with_its_port(self):
        for host in ("127.0.0.1:1", "[::1]:1", "[::1]"):
            self.assertIn("1", self.refused("lat", host, "--timeout", "1s", "--insecure", code=1))
            self.assertNotIn("unknown host", self.refused("lat", host, "--timeout", "1s", "--insecure", code=1))
        self.assertIn("--port 7", self.refused("lat", "127.0.0.1:1", "--port", "7"))
        self.assertIn("'x'", self.refused("lat", "127.0.0.1:x"))

    def test_a_back_end_without_a_device_is_told_before_the_server_is_looked_for(self):
        if any(line.startswith("verbs") and " active " in line for line in run("devices").stdout.splitlines()):
            self.skipTest("there is a device here")
        error = self.refused("lat", "127.0.0.1:1", "--backend", "verbs", "--insecure", code=3)
        self.assertIn("verbs", error)
        self.assertNotIn("connect to", error)

    def test_an_output_that_cannot_be_written_is_refused_before_anything_is_measured(self):
        there = "/no such folder/x"
        rank = ("--rank", "0", "--ranks", "2", "--rendezvous", "127.0.0.1:1", "--insecure")
        for words in (("lat", "--backend", "loop"), ("bw", "--backend", "loop"), ("load", "--backend", "loop"),
                      ("demo",), ("doctor",), ("coll", "all-reduce"), ("fabric", *rank),
                      ("netplugin", "/bin/true"), ("reg",)):
            with self.subTest(words=words):
                if words == ("reg",) and "no verbs" in run("reg").stderr:
                    continue
                error = self.refused(*words, "--output", there)
                self.assertIn(there, error)
        self.assertIn(there, self.refused("doctor", "--collect", there))
        self.assertIn(there, self.refused("demo", "--json", there))
        self.assertIn(there, self.refused("lat", "--backend", "loop", "-n", "100", "--json", there))
        self.assertIn(there, self.refused("report", "/dev/null", "--output", there + ".md"))
        self.assertIn(there, self.refused("fabric", *rank, "--resume", there))
        self.assertIn(there, self.refused("ib_send_lat", "host", "--out_json", f"--out_json_file={there}"))
        self.assertIn(there, self.refused("all_reduce_perf", "-J", there + ".json"))

    def test_the_help_lists_the_exit_codes(self):
        for words in ([], ["lat"], ["bw"], ["load"]):
            text = " ".join(run(*words, "--help").stdout.split())
            for part in ("Exit codes: 0 ", "; 1 ", "; 2 wrong usage; 3 not available here; 128 and"):
                self.assertIn(part, text)


COMMANDS = ("devices", "serve", "lat", "bw", "load", "reg", "fabric", "coll", "report", "doctor", "demo",
            "compare", "project", "decide", "netplugin", "completion")


class Width(unittest.TestCase):
    """What is no sentence fits into 80 columns."""

    def assert_fits(self, text: str, most: int = 80):
        self.assertEqual([line for line in text.splitlines() if len(line) > most], [])

    def test_help(self):
        self.assert_fits(run("--help").stdout)
        for name in COMMANDS:
            self.assert_fits(run(name, "--help").stdout)
        for name in ("lat", "bw", "load", "fabric", "coll"):
            self.assert_fits(run(name, "--help-all").stdout)
            usual = re.findall(r"(?m)^  -\S+", run(name, "--help").stdout)
            self.assertLessEqual(len(usual), 18, usual)  # some fifteen, and --help and --help-all
        for name in ("ib_write_bw", "ib_read_lat", "all_reduce_perf", "fi_rdm_pingpong", "fi_rma_bw", "ucx_perftest"):
            result = run(name, "--help")
            self.assertIn("Options:", result.stdout + result.stderr)
            self.assert_fits(result.stdout + result.stderr)

    def rows(self, *words: str) -> str:
        """Without the sentences below the table."""
        result = run(*words)
        self.assertEqual(result.returncode, 0, result)
        return "\n".join(line for line in result.stdout.splitlines()
                         if not line.startswith(("suspect", "warning", "note", "knee", "chosen")))

    def test_tables(self):
        quick = ("--backend", "loop", "--no-watch", "-n", "200", "-s", "8,256K")
        for words in (("lat", *quick), ("bw", *quick), ("load", *quick), ("devices",), ("doctor", "--list")):
            self.assert_fits(self.rows(*words))

    def test_every_column(self):
        quick = ("lat", "--backend", "loop", "--no-watch", "-n", "200", "-s", "8,256K")
        self.assertIn("left out: stddev[us]", run(*quick).stdout)
        wide = run(*quick, "--wide").stdout
        self.assertIn("stddev[us]", wide)
        self.assertNotIn("left out", wide)
        self.assertIn("FAIL", run("doctor", "--list", "--wide").stdout)

    def test_launches_at_a_rate_are_one_row_of_their_csv(self):
        rated = ("load", "--backend", "loop", "--no-watch", "-n", "2000", "--rate", "100k", "--launches", "2")
        rows = [one for one in csv.DictReader(run(*rated, "--format", "csv").stdout.splitlines()) if one["kind"] == "load"]
        self.assertEqual([one["launches"] for one in rows], ["2"], "the result over launches alone")

    def test_a_curve_of_several_launches(self):
        words = ("load", "--backend", "loop", "--no-watch", "-n", "200", "--launches", "2")
        over, *launches = json.loads(run(*words, "--format", "json").stdout)["documents"]
        self.assertEqual([len(one["results"]) for one in (over, *launches)], 3 * [13])
        self.assertEqual((over["results"][0]["launches"], over["knees"][0]["launches"]), (2, 2))
        self.assertRegex(run(*words).stdout, r"(?s)load (?=.*p50 low).*knee of 8 in \d of 2 launches")

    def test_launches_are_judged_by_their_interval_and_compared(self):
        words = ("bw", "--backend", "loop", "--no-watch", "-D", "10ms", "-s", "64K", "--launches", "5", "--expect", "bw>=1kb/s")
        result = run(*words)
        self.assertEqual(result.returncode, 0, result)
        self.assertIn("bw low[Gb/s]", result.stdout)
        self.assertRegex(result.stdout, r"(?m)^PASS bw>=1kb/s: send of 64K: .* over 5 launches")
        with tempfile.TemporaryDirectory() as folder:
            file = f"{folder}/five.json"
            self.assertEqual(run(*words, "--format", "json", "--output", file).returncode, 0)
            over, *launches = json.loads(pathlib.Path(file).read_text(encoding="utf-8"))["documents"]
            self.assertEqual([one["results"][0]["launches"] for one in (over, *launches)], [5, 1, 1, 1, 1, 1])
            self.assertLess(over["results"][0]["bits_per_s_low"], over["results"][0]["bits_per_s"])
            self.assertEqual(over["expectations"][0]["launches"], 5)
            self.assertEqual(len({json.dumps(one["environment"]) + str(one["clock"]["ns_per_tick"]) for one in launches}), 5)
            held = run(*words[:-4], "--expect", f"bw>=1%{file}")
            self.assertIn("(5 launches)", held.stdout)
            self.assertRegex(run("compare", "--plan", file).stdout, "from 5 pilot launches")

    def test_two_sides_are_measured_in_turn_and_compared(self):
        side = ("bw", "--backend", "loop", "--no-watch", "-D", "10ms", "-s", "64K")
        with tempfile.TemporaryDirectory() as folder:
            words = ("compare", "--launches", "10", "--keep", folder, "--factor", "all", "--format", "json", "--", *side, "--", *side, "--depth", "2")
            document = json.loads(run(*words).stdout)
            self.assertEqual((document["a"]["launches"], document["b"]["launches"], document["b"]["name"]), (10, 10, "B"))
            self.assertEqual(document["order"]["pattern"], 5 * "ABBA")
            again = json.loads(run("compare", f"{folder}/a", f"{folder}/b", "--factor", "all", "--format", "json").stdout)
            self.assertEqual((again["families"], again["order"]), (document["families"], document["order"]))
            self.assertIn(f"files in '{folder}/a'", run(*words).stderr)

    def test_two_sides_that_cannot_be_compared_are_not_measured(self):
        side = ("bw", "--backend", "loop", "--no-watch", "-D", "10ms", "-s", "64K")
        for named, own, b in (("without two command lines", (), ()), ("'bw' against 'lat'", (), ("--", "lat", "--backend", "loop")),
                              ("--expect", (), ("--", *side, "--expect", "bw>=1kb/s")), ("--launches", (), ("--", *side, "--launches", "2")),
                              ("--output", (), ("--", *side, "--output", "/dev/null")), ("--sise", (), ("--", *side, "--sise", "8")),
                              ("measures nothing", (), ("--", "bw", "--help")), ("'C'", ("--a-name", "C", "--b-name", "C"), ("--", *side)),
                              ("--planned 5", ("--planned", "5"), ("--", *side)), ("--store", ("--store",), ("--", *side)),
                              ("--name", ("--name", "x"), ("--", *side)), ("no such folder", ("--output", "/no such folder/x"), ("--", *side))):
            with self.subTest(named=named), tempfile.TemporaryDirectory() as folder:
                result = run("compare", "--launches", "6", "--keep", f"{folder}/kept", *own, "--", *side, *b)
                self.assertEqual((result.returncode, result.stdout, os.listdir(folder)), (2, "", []), result)
                self.assertIn(named, result.stderr)

        result = run("compare", "--launches", "5", "--", *side, "--", *side[:-1], "8")
        self.assertEqual(result.returncode, 2, result)
        self.assertIn("nothing in common", result.stderr)

    def test_a_comparison_says_that_it_was_stopped_early(self):
        side = ("lat", "--backend", "loop", "--no-watch", "-D", "100ms")
        with tempfile.TemporaryDirectory() as folder:
            process = subprocess.Popen([command.TOOL, "compare", "--launches", "50", "--keep", folder, "--format", "json", "--", *side, "--", *side],
                                       stdout=subprocess.PIPE, text=True, stderr=subprocess.DEVNULL)
            while process.poll() is None and not os.path.exists(f"{folder}/a/002.json"):
                time.sleep(0.01)
            process.send_signal(signal.SIGINT)
            notes = json.loads(process.communicate(timeout=30)[0])["notes"]
        self.assertEqual(process.returncode, 128 + signal.SIGINT)
        self.assertRegex("\n".join(notes), r"of 50 .* of A and \d+ of B: .*SIGINT")

    def test_a_launch_has_every_option(self):
        words = ("bw", "--backend", "loop", "--op", "write-imm", "-s", "64,4K", "-n", "400", "--warmup", "8", "--threads", "2",
                 "-q", "2", "-t", "8", "-r", "64", "-Q", "4", "-l", "2", "--inline", "32", "--validate", "--working-set", "64K",
                 "--stride", "8K", "--misalign", "8", "--rate", "1M", "--timeout", "20s", "--no-watch")
        alone = json.loads(run(*words, "--format", "json").stdout)
        over, *launches = json.loads(run(*words, "--launches", "2", "--format", "json").stdout)["documents"]
        self.assertGreater(len(alone["config"]), 15)
        for one in (over, *launches):
            self.assertEqual({key: value for key, value in one["config"].items() if key in alone["config"]}, alone["config"])
            self.assertEqual([row["iterations"] for row in one["results"]],
                             [row["iterations"] * (2 if one is over else 1) for row in alone["results"]])

    def test_a_launch_that_fails_ends_them(self):
        result = run("lat", "127.0.0.1", "--port", "1", "--launches", "3", "--insecure")
        self.assertEqual(result.returncode, 1, result)
        self.assertEqual(result.stderr.count("127.0.0.1:1"), 1, result)
        self.assertIn("MPI_Init", run("coll", "all-reduce", "--launches", "2").stderr)
        ignore = "import os, signal, sys; signal.signal(signal.SIGCHLD, signal.SIG_IGN); os.execv(sys.argv[1], sys.argv[1:])"
        deaf = subprocess.run([sys.executable, "-c", ignore, command.TOOL, *result.args[1:]], capture_output=True, timeout=60, check=False)
        self.assertEqual(deaf.returncode, 1, deaf)
        with tempfile.TemporaryDirectory() as folder:
            os.mkfifo(f"{folder}/fifo")
            result = run("fabric", "--rank", "0", "--ranks", "2", "--rendezvous", "127.0.0.1:1", "--insecure",
                         "--launches", "2", "--output", f"{folder}/fifo")
            self.assertEqual(result.returncode, 2, result)
            self.assertIn("no regular file", result.stderr)

    @staticmethod
    def in_the_third_of_50(form: str = "json") -> tuple[subprocess.Popen, int]:
        """The process that launches, and its third launch, which has begun."""
        process = subprocess.Popen([command.TOOL, "lat", "--backend", "loop", "-D", "300ms", "--launches", "50", "--format", form],
                                   stdout=subprocess.PIPE, text=True, stderr=subprocess.DEVNULL)
        children = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children")
        seen: list[int] = []
        while process.poll() is None and len(seen) < 3:
            seen += [child for child in map(int, children.read_text(encoding="ascii").split()) if child not in seen]
            time.sleep(0.01)
        return process, seen[-1]

    def test_an_interrupted_launch_is_written_with_those_before(self):
        process, _ = self.in_the_third_of_50()
        process.send_signal(signal.SIGINT)
        over, *launches = json.loads(process.communicate(timeout=30)[0])["documents"]
        self.assertEqual(process.returncode, 128 + signal.SIGINT)
        self.assertGreaterEqual(len(launches), 2)
        self.assertEqual((over["error"], over["results"][0]["complete"]),
                         (f"{len(launches)} of 50 launches: interrupted by SIGINT", True))

    def test_a_launch_that_was_killed_is_missing_in_the_document(self):
        process, third = self.in_the_third_of_50()
        os.kill(third, signal.SIGKILL)
        over, *launches = json.loads(process.communicate(timeout=30)[0])["documents"]
        self.assertEqual(process.returncode, 1)
        self.assertRegex(over["error"], f"^{len(launches)} of 50 launches: .* signal 9$")
        process, third = self.in_the_third_of_50("table")
        os.kill(third, signal.SIGKILL)
        self.assertRegex(process.communicate(timeout=30)[0], r"(?m)^error: \d of 50 launches: .* signal 9$")

    def test_launches_read_a_profile_from_a_pipe_once(self):
        ends = os.pipe()
        os.write(ends[1], b'{"expect": ["p50<=1s"]}')
        os.close(ends[1])
        result = subprocess.run([command.TOOL, "lat", "--backend", "loop", "-n", "200", "--launches", "2", "--profile",
                                 f"/dev/fd/{ends[0]}"], pass_fds=ends[:1], capture_output=True, text=True, timeout=60, check=False)
        os.close(ends[0])
        self.assertEqual(result.returncode, 0, result)
        self.assertRegex(result.stdout, r"(?m)^(PASS|OPEN) p50<=1s: .* over 2 launches")  # two that differ much are OPEN

    def test_launches_on_a_terminal_that_stops_a_background_group(self):
        master, slave = pty.openpty()
        flags = termios.tcgetattr(slave)
        flags[3] |= termios.TOSTOP
        termios.tcsetattr(slave, termios.TCSANOW, flags)
        words = [command.TOOL, "lat", "--backend", "loop", "-D", "600ms", "--launches", "2"]
        script = "import fcntl, os, sys, termios; os.setsid(); fcntl.ioctl(2, termios.TIOCSCTTY, 0); os.execv(sys.argv[1], sys.argv[1:])"
        process = subprocess.Popen([sys.executable, "-c", script, *words], stdout=subprocess.DEVNULL, stderr=slave)
        try:
            self.assertEqual(process.wait(timeout=30), 0)
        finally:
            process.kill()
            os.close(slave)
            os.close(master)


def on_a_terminal(*words: str, columns: int = 80, **environment: str) -> tuple[str, str]:
    """Standard output and standard error, each on a terminal of its own."""
    ends = [pty.openpty(), pty.openpty()]
    for _, end in ends:
        fcntl.ioctl(end, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    process = subprocess.Popen([command.TOOL, *words], stdout=ends[0][1], stderr=ends[1][1],
                               env=os.environ | environment)
    for _, end in ends:
        os.close(end)
    texts = {end: b"" for end, _ in ends}
    open_ends = set(texts)
    while open_ends:
        for end in select.select(list(open_ends), [], [], 60)[0]:
            try:
                some = os.read(end, 65536)
            except OSError:  # EIO: nobody has the other side any more
                some = b""
            texts[end] += some
            if not some:
                open_ends.remove(end)
    process.wait(timeout=60)
    for end in texts:
        os.close(end)
    return tuple(text.decode().replace("\r\n", "\n") for text in texts.values())


class Progress(unittest.TestCase):
    WORDS = ("lat", "--backend", "loop", "--no-watch", "-D", "300ms", "-s", "8,64")

    def test_time_left_on_a_terminal(self):
        output, errors = on_a_terminal(*self.WORDS)
        self.assertRegex(errors, r"size 2 of 2: 64 bytes, .* s left")
        self.assertTrue(errors.endswith("\r\x1b[K"), "the line is erased")
        self.assertNotIn("s left", output)

    def test_at_most_so_long_where_it_ends_when_it_is_stable(self):
        errors = on_a_terminal("lat", "--backend", "loop", "--no-watch", "--max-time", "300ms")[1]
        self.assertRegex(errors, r"at most 1 s left")

    def test_none_from_another_rank(self):
        for name in ("OMPI_COMM_WORLD_RANK", "SLURM_PROCID", "PMIX_RANK"):
            self.assertEqual(on_a_terminal(*self.WORDS, **{name: "3"})[1], "")
        self.assertIn("left", on_a_terminal(*self.WORDS, OMPI_COMM_WORLD_RANK="0")[1])

    def test_none_in_a_pipe(self):
        self.assertEqual(run(*self.WORDS).stderr, "")

    def test_a_wide_terminal_shows_every_column(self):
        output = on_a_terminal(*self.WORDS, columns=140)[0]
        self.assertIn("stddev[us]", output)
        self.assertNotIn("left out", output)

    def test_a_narrow_terminal_breaks_sentences_between_words(self):
        for line in on_a_terminal(*self.WORDS, columns=60)[0].splitlines():
            if "[us]" not in line:
                self.assertLessEqual(len(line), 60)


class Output(unittest.TestCase):
    LOOP = ("lat", "--backend", "loop", "-n", "100", "--size", "8,64")

    def test_json_is_one_document_on_standard_output_alone(self):
        result = run(*self.LOOP, "--format", "json")
        self.assertEqual(result.returncode, 0)
        self.assertEqual(len(json.loads(result.stdout)["results"]), 2)
        self.assertEqual(result.stderr, "")

    def test_csv_has_a_line_for_each_size(self):
        self.assertEqual(len(run(*self.LOOP, "--format", "csv").stdout.splitlines()), 3)

    def test_the_table_shows_every_size(self):
        self.assertIn("64", run(*self.LOOP).stdout)

    def test_a_file_takes_what_standard_output_would(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "lat.json"
            result = run(*self.LOOP, "--format", "json", "--output", str(path))
            self.assertEqual((result.returncode, result.stdout), (0, ""))
            self.assertEqual(len(json.loads(path.read_text())["results"]), 2)

    def test_a_page_that_cannot_be_written_is_no_page_on_a_terminal(self):
        with tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/lat.json"
            run(*self.LOOP, "--format", "json", "--output", path)
            words = ("report", path, "--format", "html")
            output, errors = on_a_terminal(*words, "--output", "/dev/full")
            self.assertIn("/dev/full", errors)
            self.assertNotIn("<html", output)
            self.assertIn("| 64 |", output)
            self.assertTrue(run(*words, "--output", "/dev/full").stdout.startswith("<!DOCTYPE html>"))
            self.assertIn("cannot be shown on a terminal", on_a_terminal(*words)[1])

    def test_devices_lists_the_in_process_transport(self):
        self.assertIn("loop", run("devices").stdout)
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(run("devices", "-o", f"{folder}/devices.json").returncode, 0)
            document = json.loads(pathlib.Path(f"{folder}/devices.json").read_text(encoding="utf-8"))
        self.assertEqual(document["schema"], "rdmabench-devices/1")
        (loop,) = [one for one in document["devices"] if one["backend"] == "loop"]
        self.assertEqual(loop["details"], {"reach": "this process"})
        self.assertIn("libibverbs.so.1", [one["name"] for one in document["libraries"]])
        table = run("devices").stdout.partition("\n\n")[0].splitlines()
        rows = [line for line in table if not line.startswith(("backend", "left out", "in every row", " "))]
        self.assertEqual(len(rows), len(document["devices"]))  # a line each

    def test_a_processor_that_is_not_there(self):
        result = run(*self.LOOP, "--cpu", "1023")
        self.assertEqual(result.returncode, 2)
        self.assertIn(str(min(os.sched_getaffinity(0))), result.stderr)


class Analysis(unittest.TestCase):
    """compare and project over documents of the in-process transport. No verdict is expected: it
    would be one about this machine's noise."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.root = pathlib.Path(cls.folder.name)
        for side in "ab":
            (cls.root / side).mkdir()
        for i in range(5):
            for side in "ab":
                for test in ("bw", "lat"):
                    result = run(test, "--backend", "loop", "--no-watch", "-n", "1200", "-s", "1K,1M",
                                 "--format", "json", "--output",
                                 str(cls.root / side / f"{test}{i}.json"))
                    assert result.returncode == 0, result

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def side(self, name: str) -> str:
        return str(self.root / name)

    def refused(self, *words: str) -> str:
        result = run(*words)
        self.assertEqual((result.returncode, result.stdout), (2, ""), result)
        return result.stderr

    def assert_tables_fit(self, *words: str, headings: list[str]):
        """A table has 80 columns, with all headings by --wide; on a terminal sentences are broken, too."""
        result = run(*words)
        self.assertIn(result.returncode, (0, 1), result)
        long = [line for line in result.stdout.splitlines() if len(line) > 80]
        self.assertEqual([line for line in long if not re.search(r"[.:;]( \S|$)", line)], [])
        for heading in headings:
            self.assertIn(heading, run(*words, "--wide").stdout)
        shown = on_a_terminal(*words)[0].splitlines()
        self.assertEqual([line for line in shown if len(line) > 80], [])

    def test_tables_fit(self):
        long = ("--a-name", "ethernet-of-the-old-kind", "--b-name", "infiniband-of-the-new-kind")
        sides = (self.side("a"), self.side("b"), *long)
        self.assert_tables_fit("compare", *sides, headings=["A[us]", "B[us]", "interval"])
        self.assertIn("A is ethernet-of-the-old-kind, B is infini", run("compare", *sides).stdout)
        job = ("--params", "1B:4B", "--nodes", "2", "--extrapolate", *long)
        self.assert_tables_fit("project", self.side("a"), "--against", self.side("b"), *job,
                               headings=["stragglers[ms]", "hidden[ms]", "high[ms]", "interval"])

    def test_an_output_of_a_format_that_is_not_written(self):
        for words in (("compare", self.side("a"), self.side("b")),
                      ("project", self.side("a"), "--params", "1B", "--nodes", "2", "--extrapolate")):
            path = self.root / "out"
            self.assertIn(".xml", self.refused(*words, "-o", f"{path}.xml"))
            self.assertIn(run(*words, "-o", f"{path}.json").returncode, (0, 1))
            self.assertIn("schema", json.loads(path.with_suffix(".json").read_text(encoding="utf-8")))
            self.assertIn(run(*words, "-o", f"{path}.txt").returncode, (0, 1))
            self.assertIn("A ", path.with_suffix(".txt").read_text(encoding="utf-8"))

    def test_two_sides(self):
        result = run("compare", self.side("a"), self.side("b"), "--format", "json")
        self.assertIn(result.returncode, (0, 1), result)
        document = json.loads(result.stdout)
        self.assertEqual(document["schema"], "rdmabench-compare/1")
        self.assertEqual((document["a"]["launches"], document["b"]["launches"]), (10, 10))
        self.assertEqual(document["confounds"], [])
        self.assertEqual((document["a"]["name"], document["b"]["name"]), ("a", "b"))
        self.assertRegex(run("compare", self.side("a"), self.side("b")).stdout.splitlines()[0], r"\bb\b.*\ba\b")

    def steady(self, name: str, factor: float) -> str:
        """Launches of `bw` whose rates are all but the same, so that the verdict is known."""
        folder = self.root / name
        folder.mkdir(exist_ok=True)
        for i in range(5):
            document = json.loads((self.root / "a" / f"bw{i}.json").read_text(encoding="utf-8"))
            for row in document["results"]:
                row["bits_per_s"] = 1e10 * factor * (1 + 0.001 * i)
            (folder / f"{i}.json").write_text(json.dumps(document), encoding="utf-8")
        return str(folder)

    def test_an_improvement_is_no_failure(self):
        slow, fast = self.steady("slow", 1), self.steady("fast", 3)
        result = run("compare", slow, fast)
        self.assertEqual(result.returncode, 0, result)
        self.assertTrue(result.stdout.startswith("fast is BETTER than slow: "), result)
        self.assertEqual(run("compare", fast, slow).returncode, 1)
        self.assertEqual(run("compare", fast, slow, "--fail-on", "none").returncode, 0)
        self.assertEqual(run("compare", slow, fast, "--fail-on", "worse,different").returncode, 1)
        self.assertEqual(run("compare", slow, fast, "--strict").returncode, 1)
        result = run("compare", fast, slow, "--a-name", "6.1", "--b-name", "6.12", "--format", "json",
                     "--output", str(self.root / "worse.json"))
        self.assertEqual(result.returncode, 1, result)
        junit = run("report", str(self.root / "worse.json"), "--format", "junit").stdout
        self.assertIn('name="send bandwidth 1K [6.12 against 6.1]"', junit)
        self.assertIn('failures="3"', junit)  # two sizes and the verdict
        self.assertIn("'slower'", self.refused("compare", slow, fast, "--fail-on", "slower"))
        for other in (("--plan", "--cv", "2%"), ("--baseline", "no.sqlite", "--name", "x", slow)):
            self.assertIn(f"--planned with {other[0]}", self.refused("compare", *other, "--planned", "20"))
        self.assertIn("--a-name", self.refused("compare", slow, fast, "--a-name", "x", "--b-name", "x"))

    def test_a_baseline(self):
        database = str(self.root / "base.sqlite")
        words = ("compare", "--baseline", database, "--name", "nightly")
        result = run(*words, "--store", self.side("a"))
        if result.returncode == 3:  # a build without SQLite
            self.assertIn("SQLITE", result.stderr)
            return
        self.assertIn("10 launches", result.stdout)
        result = run(*words, "--margin", "80%", "--metric", "p50", self.side("b"))
        self.assertEqual(len(result.stdout.splitlines()), 1, result)
        self.assertIn("'nightly'", result.stdout)
        self.assertIn("'weekly'", self.refused("compare", "--baseline", database, "--name", "weekly",
                                               self.side("b")))
        self.assertRegex(run("compare", "--baseline", database, "--list").stdout, r"nightly +10 ")
        self.assertIn("bandwidth", run(*words, "--show").stdout)
        self.assert_tables_fit(*words, "--show", headings=["ran", "over", "sizes"])
        document = json.loads((self.root / "b" / "bw0.json").read_text(encoding="utf-8"))
        document["resolved"]["provider"] = "shm"
        other = self.root / "other.json"
        other.write_text(json.dumps(document), encoding="utf-8")
        refusal = self.refused(*words, "--store", str(other))
        self.assertIn("other.json", refusal)
        self.assertIn("resolved.provider shm instead of", refusal)
        self.assertIn("--factor", refusal)
        self.assertEqual(run(*words, "--store", str(other), "--factor", "provider").returncode, 0)
        self.assertIn("more than one", self.refused(*words, "--show", "--remove"))
        self.assertIn("--baseline", self.refused("compare", "--list"))
        self.assertIn("11 launches", run(*words, "--remove").stdout)
        self.assertIn("no baseline", run("compare", "--baseline", database, "--list").stdout)

    def test_a_plan(self):
        self.assertIn("5 launches of each side", run("compare", "--plan", "--cv", "2%").stdout)
        self.assertIn("write 5%", self.refused("compare", "--plan", "--cv", "2").lower())
        self.assertIn("--cv", self.refused("compare", "--plan"))
        self.assertEqual(run("compare", "--plan", self.side("a")).returncode, 0)

    def test_a_comparison_of_nothing(self):
        self.assertIn("nosuch", self.refused("compare", "nosuch", self.side("a")))
        self.assertIn("two paths are needed, not 1", self.refused("compare", self.side("a")))
        self.assertIn("the same launch", self.refused("compare", self.side("a"), self.side("a")))
        self.assertIn("'p98'", self.refused("compare", self.side("a"), self.side("b"), "--metric",
                                            "p98"))
        self.assertIn("--baseline", self.refused("compare", "--store", self.side("a")))

    def test_a_projection(self):
        job = ("--params", "1B", "--nodes", "2,8", "--extrapolate")
        result = run("project", self.side("a"), "--against", self.side("b"), *job, "--format", "json")
        self.assertEqual(result.returncode, 0, result)
        document = json.loads(result.stdout)
        self.assertEqual([row["value"] for row in document["rows"]], [2, 8])
        self.assertGreater(document["rows"][0]["a"]["step_s"], 0)
        table = run("project", self.side("a"), *job, "--price-a", "30").stdout
        self.assertIn("Assumptions", table)
        self.assertIn("Cost", table)

    def test_a_projection_against_itself(self):
        self.assertIn("the same launch", self.refused("project", self.side("a"), "--against", self.side("a"),
                                                      "--params", "1B", "--extrapolate"))

    def test_a_projection_of_nothing(self):
        self.assertIn("--params", self.refused("project", self.side("a")))
        refusal = self.refused("project", self.side("a"), "--params", "1B", "--nodes", "2,512")
        for word in ("a lacks a message of ", "10000 samples", "-n 10000", "rdmabench bw HOST", "--extrapolate",
                     "--stragglers"):
            self.assertIn(word, refusal)
        self.assertIn("'gpt-9'", self.refused("project", self.side("a"), "--model", "gpt-9"))
        self.assertIn("Vary one", self.refused("project", self.side("a"), "--params", "1B:8B",
                                               "--nodes", "2,4"))
        self.assertIn("'0.4'", self.refused("project", self.side("a"), "--params", "1B", "--mfu",
                                            "0.4"))


if __name__ == "__main__":
    unittest.main(argv=command.take_tool())
