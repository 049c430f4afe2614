"""rdmabench fabric in eight network namespaces on a bridge, each behind a link of limited rate, over
libfabric's tcp: a fault is planted, and the verdict has to name it and nothing else that a second run finds too.

fabric.py RDMABENCH SCHEMA
"""

import contextlib
import json
import pathlib
import signal
import subprocess
import sys
import tempfile
import unittest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "integration"))
import command
import jsonschema
from namespaces import NODES, address, batch, enter, on, set_links, take_down

SCHEMA = None  # a validator
# Ranks that spin for completions would take the processors from one another.
WORDS = ("--provider", "tcp", "--metric", "bandwidth", "--size", "16K", "--depth", "16", "--duration", "100ms",
         "--events", "--timeout", "3s")
# With its default of 16 KiB, rxm clears 47 MB of buffers for each rank in each round: 40 % of the processor time.
SETTINGS = {"FI_OFI_RXM_BUFFER_SIZE": "2048"}


class Ranks:
    """One in each namespace, on a host of its own name. Rank 0 has a terminal, to see its progress."""

    def __init__(self, folder: str, *words: str):
        self.output = pathlib.Path(folder) / "run.jsonl"
        self.processes = []
        for rank in range(NODES):
            line = on(rank, command.TOOL, "fabric", *WORDS, *words)
            place = command.rank_of(rank, NODES, address(0), "18516") | SETTINGS
            if rank == 0:
                self.first = command.Terminal(*line, "--output", str(self.output), env=place)
                self.processes.append(self.first.process)
            else:
                self.processes.append(subprocess.Popen(line, env=place, stdout=subprocess.DEVNULL,
                                                       stderr=subprocess.DEVNULL))

    def kill_all(self) -> None:
        for process in self.processes:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            process.wait()


@contextlib.contextmanager
def ranks(*words: str):
    with tempfile.TemporaryDirectory() as folder:
        started = Ranks(folder, *words)
        try:
            yield started
        finally:
            started.kill_all()


class Planted(unittest.TestCase):

    def measure(self, *words: str, senders=None, receivers=None, routes=None, down=None,
                strike=lambda started: None) -> tuple[int, str, dict]:
        set_links(senders or {}, receivers or {}, routes or {})
        if down is not None:
            take_down(down)
        with ranks(*words) as started:
            strike(started)
            code, output, errors = started.first.end()
            found = command.records(started.output.read_text(encoding="utf-8"), SCHEMA)
            self.assertEqual(len(found["verdict"]), 1, errors)
        return code, output, found

    def named(self, planted: dict[tuple, float], *words: str, **links) -> dict:
        """The findings are those planted, each about as slow as it was made, and no node is lost. What else this
        machine does may slow a pair in one run: what is not planted is a fault of ours if a second run finds it too."""
        for _ in range(2):
            code, output, found = self.measure(*words, **links)
            findings = {(one["part"], one["a"], one["b"]): one for one in found["verdict"][0]["findings"]}
            if not set(findings) - set(planted):
                break
        self.assertEqual(set(findings), set(planted), output)
        for part, share in planted.items():
            self.assertTrue(findings[part]["confirmed"], output)
            self.assertAlmostEqual(findings[part]["ratio"], share, delta=0.09, msg=output)
        count = {0: "nothing stands out", 1: "1 finding"}.get(len(planted), f"{len(planted)} findings")
        self.assertIn(f"Verdict: {count}\n", output)
        self.assertEqual(code, 1 if planted else 0, output)
        self.assertFalse(found["lost"], output)
        self.assertFalse([one for one in found["measurement"] if one["error"] is not None], output)
        return found

    def lost(self, node: int, reason: str, *words: str, **more) -> None:
        """The node is lost, nothing else is found, and the pairs of the others are all there."""
        code, output, found = self.measure(*words, **more)
        self.assertEqual([one["rank"] for one in found["lost"]], [node], output)
        self.assertRegex(found["lost"][0]["reason"], reason)
        self.assertRegex(output, rf"Verdict: 1 of {NODES} nodes lost: node {node}\b.*; among the other {NODES - 1} "
                                 r"nothing stands out")
        self.assertEqual(found["verdict"][0]["findings"], [], output)
        self.assertEqual(code, 1, output)
        others = {(a, b) for a in range(NODES) for b in range(NODES) if a != b and node not in (a, b)}
        good = {(one["sender"], one["receiver"]) for one in found["measurement"] if one["error"] is None}
        self.assertLessEqual(others, good, output)

    def proofs(self, found: dict) -> dict:
        """Of --require, by the device and the node."""
        return {one["row"]: one for record in found["expectations"] for one in record["expectations"]}

    def test_healthy(self):
        """The bytes of each node went over the device that is required, by its own counters."""
        found = self.named({}, "--require", "device=eth0")
        proofs = self.proofs(found)
        self.assertEqual({row: one["status"] for row, one in proofs.items()},
                         {f"eth0 of node {node} (node{node})": "PASS" for node in range(NODES)})
        self.assertEqual({one["expectation"] for one in proofs.values()}, {"require device=eth0"})
        self.assertEqual(len(found["carried"]), NODES)
        for node in found["carried"]:
            eth0 = next(one for one in node["devices"] if one["device"] == "eth0")
            self.assertGreaterEqual(eth0["measurements"], NODES - 1, node)
            # The payload in full frames of Ethernet; what else a node sends is little.
            self.assertAlmostEqual(eth0["counted_bytes"] / eth0["planned_bytes"], 1.05, delta=0.05, msg=node)

    def test_another_device_than_required_is_found(self):
        """The endpoints of node 3 are those of eth0, as they say, and its route sends all packets over a second link."""
        self.addCleanup(batch, "ip", ["link del port33"])
        batch("ip", ["link add port33 type veth peer name eth1 netns node3",
                     "link set port33 addrgenmode none master bridge up"])
        batch("ip", ["link set eth1 addrgenmode none up",
                     f"route replace 10.77.0.0/24 dev eth1 src {address(3)} metric 0"], 3)
        self.addCleanup(batch, "ip", [f"route replace 10.77.0.0/24 dev eth0 src {address(3)}"], 3)
        code, output, found = self.measure("--require", "device=eth0", "--pattern", "random", "--rounds", "2",
                                           "--no-confirm")
        proofs = self.proofs(found)
        self.assertEqual([row for row, one in proofs.items() if one["status"] == "FAIL"],
                         ["eth0 of node 3 (node3)"], output)
        self.assertEqual([one["status"] for one in proofs.values()].count("PASS"), NODES - 1, output)
        self.assertRegex(proofs["eth0 of node 3 (node3)"]["text"],
                         r"^it sent \S+ MB, where the measurements sent \S+ MB; sent by eth1 \S+ MB$")
        self.assertEqual(code, 1, output)

    def test_slow_sender(self):
        """And each pair is held against what its own link says: veth calls itself 10 Gb/s."""
        found = self.named({("sender", 3, None): 0.7}, "--expect", "bw>=0.1%line", senders={3: 0.7})
        lines = [one for record in found["expectations"] for one in record["expectations"]]
        self.assertEqual({(one["status"], one["limit"]) for one in lines}, {("PASS", 10e6)})
        self.assertIn("10 Gb/s of eth0", lines[0]["text"])

    def test_slow_receiver(self):
        self.named({("receiver", 6, None): 0.75}, receivers={6: 0.75})

    def test_slow_node(self):
        self.named({("node", 1, None): 0.85}, senders={1: 0.85}, receivers={1: 0.85})

    def test_slow_route(self):
        self.named({("route", 2, 5): 0.5}, routes={(2, 5): 0.5})

    def test_two_at_once(self):
        self.named({("sender", 2, None): 0.7, ("route", 4, 7): 0.5}, senders={2: 0.7}, routes={(4, 7): 0.5})

    def slow_half(self, heading: str, above: str, part: str, element: str) -> str:
        """Each route from one half of the nodes to the other is slow: the finding is that part, and no other."""
        half = NODES // 2
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, "topology.csv")
            file.write_text(f"{heading}\n" + "".join(f"node{node},{node // half}{above}\n" for node in range(NODES)))
            code, output, found = self.measure(
                "--topology", str(file), routes={(a, b): 0.6 for a in range(half) for b in range(half, NODES)})
        verdict = found["verdict"][0]
        self.assertEqual([(one["part"], one["element"], one["confirmed"]) for one in verdict["findings"]],
                         [(part, element, True)], output)
        self.assertAlmostEqual(verdict["findings"][0]["ratio"], 0.6, delta=0.05, msg=output)
        self.assertEqual(verdict["links"], {"directions": 4, "crossed": 4, "fewest_pairs": half * half,
                                            "leaves": 2, "within": 2}, output)
        self.assertEqual(code, 1, output)
        return output

    def test_slow_uplink(self):
        """By the topology, one link that all of the slow routes cross."""
        output = self.slow_half("node,leaf,spine", ",0", "link", "leaf 0 to spine 0")
        self.assertIn("the same pairs cross spine 0 to leaf 1", output)

    def test_slow_way_between_leaves(self):
        """The topology has nothing above its leaves."""
        self.slow_half("node,leaf", "", "between", "leaf 0 and leaf 1 (towards leaf 1)")

    def test_link_down_from_the_start(self):
        self.lost(5, "never came", "--wait", "5s", down=5)

    def test_link_down_in_the_middle(self):
        def cut(started: Ranks) -> None:
            started.first.wait_for(f"round 2 of {NODES - 1}")
            take_down(5)
        self.lost(5, "no answer", strike=cut)

    def test_stopped(self):
        def stop(started: Ranks) -> None:
            started.first.wait_for(f"round 2 of {NODES - 1}")
            started.processes[4].send_signal(signal.SIGSTOP)
        self.lost(4, "no answer", strike=stop)


if __name__ == "__main__":
    enter()
    arguments = command.take_tool()
    SCHEMA = jsonschema.Draft202012Validator(json.loads(pathlib.Path(arguments.pop(1)).read_text(encoding="utf-8")))
    sys.exit(command.run_cases(arguments[1:], at_once=1))
