"""What the doctor has to say of rxe0.  check_doctor.py FOLDER ADDRESS"""

import array
import fcntl
import json
import pathlib
import socket
import struct
import sys

FOLDER, ADDRESS = pathlib.Path(sys.argv[1]), sys.argv[2]
failures = []


def load(name: str) -> dict[tuple[str, str], dict]:
    document = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    for one in document["findings"]:
        if one["status"] == "ERROR":
            failures.append(f"{name}: {one}")
    return {(one["id"], one["subject"]): one for one in document["findings"]}


def expect(name: str, found: dict, check: str, status: str, observed: str = "", subject: str = "rxe0:1") -> None:
    one = found.get((check, subject))
    if one is None or one["status"] != status or observed not in one["observed"]:
        failures.append(f"{name}: {check} of {subject} should be {status} with '{observed}', and is {one}")


def receive_ring(interface: str) -> int:
    """By ethtool's older interface, an ioctl: struct ethtool_ringparam begins with the command, four maxima and rx."""
    rings = array.array("I", [0x10] + [0] * 8)  # ETHTOOL_GRINGPARAM
    request = struct.pack("16sP", interface.encode(), rings.buffer_info()[0])
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, 0x8946, request)  # SIOCETHTOOL
    return rings[5]


healthy = load("healthy")
expect("healthy", healthy, "port.state", "PASS", "4: ACTIVE")
expect("healthy", healthy, "port.phys_state", "PASS", "5: LinkUp")
expect("healthy", healthy, "port.mtu", "PASS", "4096: eth0 has 4200")
expect("healthy", healthy, "port.interface", "PASS", "eth0 is up")
expect("healthy", healthy, "port.rate", "SKIP")
expect("healthy", healthy, "port.rings", "SKIP", str(receive_ring("eth0")))
expect("healthy", healthy, "port.fec", "SKIP")
if healthy["port.fec", "rxe0:1"]["reason"] != "the driver does not report it":
    failures.append(f"port.fec: {healthy['port.fec', 'rxe0:1']}")
expect("healthy", healthy, "address.roce_v2", "PASS", ADDRESS)
expect("healthy", healthy, "address.gid_interface", "PASS", "eth0")
expect("healthy", healthy, "address.gid_address", "PASS", ADDRESS)
expect("healthy", healthy, "device.uverbs", "PASS", "opens", "rxe0")
expect("healthy", healthy, "device.rdma_cm", "PASS", "opens", "node")
expect("healthy", healthy, "limit.memlock", "PASS", "unlimited", "node")
expect("healthy", healthy, "pcie.width", "SKIP", "", "rxe0")

expect("small", load("small"), "port.mtu", "WARN", "1024: eth0 has 1500")
expect("bare", load("bare"), "address.roce_v2", "WARN", "only link-local")
nobody = load("nobody")
expect("nobody", nobody, "limit.memlock", "FAIL", "64 KiB", "node")
expect("nobody", nobody, "port.state", "PASS", "4: ACTIVE")

print("\n".join(failures) or "the doctor says what is true")
sys.exit(bool(failures))
