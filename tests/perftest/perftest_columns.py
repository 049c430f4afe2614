#!/usr/bin/env python3
"""Reads what perftest's tools print, and what rdmabench prints in their form, by the same columns.

perftest_columns.py FILE              the dictionary, as JSON
perftest_columns.py --alike REAL OURS [--any-count]   exit status 1 where the two differ in more
                                                      than numbers; with the option, counts too
"""
import json
import re
import sys

RULE = re.compile(r"-{20,}$")
HEADING = re.compile(r"#\w+|tps average|[\w.%][\w.% ]*?\[[^\]]+\]")
INFO = re.compile(r"(\S[^:\t]*?)\s*: ?([^\t]*)")
ADDRESS = re.compile(r" (local|remote) address: (.*)")

# What both tools must agree on, given the same arguments on the same device. The rest is how each
# of them goes about it: its queue depth, its moderation, its choice of inline.
SAME_INFO = ("Dual-port", "Device", "Number of qps", "Transport type", "Connection type",
             "Using SRQ", "Mtu", "Link type", "GID index", "rdma_cm QPs", "Data ex. method")


class FormatError(Exception):
    pass


def parse(text: str) -> dict:
    """{"test", "info", "local", "remote", "tables": [{"heading", "columns", "rows"}], "extra"}."""
    result = {"test": None, "info": {}, "local": [], "remote": [], "tables": [], "extra": []}
    state = _Reader(result)
    for line in text.splitlines():
        state.take(line)
    if not result["tables"]:
        raise FormatError("no heading of a table")
    return result


class _Reader:
    def __init__(self, result: dict):
        self.result = result
        self.table = None  # the one being read
        self.side = None

    def take(self, line: str) -> None:
        if RULE.match(line):
            self.table = None
        elif line.startswith(" #bytes"):
            self.table = {"heading": line, "columns": columns(line), "rows": []}
            self.result["tables"].append(self.table)
        elif self.table is not None and re.match(r" \d", line):
            self.table["rows"].append(row(self.table["columns"], line))
        elif self.table is not None or self.result["tables"]:
            self._extra(line)
        elif line.startswith(" " * 20) and line.endswith(" Test"):
            self.result["test"] = line.strip()
        elif ADDRESS.match(line):
            self._address(*ADDRESS.match(line).groups())
        elif line.startswith(" GID: ") and self.side is not None:
            self.side["GID"] = gid(line[len(" GID: "):])
        elif self.result["test"] is None:
            self._extra(line)  # warnings and the banner come before the title
        else:
            self._info(line)

    def _extra(self, line: str) -> None:
        if line.strip():
            self.result["extra"].append(line.strip())

    def _info(self, line: str) -> None:
        found = INFO.findall(line.replace("\t :", " :"))
        if not found:
            self._extra(line)
        for name, value in found:
            self.result["info"][name] = value.strip()

    def _address(self, which: str, text: str) -> None:
        words = text.split()
        if len(words) % 2 != 0:
            raise FormatError(f"no pairs of name and number: {text!r}")
        self.side = {name: int(value, 16) for name, value in zip(words[::2], words[1::2])}
        self.result[which].append(self.side)


def columns(heading: str) -> list[str]:
    """The names; 4.5 says MB/sec where newer releases say MiB/sec, and both mean MiB/s."""
    return [name.replace("[MB/sec]", "[MiB/sec]") for name in HEADING.findall(heading)]


def row(names: list[str], line: str) -> dict:
    values = line.split()
    if len(values) != len(names):
        raise FormatError(f"{len(values)} values under {len(names)} headings: {line!r}")
    whole = ("#bytes", "#iterations")
    return {name: int(value) if name in whole else float(value)
            for name, value in zip(names, values)}


def gid(text: str) -> str:
    """16 decimal bytes, as hexadecimal."""
    numbers = [int(part) for part in text.split(":")]
    if len(numbers) != 16 or not all(0 <= number <= 255 for number in numbers):
        raise FormatError(f"no GID: {text!r}")
    return bytes(numbers).hex()


def differences(real: dict, ours: dict) -> list[str]:
    """What differs, numbers that were measured apart."""
    found = []

    def compare(what, theirs, own):
        if theirs != own:
            found.append(f"{what}: perftest {theirs!r}, rdmabench {own!r}")

    compare("test", real["test"], ours["test"])
    for name in SAME_INFO:
        compare(name, real["info"].get(name), ours["info"].get(name))
    compare("lines of facts", sorted(real["info"]), sorted(ours["info"]))
    for side in ("local", "remote"):
        compare(f"{side} addresses", [sorted(one) for one in real[side]],
                [sorted(one) for one in ours[side]])
        compare(f"{side} GIDs", [one.get("GID") for one in real[side]],
                [one.get("GID") for one in ours[side]])
    compare("headings", [table["heading"] for table in real["tables"]],
            [table["heading"] for table in ours["tables"]])
    for theirs, own in zip(real["tables"], ours["tables"]):
        compare("sizes", [line["#bytes"] for line in theirs["rows"]],
                [line["#bytes"] for line in own["rows"]])
        if "tps average" not in own["columns"] and "[" in own["heading"]:
            compare("iterations", [line["#iterations"] for line in theirs["rows"]],
                    [line["#iterations"] for line in own["rows"]])
    return found


def nonsense(result: dict) -> list[str]:
    """Numbers that cannot be, whoever printed them."""
    found = []
    for table in result["tables"]:
        if not table["rows"]:
            found.append("a table without a row")
        for line in table["rows"]:
            for name, value in line.items():
                if value < 0 or (value == 0 and name in ("#bytes", "#iterations")):
                    found.append(f"{name} is {value}")
            if "t_min[usec]" in line and not (line["t_min[usec]"] <= line["t_typical[usec]"]
                                              <= line["t_max[usec]"]):
                found.append(f"minimum, median and maximum out of order: {line}")
    return found


def main(arguments: list[str]) -> int:
    def load(path):
        with open(path, encoding="utf-8") as file:
            return parse(file.read())

    if arguments[:1] != ["--alike"]:
        print(json.dumps(load(arguments[0]), indent=2))
        return 0
    real, ours = load(arguments[1]), load(arguments[2])
    found = differences(real, ours) + nonsense(ours)
    if "--any-count" in arguments:  # runs by time
        found = [fault for fault in found if not fault.startswith("iterations:")]
    print(*found, sep="\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
