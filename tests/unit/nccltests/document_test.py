#!/usr/bin/env python3
"""Fails where docs/nccl-tests.md shows other flags than the program goes by.

Usage: document_test.py PRINT_FLAG_TABLE DOCUMENT
"""

import pathlib
import subprocess
import sys


def main() -> int:
    table = subprocess.run([sys.argv[1]], check=True, capture_output=True, text=True).stdout
    document = pathlib.Path(sys.argv[2]).read_text(encoding="utf-8")
    missing = [line for line in table.splitlines() if line not in document.splitlines()]
    for line in missing:
        print(f"not in {sys.argv[2]}: {line}")
    rows = [line for line in document.splitlines() if line.startswith("| `-") and ", `--" in line]
    extra = [line for line in rows if line not in table.splitlines()]
    for line in extra:
        print(f"of no flag: {line}")
    return 1 if missing or extra else 0


if __name__ == "__main__":
    sys.exit(main())
