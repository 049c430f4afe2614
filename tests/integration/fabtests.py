#!/usr/bin/env python3
"""fabtests' benchmarks by their names, server and client in two processes. Usage: fabtests.py RDMABENCH"""

import os
import pathlib
import re
import subprocess
import tempfile
import time
import unittest

import command
from command import free_port

HEADER = ["bytes", "iters", "total", "time", "MB/sec", "usec/xfer", "Mxfers/sec"]
SKIPPED_NO_DATA = 61
SKIPPED_NOT_IMPLEMENTED = 38


class Fabtests(unittest.TestCase):
    def pair(self, name: str, *words: str, server: tuple = (), client: tuple = ()):
        """A server and a client with the same options: (client, the server's exit code, its words)."""
        port = free_port()
        common = ("-p", "tcp", "-s", "127.0.0.1", *words)
        peer = subprocess.Popen([command.TOOL, name, "-B", port, *common, *server],
                                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        try:
            result = command.run(name, "-P", port, *common, *client, "127.0.0.1", timeout=120)
            _, said = peer.communicate(timeout=60)
        finally:
            peer.kill()
            peer.wait()
        return result, peer.returncode, said

    def passes(self, name: str, *words: str) -> list[list[str]]:
        result, server, said = self.pair(name, *words)
        self.assertEqual(result.returncode, 0, result.stderr + said)
        self.assertEqual(server, 0, said)
        lines = result.stdout.splitlines()
        self.assertEqual(lines[0].split(), HEADER)
        return [line.split() for line in lines[1:]]

    def test_each_name_measures_over_tcp(self):
        for words in (("fi_rma_bw",), ("fi_rma_bw", "-o", "read"),
                      ("fi_rma_bw", "-o", "writedata", "-U", "-v"), ("fi_rma_bw", "-e", "msg"),
                      ("fi_rdm_pingpong", "-v"), ("fi_rma_pingpong",),
                      ("fi_rma_pingpong", "-o", "writedata", "-e", "msg"), ("fi_rdm_bw", "-v", "-W", "8"),
                      ("fi_msg_pingpong", "-v")):
            with self.subTest(words=words):
                rows = self.passes(*words, "-I", "5", "-w", "1")
                self.assertEqual([row[0] for row in rows], ["64", "256", "1k", "4k", "64k", "1m"])
                self.assertEqual({row[1] for row in rows}, {"5"})

    def test_libfabrics_own_ping_pong(self):
        result, server, said = self.pair("fi_pingpong", "-e", "rdm", "-S", "64")
        self.assertEqual((result.returncode, server), (0, 0), result.stderr + said)
        heading, row = (line.split() for line in result.stdout.splitlines())
        self.assertEqual(heading, ["bytes", "#sent", "#ack", *HEADER[2:]])
        self.assertEqual(row[:4], ["64", "10", "=10", "1.2k"])
        self.assertNotIn("dgram", result.stderr)
        result, server, said = self.pair("fi_pingpong", "-c", "-S", "64")  # as it is typed from memory
        self.assertEqual((result.returncode, server), (0, 0), result.stderr + said)
        self.assertIn("-e rdm", result.stderr)

    def test_sizes_and_sleeping(self):
        self.assertEqual([row[0] for row in self.passes("fi_rdm_pingpong", "-S", "r:1,3,7", "-I", "5",
                                                        "-c", "fd")], ["1", "4", "7"])

    def test_records_for_machines(self):
        result, server, _ = self.pair("fi_rdm_bw", "-I", "5", "-S", "64", "-m")
        self.assertEqual((result.returncode, server), (0, 0))
        lines = result.stdout.splitlines()
        self.assertEqual(lines[0], "---")
        self.assertTrue(lines[1].startswith("fi_rdm_bw -P "), lines[1])
        self.assertRegex(lines[2], re.compile(
            r"^- \{ xfer_size: 64, iterations: 5, total: 320, time: [0-9.]+, MB/sec: [0-9.]+, "
            r"usec/xfer: [0-9.]+, Mxfers/sec: [0-9.]+ \}$"))

    def test_by_the_name_of_the_program(self):
        with tempfile.TemporaryDirectory() as folder:
            link = pathlib.Path(folder) / "fi_rdm_pingpong"
            os.symlink(pathlib.Path(command.TOOL).resolve(), link)
            result = subprocess.run([link, "-D", "cuda"], capture_output=True, text=True, timeout=60)
            self.assertEqual(result.returncode, SKIPPED_NOT_IMPLEMENTED)
            self.assertIn("fi_rdm_pingpong: skipped", result.stderr)

    def test_both_sides_skip_what_is_not_here(self):
        for side in ((), ("127.0.0.1",)):
            for code, words in ((SKIPPED_NO_DATA, ("-p", "pigeon")), (SKIPPED_NO_DATA, ("-k",)),
                                (SKIPPED_NOT_IMPLEMENTED, ("-D", "cuda")),
                                (SKIPPED_NOT_IMPLEMENTED, ("-t", "counter"))):
                with self.subTest(side=side, words=words):
                    result = command.run("fi_rdm_pingpong", *words, *side)
                    self.assertEqual(result.returncode, code, result.stderr)
                    self.assertEqual(result.stdout, "")
        shm = command.run("fi_msg_pingpong", "-p", "shm")
        self.assertEqual(shm.returncode, SKIPPED_NO_DATA)
        self.assertIn("FI_EP_MSG", shm.stderr)

    def test_a_failure_is_no_skip(self):
        for words in (("-Z",), ("-I", "x"), ("-h",)):
            self.assertEqual(command.run("fi_rdm_pingpong", *words).returncode, 1)
        nobody = command.run("fi_rdm_pingpong", "-p", "tcp", "-P", free_port(), "--timeout", "1",
                             "127.0.0.1")
        self.assertNotIn(nobody.returncode, (0, SKIPPED_NO_DATA, SKIPPED_NOT_IMPLEMENTED))

    def test_a_server_waits_on_when_a_stranger_breaks_off(self):
        port = free_port()
        peer = subprocess.Popen([command.TOOL, "fi_rdm_pingpong", "-B", port, "-p", "tcp"],
                                stderr=subprocess.PIPE, text=True)
        with command.dial(port) as connection:
            connection.sendall(b"no request at all, I think")
            connection.recv(4096)
        result = command.run("fi_rdm_pingpong", "-P", port, "-p", "tcp", "-I", "10", "127.0.0.1")
        self.assertEqual(result.returncode, 0, result.stderr)
        _, said = peer.communicate(timeout=60)
        self.assertEqual(peer.returncode, 0, said)


if __name__ == "__main__":
    unittest.main(argv=command.take_tool())
