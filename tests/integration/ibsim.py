"""The fat tree that the unit tests of lib/fabric/topology read is what the tools of InfiniBand print: ibsim simulates it
and OpenSM sweeps it anew. Debian: ibsim-utils, opensm, infiniband-diags.

ibsim.py FOLDER    (tests/fixtures/topology)
"""

import contextlib
import difflib
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

SKIPPED = 77
LIMIT_S = 30
FOLDER = pathlib.Path(sys.argv[1])


@contextlib.contextmanager
def subnet(folder: str):
    """The environment of programs on it."""
    place = os.environ | {"IBSIM_SOCKNAME": f"rdmabench-{os.getpid()}", "OSM_TMP_DIR": folder, "OSM_CACHE_DIR": folder}
    simulator = subprocess.Popen(["stdbuf", "-oL", "ibsim", "-s", FOLDER / "fat_tree.ibsim"], env=place, text=True,
                                 stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    with simulator:
        try:
            for line in simulator.stdout:
                if "ready" in line:
                    break
            yield place
        finally:
            simulator.kill()


def printed(place: dict[str, str], *command: str) -> str:
    return subprocess.run(["ibsim-run", *command], env=place, text=True, capture_output=True, timeout=LIMIT_S, check=True).stdout


def without_date(text: str) -> list[str]:
    return [line for line in text.splitlines() if not line.startswith("# Topology file: generated on")]


def main() -> int:
    missing = [program for program in ("ibsim", "opensm", "ibnetdiscover", "dump_fts")
               if shutil.which(program, path=f"{os.environ['PATH']}:/usr/sbin") is None]
    if missing:
        print(f"skipped: not installed: {', '.join(missing)}")
        return SKIPPED
    os.environ["PATH"] += ":/usr/sbin"
    failed = 0
    with tempfile.TemporaryDirectory() as folder, subnet(folder) as place:
        printed(place, "opensm", "-R", "ftree", "-o", "-f", f"{folder}/opensm.log")
        place["SIM_HOST"] = "node01"  # OpenSM runs on the first that is there, a spine
        for program in ("ibnetdiscover", "dump_fts"):
            recorded = FOLDER / f"fat_tree.{program}"
            difference = list(difflib.unified_diff(without_date(recorded.read_text(encoding="utf-8")),
                                                   without_date(printed(place, program)), str(recorded), program, lineterm=""))
            print("\n".join(difference) or f"{program} prints {recorded.name}")
            failed |= bool(difference)
    return failed


if __name__ == "__main__":
    sys.exit(main())
