"""rdmabench fabric in eight network namespaces on a bridge, each behind a link of limited rate, over
libfabric's tcp: a fault is planted, and the verdict has to name it and nothing else.

fabric.py RDMABENCH SCHEMA

The namespaces are in network, mount and process namespaces of the test's own, and are gone with it
however it ends. Ends with 77 and the reason where that is not allowed. Debian: iproute2.
"""

import contextlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import unittest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "integration"))
import command
import jsonschema

SCHEMA = None  # a validator
SKIPPED = 77
INSIDE = "RDMABENCH_TEST_NAMESPACES"
NODES = 8
# Four pairs at once leave two processors idle for a part of the time, and a cell has some hundred messages.
MBIT = 400
# Ranks that spin for completions would take the processors from one another.
WORDS = ("--provider", "tcp", "--metric", "bandwidth", "--size", "16K", "--depth", "16", "--duration", "150ms",
         "--events", "--timeout", "3s")
# What the test needs and not every kernel or container has.
PROBE = """ip link add bridge type bridge && ip link add port type veth peer name link &&
tc qdisc add dev port root handle 1: htb && tc class add dev port parent 1: classid 1:1 htb rate 1mbit &&
tc filter add dev port parent 1: protocol ip u32 match ip dst 10.0.0.1 flowid 1:1 &&
mount -t tmpfs tmpfs /run && ip netns add node && ip netns exec node unshare --uts hostname node"""


def batch(tool: str, lines: list[str], node: int | None = None) -> None:
    """Of ip or tc, in the namespace of a node or in that of the bridge."""
    words = [tool, *(() if node is None else ("-n", f"n{node}")), "-batch", "-"]
    done = subprocess.run(words, input="\n".join(lines) + "\n", capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(words)}: {done.stderr}")


def address(node: int) -> str:
    return f"10.77.0.{node + 1}"


def build() -> None:
    """Namespaces n0 to n7 with an eth0, whose other end is a port of the bridge."""
    subprocess.run(("mount", "-t", "tmpfs", "tmpfs", "/run"), check=True)
    batch("ip", ["link set lo up", "link add bridge type bridge", "link set bridge addrgenmode none up"])
    for node in range(NODES):
        batch("ip", [f"netns add n{node}", f"link add port{node} type veth peer name eth0 netns n{node}",
                     f"link set port{node} addrgenmode none master bridge"])
        batch("ip", ["link set lo up", f"address add {address(node)}/24 dev eth0",
                     "link set eth0 addrgenmode none up"], node)


def limit(device: str, share: float, routes: dict[int, float]) -> list[str]:
    """For tc: the device sends with a share of the rate, and less to some nodes."""
    # A root that is replaced by one of the same handle would be changed, which htb refuses.
    lines = [f"qdisc replace dev {device} root handle 2: pfifo",
             f"qdisc replace dev {device} root handle 1: htb default ff"]
    for number, rate in ((0xff, share), *((to + 1, share * part) for to, part in routes.items())):
        lines += [f"class add dev {device} parent 1: classid 1:{number:x} htb rate {rate * MBIT:.0f}mbit burst 64k",
                  f"qdisc add dev {device} parent 1:{number:x} pfifo limit 10000"]
    lines += [f"filter add dev {device} parent 1: protocol ip u32 match ip dst {address(to)}/32 flowid 1:{to + 1:x}"
              for to in routes]
    return lines


def set_links(senders: dict[int, float], receivers: dict[int, float],
              routes: dict[tuple[int, int], float]) -> None:
    """All up; a node's own end limits what it sends, the port of the bridge what it receives."""
    batch("ip", [f"link set port{node} up" for node in range(NODES)])
    for node in range(NODES):
        slow = {to: share for (sender, to), share in routes.items() if sender == node}
        batch("tc", limit("eth0", senders.get(node, 1), slow), node)
    batch("tc", [line for node in range(NODES) for line in limit(f"port{node}", receivers.get(node, 1), {})])


def take_down(node: int) -> None:
    batch("ip", [f"link set port{node} down"])


class Ranks:
    """One in each namespace, on a host of its own name. Rank 0 has a terminal, to see its progress."""

    def __init__(self, folder: str, *words: str):
        self.output = pathlib.Path(folder) / "run.jsonl"
        self.processes = []
        for rank in range(NODES):
            # Other work on this machine must not look like a slow link; without the right to it nice goes on.
            line = ["ip", "netns", "exec", f"n{rank}", "unshare", "--uts", "sh", "-c",
                    f'hostname node{rank} && exec nice -n -10 "$@"', "sh", command.TOOL, "fabric", *WORDS, *words]
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


def enter() -> None:
    """Becomes this program again in namespaces of its own, which end when it is killed."""
    alone = ["unshare", *(() if os.geteuid() == 0 else ("--map-root-user",)), "--net", "--mount", "--pid", "--fork",
             "--kill-child", "--mount-proc"]
    try:
        probe = subprocess.run([*alone, "sh", "-c", PROBE], capture_output=True, text=True, check=False)
        reason = probe.stderr.strip() if probe.returncode != 0 else None
    except FileNotFoundError as error:
        reason = str(error)
    if reason is not None:
        print(f"skipped: no network namespaces here: {reason}", file=sys.stderr)
        sys.exit(SKIPPED)
    os.environ[INSIDE] = "1"
    os.execvp(alone[0], [*alone, sys.executable, *sys.argv])


if __name__ == "__main__":
    if INSIDE not in os.environ:
        enter()
    arguments = command.take_tool()
    SCHEMA = jsonschema.Draft202012Validator(json.loads(pathlib.Path(arguments.pop(1)).read_text(encoding="utf-8")))
    build()
    sys.exit(command.run_cases(arguments[1:], at_once=1))
