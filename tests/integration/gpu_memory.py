#!/usr/bin/env python3
"""GPU memory over libfabric in two processes, on a fake driver: no provider here takes a GPU's
memory, so it is staged and must say so. Usage: gpu_memory.py RDMABENCH SCHEMA, with the fake's
folder in LD_LIBRARY_PATH"""

import contextlib
import json
import os
import pathlib
import sys
import unittest
from unittest import mock

import jsonschema

import command
from command import run, server

SCHEMA: dict = {}
OPERATIONS = ("send", "send-imm", "write", "write-imm", "read")


@contextlib.contextmanager
def gpu(**pretence: str):
    """What the fake GPU of processes started from here on pretends to be."""
    with mock.patch.dict(os.environ, {f"FAKE_CUDA_{key}": value for key, value in pretence.items()}):
        yield


def client(port: str, *words: str) -> tuple[str, ...]:
    return (*words[:1], "127.0.0.1", "--port", port, "--backend", "ofi", "--provider", "tcp",
            "--no-watch", "-n", "30", *words[1:])


def facts(document: dict) -> dict:
    details = document["resolved"]["details"]
    if isinstance(details, dict):
        return details
    return {fact["name"]: fact["value"] for fact in details}


class GpuMemory(unittest.TestCase):
    def measured(self, port: str, *words: str) -> dict:
        # TCP may stall between two of a few sends for tens of milliseconds: a minute of 180 of them here and there.
        result = run(*client(port, *words), "--format", "json", timeout=240)
        self.assertEqual(result.returncode, 0, result.stderr)
        document = json.loads(result.stdout)
        jsonschema.validate(document, SCHEMA)
        self.assertIsNone(document["error"])
        return document

    def test_every_operation_is_compared_by_the_gpu_and_labelled(self):
        with server("--allow-provider", "tcp") as peer:
            for test in ("lat", "bw"):
                for operation in OPERATIONS:
                    if (test, operation) == ("lat", "write"):
                        continue  # refused by name
                    with self.subTest(test=test, operation=operation):
                        document = self.measured(peer.port, test, "--op", operation, "--validate",
                                                 "-s", "1,1000,64K", "--memory", "cuda:1")
                        told = facts(document)
                        self.assertEqual(told["memory_route"], "staged")
                        self.assertIn("FI_HMEM", told["memory_routes_refused"])
                        self.assertIn("cuda:1", told["gpu"])
                        self.assertIn("pinned host memory", told["memory_on_wire"])
                        self.assertGreater(told["staging_to_device_65536_bytes_ns"], 0)
                        for row in document["results"]:
                            self.assertTrue(row["validated"])
                            notes = " ".join(row["notes"])
                            self.assertIn("staged: at the client", notes)
                            self.assertIn("staged: at the server", notes)
                            self.assertIn("validated outside of the timed part", notes)

    def test_each_side_may_have_its_own_kind(self):
        with server("--allow-provider", "tcp") as peer:
            for own, other in (("cuda:0,vmm", "host"), ("host", "cuda:1"), ("cuda:auto", "cuda:0")):
                for shape in ((), ("-b",)):
                    with self.subTest(own=own, other=other, shape=shape):
                        document = self.measured(peer.port, "bw", *shape, "-s", "4K", "--validate",
                                                 "--memory", own, "--peer-memory", other)
                        notes = " ".join(document["results"][0]["notes"])
                        self.assertEqual("at the client" in notes, own != "host")
                        self.assertEqual("at the server" in notes, other != "host")
                        self.assertIn("memory_routes", facts(document))

    def test_several_lanes_and_threads(self):
        with server("--allow-provider", "tcp") as peer:
            self.measured(peer.port, "bw", "-s", "4K", "--qps", "2", "--threads", "2", "--validate",
                          "--memory", "cuda:0")

    def test_the_table_says_staged(self):
        with server("--allow-provider", "tcp") as peer:
            result = run(*client(peer.port, "lat", "--memory", "cuda:0"))
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertIn("staged: at the client", result.stdout)

    def test_a_gpu_that_is_not_here_or_not_there(self):
        with gpu(DEVICES="0"):
            missing = run("lat", "127.0.0.1", "--port", "1", "--memory", "cuda:0")
            self.assertEqual(missing.returncode, 3, missing.stderr)
            with server("--allow-provider", "tcp") as peer:
                os.environ["FAKE_CUDA_DEVICES"] = "2"
                result = run(*client(peer.port, "lat", "--memory", "cuda:0"))
                self.assertEqual(result.returncode, 3, result.stderr)
                self.assertIn("at the server", result.stderr)
                self.measured(peer.port, "lat", "--memory", "cuda:0", "--peer-memory", "host")
        with server("--allow-provider", "tcp") as peer:
            unknown = run(*client(peer.port, "lat", "--memory", "cuda:7"))
            self.assertEqual(unknown.returncode, 2, unknown.stderr)

    def test_a_mapping_that_libfabric_does_not_choose(self):
        with server("--allow-provider", "tcp") as peer:
            result = run(*client(peer.port, "lat", "--memory", "cuda:0", "--gpu-mapping", "pcie"))
            self.assertEqual(result.returncode, 3, result.stderr)
            self.assertIn("--gpu-mapping", result.stderr)

    def test_perftests_flags_choose_a_gpu_too(self):
        with server("--allow-provider", "tcp") as peer:
            def perftest(*words: str):
                return run("ib_write_bw", "-p", peer.port, "--backend", "ofi", "--provider", "tcp", "-n", "30",
                           "-s", "4096", *words, "127.0.0.1")
            for which in ("--use_cuda=1", "--use_cuda_bus_id=0000:43:00.0"):
                result = perftest(which)
                self.assertEqual(result.returncode, 0, result.stderr)
                self.assertRegex(result.stdout, r"\n 4096 +30 ")
                self.assertIn("cuda:1", result.stdout + result.stderr)
            demanded = perftest("--use_cuda=0", "--use_cuda_dmabuf")
            self.assertEqual(demanded.returncode, 3, demanded.stderr)
            self.assertIn("--gpu-mapping", demanded.stderr)
            self.assertEqual(perftest("--use_cuda=7").returncode, 2)

    def test_a_gpu_that_fails_ends_the_run_before_anything_is_timed(self):
        with server("--allow-provider", "tcp") as peer, gpu(FAIL="cuLaunchKernel:0:700"):
            result = run(*client(peer.port, "bw", "--memory", "cuda:0"), "--format", "json")
            self.assertEqual(result.returncode, 1, result.stderr)
            document = json.loads(result.stdout)
            self.assertEqual(document["results"], [])
            self.assertIn("verified before any is timed", document["error"])


if __name__ == "__main__":
    arguments = command.take_tool()
    SCHEMA = json.loads(pathlib.Path(arguments.pop(1)).read_text(encoding="utf-8"))
    sys.exit(command.run_cases(arguments[1:], at_once=1))
