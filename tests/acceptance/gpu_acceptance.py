#!/usr/bin/env python3
"""scripts/gpu-acceptance from its archive, in an empty folder, on the fakes.

Usage: gpu_acceptance.py SOURCE_DIR BUILD_DIR FOLDERS_OF_THE_FAKES
"""

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
# The rest needs hardware, and says so.
ON_FAKES = {"device-facts", "doctor", "kernel-rates", "nccl-plugin", "non-blocking-cost", "nccl-tests"}


class Acceptance(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.here = folder.name
        archive = os.path.join(cls.here, "carried.tar.xz")
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
                              timeout=240, env={**os.environ, "LD_LIBRARY_PATH": libraries or FAKES, **settings})
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

    def test_every_line_on_the_fakes(self):
        code, document, said = self.run_it()
        self.assertEqual(code, 0, said)
        self.assertTrue(document["fake"])
        listed = subprocess.run(["./gpu-acceptance", "--list"], cwd=self.here, capture_output=True, text=True, check=True).stdout
        self.assertEqual([one["name"] for one in document["lines"]], [text.split()[0] for text in listed.splitlines()])
        for one in document["lines"]:
            if one["name"] == "pairing":  # a machine with RDMA devices has pairs
                continue
            self.assertEqual(one["status"], "SKIP" if one["name"] in ON_FAKES else "PASS", one)
        page = pathlib.Path(self.here, "result/acceptance.html").read_text(encoding="utf-8")
        self.assertNotRegex(page, r"(src|href)=|@import|url\(")
        self.assertEqual(len(re.findall(r"<tr class=", page)), len(document["lines"]))

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

    def test_usage(self):
        for words, code in ((["."], 3), (["--only", "nothing", self.here], 2), ([], 2)):
            done = subprocess.run([f"{self.here}/gpu-acceptance", *words], cwd=f"{self.here}/lib", capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, code, done.stderr)


if __name__ == "__main__":
    SOURCE, BUILD, FAKES = sys.argv[1:4]
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]])
