#!/usr/bin/env python3
"""Makes kernels.ptx of kernels.cu, or holds the one against the other.

Usage: make_kernels_ptx.py [--check] [--nvcc PATH]

nvcc writes the PTX version of its own toolkit, which drivers older than the toolkit refuse. The
kernels need nothing new, so the version is lowered to that of CUDA 11.7; ptxas then has to take the
result for every architecture below. --check exits with 77 (skipped) for another release of nvcc
than the one that made kernels.ptx: it may word the same kernels in another way.
"""

import argparse
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

PTX_VERSION = "7.7"  # what the driver of CUDA 11.7 takes, the first that exports a dma-buf
LOWEST = "75"        # compute capability: the lowest that nvcc 13 knows
ARCHITECTURES = ("75", "80", "90")
HERE = pathlib.Path(__file__).resolve().parent
SKIPPED = 77


def release(nvcc: str) -> str:
    text = subprocess.run([nvcc, "--version"], check=True, capture_output=True, text=True).stdout
    return re.search(r"release ([0-9.]+), V([0-9.]+)", text).group(2)


def compile_ptx(nvcc: str) -> str:
    with tempfile.TemporaryDirectory() as folder:
        target = pathlib.Path(folder) / "kernels.ptx"
        subprocess.run([nvcc, "-ptx", "-O3", "-std=c++17", f"-arch=compute_{LOWEST}",
                        "-Werror", "all-warnings", "-o", str(target), str(HERE / "kernels.cu")],
                       check=True)
        return target.read_text()


def lower(ptx: str, made_by: str) -> str:
    """Without what names the machine and the day, and of the version that old drivers take."""
    lines = [line.rstrip() for line in ptx.splitlines() if not line.startswith("//")]
    body = "\n".join(lines).strip() + "\n"
    body, count = re.subn(r"^\.version [0-9.]+$", f".version {PTX_VERSION}", body, count=1,
                          flags=re.MULTILINE)
    if count != 1:
        sys.exit("nvcc's output has no .version")
    return (f"// Made of kernels.cu by make_kernels_ptx.py with nvcc {made_by}; its .version lowered\n"
            f"// to {PTX_VERSION}. Do not edit.\n{body}")


def assemble(nvcc: str, ptx: str) -> None:
    """ptxas must take it, or a driver would not either."""
    ptxas = str(pathlib.Path(shutil.which(nvcc)).resolve().parent / "ptxas")
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder) / "kernels.ptx"
        source.write_text(ptx)
        for architecture in ARCHITECTURES:
            subprocess.run([ptxas, f"-arch=sm_{architecture}", "-o",
                            str(pathlib.Path(folder) / "kernels.cubin"), str(source)], check=True)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--nvcc", default="nvcc")
    arguments = parser.parse_args()

    committed = HERE / "kernels.ptx"
    made_by = release(arguments.nvcc)
    made = lower(compile_ptx(arguments.nvcc), made_by)
    assemble(arguments.nvcc, made)
    if not arguments.check:
        committed.write_text(made)
        return 0
    assemble(arguments.nvcc, committed.read_text())
    if f"nvcc {made_by};" not in committed.read_text():
        print(f"kernels.ptx is of another nvcc than {made_by}: not compared")
        return SKIPPED
    if made != committed.read_text():
        print("kernels.ptx is not what kernels.cu gives: run lib/gpu/make_kernels_ptx.py")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
