#!/usr/bin/env python3
"""Holds the tables of docs/perftest.md against the flags that the tools parse by.

document_test.py PERFTEST_FLAG_TABLE PROJECT_ROOT [--update]
A row that says "guest" must be a flag that tests/softroce/perftest_formats.sh gives to our tools.
"""
import pathlib
import re
import subprocess
import sys

BEGIN, END = "<!-- flags: begin -->\n", "<!-- flags: end -->\n"


def split(document):
    before, rest = document.split(BEGIN)
    table, after = rest.split(END)
    return before, table, after


def given_in_guest(script):
    """The flags of the lines that begin with "pair " or "ours ": words that begin with a dash."""
    flags = set()
    for line in script.splitlines():
        if re.match(r"\s*(run_pair|pair|ours|limit|timeout -s INT.*) ", line):
            flags.update(re.findall(r"(?<=\s)(--?[A-Za-z][\w-]*)", line))
    return flags


def main(program, root, *rest):
    path = pathlib.Path(root) / "docs" / "perftest.md"
    document = path.read_text(encoding="utf-8")
    table = subprocess.run([program], check=True, capture_output=True, text=True).stdout
    before, shown, after = split(document)
    if rest == ("--update",):
        path.write_text(before + BEGIN + "\n" + table + END + after, encoding="utf-8")
        return 0
    failures = []
    if shown.strip() != table.strip():
        failures.append(f"{path} is not what {program} prints: run this with --update")
    script = pathlib.Path(root) / "tests" / "softroce" / "perftest_formats.sh"
    given = given_in_guest(script.read_text(encoding="utf-8"))
    rows = [line for line in table.splitlines() if line.startswith("| `")]
    for row in rows:
        names = re.findall(r"--?[A-Za-z][\w-]*", row.split("`")[1])
        if row.rstrip("| ").endswith("guest") and not given.intersection(names):
            failures.append(f"{names} is said to run in the guest, and {script.name} does not")
    if len(rows) != 157:
        failures.append(f"{len(rows)} rows, and perftest has 157 flags")
    for failure in failures:
        print(failure)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
