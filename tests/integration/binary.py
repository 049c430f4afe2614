#!/usr/bin/env python3
"""What the installed files say of themselves in their ELF headers: libraries, symbol versions, size, hardening.

Usage: binary.py RDMABENCH LIBRARIES, which are separated by semicolons
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import command

# Everything else is loaded when it is first called. {fmt}'s is needed unless it is linked in, our own with BUILD_SHARED_LIBS.
LIBRARIES = r"lib(rdmabench(-\w+)?\.so\.0\.\d+|fmt\.so\.\d+|stdc\+\+\.so\.6|m\.so\.6|gcc_s\.so\.1|c\.so\.6)|ld-linux-[\w-]+\.so\.\d"
MOST_BYTES = 12_000_000


def readelf(*words: str, file: str = "") -> str:
    return subprocess.run(["readelf", "--wide", *words, file or command.TOOL], capture_output=True, text=True, timeout=60, check=True).stdout


@unittest.skipUnless(shutil.which("readelf"), "binutils are not installed")
class Binary(unittest.TestCase):
    def test_needed_libraries(self):
        needed = re.findall(r"\(NEEDED\).*\[(.*)\]", readelf("--dynamic"))
        self.assertIn("libc.so.6", needed)
        for name in needed:
            self.assertRegex(name, rf"^({LIBRARIES})$")

    def test_symbol_versions_are_listed(self):
        newest = {}
        for family, version in re.findall(r"Name: (GLIBC|GLIBCXX|CXXABI|GCC)_([\d.]+)", readelf("--version-info")):
            newest[family] = max(newest.get(family, (0,)), tuple(map(int, version.split("."))))
        print("needs", *(f"{family}_{'.'.join(map(str, version))}" for family, version in sorted(newest.items())))
        self.assertIn("GLIBC", newest)
        here = tuple(map(int, os.confstr("CS_GNU_LIBC_VERSION").split()[1].split(".")))
        self.assertLessEqual(newest["GLIBC"], here)

    def test_size_without_debug_information(self):
        with tempfile.TemporaryDirectory() as folder:
            stripped = f"{folder}/rdmabench"
            subprocess.run(["strip", "-o", stripped, command.TOOL], check=True, timeout=60)
            print("stripped", os.path.getsize(stripped), "bytes")
            self.assertLessEqual(os.path.getsize(stripped), MOST_BYTES)

    def test_hardening(self):
        for file in (command.TOOL, *BUILT_LIBRARIES):
            with self.subTest(file):
                self.assertRegex(readelf("--file-header", file=file), r"Type: +DYN ")
                segments = readelf("--segments", file=file)
                self.assertIn("GNU_RELRO", segments)
                self.assertRegex(segments, r"GNU_STACK.* RW +0x")
                self.assertRegex(readelf("--dynamic", file=file), r"BIND_NOW|Flags:.* NOW")
                symbols = readelf("--symbols", file=file)
                self.assertIn("__stack_chk_fail", symbols)
        self.assertIn("PIE", readelf("--dynamic"))
        self.assertRegex(readelf("--dyn-syms"), r"__\w+_chk\b")


if __name__ == "__main__":
    BUILT_LIBRARIES = sys.argv.pop(2).split(";")
    unittest.main(argv=command.take_tool())
