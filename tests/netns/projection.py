"""What rdmabench project says of a ring against what MPI then takes: the table of docs/project.md.

projection.py RDMABENCH [--rates 50,100] [--sizes 1,4,16,64]
`lat` and `bw` measure one pair of namespaces; from its curves `project` says how long an all-reduce and a reduce-scatter
of 4 and of 8 take. Then MPI does them: Open MPI's ring, and MPICH's reduce-scatter by pairs, which sends as much in as many
steps. Ends with 1 where one is beyond 15 %. A quarter of an hour.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import namespaces
from namespaces import address, on

# Each is called as AGENT HOST COMMAND... All keep this machine's name: ranks of one host that are more than its processors
# yield while they wait.
AGENT = """#!/bin/sh
host=$1
shift
exec ip netns exec "$host" sh -c "$*"
"""
OPEN_MPI = ("mpirun.openmpi", "--allow-run-as-root", "-x", "RDMABENCH_TOKEN_FILE", "--mca", "pml", "ob1", "--mca", "btl", "tcp,self",
            "--mca", "osc", "^ucx", "--mca", "btl_tcp_if_include", "eth0", "--mca", "oob_tcp_if_include", "eth0",
            # As NCCL's receivers do, whose room is known before: no handshake for each message.
            "--mca", "btl_tcp_eager_limit", str(32 << 20), "--mca", "btl_tcp_max_send_size", str(32 << 20),
            "--mca", "mpi_yield_when_idle", "1", "--mca", "coll_libnbc_iallreduce_algorithm", "1")
MPICH = ("mpirun.mpich", "-launcher", "rsh", "-iface", "eth0", "-genv", "MPIR_CVAR_IREDUCE_SCATTER_BLOCK_INTRA_ALGORITHM", "sched_pairwise",
         "-genv", "UCX_TLS", "tcp,self", "-genv", "UCX_NET_DEVICES", "eth0",
         "-genv", "RDMABENCH_RENDEZVOUS", "node0:18516")
SHARE = 0.15


def run(node: int, *words: str) -> dict:
    done = subprocess.run(on(node, *words), capture_output=True, text=True, timeout=600, check=False)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(words)}: {done.stdout}{done.stderr}")
    return json.JSONDecoder().raw_decode(done.stdout[done.stdout.index("{"):])[0]


class Network:
    def __init__(self, tool: str, folder: str, rate: int):
        namespaces.MBIT = rate
        namespaces.SMALL_FIRST = True
        namespaces.set_links({}, {}, {})
        for node in range(namespaces.NODES):  # TCP's delayed acknowledgements, of 40 ms, are no fabric's
            namespaces.batch("ip", [f"route replace 10.0.0.0/24 dev eth0 src {address(node)} quickack 1"], node)
        self.tool, self.folder = tool, pathlib.Path(folder)
        agent = self.folder / "agent"
        agent.write_text(AGENT, encoding="ascii")
        agent.chmod(0o755)

    def collective(self, operation: str, mpi: str, nodes: int, size: int) -> dict:
        hosts = ",".join(f"node{node}" for node in range(nodes))
        agent = str(self.folder / "agent")
        if mpi == "openmpi":
            launch = (*OPEN_MPI, "--mca", "plm_rsh_agent", agent, "--host", hosts)
        else:
            launch = (*MPICH, "-launcher-exec", agent, "-hosts", hosts, "-n", str(nodes))
        samples = str(min(20, max(3, (64 << 20) // size)))
        return run(0, *launch, self.tool, "coll", operation, "-s", str(size), "-n", samples, "--warmup", "2", "--no-check",
                   "--format", "json")

    def measure_pair(self, sizes: list[int]) -> None:
        """The curves of one pair: of `lat` the smallest size, of `bw` those of the steps."""
        server = subprocess.Popen(on(1, self.tool, "serve"), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        try:
            server.stderr.readline()  # it listens
            for name, words in (("lat", ("-s", "8", "-n", "1000")),
                                ("bw", ("-s", ",".join(map(str, sizes)), "-D", "5s", "--timeout", "60s"))):
                pair = run(0, self.tool, name, address(1), "--op", "send", *words, "--format", "json")
                (self.folder / f"{name}.json").write_text(json.dumps(pair), encoding="ascii")
        finally:
            server.terminate()
            server.communicate()

    def projected(self, operation: str, nodes: int, size: int) -> float:
        """Seconds. A sharded layer is two all-gathers and a reduce-scatter, which take the same."""
        sharded = operation == "reduce-scatter"
        words = ("--parallel", "sharded", "--layers", "1") if sharded else ("--bucket", "1G")
        body = run(0, self.tool, "project", *(str(self.folder / f"{name}.json") for name in ("lat", "bw")), "--params", str(size // 4),
                   "--element-bytes", "4", "--gpus", "1", "--nodes", str(nodes), "--stragglers", "none", *words, "--format", "json")
        step = body["rows"][0]["a"]
        return (step["step_s"] - step["compute_s"]) / (3 if sharded else 1)

    def compare(self, operation: str, nodes: int, size: int) -> tuple[float, float]:
        """Seconds as projected, and as measured."""
        row = self.collective(operation, "openmpi" if operation == "all-reduce" else "mpich", nodes, size)["results"][0]
        return self.projected(operation, nodes, size), row["p50_ns"] / 1e9


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tool")
    parser.add_argument("--rates", default="50,100")
    parser.add_argument("--sizes", default="1,4,16,64", help="MiB")
    parser.add_argument("--operations", default="all-reduce,reduce-scatter")
    options = parser.parse_args()
    names = "".join(f"{address(node)} node{node}\n" for node in range(namespaces.NODES))
    worst = 0.0
    with tempfile.TemporaryDirectory() as folder:
        hosts = pathlib.Path(folder) / "hosts"
        hosts.write_text(f"127.0.0.1 localhost\n{names}", encoding="ascii")
        subprocess.run(("mount", "--bind", hosts, "/etc/hosts"), check=True)
        print("| Mbit/s | nodes | operation | size | projected [ms] | measured [ms] | projected / measured |\n|--:|--:|---|--:|--:|--:|--:|")
        sizes = [int(size) << 20 for size in options.sizes.split(",")]
        for rate in map(int, options.rates.split(",")):
            with tempfile.TemporaryDirectory() as place:
                network = Network(options.tool, place, rate)
                network.measure_pair(sorted({size // nodes for size in sizes for nodes in (4, 8)}))
                for nodes in (4, 8):
                    for operation in options.operations.split(","):
                        for size in sizes:
                            projected, seconds = network.compare(operation, nodes, size)
                            worst = max(worst, abs(projected / seconds - 1))
                            print(f"| {rate} | {nodes} | {operation} | {size >> 20} MiB | {1e3 * projected:.1f} | {1e3 * seconds:.1f} | "
                                  f"{projected / seconds:.2f} |", flush=True)
    print(f"worst: {100 * worst:.0f} %")
    return 0 if worst <= SHARE else 1


if __name__ == "__main__":
    os.environ.setdefault("RDMABENCH_TOKEN_FILE", "")
    namespaces.enter()
    sys.exit(main())
