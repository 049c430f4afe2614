#!/usr/bin/env python3
"""UCX's benchmark by its name, server and client in two processes. Usage: ucx_perftest.py RDMABENCH"""

import csv
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

import command
from command import free_port, run

OVER_TCP = {**os.environ, "UCX_TLS": "tcp", "UCX_NET_DEVICES": "lo"}
NUMBERS = 8


class UcxPerftest(unittest.TestCase):
    def pair(self, *words: str):
        """A server and its client: (client, the server's exit code, its words)."""
        port = free_port()
        peer = subprocess.Popen([command.TOOL, "ucx_perftest", "-p", port], env=OVER_TCP,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        try:
            result = subprocess.run([command.TOOL, "ucx_perftest", "127.0.0.1", "-p", port, *words], env=OVER_TCP,
                                    capture_output=True, text=True, timeout=120, check=False)
            said, _ = peer.communicate(timeout=60)
        finally:
            peer.kill()
            peer.wait()
        return result, peer.returncode, said

    def passes(self, *words: str) -> list[str]:
        result, server, said = self.pair(*words)
        self.assertEqual((result.returncode, server), (0, 0), result.stderr + said)
        self.assertTrue(said.startswith("Waiting for connection...\n"), said)
        return result.stdout.splitlines()

    def test_each_test_measures(self):
        for test, words in (("tag_lat", ("-V",)), ("tag_bw", ("-s", "4096")), ("ucp_put_lat", ()), ("ucp_put_bw", ("-s", "65536")),
                            ("ucp_get", ()), ("ucp_get", ("-O", "8")), ("ucp_fadd", ()), ("ucp_cswap", ()), ("get_bw", ()),
                            ("tag_lat", ("-E", "sleep")), ("ucp_am_lat", ("-V",)), ("ucp_am_bw", ("-s", "65536"))):
            with self.subTest(test=test, words=words):
                lines = self.passes("-t", test, "-n", "200", "-w", "10", *words)
                self.assertEqual(len(lines), 6, lines)
                self.assertEqual({len(line) for line in lines[:5]}, {108})
                self.assertEqual(lines[5].split()[:2], ["Final:", "200"])
                self.assertEqual(len(lines[5].split()), 1 + NUMBERS)

    def test_final_numbers_groups_and_csv(self):
        line = self.passes("-t", "tag_lat", "-n", "2000", "-f", "-N", "-R", "99")[-1]
        self.assertRegex(line, re.compile(r"^ {23}2,000 +[0-9.]+ "))
        rows = list(csv.reader(self.passes("-t", "tag_bw", "-n", "2000", "-s", "64", "-v")))
        self.assertEqual(rows[0][:2], ["iterations", "50.0_percentile_lat"])
        self.assertEqual([len(row) for row in rows], [NUMBERS, NUMBERS])

    def test_threads_have_four_numbers(self):
        line = self.passes("-t", "tag_bw", "-n", "500", "-T", "2")[-1]
        self.assertEqual(line.split()[:2], ["Final:", "500"])
        self.assertEqual(len(line.split()), 5)

    def test_report_reads_what_it_prints(self):
        with tempfile.TemporaryDirectory() as folder:
            for test, kind in (("tag_lat", "latency"), ("tag_bw", "bandwidth")):
                file = pathlib.Path(folder) / f"{test}.txt"
                file.write_text("\n".join(self.passes("-t", test, "-s", "4096", "-n", "5000")) + "\n", encoding="utf-8")
                done = run("report", str(file), "--format", "csv")
                self.assertEqual(done.returncode, 0, done.stderr)
                row = next(csv.DictReader(done.stdout.splitlines()))
                self.assertEqual((row["kind"], row["operation"], row["iterations"]), (kind, "send", "5000"))

    @unittest.skipUnless(shutil.which("ucx_perftest"), "ucx-utils is not installed")
    def test_its_lines_stand_as_in_the_original(self):
        for words in (("-t", "tag_lat"), ("-t", "tag_bw", "-f"), ("-t", "tag_lat", "-v")):
            port = free_port()
            with subprocess.Popen(["stdbuf", "-oL", "ucx_perftest", "-p", port], env=OVER_TCP, stdout=subprocess.PIPE, text=True) as peer:
                peer.stdout.readline()  # it listens
                theirs = subprocess.run(["ucx_perftest", "127.0.0.1", "-p", port, "-n", "200", *words], env=OVER_TCP,
                                        stdout=subprocess.PIPE, text=True, timeout=60, check=True).stdout.splitlines()
                theirs = [line for line in theirs if not line.startswith("[thread")]  # of a second each
                peer.communicate(timeout=60)
            ours = self.passes("-n", "200", *words)
            self.assertEqual(ours[:-1], theirs[:-1])
            places = [[at.end() for at in re.finditer(r"[^ ,]+", lines[-1])] for lines in (ours, theirs)]
            if "-v" not in words:
                self.assertEqual(*places)
            self.assertEqual(len(places[0]), len(places[1]))

    def test_against_a_server_that_stays(self):
        with command.server("--allow-provider", "ucx") as peer:
            for _ in range(2):
                done = subprocess.run([command.TOOL, "ucx_perftest", "127.0.0.1", "-p", peer.port, "-t", "tag_lat", "-n", "100"],
                                      env=OVER_TCP, capture_output=True, text=True, timeout=60, check=False)
                self.assertEqual(done.returncode, 0, done.stderr)

    def test_by_the_name_of_the_program(self):
        with tempfile.TemporaryDirectory() as folder:
            link = pathlib.Path(folder) / "ucx_perftest"
            os.symlink(pathlib.Path(command.TOOL).resolve(), link)
            result = subprocess.run([link, "-t", "stream_bw", "host"], capture_output=True, text=True, timeout=60, check=False)
            self.assertEqual(result.returncode, 2)
            self.assertIn("tag_bw", result.stderr)

    def test_what_is_not_here_says_what_to_use(self):
        for words, hint in ((("-t", "ucp_put_lat", "-s", "64"), "another -t"), (("-t", "ucp_fadd", "-s", "4"), "-s"),
                            (("-t", "tag_lat", "-o"), "-o"),
                            (("-t", "tag_lat", "-x", "tcp", "--backend", "loop"), "-x")):
            self.assertIn(hint, self.refused(*words))

    def refused(self, *words: str) -> str:
        with command.server("--allow-provider", "ucx") as peer:
            result = subprocess.run([command.TOOL, "ucx_perftest", "127.0.0.1", "-p", peer.port, "-n", "10", *words], env=OVER_TCP,
                                    capture_output=True, text=True, timeout=60, check=False)
        self.assertNotEqual(result.returncode, 0)
        return result.stderr


if __name__ == "__main__":
    unittest.main(argv=command.take_tool())
