#!/usr/bin/env python3
"""Holds the table of Config's members in docs/api.md against the options of lib/run/options.cc.

config_catalogue.py [--write] PROJECT_ROOT CONFIG_CATALOGUE
"""
import pathlib
import re
import shlex
import subprocess
import sys

BEGIN, END = "<!-- config -->\n", "<!-- end of config -->"
MEMBER = re.compile(r'\brow\(\s*"(\w+)",.*?return &c\.([\w.]+);', re.DOTALL)
NAMES = (("verbs", "verbs"), ("ofi", "libfabric"), ("ucx", "UCX"), ("loop", "loop"))


def back_ends(words):
    if set(words) == {"yes"}:
        return "all"
    return ", ".join(name + (" (some)" if word == "some" else "") for (_, name), word in zip(NAMES, words) if word != "no")


def cell(text):
    return text.replace("|", "\\|")


def table(root, program):
    members = dict(MEMBER.findall((root / "lib/run/options.cc").read_text(encoding="utf-8")))
    lines = ["| member | in JSON | what it is, and its default | values | back ends |", "|---|---|---|---|---|"]
    for line in subprocess.run([program], check=True, capture_output=True, text=True).stdout.splitlines():
        name, values, *takers, text = line.split("\t")
        lines.append(f"| `{members[name]}` | `{name}` | {cell(text)} | {values} | {back_ends(takers)} |")
    return "\n".join(lines) + "\n"


def main():
    words = sys.argv[1:]
    writes = words[0] == "--write"
    root, program = pathlib.Path(words[writes]), words[1 + writes]
    path = root / "docs/api.md"
    page = path.read_text(encoding="utf-8")
    before, rest = page.split(BEGIN)
    now = before + BEGIN + table(root, program) + END + rest.split(END)[1]
    if writes:
        path.write_text(now, encoding="utf-8")
    elif now != page:
        print("the table of Config in docs/api.md is not what lib/run/options.cc says: "
              + shlex.join([sys.executable, sys.argv[0], "--write", str(root), program]))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
