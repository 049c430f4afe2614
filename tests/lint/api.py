#!/usr/bin/env python3
"""Holds docs/api.md against the headers that are installed.

Usage: api.py PROJECT_ROOT            fails where they differ
       api.py PROJECT_ROOT --write    rewrites the tables of docs/api.md
       api.py --self-test

docs/api.md has one row for each: its name, whether it is stable, and the first sentence of its
opening comment. --write keeps what a row says of stability; a new row is "advanced". The C header
has docs/c.md instead. docs/from-0.2-to-1.0.md says where headers went that are no longer there.
"""

import pathlib
import re
import shlex
import sys

from headers import room_of

GENERATED = {"rdmabench/features.h": "Which optional parts this build of rdmabench has.",
             "rdmabench/endpoints.h": "The endpoint types of this build."}
ROW = re.compile(r"^\| `(rdmabench/[^`]+)` \| (stable|advanced) \| (.*) \|$", re.MULTILINE)
MOVED = re.compile(r"^\| (`[a-z0-9_/]+\.h`.*) \| (.*) \|$", re.MULTILINE)
HEADER = re.compile(r"`([a-z0-9_/]+\.h)`")
BEGIN, END = "<!-- headers -->", "<!-- end of headers -->"


def purpose(text: str) -> str:
    """The first sentence of the comment at the top of a header."""
    words = []
    for line in text.splitlines():
        if not line.startswith("//"):
            break
        if line == "//":
            break
        words.append(line[2:].strip())
    sentence = re.match(r"(.*?\.)(\s|$)", " ".join(words))
    return sentence.group(1) if sentence else " ".join(words)


def headers_of(root: pathlib.Path) -> dict[str, str]:
    found = dict(GENERATED)
    for path in sorted((root / "include" / "rdmabench").rglob("*.h")):
        found[str(path.relative_to(root / "include"))] = purpose(path.read_text(encoding="utf-8"))
    return found


def table_of(headers: dict[str, str], levels: dict[str, str]) -> str:
    lines = []
    rooms = sorted({room_of(name) for name in headers})
    for room in rooms:
        lines += ["", f"### {room or 'All modules'}", "", "| header | | what it is for |", "|---|---|---|"]
        lines += [f"| `{name}` | {levels.get(name, 'advanced')} | {text} |"
                  for name, text in sorted(headers.items()) if room_of(name) == room]
    return "\n".join(lines) + "\n\n"


def check(root: pathlib.Path) -> list[str]:
    rows = {name: text for name, _, text in ROW.findall((root / "docs/api.md").read_text(encoding="utf-8"))}
    headers = headers_of(root)
    found = [f"{name}: not in docs/api.md" for name in headers if name not in rows]
    found += [f"{name}: in docs/api.md, but not installed" for name in rows if name not in headers]
    found += [f"{name}: docs/api.md says '{rows[name]}', the header '{text}'"
              for name, text in headers.items() if rows.get(name, text) != text]
    page = (root / "docs/from-0.2-to-1.0.md").read_text(encoding="utf-8")
    for old, new in MOVED.findall(page):
        found += [f"{name}: docs/from-0.2-to-1.0.md says that it is gone" for name in HEADER.findall(old)
                  if f"rdmabench/{name}" in headers]
        found += [f"{name}: in docs/from-0.2-to-1.0.md, but not installed" for name in HEADER.findall(new)
                  if f"rdmabench/{name}" not in headers]
    return found


def write(root: pathlib.Path) -> None:
    path = root / "docs/api.md"
    text = path.read_text(encoding="utf-8")
    levels = {name: level for name, level, _ in ROW.findall(text)}
    before, rest = text.split(BEGIN)
    after = rest.split(END)[1]
    path.write_text(before + BEGIN + table_of(headers_of(root), levels) + END + after, encoding="utf-8")


def self_test() -> list[str]:
    wrong = []
    if purpose("// The clock. It ticks.\n// More.\n#pragma once\n") != "The clock.":
        wrong.append("the first sentence of a comment was not found")
    table = table_of({"rdmabench/a/x.h": "What x is."}, {"rdmabench/a/x.h": "stable"})
    if ROW.findall(table) != [("rdmabench/a/x.h", "stable", "What x is.")]:
        wrong.append("a row that was written was not read back")
    return wrong


def main() -> int:
    if sys.argv[1:] == ["--self-test"]:
        found = self_test()
    elif sys.argv[2:] == ["--write"]:
        write(pathlib.Path(sys.argv[1]))
        found = []
    else:
        found = check(pathlib.Path(sys.argv[1]))
        if any("docs/api.md" in line for line in found):
            found.append("docs/api.md is rewritten by: " + shlex.join([sys.executable, *sys.argv, "--write"]))
    for line in found:
        print(line)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
