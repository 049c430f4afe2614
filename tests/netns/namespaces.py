"""Eight network namespaces on a bridge, each a host of its own name behind a link of limited rate.

They are in network, mount and process namespaces of the test's own, and are gone with it however it
ends. A test ends with 77 and the reason where that is not allowed. Debian: iproute2.
"""

import os
import subprocess
import sys

SKIPPED = 77
INSIDE = "RDMABENCH_TEST_NAMESPACES"
NODES = 8
# Four pairs at once leave two processors idle for a part of the time, and a cell has some hundred messages.
MBIT = 400
SMALL_FIRST = False  # see small_first()
# What the test needs and not every kernel or container has.
PROBE = """ip link add bridge type bridge && ip link add port type veth peer name link &&
tc qdisc add dev port root handle 1: htb && tc class add dev port parent 1: classid 1:1 htb rate 1mbit &&
tc filter add dev port parent 1: protocol ip u32 match ip dst 10.0.0.1 flowid 1:1 &&
mount -t tmpfs tmpfs /run && ip netns add node && ip netns exec node unshare --uts hostname node"""


def batch(tool: str, lines: list[str], node: int | None = None) -> None:
    """Of ip or tc, in the namespace of a node or in that of the bridge."""
    words = [tool, *(() if node is None else ("-n", f"node{node}")), "-batch", "-"]
    done = subprocess.run(words, input="\n".join(lines) + "\n", capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(words)}: {done.stderr}")


def address(node: int) -> str:
    return f"10.77.0.{node + 1}"


def build() -> None:
    """Namespaces node0 to node7 with an eth0, whose other end is a port of the bridge."""
    subprocess.run(("mount", "-t", "tmpfs", "tmpfs", "/run"), check=True)
    batch("ip", ["link set lo up", "link add bridge type bridge", "link set bridge addrgenmode none up"])
    for node in range(NODES):
        batch("ip", [f"netns add node{node}", f"link add port{node} type veth peer name eth0 netns node{node}",
                     f"link set port{node} addrgenmode none master bridge"])
        batch("ip", ["link set lo up", f"address add {address(node)}/24 dev eth0",
                     "link set eth0 addrgenmode none up"], node)


def limit(device: str, share: float, routes: dict[int, float]) -> list[str]:
    """For tc: the device sends with a share of the rate, and less to some nodes."""
    # A root that is replaced by one of the same handle would be changed, which htb refuses.
    lines = [f"qdisc replace dev {device} root handle 2: pfifo",
             f"qdisc replace dev {device} root handle 1: htb default ff"]
    for number, rate in ((0xff, share), *((to + 1, share * part) for to, part in routes.items())):
        lines += [f"class add dev {device} parent 1: classid 1:{number:x} htb rate {rate * MBIT:.0f}mbit burst 64k"]
        lines += small_first(device, rate * MBIT) if SMALL_FIRST else [f"qdisc add dev {device} parent 1:{number:x} pfifo limit 10000"]
    lines += [f"filter add dev {device} parent 1: protocol ip u32 match ip dst {address(to)}/32 flowid 1:{to + 1:x}"
              for to in routes]
    return lines


def small_first(device: str, rate: float) -> list[str]:
    """For tc: packets of less than 256 bytes before the others, as a NIC takes queue pairs in turn: acknowledgements and
    what asks for data do not wait behind the data that this node sends. Without slow routes."""
    lines = []
    for name, priority in (("100", 0), ("200", 1)):
        lines += [f"class add dev {device} parent 1:ff classid 1:{name} htb rate {rate / 2:.0f}mbit ceil {rate:.0f}mbit "
                  f"burst 64k cburst 64k prio {priority}",
                  f"qdisc add dev {device} parent 1:{name} pfifo limit 10000"]
    return [*lines, f"filter add dev {device} parent 1: protocol ip prio 1 u32 match u16 0 0xff00 at 2 flowid 1:100",
            f"filter add dev {device} parent 1: protocol all prio 2 u32 match u32 0 0 flowid 1:200"]


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


def on(node: int, *words: str) -> list[str]:
    """The command on a node. Other work on this machine must not look like a slow link; where nice may not do that,
    it goes on."""
    return ["ip", "netns", "exec", f"node{node}", "unshare", "--uts", "sh", "-c",
            f'hostname node{node} && exec nice -n -10 "$@"', "sh", *words]


def enter() -> None:
    """Becomes this program again in namespaces of its own, which end when it is killed, and makes the network there."""
    if INSIDE in os.environ:
        return build()
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
