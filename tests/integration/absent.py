#!/usr/bin/env python3
"""Every command on nodes that lack other projects' libraries: each in turn, and all.

A file of a library's name that is no library stands before the real one in LD_LIBRARY_PATH, so that dlopen(3) fails.
"""

import os
import re
import subprocess
import tempfile
import unittest

import command

LIBRARIES = ("libibverbs.so.1", "librdmacm.so.1", "libmlx5.so.1", "libefa.so.1", "libfabric.so.1", "libucp.so.0", "libhwloc.so.15", "libsqlite3.so.0",
             "libarchive.so.13", "libcrypto.so.3", "libmunge.so.2", "libpmix.so.2", "libcuda.so.1")
MPI = ("libmpi.so.40", "libmpich.so.12")
ALL = (*LIBRARIES, "libnccl.so.2", *MPI)  # `devices` lists no more than LIBRARIES


class Absent(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        help_text = command.run("--help").stdout
        cls.commands = re.findall(r"^  (\w+) {2,}", help_text.partition("Subcommands:\n")[2].partition("\n\n")[0], re.MULTILINE)
        results = subprocess.run([command.TOOL, "lat", "--backend", "loop", "-n", "100", "-s", "8", "--format", "json"],
                                 capture_output=True, text=True, timeout=60, check=True).stdout
        cls.results = f"{cls.folder.name}/results.json"
        with open(cls.results, "w", encoding="utf-8") as file:
            file.write(results)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def run_without(self, missing: tuple[str, ...], *words: str) -> subprocess.CompletedProcess:
        with tempfile.TemporaryDirectory() as folder:
            for name in missing:
                open(f"{folder}/{name}", "wb").close()
            before = os.environ.get("LD_LIBRARY_PATH", "")
            alone = command.rank_of(0, 1, "127.0.0.1", command.free_port())  # for coll
            environment = {**alone, "LD_LIBRARY_PATH": f"{folder}:{before}" if before else folder}
            return subprocess.run([command.TOOL, *words], capture_output=True, text=True, timeout=60, env=environment, check=False)

    def test_every_command_starts_without_each_library_and_without_all(self):
        self.assertGreater(len(self.commands), 10)
        for missing in (*((name,) for name in ALL), ALL):
            for words in (("--version",), ("--help",), *((name, "--help") for name in self.commands),
                          ("lat", "--backend", "loop", "-n", "100", "-s", "8")):
                done = self.run_without(missing, *words)
                self.assertEqual(done.returncode, 0, (missing, words, done.stderr))

    def test_devices_and_the_doctor_say_what_is_missing(self):
        for missing in (*((name,) for name in LIBRARIES), LIBRARIES):
            devices = self.run_without(missing, "devices")
            self.assertEqual(devices.returncode, 0, (missing, devices.stderr))
            for name in missing:
                # A reason that is wider than the table goes on in the next lines.
                self.assertRegex(devices.stdout, rf"(?m)^{re.escape(name)} +missing: .*(\n .*)*\.\s+Install\s")
            doctor = self.run_without(missing, "doctor", "--only", "software.libraries")
            self.assertEqual(doctor.returncode, 0, (missing, doctor.stderr))
            if "libfabric.so.1" in missing:
                self.assertIn("not there: libfabric.so.1", doctor.stdout)

    def test_who_needs_it_is_told_the_package(self):
        archive = f"{self.folder.name}/node.tar.gz"
        database = f"{self.folder.name}/baselines"
        for name, package, *words in (("libibverbs.so.1", "libibverbs1", "reg"),
                                      ("libnccl.so.2", "libnccl2", "coll", "all-reduce", "--backend", "nccl"),
                                      ("libfabric.so.1", "libfabric1", "demo"),
                                      ("libsqlite3.so.0", "libsqlite3-0", "compare", "--baseline", database, "--name", "a", "--store", self.results),
                                      ("libcrypto.so.3", "libssl3", "lat", "127.0.0.1"),
                                      ("libmunge.so.2", "libmunge2", "serve", "--port", "0", "--auth", "munge"),
                                      ("libarchive.so.13", "libarchive13", "doctor", "--collect", archive)):
            done = self.run_without((name,), *words)
            self.assertEqual(done.returncode, 3, (words, done.stderr))
            self.assertIn(name, done.stderr)
            self.assertIn(package, done.stderr)
            self.assertFalse(os.path.exists(archive))
        done = self.run_without(MPI, "coll", "all-reduce")
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("no module for MPI", done.stderr)

    def test_the_program_itself_needs_little(self):
        needed = subprocess.run(["readelf", "-d", command.TOOL], capture_output=True, text=True, timeout=60, check=True).stdout
        symbols = subprocess.run(["readelf", "-W", "--dyn-syms", command.TOOL], capture_output=True, text=True, timeout=60, check=True).stdout
        for library in ("GLIBC", "GLIBCXX", "CXXABI"):
            versions = sorted({tuple(map(int, one.split("."))) for one in re.findall(rf"@{library}_([0-9.]+)", symbols)})
            print(f"newest {library} symbol: {'.'.join(map(str, versions[-1])) if versions else 'none'}")
            if library == "GLIBC" and os.confstr("CS_GNU_LIBC_VERSION") == "glibc 2.36":
                self.assertLessEqual(versions[-1], (2, 34))  # that of RHEL 9 and Amazon Linux 2023; Ubuntu 22.04 has a newer one
        names = set(re.findall(r"\(NEEDED\).*\[([^]]*)\.so", needed))
        self.assertLessEqual(names, {"libfmt", "libstdc++", "libm", "libgcc_s", "libc", "ld-linux-x86-64", "ld-linux-aarch64"})


if __name__ == "__main__":
    unittest.main(argv=command.take_tool())
