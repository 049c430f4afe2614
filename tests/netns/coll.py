"""rdmabench coll by mpirun over eight network namespaces, which it takes for hosts: a delayed rank is named.

coll.py RDMABENCH FAULTY_MODULE REAL_MODULE SCHEMA
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import jsonschema
from namespaces import MBIT, NODES, SKIPPED, enter, on, set_links

# mpirun calls: agent HOST COMMAND...
AGENT = """#!/bin/sh
host=$1
shift
exec ip netns exec "$host" unshare --uts sh -c "hostname $host && $*"
"""


class Measured(unittest.TestCase):
    """What the tests below share."""

    def measure(self, *words: str, status: int = 0, **environment: str) -> dict:
        """Over the network alone. A rank that waits gives the processor to the others, for it is not alone here."""
        with tempfile.TemporaryDirectory() as folder:
            agent = pathlib.Path(folder) / "agent"
            agent.write_text(AGENT, encoding="ascii")
            agent.chmod(0o755)
            settings = {"plm_rsh_agent": str(agent), "btl": "tcp,self", "pml": "ob1", "osc": "^ucx",
                        "btl_tcp_if_include": "eth0", "oob_tcp_if_include": "eth0", "mpi_yield_when_idle": "1"}
            line = [MPIRUN, "--allow-run-as-root", "--host", ",".join(f"node{node}" for node in range(NODES)),
                    *(word for name, value in settings.items() for word in ("--mca", name, value)),
                    *(word for name, value in environment.items() for word in ("-x", f"{name}={value}")),
                    "-x", "RDMABENCH_TOKEN_FILE", TOOL, "coll", *words, "--format", "json"]
            # Open MPI 5 refuses the folder of a process of the same number that was killed, and numbers begin anew here.
            done = subprocess.run(on(0, *line), capture_output=True, text=True, timeout=90, check=False,
                                  env={**os.environ, "TMPDIR": folder})
        self.assertEqual(done.returncode, status, done)
        body, _ = json.JSONDecoder().raw_decode(done.stdout)
        jsonschema.validate(body, SCHEMA)
        self.assertEqual([rank["host"] for rank in body["ranks"]], [f"node{node}" for node in range(NODES)])
        self.assertEqual([row["wrong"]["wrong_results"] for row in body["results"]], [0] * len(body["results"]))
        return body

    def bisect(self, operation: str, senders: dict, receivers: dict, routes: dict) -> list:
        self.addCleanup(set_links, {}, {}, {})
        set_links(senders, receivers, routes)
        return self.measure(operation, "--size", "1M", "-n", "10", "--bisect")["bisected"]["suspects"]


class Collective(Measured):
    """Those of every run."""

    def test_the_links_are_the_limit(self):
        row = self.measure("all-reduce", "--size", "1M", "-n", "20")["results"][0]
        self.assertLess(8 * row["bus_bytes_per_s"], MBIT * 1e6)
        self.assertGreater(8 * row["bus_bytes_per_s"], MBIT * 1e6 / 4)

    def test_a_delayed_rank_is_the_late_one(self):
        body = self.measure("all-reduce", "--size", "8,64K", "-n", "30", RDMABENCH_MPI_MODULE=FAULTY,
                            FAULTY_MPI_REAL=REAL, FAULTY_MPI_RANK="3", FAULTY_MPI_DELAY_MS="30")
        for row in body["results"]:
            self.assertEqual(row["late"]["rank"], 3, row)
            self.assertGreater(row["late"]["by_ns"], row["late"]["error_bound_ns"])

    def test_the_device_that_carried_the_bytes_is_proved(self):
        words = ("all-reduce", "--size", "1M", "-n", "5", "--require")
        met = self.measure(*words, "device=eth0")
        self.assertEqual(met["unmet"], [])
        self.assertEqual([(one["row"], one["status"]) for one in met["expectations"]],
                         [(f"node{node}", "PASS") for node in range(NODES)])
        unmet = self.measure(*words, "device=lo", status=1)["unmet"]
        self.assertEqual(len(unmet), NODES)
        self.assertRegex(unmet[0], r"device=lo: on node0 it (sent \S+ MB|counted no bytes that it sent), where the rows need .*; "
                         "sent by eth0")

    def test_halves_are_measured_apart(self):
        self.addCleanup(set_links, {}, {}, {})
        set_links({6: 0.4}, {}, {})
        rows = self.measure("all-reduce", "--size", "1M", "-n", "10", "--groups", "halves")["results"]
        self.assertEqual([row["group"] for row in rows], ["halves 0-3", "halves 4-7"])
        self.assertLess(rows[1]["bus_bytes_per_s"], 0.7 * rows[0]["bus_bytes_per_s"])

    def test_bisect_names_the_slow_receiver(self):
        self.assertEqual(self.bisect("all-reduce", {}, {5: 0.4}, {}), [[["node5"]]])


class Further(Measured):
    """Some more seconds: ctest --preset long."""

    def test_bisect_names_the_slow_route(self):
        found = self.bisect("all-to-all", {}, {}, {(2, 4): 0.04})
        self.assertEqual(len(found), 1)
        self.assertEqual(sorted(name for part in found[0] for name in part), ["node2", "node4"])

    def test_bisect_names_both_slow_senders(self):
        self.assertEqual(self.bisect("all-reduce", {1: 0.4, 6: 0.4}, {}, {}), [[["node1"]], [["node6"]]])

    def test_leaf_against_leaf_shows_the_slow_route(self):
        self.addCleanup(set_links, {}, {}, {})
        set_links({}, {}, {(2, 4): 0.1})
        with tempfile.NamedTemporaryFile("w", suffix=".csv", encoding="ascii") as topology:
            topology.write("node,leaf\n" + "".join(f"node{node},{node // 2}\n" for node in range(NODES)))
            topology.flush()
            rows = self.measure("all-to-all", "--size", "1M", "-n", "10", "--groups", "leaf-pairs",
                                "--topology", topology.name)["results"]
        self.assertEqual(len(rows), 6)
        self.assertEqual(min(rows, key=lambda row: row["bus_bytes_per_s"])["group"], "leaf-pairs 2-5")

    def test_bisect_names_nobody_on_a_healthy_network(self):
        self.assertEqual(self.bisect("all-reduce", {}, {}, {}), [])


if __name__ == "__main__":
    MPIRUN = shutil.which("mpirun.openmpi") or shutil.which("mpirun")
    if MPIRUN is None:
        print("skipped: no mpirun here", file=sys.stderr)
        sys.exit(SKIPPED)
    enter()
    TOOL, FAULTY, REAL = sys.argv[1:4]
    SCHEMA = json.loads(pathlib.Path(sys.argv[4]).read_text(encoding="utf-8"))
    set_links({}, {}, {})
    unittest.main(argv=[sys.argv[0], *sys.argv[5:]], verbosity=2)
