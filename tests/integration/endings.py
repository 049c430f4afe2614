#!/usr/bin/env python3
"""How commands end: a signal loses no finished row, an output that cannot be written is told, an old file is kept.

Usage: endings.py RDMABENCH OFI(0|1)
"""

import json
import os
import pathlib
import re
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import unittest

from command import Terminal, free_port, rank_of

RDMABENCH, OFI = sys.argv[1], sys.argv[2] == "1"
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Signals(unittest.TestCase):
    def test_what_is_finished_goes_to_standard_output_and_to_a_file(self):
        with tempfile.TemporaryDirectory() as folder:
            for number in SIGNALS:
                for to_file in (False, True):
                    path = pathlib.Path(folder, f"{number}.json")
                    # The second size would take an hour.
                    command = Terminal(RDMABENCH, "lat", "--backend", "loop", "--size", "8,64", "-D", "1h", "--format", "json",
                                       *(["--output", str(path)] if to_file else []))
                    command.wait_for("size 1 of 2")
                    command.process.send_signal(number)
                    status, output, shown = command.end()
                    self.assertEqual(status, 128 + number, shown)
                    result = json.loads(path.read_text(encoding="utf-8") if to_file else output)
                    self.assertEqual(result["error"], f"interrupted by {number.name}")
                    self.assertEqual([row["complete"] for row in result["results"]], [False])
                    self.assertIn(f"interrupted by {number.name}", shown)

    def test_one_before_there_is_a_result_is_named(self):
        for number in SIGNALS:
            with socket.create_server(("127.0.0.1", 0)) as silent, \
                    subprocess.Popen([RDMABENCH, "lat", f"127.0.0.1:{silent.getsockname()[1]}", "--insecure"],
                                     stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
                with silent.accept()[0]:
                    process.send_signal(number)
                    output, errors = process.communicate(timeout=60)
            self.assertEqual((process.returncode, output, errors), (-number, "", f"rdmabench: interrupted by {number.name}\n"))

    def test_a_finished_row_is_complete(self):
        # The first size takes milliseconds, the second one minutes.
        command = Terminal(RDMABENCH, "lat", "--backend", "loop", "--size", "8,64M", "-n", "20k", "--format", "json")
        command.wait_for("size 2 of 2")
        command.process.send_signal(signal.SIGTERM)
        status, output, shown = command.end()
        self.assertEqual(status, 128 + signal.SIGTERM, shown)
        result = json.loads(output)
        self.assertEqual([row["complete"] for row in result["results"]], [True, False])
        self.assertEqual(result["error"], "interrupted by SIGTERM")

    def test_who_ignores_a_signal_still_does(self):
        command = Terminal(RDMABENCH, "lat", "--backend", "loop", "--size", "8", "-D", "300ms",
                           preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
        command.wait_for("size 1 of 1")
        command.process.send_signal(signal.SIGHUP)
        status, output, shown = command.end()
        self.assertEqual(status, 0, shown)
        self.assertIn("p50", output)

    def test_perftests_name_keeps_its_rows_too(self):
        command = Terminal(RDMABENCH, "ib_write_lat", "--backend", "loop", "-D", "3600", "-s", "64")
        command.wait_for("size 1 of 1")
        command.process.send_signal(signal.SIGINT)
        status, output, shown = command.end()
        self.assertEqual(status, 128 + signal.SIGINT, shown)
        self.assertRegex(output, r"\n +64 +\d+")

    def test_progress_is_erased_before_what_is_written_last(self):
        for words in (("ib_send_lat", "--backend", "loop", "-a", "-n", "1000"), ("lat", "--backend", "loop", "-n", "20k")):
            command = Terminal(RDMABENCH, *words)
            status, _, shown = command.end()
            self.assertEqual(status, 0, shown)
            self.assertRegex(shown, r"size \d+ of \d+: [^\r\n]*\r\x1b\[K(rdmabench: |$)")

    @unittest.skipUnless(OFI, "without libfabric")
    def test_a_one_shot_server_ends_with_1_when_its_client_is_killed(self):
        port = free_port()
        words = ("ib_write_bw", "--backend", "ofi", "-p", port, "-s", "64")
        server = subprocess.Popen([RDMABENCH, *words], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        client = Terminal(RDMABENCH, *words, "-D", "3600", "127.0.0.1")
        client.wait_for("size 1 of 1")
        client.process.kill()
        client.end()
        _, errors = server.communicate(timeout=60)
        self.assertEqual(server.returncode, 1, errors)

    @unittest.skipUnless(OFI, "without libfabric")
    def test_demo_writes_the_runs_before_the_signal(self):
        command = Terminal(RDMABENCH, "demo", "--size", "8,64", "--format", "json")
        command.wait_for("size 2 of 2")
        command.wait_for("(?s)size 2 of 2.*size 1 of 2")
        command.process.send_signal(signal.SIGTERM)
        status, output, shown = command.end()
        self.assertEqual(status, 128 + signal.SIGTERM, shown)
        first, second = json.loads(output)["documents"]
        self.assertEqual([row["complete"] for row in first["results"]], [True, True])
        self.assertIsNone(first["error"])
        self.assertEqual(second["error"], "interrupted by SIGTERM")

    @unittest.skipUnless(OFI, "without libfabric")
    def test_fabric_prints_the_rounds_before_the_signal(self):
        port = free_port()
        place = dict(os.environ, WORLD_SIZE="4", MASTER_ADDR="127.0.0.1", MASTER_PORT=port)
        words = ("fabric", "--provider", "tcp", "-D", "100ms", "-s", "4K", "--format", "json", "--no-confirm")
        others = [subprocess.Popen([RDMABENCH, *words], env=dict(place, RANK=str(rank)), stderr=subprocess.DEVNULL)
                  for rank in (1, 2, 3)]
        command = Terminal(RDMABENCH, *words, env=dict(place, RANK="0"))
        try:
            command.wait_for("round 1 of 3")
            command.process.send_signal(signal.SIGTERM)
            status, output, shown = command.end()
        finally:
            for other in others:
                other.wait(timeout=60)
        self.assertEqual(status, 128 + signal.SIGTERM, shown)
        records = [json.loads(line) for line in output.splitlines()]
        rounds = {record["round"] for record in records if record["record"] == "measurement"}
        self.assertTrue(rounds)
        self.assertLess(len(rounds), 3)
        self.assertNotIn("verdict", [record["record"] for record in records])
        self.assertIn("interrupted by SIGTERM before the last", shown)


class Rows(unittest.TestCase):
    # The first size takes milliseconds, the second one minutes.
    LAT = ("lat", "--backend", "loop", "--size", "8,64M", "-n", "20k")

    def rows_until_a_signal(self, *words: str, first: str) -> str:
        """Reads until the line of the first row, sends SIGINT and returns all that was printed."""
        with subprocess.Popen([RDMABENCH, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            before = ""
            for line in process.stdout:
                before += line
                if re.match(first, line):
                    break
            else:
                self.fail(f"{words} ended without its first row: {before}{process.stderr.read()}")
            self.assertIsNone(process.poll())
            process.send_signal(signal.SIGINT)
            after, errors = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 128 + signal.SIGINT, errors)
        self.assertEqual([line for line in errors.splitlines() if "suspect: " not in line],
                         ["rdmabench: interrupted by SIGINT"])
        return before + after

    def test_a_row_is_printed_before_the_next_size_is_measured(self):
        table = self.rows_until_a_signal(*self.LAT, first=" +8 ")
        self.assertNotIn("interrupted", table)
        csv = self.rows_until_a_signal(*self.LAT, "--format", "csv", first="send,loop,.*,8,20000,").splitlines()
        self.assertTrue(csv[0].endswith(",suspect,not_rdma"))
        self.assertTrue(csv[1].endswith(","), "it is not known yet")
        lines = self.rows_until_a_signal(*self.LAT, "--format", "jsonl", first='{"operation"').splitlines()
        self.assertEqual([json.loads(line)["complete"] for line in lines], [True] + [False] * (len(lines) - 1))
        self.rows_until_a_signal(*self.LAT, "--format", "perftest", first=" 8 +20000 ")
        self.rows_until_a_signal("ib_send_bw", "--backend", "loop", "-a", "-n", "20000", first=" 2 +20000 ")

    def test_a_load_is_printed_before_the_next_one(self):
        table = self.rows_until_a_signal("load", "--backend", "loop", "-s", "8", "-D", "1s", first=r" +10\.0 ")
        self.assertNotRegex(table, r"(?m)^ +110 ")

    @unittest.skipUnless(OFI, "without libfabric")
    def test_demo_prints_a_row_before_the_next_size_is_measured(self):
        table = self.rows_until_a_signal("demo", first=" +8 ")
        self.assertTrue(table.startswith("NOT RDMA: this demo measures TCP"), table)
        self.assertNotRegex(table, "(?m)^ +1M ")

    def test_rows_that_come_are_the_rows_of_the_whole(self):
        for words in (("lat", "--backend", "loop", "-s", "8,64,4K", "-n", "100", "--no-watch"),
                      ("bw", "--backend", "loop", "-s", "8,4K,64K", "-n", "10", "--no-watch")):
            for form in ("table", "csv", "jsonl", "perftest"):
                done = subprocess.run([RDMABENCH, *words, "--format", form], capture_output=True, text=True, timeout=60)
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                with tempfile.TemporaryDirectory() as folder:
                    path = pathlib.Path(folder, "whole")
                    subprocess.run([RDMABENCH, *words, "--format", form, "--output", path], check=True, timeout=60)
                    whole = path.read_text(encoding="utf-8")
                kinds = [[re.split("[ ,]+", re.sub(r"[\d.]+", "1", line.strip()))[0] for line in text.splitlines()
                          if not line.startswith(("left out", "in every row"))]
                         for text in (done.stdout, whole)]
                self.assertEqual(*kinds, form)

    def test_a_reader_that_has_left_ends_the_run_quietly(self):
        for words in (self.LAT, (*self.LAT, "--format", "csv"), ("ib_send_bw", "--backend", "loop", "-a", "-n", "20000"),
                      ("doctor", "--list"), ("lat", "--backend", "loop", "-n", "10")):
            ours, theirs = os.pipe()
            os.close(ours)
            with open(theirs, "w", encoding="ascii") as pipe:
                done = subprocess.run([RDMABENCH, *words], stdout=pipe, stderr=subprocess.PIPE, text=True, timeout=60)
            self.assertEqual((done.returncode, done.stderr), (128 + signal.SIGPIPE, ""), words)

    def test_json_says_that_the_rows_were_not_taken(self):
        reading, writing = os.pipe()
        os.close(reading)
        with tempfile.TemporaryDirectory() as folder, open("/dev/full", "w", encoding="ascii") as full, \
                open(writing, "w", encoding="ascii") as pipe:
            path = pathlib.Path(folder, "lat.json")
            for to, code, lines, error in ((full, 1, 1, "standard output could not be written"),
                                           (pipe, 128 + signal.SIGPIPE, 0, "the reader of standard output left")):
                done = subprocess.run([RDMABENCH, *self.LAT, "--json", path], stdout=to, stderr=subprocess.PIPE, text=True,
                                      timeout=60)
                self.assertEqual((done.returncode, done.stderr.count("\n")), (code, lines), done.stderr)
                self.assertEqual(json.loads(path.read_text(encoding="utf-8"))["error"], error)


class Outputs(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        results = [os.path.join(folder.name, f"{name}.json") for name in "ab"]
        lat = ("lat", "--backend", "loop", "-n", "10", "--format", "json")
        for result in results:
            subprocess.run([RDMABENCH, *lat, "--output", result], check=True, timeout=60)
        cls.writers = (lat, ("report", results[0], "--format", "csv"), ("doctor", "--format", "json"),
                       ("decide", "--plan", "--model", "bert-large", "--nodes", "8", "--rails", "1"))
        cls.commands = (*cls.writers, ("compare", *results), ("devices",), ("--help",), ("--version",), ("doctor", "--list"),
                        ("netplugin", "--list"), ("completion", "bash"), ("ib_send_lat", "--backend", "loop", "-n", "100"))

    def test_standard_output_that_is_full_or_closed_is_an_error(self):
        for words in self.commands:
            with open("/dev/full", "w", encoding="ascii") as full:
                done = subprocess.run([RDMABENCH, *words], stdout=full, stderr=subprocess.PIPE, text=True, timeout=60)
            self.assertEqual(done.returncode, 1, f"{words}: {done.stderr}")
            self.assertEqual(done.stderr.count("rdmabench: "), 1, done.stderr)
            self.assertIn("standard output", done.stderr)
            done = subprocess.run(["sh", "-c", '"$@" >&-', "sh", RDMABENCH, *words], stderr=subprocess.PIPE, text=True,
                                  timeout=60)
            self.assertEqual(done.returncode, 1, f"{words}: {done.stderr}")
            self.assertIn("standard output", done.stderr)

    def test_a_reader_that_leaves_does_not_lose_the_file(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "lat.json")
            reading, writing = os.pipe()
            os.close(reading)
            subprocess.run([RDMABENCH, "lat", "--backend", "loop", "-n", "10", "--format", "json", "--output", path],
                           stderr=writing, stdout=writing, timeout=60)
            os.close(writing)
            self.assertEqual(len(json.loads(path.read_text(encoding="utf-8"))["results"]), 1)

    def test_a_place_that_cannot_be_written_is_told_before_measuring(self):
        for words in (("lat", "--backend", "loop", "-D", "1h", "--output", "/nowhere/x"),
                      ("lat", "--backend", "loop", "-D", "1h", "--output", "/"),
                      ("ib_write_lat", "--backend", "loop", "-D", "3600", "--out_json", "--out_json_file=/nowhere/x")):
            done = subprocess.run([RDMABENCH, *words], capture_output=True, text=True, timeout=60)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(words[-1].rpartition("=")[2], done.stderr)

    def test_a_full_disk_keeps_the_old_file_and_prints_the_result(self):
        for words in self.writers:
            with self.subTest(words), tempfile.TemporaryDirectory() as folder:
                path = pathlib.Path(folder, "old.json")
                path.write_text("old", encoding="utf-8")
                done = subprocess.run([RDMABENCH, *words, "--output", path], capture_output=True, text=True, timeout=60,
                                      restore_signals=False,
                                      preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100)))
                self.assertEqual(done.returncode, 1, done.stderr)
                self.assertIn(str(path), done.stderr)
                self.assertGreater(len(done.stdout), 100)
                self.assertEqual(path.read_text(encoding="utf-8"), "old")
                self.assertEqual(os.listdir(folder), ["old.json"])

    def test_a_full_disk_for_the_json_keeps_the_table(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "lat.json")
            done = subprocess.run([RDMABENCH, "lat", "--backend", "loop", "-n", "10", "--json", path], capture_output=True,
                                  text=True, timeout=60, restore_signals=False,
                                  preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100)))
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn(str(path), done.stderr)
        self.assertRegex(done.stdout, r"\n +8 ")

    @unittest.skipUnless(OFI, "without libfabric")
    def test_demo_ends_when_its_rows_are_not_taken(self):
        with tempfile.TemporaryDirectory() as folder, open("/dev/full", "w", encoding="ascii") as full:
            path = pathlib.Path(folder, "demo.json")
            done = subprocess.run([RDMABENCH, "demo", "--size", "8", "--json", path], stdout=full, stderr=subprocess.PIPE,
                                  text=True, timeout=60)
            self.assertEqual(json.loads(path.read_text(encoding="utf-8"))["error"], "standard output could not be written")
        self.assertEqual((done.returncode, done.stderr.count("rdmabench: ")), (1, 1), done.stderr)

    def test_a_file_is_replaced_through_a_link_and_keeps_its_mode(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "lat.json")
            path.write_text("old", encoding="utf-8")
            path.chmod(0o640)
            link = pathlib.Path(folder, "link.json")
            link.symlink_to(path)
            subprocess.run([RDMABENCH, *self.writers[0], "--output", link], check=True, timeout=60)
            self.assertTrue(link.is_symlink())
            self.assertEqual(path.stat().st_mode & 0o777, 0o640)
            self.assertEqual(len(json.loads(path.read_text(encoding="utf-8"))["results"]), 1)

    @unittest.skipUnless(OFI, "without libfabric")
    def test_fabric_tells_that_its_output_is_full(self):
        for printed, words, says in (("/dev/full", (), "standard output"),
                                     (os.devnull, ("--output", "/dev/full"), "'/dev/full'")):
            port = free_port()
            command = [RDMABENCH, "fabric", "--provider", "tcp", "-n", "20", "-s", "4K", "--no-confirm"]
            with subprocess.Popen(command, env=rank_of(1, 2, "127.0.0.1", port), stderr=subprocess.DEVNULL), \
                    open(printed, "w", encoding="ascii") as to:
                done = subprocess.run([*command, *words], env=rank_of(0, 2, "127.0.0.1", port), stdout=to,
                                      stderr=subprocess.PIPE, text=True, timeout=60)
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertIn(says, done.stderr)

    @unittest.skipUnless(os.geteuid() == 0, "needs root, to make a link of another user")
    def test_a_link_of_another_user_is_not_followed(self):
        with tempfile.TemporaryDirectory() as folder:
            precious = pathlib.Path(folder, "precious")
            precious.write_text("old", encoding="utf-8")
            link = pathlib.Path(folder, "lat.json")
            link.symlink_to(precious)
            os.lchown(link, 2, 2)
            done = subprocess.run([RDMABENCH, "lat", "--backend", "loop", "-n", "10", "--output", link],
                                  capture_output=True, text=True, timeout=60)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn("is a symbolic link of the user 2", done.stderr)
            self.assertEqual(precious.read_text(encoding="utf-8"), "old")

    def test_names_of_files_and_baselines_bring_no_control_characters(self):
        with tempfile.TemporaryDirectory() as folder:
            red = "\x1b[31mred"
            files = [os.path.join(folder, f"{red}{number}.json") for number in range(2)]
            for file in files:
                subprocess.run([RDMABENCH, "lat", "--backend", "loop", "-n", "100", "--format", "json", "--output", file],
                               check=True, timeout=60)
            database = os.path.join(folder, "x.sqlite")
            baseline = ("compare", "--baseline", database, "--name", red)
            for words in (("compare", *files), ("compare", *files, "--format", "json"), ("compare", files[0], red),
                          (*baseline, "--store", files[0]), (*baseline, files[1]), (*baseline, files[0]),
                          *(("report", *files, "--format", form)
                            for form in ("html", "junit", "prometheus", "csv", "markdown"))):
                done = subprocess.run([RDMABENCH, *words], capture_output=True, text=True, timeout=60)
                self.assertTrue(done.stdout or done.stderr)
                self.assertNotIn("\x1b", done.stdout + done.stderr, words)

    def test_a_device_and_a_pipe_are_written_in_place(self):
        done = subprocess.run([RDMABENCH, "lat", "--backend", "loop", "-n", "10", "--format", "json", "--output",
                               "/dev/stdout"], capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(json.loads(done.stdout)["results"]), 1)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)
