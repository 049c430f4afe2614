"""Where one command runs: a guest in its own QEMU, or this machine itself.

Nothing of either outlives the `vm` that started it: no process, no mount, no file.
"""

import collections
import ctypes
import os
import secrets
import shlex
import signal
import socket
import subprocess
from pathlib import Path

SETUP = Path(__file__).with_name("guest_setup")
PR_SET_PDEATHSIG = 1  # prctl(2)


class Stream:
    """Bytes of one output up to the marker that ends them; `write` gets them as they come."""

    def __init__(self, marker: bytes, write):
        self.status: int | None = None
        self._marker = marker
        self._write = write
        self._held = b""  # may be the start of the marker

    def feed(self, data: bytes) -> None:
        data = self._held + data
        start = data.find(self._marker[:1])
        while start >= 0 and not self._marker.startswith(data[start:start + len(self._marker)]):
            start = data.find(self._marker[:1], start + 1)
        self._held = data[start:] if start >= 0 else b""
        self._write(data[:start] if start >= 0 else data)
        if self._held.startswith(self._marker) and self._held.endswith(b"\n"):
            self.status = int(self._held[len(self._marker) + 1:])


class Place:
    """A running command. `readers` maps each descriptor to read from to the taker of its bytes."""

    def __init__(self, node: int, write_out, write_err, ends: dict[str, tuple[int, int]]):
        """`ends` has (our descriptor, its descriptor) for "out", "err" and "in"."""
        self.node = node
        self.marker = f"\x1e{secrets.token_hex(8)}"
        self.process: subprocess.Popen
        self._out = Stream(self.marker.encode(), write_out)
        self._err = Stream(self.marker.encode(), write_err)
        self._ends = ends
        self.readers = {ends["out"][0]: self._out.feed, ends["err"][0]: self._err.feed}

    @property
    def status(self) -> int | None:
        """The command's exit status, once both outputs have come to their end."""
        return None if self._err.status is None else self._out.status

    def tell(self, line: str) -> None:
        """Gives a line to the standard input of the command, or wakes a place that waits for it."""
        os.write(self._ends["in"][0], line.encode() + b"\n")

    def end_input(self) -> None:
        """The command finds the end of file on its standard input."""
        os.close(self._ends.pop("in")[0])

    def explain(self) -> str:
        """What is known when the process ended and the command did not."""
        return ""

    def kill(self) -> None:
        self.process.kill()

    def stop(self) -> None:
        self.kill()
        self.process.wait()
        for ours, _ in self._ends.values():
            os.close(ours)

    def _start(self, arguments: list[str], **options) -> None:
        self.process = subprocess.Popen(arguments, preexec_fn=_die_with_parent, **options)
        for _, theirs in self._ends.values():
            os.close(theirs)


class Native(Place):
    """This machine."""

    def __init__(self, node: int, command: str, write_out, write_err, *, out_dir: str | None = None,
                 wait_for_host: bool = False):
        to_command = os.pipe()
        super().__init__(node, write_out, write_err, {"out": os.pipe(), "err": os.pipe(),
                                                      "in": (to_command[1], to_command[0])})
        script = "status=0; bash -c \"$1\" || status=$?; " \
                 "printf '%s:%d\\n' \"$2\" \"$status\" | tee /dev/fd/2"
        if wait_for_host:
            script = "read -r _; " + script
        environment = os.environ | ({"OUT": out_dir} if out_dir else {})
        theirs = {name: pair[1] for name, pair in self._ends.items()}
        self._start(["bash", "-c", script, "native", command, self.marker], env=environment,
                    stdin=theirs["in"], stdout=theirs["out"], stderr=theirs["err"],
                    start_new_session=True)

    def kill(self) -> None:
        os.killpg(self.process.pid, signal.SIGKILL)  # and what the command left in the background


class Guest(Place):
    """A virtual machine of its own. `wire` is a datagram socket that another guest has the end of."""

    def __init__(self, node: int, command: str, write_out, write_err, *, image: tuple[Path, Path],
                 cpus: int, memory_mib: int, out_dir: str | None = None,
                 wait_for_host: bool = False, wire: socket.socket | None = None):
        super().__init__(node, write_out, write_err,
                         {name: _socket_pair() for name in ("out", "err", "in", "console")})
        self._console = collections.deque(maxlen=64)  # the last pieces
        self.readers[self._ends["console"][0]] = self._console.append
        variables = {"node": str(node), "marker": self.marker, "directory": os.getcwd(),
                     "command": command, "out_dir": out_dir or "",
                     "wait_for_host": "yes" if wait_for_host else ""}
        exports = {name: value for name, value in os.environ.items()
                   if name.startswith("RDMABENCH_")}
        for name, number in (("", node), ("PEER_", 3 - node)) if wire else (("", node),):
            exports[f"RDMABENCH_{name}ADDRESS"] = f"10.77.0.{number}"
            exports[f"RDMABENCH_{name}ADDRESS6"] = f"fd77::{number}"
        job = "".join(f"{name}={shlex.quote(value)}\n" for name, value in variables.items())
        job += "".join(f"export {name}={shlex.quote(value)}\n" for name, value in exports.items())
        theirs = {name: pair[1] for name, pair in self._ends.items()}
        arguments = [*_machine(image, cpus, memory_mib), *_job(job), *_channels(theirs),
                     *_shares(out_dir), *_network(node, wire)]
        self._start([str(argument) for argument in arguments], stdin=subprocess.DEVNULL,
                    pass_fds=[*theirs.values(), *([wire.fileno()] if wire else [])])

    def explain(self) -> str:
        return b"".join(self._console).decode(errors="replace")


def _socket_pair() -> tuple[int, int]:
    ours, theirs = socket.socketpair()
    return ours.detach(), theirs.detach()


def _die_with_parent() -> None:
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def _machine(image, cpus, memory_mib):
    accel = os.environ.get("RDMABENCH_VM_ACCEL", "tcg")
    kernel, initramfs = image
    yield from ("qemu-system-x86_64", "-M", "q35", "-nodefaults", "-no-user-config")
    yield from ("-display", "none", "-no-reboot", "-cpu", "max", "-m", memory_mib)
    # Room for a second CPU: where there can be one only, QEMU before 8.0 leaves out the guest's memory barriers,
    # the device then misses a kick of a virtqueue now and then, and the network stands still for a minute.
    yield from ("-smp", f"{cpus},maxcpus={max(cpus, 2)}")
    yield from ("-accel", "tcg,thread=multi,tb-size=512" if accel == "tcg" else accel)
    yield from ("-kernel", kernel, "-initrd", initramfs)
    # tsc=reliable: the emulated TSC is the host's, one for all CPUs. Left to doubt it, a guest of two CPUs
    # keeps time by the HPET, and each stamp is a system call and an exit to the emulator: 3 us of a read's 34.
    yield from ("-append",
                "console=ttyS0 quiet panic=-1 mitigations=off no_timer_check tsc=reliable")


def _job(job):
    yield from ("-fw_cfg", "name=opt/setup,string=" + str(SETUP).replace(",", ",,"))
    yield from ("-fw_cfg", "name=opt/job,string=" + job.replace(",", ",,"))


def _channels(descriptors):
    yield from ("-chardev", f"socket,id=console,fd={descriptors['console']}")
    yield from ("-serial", "chardev:console", "-device", "virtio-serial-pci")
    for name in ("out", "err", "in"):
        yield from ("-chardev", f"socket,id={name},fd={descriptors[name]}")
        yield from ("-device", f"virtserialport,chardev={name},name={name}")


def _shares(out_dir):
    share = "local,security_model=none,multidevs=remap"
    yield from ("-fsdev", f"{share},id=root,path=/,readonly=on")
    yield from ("-device", "virtio-9p-pci,fsdev=root,mount_tag=root")
    if out_dir:
        yield from ("-fsdev", f"{share},id=out,path={out_dir.replace(',', ',,')}")
        yield from ("-device", "virtio-9p-pci,fsdev=out,mount_tag=out")


def _network(node, wire):
    if wire:
        yield from ("-netdev", f"dgram,id=net,local.type=fd,local.str={wire.fileno()}")
    else:
        yield from ("-netdev", "user,id=net,restrict=on")  # nothing outside can be reached
    # Without romfile= the firmware would look for something to boot on the network.
    yield from ("-device", f"virtio-net-pci,netdev=net,mac=52:54:00:77:00:0{node},romfile=")
