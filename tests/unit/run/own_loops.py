#!/usr/bin/env python3
"""Whether a program that compiled the loops itself has the library's besides.

Usage: own_loops.py NM OBJECT PROGRAM [LIBRARY]; OBJECT has the library's loops, as they are linked,
and LIBRARY is what has them in place of the program, if it is shared.
"""

import collections
import subprocess
import sys


def symbols(nm: str, file: str) -> list[list[str]]:
    """Type and name of each that is defined."""
    said = subprocess.run([nm, "--defined-only", "--format=posix", file], capture_output=True, text=True, timeout=60, check=True).stdout
    return [line.split()[1::-1] for line in said.splitlines()]


def main() -> int:
    nm, library, *linked = filter(None, sys.argv[1:])
    own = {name for kind, name in symbols(nm, library) if kind == "t"}
    shared = [name for kind, name in symbols(nm, library) if kind == "W"]
    if shared:
        print(f"the library's {shared[0]} may be replaced by a caller's")
        return 1
    found = collections.defaultdict(list)
    for file in linked:
        for kind, name in symbols(nm, file):
            found[name].append(kind)
    both = [name for name in own if "W" in found[name]]
    lost = [name for name in both if "t" not in found[name]]
    print(f"{len(both)} functions of the caller's are the library's too; of {len(lost)} there is one copy")
    return 0 if both and not lost else 1


if __name__ == "__main__":
    sys.exit(main())
