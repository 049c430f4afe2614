#!/usr/bin/env python3
"""`rdmabench netplugin` on a plugin that keeps to the interface, and on one with planted faults.

Usage: netplugin.py RDMABENCH PLUGIN BROKEN_PLUGIN LATE_PLUGIN SCHEMA
"""

import json
import os
import pathlib
import re
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import unittest

import command
import jsonschema

RDMABENCH, PLUGIN, BROKEN, LATE, SCHEMA = sys.argv[1:6]
# Each fault, the cases of which at least one must find it, and what it must say. Other cases may fail too.
FAULTS = {
    "order": ({"order"}, r"receive \d+ has the data of \d+"),
    "tags": ({"tags", "group-order"}, r"has the data of|of the buffer of tag"),
    "lost": ({"outstanding"}, r"32 of 32 (sends|receives) .* 8 are done"),
    "close-hang": ({"close-busy-send"}, r"hangs while sender: in closeSend\(\) with \d+ sends"),
    "close-crash": ({"close-busy-receive"}, r"crashed \(SIGABRT\) while .*in closeRecv\(\) with 8 receives"),
    "handle-long": ({"handle"}, r"a handle of \d+ bytes or more"),
    "handle-garbage": ({"handle"}, r"connect"),
    "connect-waits": ({"connect"}, r"hangs while .*in connect\(\), which must return before"),
    "no-devices": ({"init"}, r"devices\(\) gives 0"),
    "late-hole": ({"init"}, r"after init\(\) the table lacks closeRecv"),
    "refused-early": ({"outstanding"}, r"with 4 requests under way irecv returned 3"),
    "init-crashes": ({"init"}, r"crashed \(SIGSEGV\) while in init\(\)"),
    "no-init": ({"init"}, r"the table lacks init"),
    "vnic-overflow": ({"properties"}, r"vProps.ndevs is 9, .* 8"),
    "no-bytes": ({"properties"}, r"maxP2pBytes is 0: NCCL would refuse"),
    "unknown-type": ({"properties"}, r"netDeviceType 9 of version 0 is unknown: NCCL"),
    "no-flush": ({"flush"}, r"GPU memory .*no iflush\(\)"),
    "exits": ({"order"}, r"called exit\(3\) while .*sender: moving 200 messages"),
    "handler-exits": ({"order"}, r"crashed \(SIGSEGV\), .*handler ended .*\(exit code 7\) while .*sender: moving 200 messages"),
    "handler-late": ({"order"}, r"crashed \(SIGSEGV\), .*handler ended"),
    "handler-hangs": ({"order"}, r"crashed \(SIGSEGV\), .*handler does not return while .*sender: moving 200 messages"),
    "forks": ({"order"}, r"ended the process \(exit code 4\)"),
    "logs": ({"init"}, r"init returned 2 \(system error\).* 13 lines, .* 10: "
                       r"WARN line 4 \| INFO line 5 .* \| WARN line 12 \| printed$"),
}
# What NCCL works with.
WARNINGS = {
    "size": ({"larger-receive", "sizes", "order"}, r"^test says \d+ bytes .* \d+ \(NCCL reads only"),
    "refused": ({"outstanding"}, r"with 8 requests .*irecv gives no request.*\(NCCL calls"),
    "refused-by-error": ({"outstanding"}, r"with 8 requests .*irecv returned 3 \(internal error\); .* 32 \(NCCL .* 8\)"),
    "no-speed": ({"properties"}, r"pciPath '/sys/nowhere' .*speed is 0 Mb/s \(NCCL takes 10000.*railId is -7"),
    "no-name": ({"init"}, r"the table lacks name \(NCCL"),
    "slow-twins": ({"properties"}, r"^devices 0, 1: speed is 0 Mb/s .*device 1: the name"),
    "same-names": ({"properties"}, r"device 1: .* 'reference' .* device 0 \(NCCL"),
}
# Faults that break every case.
EVERYTHING = {"handle-long", "handle-garbage", "connect-waits", "no-devices", "late-hole", "no-init", "init-crashes", "logs", "exits",
              "handler-exits", "handler-late", "handler-hangs", "forks"}


def run(*words, environment=None, timeout=280):
    return subprocess.run([RDMABENCH, "netplugin", *words], capture_output=True, text=True, timeout=timeout,
                          check=False, env=dict(os.environ, **(environment or {})))


def send(connection, code, message):
    text = json.dumps(message).encode()
    connection.sendall(command.START + struct.pack(">HI", code, len(text)) + text)


def receive(connection):
    """The code of a message and its text."""
    header = connection.recv(12, socket.MSG_WAITALL)
    code, length = struct.unpack(">HI", header[6:])
    return code, connection.recv(length, socket.MSG_WAITALL).decode()


class Listener:
    """The other end on a free port."""

    def __init__(self, *words):
        self.process = subprocess.Popen([RDMABENCH, "netplugin", PLUGIN, "--listen", "0", *words], text=True,
                                        stderr=subprocess.PIPE)
        self.port = re.search(r"listening on .*:(\d+)", self.process.stderr.readline()).group(1)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.rest = self.process.communicate(timeout=60)[1]


class NetPlugin(unittest.TestCase):
    def checked(self, result, code):
        self.assertEqual(result.returncode, code, result.stderr + result.stdout)
        document = json.loads(result.stdout)
        jsonschema.validate(document, json.loads(pathlib.Path(SCHEMA).read_text(encoding="utf-8")))
        return document

    def all_pass(self, document):
        wrong = [case for case in document["cases"] if case["status"] != "PASS"]
        expected = [case for case in wrong if case["status"] == "SKIP" and
                    case["api_version"] < {"finalize": 11, "optional-completion": 9}.get(case["id"], 0)]
        self.assertEqual([case for case in wrong if case not in expected], [])
        self.assertEqual([one for one in document["results"] if one["error"]], [])

    def test_exports_nothing_else(self):
        symbols = subprocess.run(["nm", "-D", "--defined-only", PLUGIN], capture_output=True, text=True, check=True)
        names = {line.split()[-1] for line in symbols.stdout.splitlines()}
        self.assertEqual(names, {f"ncclNetPlugin_v{version}" for version in range(6, 13)})

    def test_all_cases_in_the_oldest_and_the_newest_version(self):
        for version in (6, 12):
            with self.subTest(version):
                document = self.checked(run(PLUGIN, "--api", str(version), "--cases-only", "--format", "json"), 0)
                self.all_pass(document)
                self.assertEqual({case["api_version"] for case in document["cases"]}, {version})
                skipped = 2 if version == 6 else 0  # it has no finalize() and no optional completion
                self.assertEqual(document["summary"], {"pass": 26 - skipped, "warn": 0, "fail": 0, "skip": skipped})
                device = document["plugin"]["devices"][0]
                self.assertEqual((device["rail_id"], device["plane_id"]), (3, -1))

    def test_a_table_that_init_fills(self):
        document = self.checked(run(LATE, "--api", "all", "--only", "properties", "--only", "message", "--only",
                                    "finalize", "--cases-only", "--format", "json"), 0)
        self.all_pass(document)
        self.assertEqual(document["plugin"]["name"], "late")
        self.assertEqual(document["config"]["api_versions"], list(range(12, 5, -1)))
        self.assertEqual(document["summary"]["pass"], 7 * 3 + 2)

    def test_data_passes_in_every_version(self):
        document = self.checked(run(PLUGIN, "--api", "all", "--only", "group-order", "--cases-only", "--format",
                                    "json"), 0)
        self.all_pass(document)
        self.assertEqual(sorted(case["api_version"] for case in document["cases"] if case["id"] == "group-order"),
                         list(range(6, 13)))

    def test_measures(self):
        document = self.checked(run(PLUGIN, "--measure-only", "--size", "1,8,70000", "--format", "json"), 0)
        self.assertEqual(document["cases"], [])
        rows = document["results"]
        self.assertEqual([(row["metric"], row["size_bytes"]) for row in rows],
                         [(metric, size) for metric in ("latency", "bandwidth") for size in (1, 8, 70000)])
        for row in rows[:3]:
            self.assertEqual(row["iterations"], 200)
            self.assertTrue(0 < row["min_ns"] <= row["p50_ns"] <= row["max_ns"])
        for row in rows[3:]:
            self.assertTrue(0 < row["min_bits_per_s"] <= row["bits_per_s"] <= row["max_bits_per_s"])

    def test_two_processes(self):
        with Listener() as listener:
            with socket.create_connection(("127.0.0.1", int(listener.port))) as stranger:
                stranger.sendall(b"GET / HTTP/1.1\r\n\r\n")
                stranger.recv(100)
            first = self.checked(run(PLUGIN, "127.0.0.1", "--port", listener.port, "--format", "json"), 0)
            again = run(PLUGIN, "127.0.0.1", "--port", listener.port, "--only", "order", "--api", "6",
                        "--cases-only")
        self.all_pass(first)
        self.assertEqual(first["ends"], "two processes")
        self.assertTrue(first["environment"]["server"])
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertRegex(again.stdout, r"v6 +order +PASS")
        self.assertIn("0 failed", listener.rest)

    def test_a_full_pipe_does_not_wedge_it(self):
        port = command.free_port()
        with command.full_pipe() as writer:
            process = subprocess.Popen([RDMABENCH, "netplugin", PLUGIN, "--listen", port], stderr=writer)
            try:
                command.wait_until_it_listens(port)
                for _ in range(2):
                    done = run(PLUGIN, "127.0.0.1", "--port", port, "--only", "order", "--cases-only")
                    self.assertEqual(done.returncode, 0, done.stderr)
                process.terminate()
                self.assertEqual(process.wait(timeout=10), 0)
            finally:
                process.kill()
                process.wait()

    def test_a_silent_client_does_not_delay_the_end(self):
        with Listener("--insecure") as listener, command.let_in(listener.port) as silent:
            self.hello(silent)  # it is served
            begin = time.monotonic()
            listener.process.terminate()
            self.assertEqual(listener.process.wait(timeout=30), 0)
            self.assertLess(time.monotonic() - begin, 10)  # 20 s without this
            self.assertIn(b"the server is shutting down", silent.recv(4096))

    def hello(self, connection):
        """Takes the place of a client of an insecure listener, once it was let in."""
        facts = {"what": "rdmabench netplugin", "name": "x", "versions": list(range(6, 13)), "environment": [],
                 "cases": len(run("--list").stdout.splitlines())}
        send(connection, 0x500, facts)
        self.assertEqual(receive(connection)[0], 0x500)

    def test_a_silent_client_makes_room_for_the_next(self):
        with Listener("--insecure") as listener, command.let_in(listener.port) as silent:
            self.hello(silent)
            silent.settimeout(60)  # 11 minutes without the limit
            self.assertIn("no task", receive(silent)[1])

    def test_words_without_end_are_no_result(self):
        task = {"id": "init", "version": 8, "device": 0, "bytes": 0, "iterations": 0, "timeout_ms": 1000}
        with Listener("--insecure") as listener, command.let_in(listener.port) as client:
            self.hello(client)
            send(client, 0x501, task)
            begin = time.monotonic()
            with self.assertRaises(OSError):
                while time.monotonic() < begin + 60:  # for ever without the limit
                    send(client, 0x503, {})
                    time.sleep(0.001)
            self.assertLess(time.monotonic(), begin + 30)

    def test_each_fault_is_found_by_name(self):
        for fault, (wanted, says) in FAULTS.items():
            with self.subTest(fault):
                broken = {"RDMABENCH_BROKEN_PLUGIN": PLUGIN, "RDMABENCH_BROKEN_FAULT": fault}
                cases = wanted if fault in EVERYTHING else wanted | {"message"}
                words = [word for case in sorted(cases) for word in ("--only", case)]
                document = self.checked(run(BROKEN, "--cases-only", "--timeout", "3s", "--format", "json", *words,
                                            environment=broken), 1)
                failed = {case["id"]: case["reason"] for case in document["cases"] if case["status"] == "FAIL"}
                self.assertTrue(wanted & set(failed), failed)
                for case in wanted & set(failed):
                    self.assertRegex(failed[case], says)
                if fault not in EVERYTHING:
                    self.assertIn("message", {case["id"] for case in document["cases"] if case["status"] == "PASS"})

    def test_what_nccl_works_with_is_a_warning(self):
        for fault, (wanted, says) in WARNINGS.items():
            with self.subTest(fault):
                words = [word for case in sorted(wanted | {"message"}) for word in ("--only", case)]
                document = self.checked(run(BROKEN, "--cases-only", "--timeout", "20s", "--format", "json", *words,
                                            environment={"RDMABENCH_BROKEN_PLUGIN": PLUGIN,
                                                         "RDMABENCH_BROKEN_FAULT": fault}), 0)
                warned = {case["id"]: case["reason"] for case in document["cases"] if case["status"] == "WARN"}
                self.assertEqual(set(warned), wanted)
                self.assertEqual(document["summary"]["warn"], len(wanted))
                for reason in warned.values():
                    self.assertRegex(reason, says)

    def test_all_that_a_plugin_writes_is_kept(self):
        broken = {"RDMABENCH_BROKEN_PLUGIN": PLUGIN, "RDMABENCH_BROKEN_FAULT": "logs"}
        lines = [f"{'WARN' if i % 2 == 0 else 'INFO'} line {i}" for i in range(1, 13)] + ["printed"]
        with tempfile.TemporaryDirectory() as folder:
            log = pathlib.Path(folder, "plugin.log")
            log.write_text("of an earlier run\n", encoding="utf-8")
            quiet = run(BROKEN, "--cases-only", "--only", "order", "--log", str(log), environment=broken)
            self.assertEqual(quiet.returncode, 1)
            self.assertNotIn("line 1", quiet.stderr)
            self.assertEqual(log.read_text(encoding="utf-8").splitlines(), ["devices:", *lines, "v12 init:", *lines])
            refused = run(BROKEN, "--log", folder + "/none/x", environment=broken)
            self.assertEqual(refused.returncode, 2)
        told = run(BROKEN, "--cases-only", "--only", "order", "--verbose", environment=broken)
        self.assertIn("rdmabench: the plugin wrote, v12 init:\n" + "\n".join(lines) + "\n", told.stderr)
        self.assertNotIn("INFO line 3", told.stdout)  # only the last ten are in the reason

    def test_the_listening_side_keeps_its_own(self):
        with tempfile.TemporaryDirectory() as folder:
            log = pathlib.Path(folder, "plugin.log")
            broken = {"RDMABENCH_BROKEN_PLUGIN": PLUGIN, "RDMABENCH_BROKEN_FAULT": "handler-exits"}
            with Listener("--log", str(log)) as listener:
                result = run(BROKEN, "127.0.0.1", "--port", listener.port, "--cases-only", "--only", "order",
                             "--timeout", "3s", "--format", "json", environment=broken)
                document = self.checked(result, 1)
            order = document["cases"][-1]
            self.assertEqual(order["side"], "sender")
            self.assertRegex(order["reason"], FAULTS["handler-exits"][1])
            self.assertEqual(log.read_text(encoding="utf-8"), "")  # the reference writes nothing

    def test_the_wrapper_without_a_fault_passes(self):
        document = self.checked(run(BROKEN, "--cases-only", "--format", "json",
                                    environment={"RDMABENCH_BROKEN_PLUGIN": PLUGIN}), 0)
        self.all_pass(document)

    def test_a_signal_loses_no_finished_case(self):
        process = command.Terminal(RDMABENCH, "netplugin", PLUGIN, "--format", "json")
        process.wait_for(r"order \.\.\.")
        process.process.send_signal(signal.SIGINT)
        status, output, _ = process.end()
        self.assertEqual(status, 128 + signal.SIGINT)
        result = json.loads(output)
        self.assertEqual(result["error"], "interrupted by SIGINT")
        self.assertEqual(result["cases"][0]["status"], "PASS")

    def test_reports(self):
        broken = {"RDMABENCH_BROKEN_PLUGIN": PLUGIN, "RDMABENCH_BROKEN_FAULT": "handle-long"}
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "plugin.json")
            result = run(BROKEN, "--only", "handle", "--size", "8", "--output", str(path), "--format", "json",
                         environment=broken)
            self.assertEqual(result.returncode, 1)
            junit = subprocess.run([RDMABENCH, "report", "--format", "junit", str(path)], capture_output=True,
                                   text=True, check=True).stdout
            self.assertRegex(junit, r'testcase [^>]*name="[^"]*handle[^"]*"')
            self.assertIn("a handle of", junit)
            csv = run(BROKEN, "--only", "handle", "--cases-only", "--format", "csv", environment=broken).stdout
            self.assertRegex(csv, r'case,handle,12,FAIL,')

    def test_refusals(self):
        with tempfile.TemporaryDirectory() as folder:
            text = pathlib.Path(folder, "text.so")
            text.write_text("no library", encoding="utf-8")
            for words, code, says in (
                    ([], 2, "no plugin was named"),
                    ([folder + "/none.so"], 2, "No such file"),
                    ([str(text)], 3, "load '"),
                    ([PLUGIN, "--only", "nonsense"], 2, "unknown case 'nonsense'"),
                    ([PLUGIN, "--api", "5"], 2, "--api 5"),
                    ([BROKEN, "--api", "8"], 2, "the plugin has no interface version 8"),
                    ([PLUGIN, "--size", "2G"], 2, "1 to 1G"),
                    ([PLUGIN, "--timeout", "1ms"], 2, "100ms to 10m"),
                    ([PLUGIN, "--cases-only", "--measure-only"], 2, "nothing to do"),
                    ([PLUGIN, "localhost", "--listen"], 2, "--listen and a HOST exclude each other")):
                with self.subTest(words):
                    result = run(*words)
                    self.assertEqual(result.returncode, code, result.stderr)
                    self.assertIn(says, result.stderr)
        wrong = run(PLUGIN, "--cases-only", "--only", "order",
                    environment={"REFERENCE_PLUGIN_ADDRESS": "nowhere"})
        self.assertEqual(wrong.returncode, 1)
        self.assertIn("REFERENCE_PLUGIN_ADDRESS", wrong.stdout)
        self.assertIn("1 not run, because init FAILs", wrong.stdout)

    def test_the_list(self):
        lines = run("--list").stdout.splitlines()
        self.assertEqual(len(lines), 26)
        for wanted in set().union(*(names for names, _ in (FAULTS | WARNINGS).values())):
            self.assertTrue(any(line.startswith(wanted + " ") for line in lines), wanted)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v"])
