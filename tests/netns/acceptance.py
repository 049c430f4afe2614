"""Walks docs/acceptance.md on eight network namespaces, prints each command with its output, and compares both with the page.

acceptance.py RDMABENCH
"""

import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "integration"))
import command
from namespaces import NODES, address, enter, on, set_links

TOOL = str(pathlib.Path(sys.argv[1]).resolve())
FABRIC = ("rdmabench fabric --provider tcp --events --metric bandwidth --size 16K --depth 16 --duration 500ms "
          "--topology topology.csv --expect bw>=0.25Gb/s --output ")


def words(line: str) -> list[str]:
    return [TOOL if word == "rdmabench" else word for word in shlex.split(line)]


seen = set()  # each command and each line that was printed, as alike() gives them

# What differs from run to run: the noise of the machine, how many limits were met, which pairs were slow by chance.
CHANCE = re.compile(r"suspect: |--verbose |.* more rows, |.* is not a finding: |\.\.\.$|-: fewer than|in every row: ")


def alike(line: str) -> str:
    """Without numbers, the intervals that only some figures have, keys, quotes and the page's shorter names."""
    line = re.sub(r"SHA256:\S+", "SHA256:", line.replace("'bw>=0.25Gb/s'", "bw>=0.25Gb/s").replace("'p50<=5ms'", "p50<=5ms"))
    line = re.sub(r"(doctor-node\d\.json ?)+", "doctor-*.json ", line.replace(address(1), "node1"))
    line = re.sub(r"\b[KMG]?b/s", "b/s", re.sub(r"\d[\d.]*|(?<= )-(?= )", "#", line))
    return " ".join(re.sub(r" \(# \S+ to # \S+\)", "", line).split())


def compare_with_the_page() -> None:
    page = pathlib.Path(__file__).resolve().parents[2] / "docs" / "acceptance.md"
    text = page.read_text(encoding="utf-8").replace("\\\n       ", "").replace("fabric ... --output", FABRIC.removeprefix("rdmabench ").strip())
    skips = False
    for line in re.findall(r"(?m)^    (.+)$", text):
        line = line.removeprefix("$ ")
        if line.startswith(("rdmabench ", "ssh-keygen ", "echo ")):
            # What doctor says is of this machine, and the shell's part is done in Python here.
            skips = line.startswith(("rdmabench doctor", "echo"))
            line = line.removesuffix(" <acceptance.html")
        if not skips and not CHANCE.match(line.strip()) and alike(line) not in seen:
            raise AssertionError(f"docs/acceptance.md has a line that nothing printed: {line}")


def show(line: str, done: subprocess.CompletedProcess, code: int) -> str:
    print(f"$ {line}\n{done.stdout}[{done.returncode}]\n", flush=True)
    seen.update(alike(one) for one in [line, *done.stdout.splitlines()])
    if done.returncode != code:
        raise AssertionError(f"{line}: ended with {done.returncode}, not {code}")
    return done.stdout


def run(line: str, code: int = 0, node: int = 0) -> str:
    done = subprocess.run(on(node, *words(line)), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120, check=False)
    return show(line, done, code)


def sign(line: str, **files: object) -> str:
    done = subprocess.run(shlex.split(line), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60, check=False, **files)
    return show(line, done, 0)


def fabric(output: str, code: int) -> str:
    """On every node, as a launcher would start it."""
    line = FABRIC + output

    def rank(number: int, **streams: object) -> subprocess.Popen:
        place = command.rank_of(number, NODES, address(0), "18516") | {"FI_OFI_RXM_BUFFER_SIZE": "2048"}  # see fabric.py
        return subprocess.Popen(on(number, *words(line)), env=place, text=True, **streams)

    others = [rank(number, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for number in range(1, NODES)]
    first = rank(0, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    said, _ = first.communicate(timeout=240)
    for other in others:
        other.wait(timeout=60)
    return show(line, subprocess.CompletedProcess(line, first.returncode, said), code)


def wants(text: str, *expressions: str) -> None:
    for expression in expressions:
        if not re.search(expression, text):
            raise AssertionError(f"no {expression} in the output")


def walk() -> None:
    set_links({}, {}, {})
    for node in range(NODES):
        done = subprocess.run(on(node, TOOL, "doctor", "--format", "json", "--output", f"doctor-node{node}.json"), check=False, timeout=60)
        if done.returncode not in (0, 1):  # this machine may have faults
            raise AssertionError(f"doctor on node {node}: {done.returncode}")
    print(subprocess.run(on(0, TOOL, "doctor"), capture_output=True, text=True, timeout=60, check=False).stdout)

    server = subprocess.Popen(on(1, TOOL, "serve", "--allow-provider", "tcp", "--with-parent"), stderr=subprocess.PIPE, text=True)
    server.stderr.readline()
    peer = address(1)
    wants(run(f"rdmabench lat {peer} --provider tcp --events --op send -s 8 -D 1s --expect p50<=5ms"), "PASS p50<=5ms")
    wants(run(f"rdmabench bw {peer} --provider tcp --events --op send -s 16K,1M -D 1s --expect bw>=0.25Gb/s --format json --output bw.json"),
          "PASS bw>=0.25Gb/s: send of 1M")
    server.terminate()
    server.wait(timeout=10)

    pathlib.Path("topology.csv").write_text("node,leaf,spine\n" + "".join(f"node{node},{node // 4},0\n" for node in range(NODES)), encoding="ascii")
    set_links({2: 0.4}, {}, {})
    wants(fabric("first.jsonl", 1), r"FAIL node2: sender: bandwidth 16K", r"4 of 4 directions", "FAIL bw>=0.25Gb/s: node2 to")
    set_links({}, {}, {})
    wants(fabric("second.jsonl", 0), "nothing stands out", "PASS bw>=0.25Gb/s")

    documents = " ".join(f"doctor-node{node}.json" for node in range(NODES)) + " bw.json second.jsonl"
    run(f"rdmabench report {documents} --format html --output acceptance.html")
    run(f"rdmabench report {documents} --format junit --output acceptance.xml")
    sign("ssh-keygen -q -t ed25519 -N '' -f key")
    pathlib.Path("signers").write_text(f"acceptance@cluster {pathlib.Path('key.pub').read_text(encoding='ascii')}", encoding="ascii")
    sign("ssh-keygen -Y sign -f key -n acceptance acceptance.html")
    with open("acceptance.html", encoding="utf-8") as page:
        wants(sign("ssh-keygen -Y verify -f signers -I acceptance@cluster -n acceptance -s acceptance.html.sig", stdin=page), "Good")
    compare_with_the_page()


if __name__ == "__main__":
    enter()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        walk()
