"""Checks the JSON files of `measure` in common.sh, each named "KIND OP SIZES HOST.json".

Every size asked for must have one row, validated and with a number greater than 0.
"""

import json
import sys
from pathlib import Path

UNITS = {"K": 1 << 10, "M": 1 << 20}
FIGURE = {"lat": "p50_ns", "bw": "bits_per_s"}


def size_bytes(text: str) -> int:
    return int(text.rstrip("KM")) * UNITS.get(text[-1], 1)


def sizes_of(text: str) -> list[int]:
    """"8,64K" or "1:1M", which doubles."""
    if ":" not in text:
        return [size_bytes(part) for part in text.split(",")]
    first, last = map(size_bytes, text.split(":"))
    sizes = [first]
    while sizes[-1] * 2 <= last:
        sizes.append(sizes[-1] * 2)
    return sizes


def faults_of(path: Path) -> list[str]:
    kind, _, sizes, _ = path.stem.split(" ")
    rows = json.loads(path.read_text(encoding="utf-8"))["results"]
    found = [row["size_bytes"] for row in rows]
    faults = [] if found == sizes_of(sizes) else [f"sizes {found}, expected {sizes_of(sizes)}"]
    for row in rows:
        if row.get("validated") is not True:
            faults.append(f"{row['size_bytes']} B: not validated")
        if not row.get(FIGURE[kind], 0) > 0:
            faults.append(f"{row['size_bytes']} B: {FIGURE[kind]} is {row.get(FIGURE[kind])}")
    return faults


def main() -> int:
    bad = 0
    for path in map(Path, sys.argv[1:]):
        for fault in faults_of(path):
            print(f"{path.stem}: {fault}", file=sys.stderr)
            bad = 1
    return bad


if __name__ == "__main__":
    sys.exit(main())
