#!/usr/bin/env python3
"""Everything we are held against, in one go: prints the tables of docs/benchmarks.md as Markdown.

  bench/versus/versus.py build/release >tables.md

Needs, besides what scripts/packages test installs: perftest, valgrind, libfabric-bin. Takes about 20 minutes
on a machine that should do nothing else meanwhile.
"""

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
VM = HERE.parent.parent / "tests/softroce/vm"


def lines(*command) -> list[str]:
    done = subprocess.run(list(map(str, command)), stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout.splitlines()


def table(title: str, rows: list[str]) -> None:
    print(f"\n## {title}\n")
    for index, row in enumerate(rows):
        cells = row.split("\t")
        print("| " + " | ".join(cells) + " |")
        if index == 0:
            print("|" + "---|" * len(cells))
    sys.stdout.flush()


def main() -> int:
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    build = Path(sys.argv[1]).resolve()
    table("perftest, both ends in one virtual machine with Soft-RoCE",
          lines(VM, "run", "--timeout", 1800, "--", HERE / "perftest_vm.py", build))
    table("A bare libibverbs loop: user-space instructions per message",
          lines(VM, "run", "--timeout", 1800, "--", HERE / "instructions_vm.sh", build))
    table("A bare UCP loop: user-space instructions per message", lines(HERE / "instructions_ucx.sh", build))
    table("fi_pingpong, loopback of this machine", lines(HERE / "fi_pingpong.py", build))
    table("ucx_perftest, loopback and shared memory of this machine", lines(HERE / "ucx_perftest.py", build))
    return 0


if __name__ == "__main__":
    sys.exit(main())
