#!/usr/bin/env python3
"""scripts/gpu-acceptance from its archive, in an empty folder, on the fakes.

Usage: gpu_acceptance.py SOURCE_DIR BUILD_DIR FOLDERS_OF_THE_FAKES
"""

import importlib.machinery
import importlib.util
import json
import os
import pathlib
import re
import subprocess
import sys
import tarfile
import tempfile
import unittest

import jsonschema

SOURCE, BUILD, FAKES = "", "", ""
# What nvidia-smi would say of the fake driver's first device, called Stand-in.
NVIDIA_SMI = "#!/bin/sh\necho 00000000:1B:00.0, GPU-f0a1a2a3-a4a5-a6a7-a8a9-aaabacadaeaf, Stand-in, 1024, 9.0\n"
# The rest needs hardware, and says so.
ON_FAKES = {"device-facts", "doctor", "kernel-rates", "nccl-plugin", "non-blocking-cost", "nccl-tests", "nccl-tests-ranks"}


class Acceptance(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.here = folder.name
        archive = os.path.join(cls.here, "carried.tar.gz")
        # nccl-tests' program is ours: what is tested is the comparison.
        os.mkdir(os.path.join(cls.here, "theirs"))
        theirs = pathlib.Path(cls.here, "theirs", "all_reduce_perf")
        theirs.write_text(f'#!/bin/sh\nexec "{BUILD}/tools/rdmabench" all_reduce_perf "$@"\n')
        theirs.chmod(0o755)
        subprocess.run([f"{SOURCE}/scripts/gpu-acceptance", BUILD, "--pack", archive, "--nccl-tests", theirs.parent],
                       check=True, timeout=120)
        cls.assertLess(cls(), os.path.getsize(archive), 40 << 20)
        with tarfile.open(archive) as packed:
            packed.extractall(cls.here, filter="data") if hasattr(tarfile, "data_filter") else packed.extractall(cls.here)

    def run_it(self, *words, libraries=None, **settings):
        """Its exit code, document and standard output."""
        done = subprocess.run(["./gpu-acceptance", ".", "--output", "result", *words], cwd=self.here, capture_output=True, text=True,
                              timeout=480, env={**os.environ, "LD_LIBRARY_PATH": libraries or FAKES, **settings})
        self.assertNotIn("Traceback", done.stderr)
        document = json.loads(pathlib.Path(self.here, "result/acceptance.json").read_text(encoding="utf-8"))
        jsonschema.validate(document, json.loads(pathlib.Path(SOURCE, "docs/schema/rdmabench-gpu-acceptance-1.schema.json").read_text()))
        return done.returncode, document, done.stdout

    def instead_of(self, name, text):
        """A script stands at the place of a program, until the test ends."""
        path = pathlib.Path(self.here, name)
        path.rename(f"{path}.kept")
        self.addCleanup(os.replace, f"{path}.kept", path)
        path.write_text(text)
        path.chmod(0o755)

    def put(self, name, text):
        """A script, until the test ends."""
        path = pathlib.Path(self.here, name)
        path.write_text(text)
        path.chmod(0o755)
        self.addCleanup(path.unlink, missing_ok=True)

    def names(self):
        listed = subprocess.run(["./gpu-acceptance", "--list"], cwd=self.here, capture_output=True, text=True, check=True).stdout
        return [text.split()[0] for text in listed.splitlines()]

    def statuses(self, *names, **settings):
        """Of these lines, and the reasons."""
        _, document, _ = self.run_it(*(word for name in names for word in ("--only", name)), **settings)
        return ([one["status"] for one in document["lines"]], [one["reason"] for one in document["lines"]])

    def test_every_line_on_the_fakes(self):
        code, document, said = self.run_it(FAKE_CUDA_SPEND="1")  # calls take the time of a real driver's
        self.assertEqual(code, 0, said)
        self.assertTrue(document["fake"])
        self.assertNotIn("no time was left", " ".join(one["reason"] for one in document["lines"]))
        self.assertTrue(all(0 <= one["took_s"] < one["limit_s"] for one in document["lines"]))
        self.assertEqual([one["name"] for one in document["lines"]], self.names())
        for one in document["lines"]:
            if one["name"] == "pairing":  # a machine with RDMA devices has pairs
                continue
            self.assertEqual(one["status"], "SKIP" if one["name"] in ON_FAKES else "PASS", one)
        plugin = next(one for one in document["lines"] if one["name"] == "nccl-plugin")
        self.assertIn("NCCL_NET=reference", plugin["commands"][0]["words"])
        page = pathlib.Path(self.here, "result/acceptance.html").read_text(encoding="utf-8")
        self.assertNotRegex(page, r"(src|href)=|@import|url\(")
        self.assertEqual(len(re.findall(r"<tr class=", page)), len(document["lines"]))

    def test_the_libraries_of_the_archive_alone(self):
        code, document, said = self.run_it("--carried-only", "--only", "program", "--only", "staged-lat")
        self.assertEqual(code, 0, said)
        self.assertIn("libfabric.so.1", document["lines"][0]["numbers"]["carried"])
        self.assertIn("libstdc++.so.6", document["lines"][0]["numbers"]["carried"])

    def test_a_command_that_does_not_start(self):
        self.instead_of("tools/rdmabench", "#!/bin/sh\nexit 1\n")
        done = subprocess.run(["./gpu-acceptance", "."], cwd=self.here, capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stdout), (3, ""))
        self.assertRegex(done.stderr, r"^gpu-acceptance: the command does not start here.*glibc 2\.34.*; here is glibc \S+\n$")

    def test_a_gpu_that_is_not_called_fake(self):
        os.makedirs(f"{self.here}/bin", exist_ok=True)
        self.put("bin/nvidia-smi", NVIDIA_SMI)
        quick = [name for name in self.names() if name not in ("staged-bw", "nccl-socket")]
        settings = {"PATH": f"{self.here}/bin:{os.environ['PATH']}", "FAKE_CUDA_NAME": "Stand-in", "FAKE_CUDA_DEVICES": "1"}
        _, document, _ = self.run_it(*(word for name in quick for word in ("--only", name)), **settings)
        lines = {one["name"]: one for one in document["lines"]}
        self.assertFalse(document["fake"])
        self.assertEqual(lines["device-facts"]["status"], "PASS", lines["device-facts"])
        self.assertIn("NCCL's network was Socket", lines["nccl-plugin"]["reason"])
        self.assertEqual(len(lines["non-blocking-cost"]["numbers"]["ranges"]["8"]), 2)
        for one in lines.values():
            self.assertNotRegex(one["reason"], r"^[A-Z]\w+(Error|Expired|Exception|Iteration): ")
        settings["FAKE_CUDA_NAME"] = "NVIDIA A100 MIG 1g.5gb"
        statuses, reasons = self.statuses("device-facts", **settings)
        self.assertEqual((statuses, "MIG" in reasons[0]), (["SKIP"], True), reasons)

    def test_a_verdict_by_ranges(self):
        loader = importlib.machinery.SourceFileLoader("acceptance", f"{self.here}/gpu-acceptance")
        script = importlib.util.module_from_spec(importlib.util.spec_from_loader("acceptance", loader))
        loader.exec_module(script)
        ratios = script.ratios_by_size([{8: 2.0}, {8: 1.0}, {8: 1.2}], [{8: 1.0, 16: 1.0}] * 3)
        self.assertEqual(ratios, {8: (1.0, 1.2, 2.0)})
        self.assertTrue(script.is_one(ratios))
        self.assertFalse(script.is_one({8: (1.04, 1.2, 2.0)}))
        self.assertFalse(script.is_one({8: (1.0, 1.0, 1.0), 16: (0.5, 0.6, 0.96)}))
        self.assertNotRegex("libcudart.so.12", f"^{script.OF_THE_SYSTEM}$")
        self.assertRegex("libcuda.so.1", f"^{script.OF_THE_SYSTEM}$")

    def test_one_process_at_a_time(self):
        statuses, reasons = self.statuses("nccl-one-rank", "staged-lat", "nccl-graph", FAKE_CUDA_COMPUTE_MODE="3")
        self.assertEqual(statuses, ["PASS", "SKIP", "SKIP"], reasons)
        self.assertIn("EXCLUSIVE_PROCESS", reasons[2])

    def test_an_nccl_without_profiler_plugins(self):
        statuses, reasons = self.statuses("nccl-profiler", FAKE_NCCL_VERSION="22203")
        self.assertEqual(statuses, ["SKIP"], reasons)
        self.assertIn("2.22.3", reasons[0])

    def test_a_route_beside_the_network(self):
        statuses, reasons = self.statuses("nccl-socket", FAKE_NCCL_ROUTE="P2P/IPC")
        self.assertEqual(statuses, ["FAIL"], reasons)
        self.assertIn("P2P/IPC", reasons[0])

    def test_a_provider_that_takes_gpu_memory(self):
        self.instead_of("tools/rdmabench", """#!/bin/sh
[ $1 = lat ] || exec "$0.kept" "$@"
"$0.kept" "$@" | sed 's/"memory_route": *"staged"/"memory_route": "FI_HMEM"/'
""")
        self.assertEqual(self.statuses("staged-lat"), (["SKIP"], ["route FI_HMEM: nothing is staged here"]))

    def test_settings_of_another_job(self):
        _, reasons = self.statuses("nccl-tests", RANK="1", WORLD_SIZE="2", MASTER_ADDR="192.0.2.1", MASTER_PORT="1")
        self.assertIn("a fake's times say nothing", reasons[0])

    def test_nccl_tests_with_a_process_for_each_gpu(self):
        self.assertIn("is not an MPI build", self.statuses("nccl-tests-ranks")[1][0])
        self.assertEqual(self.statuses("nccl-tests-ranks", FAKE_CUDA_DEVICES="1")[1], ["there is one GPU"])
        self.assertEqual(self.names()[-1], "nccl-tests-ranks")
        os.makedirs(f"{self.here}/bin", exist_ok=True)
        self.put("bin/ldd", "#!/bin/sh\necho 'libmpi.so.40 => /lib/libmpi.so.40 (0x1)'\n")
        path = f"{self.here}/bin:{os.environ['PATH']}"
        # One of another MPI starts jobs of one rank each.
        self.put("bin/mpirun", "#!/bin/sh\nshift 4\n\"$@\"\nexec \"$@\"\n")
        self.assertIn("mpirun started the ranks 0, 0 and not 2 of one job", self.statuses("nccl-tests-ranks", PATH=path)[1][0])
        self.put("bin/mpirun", "#!/bin/sh\nshift 4\n\"$@\" | sed 's/^#  Rank  0\\(.*\\)/&\\n#  Rank  1\\1/'\n")
        _, document, _ = self.run_it("--only", "nccl-tests-ranks", PATH=path)
        one = document["lines"][0]
        self.assertIn("2 ranks, a process with one GPU each", one["reason"])
        theirs = " ".join(one["commands"][1]["words"])
        self.assertRegex(theirs, r"mpirun -n 2 --bind-to none \S+all_reduce_perf .* -g 1$")
        self.assertRegex(" ".join(one["commands"][0]["words"]), r"all_reduce_perf .* -g 2$")

    def test_the_second_gpu(self):
        _, document, _ = self.run_it("--gpu", "1", "--only", "doctor", "--only", "non-blocking-cost", "--only", "nccl-tests")
        doctor, *compared = document["lines"]
        self.assertIn("0000:43:00.0", doctor["reason"])
        for one in compared:
            for command in one["commands"]:
                self.assertRegex(" ".join(command["words"]), r"CUDA_VISIBLE_DEVICES=GPU-f1\S+,GPU-f0")

    def test_a_crash_and_what_follows_it(self):
        self.instead_of("tests/acceptance/gpu_parts", "#!/bin/sh\nkill -SEGV $$\n")
        code, document, _ = self.run_it("--only", "driver-table", "--only", "staged-lat")
        self.assertEqual(code, 1)
        first, second = document["lines"]
        self.assertEqual(first["status"], "FAIL")
        self.assertIn("SIGSEGV", first["reason"])
        self.assertEqual(second["status"], "PASS", second)

    def test_a_crash_leaves_no_child(self):
        self.instead_of("tests/acceptance/gpu_parts", "#!/bin/sh\nsleep 1000 &\necho $! >child\nkill -SEGV $$\n")
        code, _, _ = self.run_it("--only", "driver-table")
        child = pathlib.Path("/proc", pathlib.Path(self.here, "child").read_text().strip(), "stat")
        self.assertEqual(code, 1)
        self.assertTrue(not child.exists() or ") Z " in child.read_text())

    def test_a_program_that_hangs_and_no_time_left(self):
        self.instead_of("tests/acceptance/gpu_parts", "#!/bin/sh\n[ $1 = devices ] || sleep 1000\n")
        code, document, _ = self.run_it("--seconds", "4", "--only", "driver-table", "--only", "program")
        self.assertEqual(code, 1)
        self.assertIn("not done in time", document["lines"][1]["reason"])
        self.assertLess(document["took_s"], 20)
        code, document, _ = self.run_it("--seconds", "1", "--only", "program")
        self.assertIn("no time was left", document["lines"][0]["reason"])

    def test_a_fault_that_is_not_found_fails(self):
        real = pathlib.Path(FAKES.split(":")[0], "libnccl.so.2")
        planted = pathlib.Path(self.here, "tests/acceptance/libplanted_nccl.so")
        planted.rename(f"{planted}.kept")
        self.addCleanup(os.replace, f"{planted}.kept", planted)
        planted.symlink_to(real)  # plants nothing
        code, document, _ = self.run_it("--only", "nccl-corrupted", "--only", "nccl-late")
        self.assertEqual((code, [one["status"] for one in document["lines"]]), (1, ["FAIL", "FAIL"]), document["lines"])

    def test_wrong_results_and_slow_programs_fail(self):
        code, document, _ = self.run_it("--only", "nccl-graph", FAKE_NCCL_CORRUPT="1:0:100")
        self.assertEqual((code, document["lines"][0]["status"]), (1, "FAIL"), document["lines"])
        code, document, _ = self.run_it("--only", "kernels", FAKE_CUDA_FAIL="cuLaunchKernel:1:700")
        self.assertEqual((code, document["lines"][0]["status"]), (1, "FAIL"), document["lines"])

    def test_a_gpu_that_is_not_there_fails(self):
        code, document, _ = self.run_it("--only", "driver-table", "--only", "nccl-one-rank", FAKE_CUDA_DEVICES="0")
        self.assertEqual((code, [one["status"] for one in document["lines"]]), (1, ["FAIL", "FAIL"]), document["lines"])

    def test_what_a_gpu_may_lack_where_none_can_be_read(self):
        statuses, reasons = self.statuses("pairing", "memory-vmm", "dma-buf", FAKE_CUDA_DEVICES="0")
        self.assertEqual(statuses, ["SKIP"] * 3, reasons)
        self.assertIn("CUDA_ERROR_NO_DEVICE", reasons[1])

    def test_a_gpu_without_dma_buf_is_skipped(self):
        code, document, _ = self.run_it("--only", "dma-buf", "--only", "memory-vmm", FAKE_CUDA_DMA_BUF="0", FAKE_CUDA_VMM="0")
        self.assertEqual((code, [one["status"] for one in document["lines"]]), (0, ["SKIP", "SKIP"]), document["lines"])

    def test_nccl_in_a_python_package(self):
        package = pathlib.Path(self.here, "packages/nvidia/nccl/lib")
        package.mkdir(parents=True)
        (package / "libnccl.so.2").symlink_to(pathlib.Path(FAKES.split(":")[0], "libnccl.so.2"))
        code, document, said = self.run_it("--only", "nccl-table", libraries=FAKES.split(":")[1],
                                           PYTHONPATH=str(package.parents[2]))
        self.assertEqual((code, document["nccl"]), (0, str(package / "libnccl.so.2")), said)

    def test_nccl_with_its_release_in_its_name(self):
        own = pathlib.Path(self.here, "own/libnccl.so.2.28.9")
        own.parent.mkdir()
        own.symlink_to(pathlib.Path(FAKES.split(":")[0], "libnccl.so.2"))
        code, document, said = self.run_it("--only", "nccl-table", "--only", "nccl-corrupted", libraries=FAKES.split(":")[1],
                                           RDMABENCH_NCCL=str(own))
        self.assertEqual((code, document["nccl"]), (0, str(own)), said)

    def test_usage(self):
        for words, code in ((["."], 3), (["--only", "nothing", self.here], 2), ([], 2)):
            done = subprocess.run([f"{self.here}/gpu-acceptance", *words], cwd=f"{self.here}/lib", capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, code, done.stderr)


if __name__ == "__main__":
    SOURCE, BUILD, FAKES = sys.argv[1:4]
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]])
