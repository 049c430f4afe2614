#!/usr/bin/env python3
"""A client and a server in two processes, over libfabric. Usage: two_processes.py RDMABENCH SCHEMA"""

import concurrent.futures
import json
import os
import pathlib
import signal
import socket
import struct
import subprocess
import sys
import time
import unittest

import jsonschema

import command
from command import START, dial, let_in, run, server

SCHEMA: dict = {}
OPERATIONS = ("send", "send-imm", "write", "write-imm", "read")


def client(port: str, *words: str, host: str = "127.0.0.1") -> tuple[str, ...]:
    # By default more messages warm up than most of these tests measure.
    warmup = () if "--warmup" in words else ("--warmup", "8")
    return (*words[:1], host, "--port", port, "--backend", "ofi", "--format", "json", *warmup, *words[1:])


class Measuring(unittest.TestCase):
    def measured(self, port: str, *words: str, host: str = "127.0.0.1") -> dict:
        result = run(*client(port, *words, host=host))
        self.assertEqual(result.returncode, 0, result.stderr)
        document = json.loads(result.stdout)
        jsonschema.validate(document, SCHEMA)
        self.assertIsNone(document["error"])
        return document

    def test_every_operation_moves_right_data(self):
        with server() as peer:
            for test in ("lat", "bw"):
                for operation in OPERATIONS:
                    with self.subTest(test=test, operation=operation):
                        document = self.measured(peer.port, test, "--op", operation, "--validate",
                                                 "-s", "1,8,1000,64K,1M", "-n", "50",
                                                 "--no-watch")
                        self.assertEqual([row["size_bytes"] for row in document["results"]],
                                         [1, 8, 1000, 65536, 1048576])
                        for row in document["results"]:
                            self.assertEqual(row["iterations"], 50)
                            self.assertTrue(row["validated"])

    def test_a_slot_is_not_filled_again_while_it_is_sent(self):
        with server("--allow-provider", "tcp") as peer:
            for operation in OPERATIONS:  # many more messages than there are slots of 1 MiB
                with self.subTest(operation=operation):
                    self.measured(peer.port, "bw", "--op", operation, "--validate", "-s", "1M",
                                  "-n", "64", "--provider", "tcp", "--no-watch")

    def test_every_provider_that_needs_no_device(self):
        with server("--allow-provider", "tcp", "--allow-provider", "shm") as peer:
            for provider in ("tcp", "shm"):
                for operation in OPERATIONS:
                    with self.subTest(provider=provider, operation=operation):
                        document = self.measured(peer.port, "lat", "--op", operation, "-n", "50",
                                                 "--provider", provider, "--validate",
                                                 "--no-watch")
                        self.assertIn(provider, document["resolved"]["provider"])

    def test_a_write_is_signalled_by_remote_completion_data(self):
        with server() as peer:
            document = self.measured(peer.port, "lat", "--op", "write", "-n", "10", "--expect", "p50<=9s")
            self.assertEqual(document["results"][0]["signal"], "remote-cq-data")
            self.assertEqual(document["expectations"][0]["status"], "PASS")

    def test_a_transport_settles_the_back_end(self):
        with server() as peer:
            result = run("lat", "127.0.0.1", "--port", peer.port, "-c", "rdm", "-n", "10",
                         "--format", "json")
            self.assertEqual(json.loads(result.stdout)["resolved"]["transport"], "rdm")
            refused = run("lat", "127.0.0.1", "--port", peer.port, "-c", "rc", "-n", "10")
            if refused.returncode != 0:  # no RDMA device here, and no other back end instead
                self.assertEqual(refused.returncode, 3, refused.stderr)
                self.assertIn("verbs", refused.stderr)

    def test_over_ipv6(self):
        with socket.socket(socket.AF_INET6) as probe:
            try:
                probe.bind(("::1", 0))
            except OSError:
                self.skipTest("this machine has no IPv6 loopback")
        with server("--allow-provider", "tcp") as peer:
            self.measured(peer.port, "lat", "-n", "10", "--provider", "tcp", host="::1")

    def test_until_stable_and_for_a_time(self):
        with server() as peer:
            row = self.measured(peer.port, "bw", "-D", "300ms")["results"][0]
            # Within a wide margin: a busy machine may make the last epoch several times as long.
            self.assertGreater(row["elapsed_ns"], 1e8)
            self.assertLess(row["elapsed_ns"], 8e9)
            self.measured(peer.port, "lat")

    def test_an_unknown_provider_names_those_there_are(self):
        with server() as peer:
            result = run(*client(peer.port, "lat", "--provider", "pigeon"))
            self.assertEqual(result.returncode, 3, result.stderr)
            self.assertIn("pigeon", result.stderr)
            self.assertIn("tcp", result.stderr)


    def test_both_ways_over_several_queue_pairs_and_threads(self):
        with server() as peer:
            for operation in OPERATIONS:
                with self.subTest(operation=operation):
                    row = self.measured(peer.port, "bw", "-b", "--op", operation, "-s", "4K", "-n",
                                        "200", "--qps", "2", "--threads", "2", "--validate",
                                        "--no-watch")["results"][0]
                    self.assertEqual(row["direction"], "both_ways")
                    self.assertTrue(row["validated"])

    def test_atomics_tell_how_often_they_succeeded(self):
        with server("--allow-provider", "tcp") as peer:
            for test in ("lat", "bw"):
                for operation in ("fetch-add", "compare-swap"):
                    with self.subTest(test=test, operation=operation):
                        row = self.measured(peer.port, test, "--op", operation, "-n", "50",
                                            "--provider", "tcp;ofi_rxm", "--no-watch")["results"][0]
                        self.assertEqual(row["size_bytes"], 8)
                        # Where they are carried out in order every one finds what it looks for.
                        self.assertLessEqual(row["succeeded"], 50)
                        if test == "lat":
                            self.assertEqual(row["succeeded"], 50)

    def test_clients_of_an_incast_start_together_or_say_who_is_missing(self):
        words = ("bw", "-s", "4K", "-n", "500", "--clients", "3", "--timeout", "3s", "--no-watch")
        with server() as peer:
            with concurrent.futures.ThreadPoolExecutor(3) as pool:
                rows = list(pool.map(lambda _: self.measured(peer.port, *words), range(3)))
            self.assertEqual([row["config"]["incast_clients"] for row in rows], [3, 3, 3])
            alone = run(*client(peer.port, *words))
            self.assertEqual(alone.returncode, 1, alone.stderr)
            self.assertIn("1 of 3 clients", alone.stderr)

    def test_a_rate_is_kept_and_intervals_are_told(self):
        with server() as peer:
            row = self.measured(peer.port, "bw", "-s", "64", "--rate", "2k", "-D", "500ms",
                                "--interval", "100ms", "--no-watch")["results"][0]
            self.assertEqual(row["offered_messages_per_s"], 2000)
            self.assertLess(row["messages_per_s"], 2100)  # it may be less on a busy machine
            self.assertGreaterEqual(len(row["intervals"]), 1)
            self.assertAlmostEqual(sum(i["elapsed_ns"] for i in row["intervals"]),
                                   row["elapsed_ns"], delta=1)

    def test_load_walks_up_to_beyond_capacity(self):
        with server() as peer:
            document = self.measured(peer.port, "load", "--op", "send-imm", "-n", "300",
                                     "--no-watch")
            self.assertEqual(document["test"], "load")
            loads = [row["load"] for row in document["results"]]
            self.assertEqual(loads, sorted(loads))
            self.assertGreater(loads[-1], 1)
            for row in document["results"]:
                self.assertEqual(row["kind"], "round_trip")
                self.assertLessEqual(row["p50_ns"], row["max_ns"])

    def test_one_sided_work_needs_the_target_over_tcp(self):
        with server() as peer:
            result = run(*client(peer.port, "lat", "--op", "write", "--target-idle", "-n", "3",
                                 "--timeout", "2s", "--no-watch"))
            self.assertEqual(result.returncode, 1, result.stderr)
            self.assertIn("not one-sided", result.stderr)
            self.measured(peer.port, "lat", "-n", "10")

    def test_a_condition_that_is_not_met_ends_the_run(self):
        with server() as peer:
            result = run(*client(peer.port, "lat", "-n", "3", "--require", "rdma-write"))
            self.assertEqual(result.returncode, 1, result.stderr)
            self.assertIn("--require", result.stderr)

    def test_both_sides_tell_what_the_machine_did_meanwhile(self):
        with server() as peer:
            document = self.measured(peer.port, "lat", "-n", "100")
            for side in ("client", "server"):
                self.assertIn("noise", json.dumps(document["conditions"][side]))


class Rows(unittest.TestCase):
    def test_a_row_is_printed_before_the_next_size_is_measured(self):
        with server() as peer:
            # The first size takes milliseconds, the second one minutes.
            words = [command.TOOL, "bw", "127.0.0.1", "--port", peer.port, "--backend", "ofi", "-s", "64,64M", "-n", "20k"]
            with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
                lines = []
                while not lines or not lines[-1].startswith("  64 "):
                    lines.append(process.stdout.readline())
                    self.assertTrue(lines[-1], process.stderr.read() if not lines[-1] else "")
                self.assertTrue(any(line.startswith("back end ofi, ") for line in lines), lines)
                self.assertIsNone(process.poll())
                process.send_signal(signal.SIGINT)
                _, errors = process.communicate(timeout=60)
            self.assertEqual((process.returncode, errors), (128 + signal.SIGINT, "rdmabench: interrupted by SIGINT\n"))


class Staying(unittest.TestCase):
    """One server, many clients; nothing of them is left."""

    def quick(self, port: str) -> int:
        return run(*client(port, "lat", "-n", "20", "--warmup", "1", "--no-watch")).returncode

    def settle(self, peer, clients: int, own: int) -> None:
        """`own`: the threads that a server has before its first client."""
        peer.wait_lines(clients)
        deadline = time.monotonic() + 10
        while peer.threads() > own:
            self.assertLess(time.monotonic(), deadline, f"{peer.threads()} threads, {own} at the start")
            time.sleep(0.05)

    def test_many_clients_in_a_row_and_eight_at_once(self):
        many = 10 if command.SANITIZED else 20  # tests/integration/soak.py: thousands
        with server() as peer:
            own = peer.threads()
            # Eight at once first: each thread's heap finds its size.
            with concurrent.futures.ThreadPoolExecutor(8) as pool:
                self.assertEqual(list(pool.map(lambda _: self.quick(peer.port), range(8))), [0] * 8)
            for _ in range(8):
                self.assertEqual(self.quick(peer.port), 0)
            self.settle(peer, 16, own)
            before = (peer.descriptors(), peer.threads(), peer.mappings(), peer.resident_bytes())
            for _ in range(many):
                self.assertEqual(self.quick(peer.port), 0)
            self.settle(peer, 16 + many, own)
            after = (peer.descriptors(), peer.threads(), peer.mappings(), peer.resident_bytes())
            print(f"descriptors, threads, mappings, resident bytes: {before} after 16 clients, "
                  f"{after} after {16 + many}", file=sys.stderr)
            self.assertEqual(after[:2], before[:2])
            if not command.SANITIZED:  # whose allocators keep what was freed
                self.assertLess(after[2] - before[2], 20)  # of sessions with several each
                # libfabric 1.17 itself loses some 1,200 bytes a client (docs/status.md).
                self.assertLess(after[3] - before[3], many * 2048 + (512 << 10))
            self.assertEqual(peer.stop(), 0)


class Hostile(unittest.TestCase):
    """Whatever comes to the port costs the server one line."""

    REFUSAL = START + struct.pack(">HI", 6, 2)

    def still_serves(self, peer, *words: str, lines: int = 1) -> None:
        """`lines`: what the server has to say in all, that of the honest client included."""
        result = run(*client(peer.port, "lat", "-n", "20", *words))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(len(peer.wait_lines(lines)), lines)

    def test_random_bytes_of_a_stranger_are_refused(self):
        with server() as peer:
            with dial(peer.port) as connection:
                connection.sendall(bytes(range(7, 250)))
                self.assertTrue(connection.recv(4096).startswith(self.REFUSAL))
            self.still_serves(peer, lines=2)

    def test_a_frame_that_announces_4_gib_gets_one_line(self):
        with server("--insecure") as peer:
            before = peer.resident_bytes()
            with let_in(peer.port) as connection:
                connection.sendall(START + struct.pack(">HI", 0x0301, 0xFFFFFFFF))
                connection.recv(4096)
            self.assertIn("4294967295", peer.wait_lines(1)[0])
            self.assertLess(peer.resident_bytes() - before, 64 << 20)
            self.still_serves(peer, "--insecure", lines=2)

    def test_another_version_is_told_ours(self):
        with server() as peer:
            with dial(peer.port) as connection:
                connection.sendall(b"RDMB" + struct.pack(">HHI", 2, 0x0301, 0))
                self.assertTrue(connection.recv(4096).startswith(self.REFUSAL))
            self.still_serves(peer, lines=2)

    def test_silence_ends_at_the_timeout(self):
        with server("--insecure", "--timeout", "2s") as peer:
            with let_in(peer.port) as connection:
                self.assertIn("waiting for its request", peer.wait_lines(1)[0])
                connection.recv(4096)
            self.still_serves(peer, "--insecure", lines=2)

    def test_a_client_killed_in_the_middle(self):
        with server() as peer:
            for test in ("lat", "bw"):
                victim = command.Terminal(command.TOOL, *client(peer.port, test, "-D", "60s"))
                victim.wait_for("msg/s")
                victim.process.kill()
                victim.end()
            self.assertEqual(len(peer.wait_lines(2)), 2)
            self.still_serves(peer, lines=3)

    def test_a_client_stopped_in_the_middle_ends_at_its_own_timeout(self):
        with server() as peer:
            victim = command.Terminal(command.TOOL, *client(peer.port, "lat", "-D", "60s", "--timeout", "1s"))
            victim.wait_for("msg/s")
            victim.process.send_signal(signal.SIGSTOP)
            try:
                self.assertEqual(len(peer.wait_lines(1)), 1)
                self.still_serves(peer, lines=2)
            finally:
                victim.process.kill()
                victim.end()


class DeadServer(unittest.TestCase):
    """The client's side: partial results and a reason, soon."""

    def interrupted(self, test: str, blow: int, limit: float) -> dict:
        with server() as peer:
            victim = command.Terminal(
                command.TOOL, *client(peer.port, test, "-s", "8,64,512", "-D", "500ms", "--timeout", "2s", "--no-watch"))
            victim.wait_for("size 2 of 3")
            peer.process.send_signal(blow)
            begin = time.monotonic()
            status, output, errors = victim.end()
            self.assertLess(time.monotonic() - begin, limit)
            self.assertEqual(status, 1, errors)
            self.assertIn("127.0.0.1", errors)
            return json.loads(output)

    def test_killed(self):
        for test in ("lat", "bw"):
            with self.subTest(test=test):
                document = self.interrupted(test, signal.SIGKILL, limit=20)
                jsonschema.validate(document, SCHEMA)
                self.assertIsNotNone(document["error"])
                self.assertEqual(document["results"][0]["size_bytes"], 8)

    def test_stopped(self):
        document = self.interrupted("lat", signal.SIGSTOP, limit=20)
        self.assertIsNotNone(document["error"])
        self.assertGreaterEqual(len(document["results"]), 1)


if __name__ == "__main__":
    arguments = command.take_tool()
    SCHEMA = json.loads(pathlib.Path(arguments.pop(1)).read_text(encoding="utf-8"))
    sys.exit(command.run_cases(arguments[1:], at_once=2))
