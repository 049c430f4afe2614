"""rdmabench fabric in eight network namespaces on a bridge, each behind a link of limited rate, over
libfabric's tcp: a fault is planted, and the verdict has to name it and nothing else.

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
from namespaces import NODES, address, enter, on, set_links, take_down

SCHEMA = None  # a validator
# Ranks that spin for completions would take the processors from one another.
WORDS = ("--provider", "tcp", "--metric", "bandwidth", "--size", "16K", "--depth", "16", "--duration", "150ms",
         "--events", "--timeout", "3s")


class Ranks:
    """One in each namespace, on a host of its own name. Rank 0 has a terminal, to see its progress."""

    def __init__(self, folder: str, *words: str):
        self.output = pathlib.Path(folder) / "run.jsonl"
        self.processes = []
        for rank in range(NODES):
            line = on(rank, command.TOOL, "fabric", *WORDS, *words)
            place = command.rank_of(rank, NODES, address(0), "18516")
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

    def named(self, planted: dict[tuple, float], **links) -> None:
        """The findings are those planted, each about as slow as it was made, and no node is lost."""
        code, output, found = self.measure(**links)
        findings = {(one["part"], one["a"], one["b"]): one for one in found["verdict"][0]["findings"]}
        self.assertEqual(set(findings), set(planted), output)
        for part, share in planted.items():
            self.assertTrue(findings[part]["confirmed"], output)
            self.assertAlmostEqual(findings[part]["ratio"], share, delta=0.05, msg=output)
        count = {0: "nothing stands out", 1: "1 finding"}.get(len(planted), f"{len(planted)} findings")
        self.assertIn(f"Verdict: {count}\n", output)
        self.assertEqual(code, 1 if planted else 0, output)
        self.assertFalse(found["lost"], output)
        self.assertFalse([one for one in found["measurement"] if one["error"] is not None], output)

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

    def test_healthy(self):
        self.named({})

    def test_slow_sender(self):
        self.named({("sender", 3, None): 0.7}, senders={3: 0.7})

    def test_slow_receiver(self):
        self.named({("receiver", 6, None): 0.75}, receivers={6: 0.75})

    def test_slow_node(self):
        self.named({("node", 1, None): 0.85}, senders={1: 0.85}, receivers={1: 0.85})

    def test_slow_route(self):
        self.named({("route", 2, 5): 0.5}, routes={(2, 5): 0.5})

    def test_two_at_once(self):
        self.named({("sender", 2, None): 0.7, ("route", 4, 7): 0.5}, senders={2: 0.7}, routes={(4, 7): 0.5})

    def test_slow_uplink(self):
        """Of each route from one half of the nodes to the other: by the topology, one link that all of them cross."""
        half = NODES // 2
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, "topology.csv")
            file.write_text("node,leaf,spine\n" + "".join(f"node{node},{node // half},0\n" for node in range(NODES)))
            code, output, found = self.measure(
                "--topology", str(file), routes={(a, b): 0.6 for a in range(half) for b in range(half, NODES)})
        verdict = found["verdict"][0]
        self.assertEqual([(one["part"], one["element"], one["confirmed"]) for one in verdict["findings"]],
                         [("link", "leaf 0 to spine 0", True)], output)
        self.assertAlmostEqual(verdict["findings"][0]["ratio"], 0.6, delta=0.05, msg=output)
        self.assertIn("the same pairs cross spine 0 to leaf 1", output)
        self.assertEqual(verdict["links"], {"directions": 4, "crossed": 4, "fewest_pairs": half * half}, output)
        self.assertEqual(code, 1, output)

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
