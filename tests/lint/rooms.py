#!/usr/bin/env python3
"""Fails when a room includes one that it may not know.

Usage: rooms.py PROJECT_ROOT | rooms.py --self-test
"""

import pathlib
import re
import sys

# Room -> the rooms it may include besides itself. A room is a folder of include/rdmabench and lib.
MAY_INCLUDE = {
    "base": set(),
    "loaded": {"base"},
    "measure": {"base"},
    "verbs": {"base", "loaded"},
    "gpu": {"base", "loaded"},
    "memory": {"base", "verbs", "gpu"},
    "transport": {"base", "loaded", "memory", "verbs"},
    "workload": {"base", "measure", "memory", "transport"},
    "control": {"base", "loaded"},
    "import": {"base"},
    "results": {"base", "measure"},
    "health": {"base", "loaded", "measure", "results"},
    "report": {"base", "measure", "import", "results"},
    "analysis": {"base", "measure", "results", "report"},
    "run": {"base", "loaded", "measure", "verbs", "memory", "transport", "workload", "control", "results",
            "report", "health"},
    "fabric": {"base", "measure", "control", "results", "report", "health", "run"},
    "collective": {"base", "measure", "control", "results", "report", "health", "gpu", "memory", "run"},
    "netplugin": {"base", "measure", "control", "results", "report", "run"},
    "c": {"base", "results", "report", "health", "analysis", "run", "fabric"},
}
# The tools are on top of all, and a test may look anywhere.

# An installed header is included as "rdmabench/<room>/x.h", another one as "<room>/x.h".
INCLUDE = re.compile(r'^\s*#\s*include\s*"(?:rdmabench/)?(' + "|".join(MAY_INCLUDE) + r')/([^"]*)"', re.MULTILINE)


def offences(name: str, room: str, text: str) -> list[str]:
    found = []
    for match in INCLUDE.finditer(text):
        other = match.group(1)
        if other != room and other not in MAY_INCLUDE.get(room, set()):
            found.append(f"{name}: {room}/ may not include {other}/{match.group(2)}")
    return found


def backend_offences(name: str, backend: str, text: str) -> list[str]:
    """One back end may not know another: each is a folder that can be taken out."""
    others = re.findall(r'"(?:rdmabench/)?transport/([a-z]+)/', text)
    return [f"{name}: back end {backend} may not include back end {other}"
            for other in others if other != backend]


def check(root: pathlib.Path) -> list[str]:
    found = []
    files = 0
    for base in (root / "include" / "rdmabench", root / "lib"):
        for path in sorted(base.rglob("*")):
            if path.suffix not in (".h", ".cc", ".in"):
                continue
            files += 1
            parts = path.relative_to(base).parts
            text = path.read_text(encoding="utf-8")
            name = str(path.relative_to(root))
            if parts in (("rdmabench.h",), ("google_benchmark.h",)):
                continue  # on top of all rooms
            if parts[0] not in MAY_INCLUDE:
                found.append(f"{name}: the room {parts[0]}/ is not in {pathlib.Path(__file__).name}")
                continue
            found += offences(name, parts[0], text)
            if parts[0] == "transport" and len(parts) > 2:
                found += backend_offences(name, parts[1], text)
    if files == 0:
        found.append(f"no source files under {root}")
    return found


def self_test() -> list[str]:
    wrong = []
    if not offences("x.h", "measure", '#include "rdmabench/transport/transport.h"\n'):
        wrong.append("measure including transport was not seen")
    if offences("x.h", "workload", '#include "rdmabench/transport/transport.h"\n'):
        wrong.append("workload including transport was refused")
    if not offences("x.h", "control", '#  include "rdmabench/report/fact.h"\n'):
        wrong.append("control including report was not seen")
    if not offences("x.h", "control", '#include "report/fact.h"\n'):
        wrong.append("control including a header of report that is not installed was not seen")
    if not backend_offences("x.h", "loop", '#include "rdmabench/transport/ofi/endpoint.h"\n'):
        wrong.append("one back end including another was not seen")
    return wrong


def main() -> int:
    found = self_test() if sys.argv[1:] == ["--self-test"] else check(pathlib.Path(sys.argv[1]))
    for line in found:
        print(line)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
