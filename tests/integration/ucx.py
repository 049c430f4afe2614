#!/usr/bin/env python3
"""A client and a server in two processes, over UCX. Usage: ucx.py RDMABENCH SCHEMA"""

import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import jsonschema

import command
from command import run

SCHEMA: dict = {}
TRANSPORTS = ("tcp", "posix")


def server():
    return command.server("--allow-provider", "ucx")


def client(port: str, *words: str) -> tuple[str, ...]:
    return (*words[:1], "127.0.0.1", "--port", port, "--backend", "ucx", "--format", "json", "--warmup", "8", "--no-watch", *words[1:])


class Measuring(unittest.TestCase):
    def measured(self, port: str, *words: str) -> dict:
        result = run(*client(port, *words))
        self.assertEqual(result.returncode, 0, result.stderr)
        document = json.loads(result.stdout)
        jsonschema.validate(document, SCHEMA)
        self.assertIsNone(document["error"])
        return document

    def test_every_operation_moves_right_data(self):
        sizes = "1,8,1000,64K,1M"
        with server() as peer:
            for transports in TRANSPORTS:
                for test, operation, size in (("lat", "send", sizes), ("lat", "send-imm", sizes), ("lat", "read", sizes),
                                              ("lat", "write", "1,8"), ("bw", "send", sizes), ("bw", "send-imm", sizes),
                                              ("bw", "write", sizes), ("bw", "read", sizes)):
                    with self.subTest(transports=transports, test=test, operation=operation):
                        document = self.measured(peer.port, test, "--op", operation, "--validate", "-s", size, "-n", "50",
                                                 "--ucx-tls", transports)
                        self.assertEqual(document["resolved"]["backend"], "ucx")
                        self.assertIn(transports, document["resolved"]["provider"])
                        for row in document["results"]:
                            self.assertTrue(row["validated"])

    def test_atomics_several_queue_pairs_lists_events_and_both_ways(self):
        with server() as peer:
            self.measured(peer.port, "lat", "--op", "fetch-add", "-n", "50", "--ucx-tls", "tcp")
            self.measured(peer.port, "bw", "--op", "compare-swap", "-n", "50", "--ucx-tls", "posix")
            self.measured(peer.port, "bw", "--op", "write", "-s", "64,64K", "-n", "300", "-q", "3", "--ucx-tls", "tcp", "--validate")
            self.measured(peer.port, "bw", "-s", "64", "-n", "300", "--post-list", "8", "--ucx-tls", "tcp")
            self.measured(peer.port, "bw", "-s", "64", "-n", "300", "--bidirectional", "--ucx-tls", "posix", "--validate")
            self.measured(peer.port, "lat", "-s", "64", "-n", "50", "--events", "--ucx-tls", "tcp")

    def test_active_messages(self):
        with server() as peer:
            for transports in TRANSPORTS:
                words = ("-c", "am", "--ucx-tls", transports)
                document = self.measured(peer.port, "lat", "--validate", "-s", "1,8,1000,64K,1M", "-n", "50", *words)
                self.assertEqual(document["resolved"]["transport"], "am")
                self.measured(peer.port, "bw", "--op", "send-imm", "--validate", "-s", "64,1M", "-n", "300", "-q", "2", *words)
                self.measured(peer.port, "bw", "--bidirectional", "-s", "64", "-n", "3000", "--post-list", "8", *words)
                self.measured(peer.port, "load", "--op", "send-imm", "-D", "200ms", *words)
            result = run(*client(peer.port, "bw", "-c", "am", "--op", "write", "-n", "10"))
            self.assertNotEqual(result.returncode, 0)
            self.assertIn("Active messages are sends", result.stderr)
            result = run("lat", "127.0.0.1", "--port", peer.port, "--backend", "verbs", "-c", "am", "-n", "10")
            self.assertNotEqual(result.returncode, 0)
            self.assertIn("ucx", result.stderr)
            document = json.loads(run("lat", "127.0.0.1", "--port", peer.port, "-c", "am", "-n", "10", "--format", "json").stdout)
            self.assertEqual(document["resolved"]["backend"], "ucx")  # 'auto' knows whose it is

    def test_load_walks(self):
        with server() as peer:
            document = self.measured(peer.port, "load", "--op", "send-imm", "-D", "200ms", "--ucx-tls", "tcp")
            self.assertGreater(len(document["results"]), 1)

    def test_a_write_that_must_tell_its_target_is_refused_by_name(self):
        with server() as peer:
            for words in (("lat", "--op", "write-imm", "-s", "8"), ("lat", "--op", "write", "-s", "64")):
                result = run(*client(peer.port, *words))
                self.assertNotEqual(result.returncode, 0)
                self.assertIn("write-imm", result.stderr)

    def test_a_server_serves_it_by_leave_alone(self):
        """An address of UCX may name memory of this machine that the server then attaches."""
        with command.server("--allow-provider", "tcp", "--allow-provider", "shm") as peer:
            result = run(*client(peer.port, "lat", "-n", "10", "--ucx-tls", "tcp"))
            self.assertNotEqual(result.returncode, 0)
            self.assertIn("--allow-provider ucx", result.stderr)
        with command.server("--allow-provider", "any") as peer:
            self.measured(peer.port, "lat", "-n", "10", "--ucx-tls", "tcp")

    def test_an_idle_target_is_closed_within_the_timeout(self):
        with server() as peer:
            for transports in TRANSPORTS:
                with self.subTest(transports=transports):
                    result = run(*client(peer.port, "lat", "--op", "read", "--target-idle", "--timeout", "1s", "-n", "50",
                                         "--ucx-tls", transports))
                    self.assertNotIn("not closed", result.stderr)

    def test_what_ucx_took_can_be_required(self):
        with server() as peer:
            self.measured(peer.port, "lat", "-n", "10", "--ucx-tls", "tcp", "--require", "provider=tcp")
            result = run(*client(peer.port, "lat", "-n", "10", "--ucx-tls", "tcp", "--require", "provider=rc_verbs"))
            self.assertNotEqual(result.returncode, 0)
            self.assertIn("provider", result.stderr)

    def test_what_ucx_does_not_have_is_told(self):
        with server() as peer:
            document = self.measured(peer.port, "lat", "-n", "10", "--ucx-tls", "tcp,foo")
            self.assertIn("'foo' is not available", document["resolved"]["reason"])
            result = run(*client(peer.port, "lat", "-n", "10", "-d", "nosuch0"))
            self.assertEqual(result.returncode, 3, result.stderr)
            self.assertIn("nosuch0", result.stderr)

    def test_options_of_others_are_refused_by_name(self):
        with server() as peer:
            for words, named in ((("--mtu", "4096"), "mtu"), (("--provider", "tcp"), "provider"), (("-c", "rc"), "rc")):
                result = run(*client(peer.port, "lat", "-n", "10", *words))
                self.assertNotEqual(result.returncode, 0)
                self.assertIn(named, result.stderr)
            result = run("lat", "127.0.0.1", "--port", peer.port, "--backend", "ofi", "--ucx-tls", "tcp", "-n", "10")
            self.assertNotEqual(result.returncode, 0)
            self.assertIn("ucx-tls", result.stderr)
            self.assertRegex(result.stderr, r"backend\W+ucx")

    def test_without_the_library_its_package_is_named(self):
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "libucp.so.0").touch()
            done = subprocess.run([command.TOOL, "lat", "127.0.0.1", "--backend", "ucx"], capture_output=True, text=True, timeout=60,
                                  env={**os.environ, "LD_LIBRARY_PATH": folder}, check=False)
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("libucp.so.0", done.stderr)
        self.assertIn("libucx0", done.stderr)

    def test_demo(self):
        result = run("demo", "--backend", "ucx", "-s", "8,64K", "--format", "json")
        self.assertEqual(result.returncode, 0, result.stderr)


class Fabric(unittest.TestCase):
    """Rank 0 measures the pairs of three, which serve one another."""

    def test_three_ranks_measure_every_pair(self):
        for words in (("--ucx-tls", "tcp"), ("--ucx-tls", "posix", "-c", "am", "--op", "send")):
            port = command.free_port()
            processes = [subprocess.Popen([command.TOOL, "fabric", "--backend", "ucx", *words, "-n", "20", "-s", "4K", "--timeout", "8s",
                                           "--format", "json", "--no-confirm"],
                                          env=command.rank_of(rank, 3, "127.0.0.1", port), stdout=subprocess.PIPE,
                                          stderr=subprocess.PIPE, text=True) for rank in range(3)]
            try:
                output, errors = processes[0].communicate(timeout=120)
                for process in processes[1:]:
                    process.communicate(timeout=30)
            finally:
                for process in processes:
                    process.kill()
            records = [json.loads(line) for line in output.splitlines()]
            measured = [one for one in records if one["record"] == "measurement"]
            self.assertEqual({(one["sender"], one["receiver"]) for one in measured},
                             {(a, b) for a in range(3) for b in range(3) if a != b}, errors)
            for one in measured:
                self.assertIsNone(one["error"])
            self.assertEqual([one["record"] for one in records].count("verdict"), 1)


class Faults(unittest.TestCase):
    def interrupted(self, blow: int, *words: str) -> dict:
        with server() as peer:
            victim = command.Terminal(command.TOOL, *client(peer.port, "lat", "-s", "8,64,512", "-D", "500ms", "--timeout", "2s", *words))
            victim.wait_for("size 2 of 3")
            peer.process.send_signal(blow)
            begin = time.monotonic()
            status, output, errors = victim.end()
            self.assertLess(time.monotonic() - begin, 20)
            self.assertEqual(status, 1, errors)
            self.assertIn("127.0.0.1", errors)
            return json.loads(output)

    def test_a_server_killed_or_stopped_ends_the_run_with_what_it_has(self):
        for transports in TRANSPORTS:
            for blow, service in ((signal.SIGKILL, "auto"), (signal.SIGSTOP, "auto"), (signal.SIGKILL, "am"), (signal.SIGSTOP, "am")):
                with self.subTest(transports=transports, blow=blow, service=service):
                    document = self.interrupted(blow, "--ucx-tls", transports, "-c", service)
                    jsonschema.validate(document, SCHEMA)
                    self.assertIsNotNone(document["error"])
                    self.assertEqual(document["results"][0]["size_bytes"], 8)

    def test_a_server_goes_on_after_a_client_was_killed_or_stopped(self):
        told = 0
        with server() as peer:
            for transports in TRANSPORTS:
                for blow in (signal.SIGKILL, signal.SIGSTOP):
                    victim = command.Terminal(command.TOOL, *client(peer.port, "bw", "-D", "60s", "--timeout", "2s", "--ucx-tls", transports))
                    victim.wait_for("msg/s")
                    victim.process.send_signal(blow)
                    told += 1
                    self.assertEqual(len(peer.wait_lines(told)), told)
                    victim.process.kill()
                    victim.end()
            result = run(*client(peer.port, "lat", "-n", "10", "--ucx-tls", "tcp"))
            self.assertEqual(result.returncode, 0, result.stderr)


if __name__ == "__main__":
    arguments = command.take_tool()
    SCHEMA = json.loads(pathlib.Path(arguments.pop(1)).read_text(encoding="utf-8"))
    sys.exit(command.run_cases(arguments[1:], at_once=2))
