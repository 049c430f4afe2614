#!/usr/bin/env python3
"""Runs the C program on a saved node, and checks what the library exports.

Usage: c_api.py PROGRAM LIBRARY VERSION NM
"""

import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "fixtures" / "doctor"))
import unpack  # pylint: disable=wrong-import-position


def main() -> int:
    program, library, version, nm = sys.argv[1:]
    declared = set(re.findall(r"\b(rdmabench_\w+)\(", (ROOT / "include" / "rdmabench.h").read_text(encoding="utf-8")))
    symbols = subprocess.run([nm, "-D", "--defined-only", library], check=True, capture_output=True, text=True).stdout
    exported = {line.split()[-1] for line in symbols.splitlines()}
    if exported != declared:
        print(f"exported and not declared: {exported - declared}\ndeclared and not exported: {declared - exported}")
        return 1
    with tempfile.TemporaryDirectory() as folder:
        node = pathlib.Path(folder) / "node"
        unpack.unpack(ROOT / "tests" / "fixtures" / "doctor" / "roce.tree", node)
        return subprocess.run([program, version, str(node), folder], check=False, timeout=100).returncode


if __name__ == "__main__":
    sys.exit(main())
