#!/usr/bin/env python3
"""Fails when an installed header has no user, includes a header that is not installed or does not come to features.h,
which checks for C++20, or when too many are installed.

A header of include/rdmabench/<room>/ has a user when another room, the tools or the examples include it, or when
an installed header that has a user includes it. The C header is for
programs outside.

Usage: headers.py PROJECT_ROOT | headers.py --self-test
"""

import pathlib
import re
import sys

LIMIT = 60
INSTALLED = re.compile(r'^\s*#\s*include\s*[<"](rdmabench/[^">]*)[">]', re.MULTILINE)
QUOTED = re.compile(r'^\s*#\s*include\s*"([^"]*)"', re.MULTILINE)
GENERATED = {"rdmabench/features.h", "rdmabench/endpoints.h"}


def room_of(header: str) -> str:
    parts = header.split("/")
    return parts[1] if len(parts) > 2 else ""


def offences(headers: dict[str, str], sources: list[tuple[str, str]]) -> list[str]:
    """headers: name as included -> text; sources: (room, "" outside of the library) and text."""
    found = []
    for name, text in headers.items():
        found += [f"{name}: includes {other}, which is not installed" for other in QUOTED.findall(text)
                  if other not in headers and other not in GENERATED]
    # Of those that include another one, that one or the next does.
    found += [f"{name}: includes no other header of rdmabench: include rdmabench/features.h, which checks for C++20"
              for name, text in headers.items() if name != "rdmabench.h" and not INSTALLED.search(text)]
    used = {"rdmabench.h"}
    for room, text in sources + [(room_of(name), text) for name, text in headers.items()]:
        used |= {other for other in INSTALLED.findall(text) if not room or room_of(other) != room}
    reached: set[str] = set()
    waiting = [name for name in used if name in headers]
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached.add(name)
            waiting += [other for other in INSTALLED.findall(headers[name]) if other in headers]
    found += [f"{name}: nothing outside its room includes it; move it to lib/" for name in sorted(set(headers) - reached)]
    installed = len(headers) + len(GENERATED)
    if installed > LIMIT:
        found.append(f"{installed} headers are installed, more than {LIMIT}")
    return found


def check(root: pathlib.Path) -> list[str]:
    include = root / "include"
    headers = {str(path.relative_to(include)): path.read_text(encoding="utf-8")
               for path in sorted(include.rglob("*.h"))}
    if not headers:
        raise SystemExit(f"headers.py: no header below {include}")
    sources = []
    backends = [path.name for path in (include / "rdmabench" / "transport").iterdir() if path.is_dir()]
    for folder in ("lib", "tools", "examples"):
        for path in (root / folder).rglob("*"):
            if path.suffix in (".h", ".cc", ".in"):
                room = path.relative_to(root / "lib").parts[0] if folder == "lib" else ""
                text = path.read_text(encoding="utf-8")
                for backend in backends:  # CMake writes one file for each
                    sources.append((room, text.replace("@backend@", backend)))
                    if "@backend@" not in text:
                        break
    return offences(headers, sources)


def self_test() -> None:
    features = '#include "rdmabench/features.h"\n'
    headers = {"rdmabench/run/a.h": '#include "rdmabench/run/b.h"\n', "rdmabench/run/b.h": features,
               "rdmabench/run/c.h": '#include "run/inner.h"\n'}
    assert offences(headers, [("", '#include "rdmabench/run/a.h"\n'), ("run", '#include "rdmabench/run/c.h"\n')]) == [
        "rdmabench/run/c.h: includes run/inner.h, which is not installed",
        "rdmabench/run/c.h: includes no other header of rdmabench: include rdmabench/features.h, which checks for C++20",
        "rdmabench/run/c.h: nothing outside its room includes it; move it to lib/"]
    assert not offences({"rdmabench/run/a.h": features}, [("fabric", '#include "rdmabench/run/a.h"\n')])
    most = LIMIT - len(GENERATED)
    assert offences({f"rdmabench/run/{n}.h": features for n in range(most + 1)}, [])[-1].startswith(f"{LIMIT + 1} headers")
    assert not [line for line in offences({f"rdmabench/run/{n}.h": features for n in range(most)}, []) if "are installed" in line]


if __name__ == "__main__":
    if sys.argv[1:] == ["--self-test"]:
        self_test()
        sys.exit(0)
    errors = check(pathlib.Path(sys.argv[1]))
    print("\n".join(errors))
    sys.exit(1 if errors else 0)
