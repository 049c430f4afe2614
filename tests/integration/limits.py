#!/usr/bin/env python3
"""What clients may have of `rdmabench serve`, and what it survives. Usage: limits.py RDMABENCH"""

import contextlib
import os
import pathlib
import re
import resource
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import command
from command import START, dial, free_port, full_pipe, let_in, rdm_provider, run, server, wait_until_it_listens

BASE = 16 << 20  # bytes that a server has besides its sessions: libraries that the first one loads


def client(port: str, *words: str) -> tuple[str, ...]:
    return (*words[:1], "127.0.0.1", "--port", port, "--backend", "ofi", "--no-watch", *words[1:])


def read_all(connection: socket.socket) -> bytes:
    """What comes until the server closes."""
    text = b""
    with contextlib.suppress(ConnectionError):
        while part := connection.recv(4096):
            text += part
    return text


class Limits(unittest.TestCase):
    def assert_serves(self, port: str, *words: str) -> None:
        result = run(*client(port, "lat", "-n", "10", *words))
        self.assertEqual(result.returncode, 0, result.stderr)

    def with_few_threads(self, user: int, limit: int) -> subprocess.Popen:
        """A server of another user: `ulimit -u` holds for a user, and not for root."""
        if os.geteuid() != 0:
            self.skipTest("only root can start a process as another user")
        kept = tempfile.TemporaryDirectory()
        self.addCleanup(kept.cleanup)
        folder = pathlib.Path(kept.name)
        folder.chmod(0o755)
        copy = folder / "rdmabench"
        copy.write_bytes(pathlib.Path(command.TOOL).read_bytes())
        copy.chmod(0o755)
        words = ["setpriv", "--reuid", str(user), "--clear-groups", "bash", "-c",
                 f"ulimit -u {limit}; exec {copy} serve --port 0 --address 127.0.0.1 --insecure"]
        return subprocess.Popen(words, stderr=subprocess.PIPE, text=True)

    def test_a_server_without_threads_says_so(self):
        _, errors = self.with_few_threads(65532, 1).communicate(timeout=60)
        self.assertRegex(errors, "start a thread: Resource temporarily unavailable.*ulimit -u")

    def test_a_session_without_threads_ends_alone(self):
        process = self.with_few_threads(65533, 24)
        try:
            port = re.search(r"listening on .*:(\d+)", process.stderr.readline()).group(1)
            result = run(*client(port, "bw", "-n", "100", "--threads", "48", "--provider", rdm_provider(), "--insecure"))
            self.assertEqual(result.returncode, 1, result.stderr)
            self.assertRegex(result.stderr, r"\d+ of 48 threads .*Resource temporarily")
            self.assertIsNone(process.poll())
            self.assert_serves(port, "--insecure")
        finally:
            process.kill()
            process.communicate()

    def charged(self, *words: str) -> int:
        """What the server says that a session needs, from what it refuses."""
        needs = 0
        for workers in (1, 1, int(words[words.index("--threads") + 1]) if "--threads" in words else 1):
            with server("--max-memory", str(max(1, needs)), "--allow-provider", "any") as peer:
                result = run(*client(peer.port, "bw", *words))
                match = re.search(r"needs (\d+) bytes", result.stderr)
                self.assertIsNotNone(match, result.stderr)
                needs += int(match.group(1)) * workers
        return needs

    def test_memory_is_what_the_process_really_uses(self):
        if command.SANITIZED:
            self.skipTest("a sanitizer's own memory counts too")
        for words in (("--provider", rdm_provider(), "--depth", "4096", "--qps", "16"),
                      ("--provider", "tcp;ofi_rxm", "--qps", "8"),
                      ("--provider", "shm", "--qps", "8"),
                      ("--provider", rdm_provider(), "--threads", "8"),
                      ("--provider", rdm_provider(), "-s", "1M", "--validate")):
            words = ("-s", "8", "-n", "2000", *words) if "-s" not in words else ("-n", "50", *words)
            with self.subTest(words=words):
                needs = self.charged(*words)
                with server("--max-memory", str(needs), "--allow-provider", "any") as peer:
                    before = peer.resident_bytes()
                    result = run(*client(peer.port, "bw", *words))
                    self.assertEqual(result.returncode, 0, result.stderr)
                    grown = peer.peak_bytes() - before
                    self.assertLessEqual(grown, needs + BASE)

    def test_sighup_ends_the_sessions_as_sigterm_does(self):
        for number in (signal.SIGTERM, signal.SIGHUP):
            with self.subTest(number=number), server("--insecure") as peer, let_in(peer.port) as client:
                peer.process.send_signal(number)
                self.assertIn(b"the server is shutting down", read_all(client))
                self.assertEqual(peer.process.wait(20), 0)

    def test_a_request_beyond_the_limit_is_refused_before_it_uses_it(self):
        with server("--max-memory", "64M") as peer:
            before = peer.resident_bytes()
            asking = subprocess.Popen(
                [command.TOOL, *client(peer.port, "bw", "--depth", "16384", "--receives", "32768", "--qps",
                                       "128", "--threads", "4", "--provider", rdm_provider())],
                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            patience = threading.Timer(240 if command.SANITIZED else 60, asking.kill)
            patience.start()
            with asking.stderr:
                errors = asking.stderr.read()
            _, status, used = os.wait4(asking.pid, 0)
            patience.cancel()
            asking.returncode = os.waitstatus_to_exitcode(status)
            self.assertEqual(asking.returncode, 1, errors)
            self.assertIn("of at most 67108864", errors)
            self.assertIn("memory'", errors)  # the option that raises it
            if not command.SANITIZED:
                self.assertLess(used.ru_maxrss, 128 << 10)  # KiB: the client opened nothing either
            self.assertLess(peer.peak_bytes() - before, (64 << 20) + BASE)
            self.assert_serves(peer.port)

    def test_messages_that_are_not_complete_count_as_memory(self):
        if command.SANITIZED:
            self.skipTest("a sanitizer's own memory counts too")
        request = START + struct.pack(">HI", 0x200, 1 << 20) + b"x" * ((1 << 20) - 1)
        with server("--max-memory", "16M", "--insecure") as peer:
            before = peer.resident_bytes()
            held = [let_in(peer.port) for _ in range(60)]
            self.assertIn(b"needs 4194304 bytes, and this server has 16777216 bytes", read_all(held[-1]))
            for one in held:
                with contextlib.suppress(ConnectionError):
                    one.sendall(request)
            self.assertLess(peer.peak_bytes() - before, (16 << 20) + BASE)
            self.assertIsNone(peer.process.poll())

    def test_many_queue_pairs_over_a_layered_provider_are_set_up_in_time(self):
        if command.SANITIZED:
            self.skipTest("a sanitizer takes that time by itself")
        with server("--allow-provider", "tcp") as peer:
            result = run(*client(peer.port, "bw", "-n", "200", "-s", "4K", "--qps", "64", "--provider",
                                 "tcp;ofi_rxm"))
            self.assertEqual(result.returncode, 0, result.stderr)

    def test_one_address_leaves_room_for_others(self):
        with server("--max-clients", "6", "--max-address-clients", "3", "--insecure") as peer:
            silent = [let_in(peer.port) for _ in range(3)]
            refused = read_all(let_in(peer.port))
            self.assertIn(b"this host has 3 sessions of at most 3", refused)
            for connection in silent:
                connection.close()
            peer.wait_lines(4)
            self.assert_serves(peer.port, "--insecure")

    def test_descriptors_are_raised_to_the_hard_limit(self):
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        if hard <= 256:
            self.skipTest("the hard limit is low")
        with server(below=256) as peer:
            limits = pathlib.Path(f"/proc/{peer.process.pid}/limits").read_text()
            soft, hard = re.search(r"Max open files +(\S+) +(\S+)", limits).groups()
            self.assertEqual(soft, hard)

    def test_a_server_without_descriptors_for_a_client_does_not_start(self):
        done = subprocess.run(["bash", "-c", 'ulimit -n 60; exec "$0" serve --port 0', command.TOOL],
                              capture_output=True, text=True, timeout=30)
        self.assertEqual(done.returncode, 2, done)
        self.assertIn("60 open files", done.stderr)

    def test_a_pause_beyond_the_limit_ends_the_session(self):
        with server("--max-idle", "1s", "--max-session", "3s", "--insecure") as peer:
            with let_in(peer.port) as silent:
                self.assertIn(b"--max-session", read_all(silent))

    def test_a_full_pipe_does_not_wedge_the_server(self):
        port = free_port()
        with full_pipe() as writer:
            process = subprocess.Popen([command.TOOL, "serve", "--port", port], stderr=writer)
            try:
                wait_until_it_listens(port)
                for _ in range(3):
                    self.assert_serves(port)
                begin = time.monotonic()
                process.send_signal(signal.SIGTERM)
                self.assertEqual(process.wait(timeout=10), 0)
                self.assertLess(time.monotonic() - begin, 5)  # a second, on a machine that is not busy
            finally:
                process.kill()
                process.wait()

    def test_a_stop_takes_a_second_and_is_told(self):
        with server("--timeout", "1m", "--insecure") as peer:
            own = peer.threads()
            silent = [let_in(peer.port) for _ in range(5)]
            half = let_in(peer.port)
            half.sendall(b"R")  # a part of a frame, or of nothing
            busy = command.Terminal(command.TOOL, *client(peer.port, "bw", "-D", "1m", "--insecure"))
            busy.wait_for("msg/s")
            deadline = time.monotonic() + 10
            while peer.threads() < own + 7 and time.monotonic() < deadline:
                time.sleep(0.01)
            begin = time.monotonic()
            self.assertEqual(peer.stop(), 0)
            self.assertLess(time.monotonic() - begin, 5)  # a second, on a machine that is not busy
            for connection in silent:
                self.assertIn(b"the server is shutting down", read_all(connection))
            status, _, shown = busy.end()
            self.assertEqual(status, 1, shown)
            self.assertIn("the server is shutting down", shown)

    def test_what_endangers_a_server_is_served_only_where_the_operator_names_it(self):
        """Through ofi_rxm one packet of a stranger, or a client that dies, ends it."""
        with server() as peer:
            for words in (["--op", "write"], ["--op", "write-imm"], ["--op", "read"], ["--op", "send"]):
                refused = run(*client(peer.port, "bw", *words, "-n", "10"), "--provider", "tcp;ofi_rxm")
                self.assertNotEqual(refused.returncode, 0)
                self.assertIn("rdmabench serve --allow-provider tcp", refused.stderr)
            for provider, op in (("shm", "send"), ("shm", "fetch-add"), ("udp;ofi_rxd", "send")):
                refused = run(*client(peer.port, "bw", "-n", "10"), "--provider", provider, "--op", op)
                self.assertNotEqual(refused.returncode, 0)
                self.assertIn("rdmabench serve --allow-provider " + provider.split(";")[0], refused.stderr)
            self.assert_serves(peer.port, "--op", "write-imm")  # by another provider
        with server("--allow-provider", "tcp") as peer:
            done = run(*client(peer.port, "bw", "--op", "write", "-n", "10"), "--provider", "tcp;ofi_rxm")
            self.assertEqual(done.returncode, 0, done.stderr)

    def test_a_stranger_does_not_end_a_one_shot_server(self):
        port = free_port()
        kept = tempfile.TemporaryDirectory()
        self.addCleanup(kept.cleanup)
        name = os.path.join(kept.name, "ib_send_bw")
        os.symlink(os.path.abspath(command.TOOL), name)
        process = subprocess.Popen([name, "-p", port, "--backend", "ofi"], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
        try:
            stranger = dial(port)
            with stranger:
                stranger.sendall(b"GET / HTTP/1.1\r\n\r\n")
                read_all(stranger)
            done = subprocess.run([name, "-p", port, "--backend", "ofi", "-n", "100", "127.0.0.1"],
                                  capture_output=True, text=True, timeout=60, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            errors = process.communicate(timeout=20)[1]
            self.assertEqual(process.returncode, 0, errors)
        finally:
            process.kill()
            process.wait()

    def test_jobs_of_an_incast_do_not_meet(self):
        words = ("bw", "-s", "4K", "-n", "200", "--clients", "2", "--timeout", "3s")
        with server() as peer:
            first = subprocess.Popen([command.TOOL, *client(peer.port, *words, "--job", "a")],
                                     stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            other = run(*client(peer.port, *words, "--job", "b"))
            self.assertEqual(other.returncode, 1, other.stderr)
            self.assertIn("1 of 2 clients of the incast 'b'", other.stderr)
            self.assertIn("1 of 2 clients of the incast 'a'", first.communicate(timeout=20)[1])
            pair = [subprocess.Popen([command.TOOL, *client(peer.port, *words, "--job", "c")],
                                     stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
                    for _ in range(2)]
            for one in pair:
                errors = one.communicate(timeout=30)[1]
                self.assertEqual(one.returncode, 0, errors)

    def test_strangers_make_no_lines(self):
        with server() as peer:
            for _ in range(500):
                dial(peer.port).close()
            self.assert_serves(peer.port)
            self.assertEqual(len(peer.wait_lines(1)), 1)

    def test_clients_that_fail_make_few_lines(self):
        with server("--insecure") as peer:
            for _ in range(500):
                let_in(peer.port).close()
            self.assert_serves(peer.port, "--insecure")
            peer.stop()
            peer.reader.join()
            self.assertLess(len(peer.lines), 150)
            self.assertTrue(any("were dropped" in line for line in peer.lines), peer.lines[-5:])


if __name__ == "__main__":
    command.take_tool()
    sys.exit(command.run_cases(sys.argv[1:], at_once=2))
