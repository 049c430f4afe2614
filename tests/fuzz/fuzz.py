#!/usr/bin/env python3
"""Runs a fuzz target from a copy of its corpus, or grows the corpus.

  fuzz.py run PROGRAM --corpus DIR [--seconds 30]   fails on a finding and prints it in base64
  fuzz.py grow PROGRAM --corpus DIR [--seconds 60]  fuzzes, then adds what reaches new code to DIR
"""
import argparse
import base64
import pathlib
import random
import re
import subprocess
import sys
import tempfile

# A frame may hold 1 MiB, and nothing that is read may take more than a small multiple of it.
LIMITS = ["-timeout=5", "-malloc_limit_mb=64", "-rss_limit_mb=1024", "-max_len=4096",
          "-len_control=10",
          "-entropic=0"]  # its bookkeeping took most of the time: without it two to three times as many inputs, and more edges
GROWN_BYTES = 400  # of a file that is added to the corpus, at most
GROWN_FILES = 60  # added at a time, at most


def fuzz(args, found, artifacts):
    seed = random.randrange(1, 1 << 31)
    print(f"seed {seed}, {args.seconds} s", flush=True)
    command = [args.program, f"-seed={seed}", f"-max_total_time={args.seconds}", *LIMITS,
               "-print_final_stats=1", f"-dict={args.corpus.parent / 'dictionary'}",
               f"-artifact_prefix={artifacts}/", str(found), str(args.corpus)]
    result = subprocess.run(command, stderr=subprocess.PIPE, check=False,
                            timeout=args.seconds + 120)
    return result.returncode, result.stderr.decode(errors="replace")


def report(log, artifacts):
    """The end of the log, and every input that broke something."""
    print(log[-6000:])
    for path in sorted(artifacts.iterdir()):
        print(f"FINDING {path.name}: base64 -d >input, then run the program on 'input':")
        print(base64.b64encode(path.read_bytes()).decode())


def run(args, scratch):
    found, artifacts = scratch / "found", scratch / "artifacts"
    found.mkdir()
    artifacts.mkdir()
    code, log = fuzz(args, found, artifacts)
    executed = re.search(r"number_of_executed_units:\s*(\d+)", log)
    if code != 0 or any(artifacts.iterdir()):
        report(log, artifacts)
        return 1
    if executed is None or int(executed[1]) <= len(list(args.corpus.iterdir())):
        print(log[-6000:])
        print("no input besides the corpus was run")
        return 1
    last = [line for line in log.splitlines() if re.match(r"#\d+\s+\w+\s+cov:", line)][-1]
    print(f"{executed[1]} executions without a finding; {last}")
    return 0


def features_of(args, folders, scratch):
    """File -> the edges of the program that it reaches, as libFuzzer's merge records them."""
    control = scratch / "control"
    subprocess.run([args.program, "-merge=1", "-use_counters=0", f"-merge_control_file={control}",
                    *LIMITS, str(scratch / "merged"), *map(str, folders)],
                   check=True, stderr=subprocess.DEVNULL)
    lines = control.read_text().splitlines()
    count = int(lines[0])
    names = lines[2:2 + count]
    reached = {name: set() for name in names}
    for line in lines[2 + count:]:
        kind, *numbers = line.split()
        if kind == "FT":
            reached[names[int(numbers[0])]] = set(numbers[1:])
    return reached


def grow(args, scratch):
    code = run(args, scratch)
    if code != 0:
        return code
    (scratch / "merged").mkdir()
    reached = features_of(args, [args.corpus, scratch / "found"], scratch)
    old = {name: edges for name, edges in reached.items() if pathlib.Path(name).parent == args.corpus}
    new = {name: edges for name, edges in reached.items()
           if name not in old and pathlib.Path(name).stat().st_size <= GROWN_BYTES}
    seen = set().union(*old.values())
    for _ in range(GROWN_FILES):
        best = max(new, key=lambda name: len(new[name] - seen), default=None)
        if best is None or not new[best] - seen:
            break
        seen |= new[best]
        path = pathlib.Path(best)
        (args.corpus / path.name[:12]).write_bytes(path.read_bytes())
        print(f"added {path.name[:12]}")
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["run", "grow"])
    parser.add_argument("program")
    parser.add_argument("--corpus", type=pathlib.Path, required=True)
    parser.add_argument("--seconds", type=int, default=30)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        return {"run": run, "grow": grow}[args.what](args, pathlib.Path(scratch))


if __name__ == "__main__":
    sys.exit(main())
