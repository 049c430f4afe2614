"""The kernel and the initramfs of the guests: made once, kept in a cache folder.

The initramfs holds busybox, the modules below in the order they are inserted, and `initramfs_init`.
Everything else a guest runs comes from the host's own root, so there is no disk image to build.
"""

import fcntl
import hashlib
import lzma
import os
import shutil
import struct
import subprocess
import tempfile
from pathlib import Path

# rxe asks for the checksum "crc32", which only crc32_generic provides and no dependency names.
MODULES = """virtio_pci virtio_net virtio_console qemu_fw_cfg 9p 9pnet_virtio overlay crc32_generic
ib_uverbs rdma_ucm rdma_rxe sch_netem veth""".split()

PACKAGE_OF = {  # program: the Debian package that has it
    "qemu-system-x86_64": "qemu-system-x86",
    "busybox": "busybox-static",
    "cpio": "cpio",
    "modprobe": "kmod",
    "depmod": "kmod",
    "rdma": "iproute2",
}
INIT = Path(__file__).with_name("initramfs_init")


class ImageError(Exception):
    """What is missing or failed, and what to do about it."""


def prepare(cache: Path) -> tuple[Path, Path]:
    """Returns (kernel, initramfs), building them when `cache` has none made by this recipe.

    RDMABENCH_VM_KERNEL names a kernel package; without it one that is already cached is used, else
    the package that linux-image-amd64 depends on. Safe when several processes call it at once.
    """
    check_programs()
    recipe = hashlib.sha256(Path(__file__).read_bytes() + INIT.read_bytes()).hexdigest()[:8]
    package = os.environ.get("RDMABENCH_VM_KERNEL", "")
    cache.mkdir(parents=True, exist_ok=True)
    with open(cache / "lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        ready = sorted(cache.glob(f"{package or 'linux-image-*'}_{recipe}"))
        folder = ready[-1] if ready else build(cache, package or newest_package(), recipe)
    return folder / "kernel", folder / "initramfs"


def program(name: str) -> str | None:
    """The path of a program; root's folders are not in everybody's PATH."""
    return shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")


def check_programs() -> None:
    missing = {package for name, package in PACKAGE_OF.items() if not program(name)}
    busybox = program("busybox")
    if busybox and b"/ld-linux" in Path(busybox).read_bytes():  # it is not the static one
        missing.add("busybox-static")
    if missing:
        raise ImageError("packages are missing. Run: apt-get install --no-install-recommends "
                         + " ".join(sorted(missing)))


def newest_package() -> str:
    """linux-image-amd64 is a meta package; its one dependency is the kernel itself."""
    for line in call("apt-cache", "show", "--no-all-versions", "linux-image-amd64").splitlines():
        if line.startswith("Depends:"):
            return line.split()[1].rstrip(",")
    raise ImageError("apt-cache knows no linux-image-amd64. Run apt-get update, or name a kernel "
                     "package in RDMABENCH_VM_KERNEL.")


def build(cache: Path, package: str, recipe: str) -> Path:
    """Downloads `package` and makes the folder of one kernel; it appears whole or not at all."""
    for leftover in [*cache.glob(f"{package}_*"), *cache.glob("build-*")]:
        shutil.rmtree(leftover)
    with tempfile.TemporaryDirectory(prefix="build-", dir=cache) as scratch:
        root, initramfs, result = (Path(scratch, n) for n in ("root", "initramfs", "result"))
        download = ("apt-get", "-qq", "-o", "APT::Sandbox::User=root", "download", package)
        try:
            call(*download, cwd=scratch)
        except ImageError:  # lists of last week name a file that the mirror has replaced
            call("apt-get", "-qq", "update")
            call(*download, cwd=scratch)
        call("dpkg-deb", "-x", str(next(Path(scratch).glob("*.deb"))), str(root))
        if not (root / "lib/modules").exists():  # Debian 13 and later
            (root / "lib").symlink_to("usr/lib")
        version = next((root / "lib/modules").iterdir()).name
        call("depmod", "-b", str(root), version)

        (initramfs / "modules").mkdir(parents=True)
        shutil.copy(program("busybox"), initramfs / "busybox")
        shutil.copy(INIT, initramfs / "init")
        order = []
        for module in modules_in_order(root, version):
            name = module.name.removesuffix(".xz")
            data = module.read_bytes()
            (initramfs / "modules" / name).write_bytes(
                lzma.decompress(data) if module.suffix == ".xz" else data)
            order.append(name)
        (initramfs / "modules/order").write_text("\n".join(order) + "\n", encoding="ascii")

        result.mkdir()
        (result / "kernel").write_bytes(
            unpacked((root / "boot" / f"vmlinuz-{version}").read_bytes()))
        with open(result / "initramfs", "wb") as archive:
            names = "\n".join(str(p.relative_to(initramfs)) for p in sorted(initramfs.rglob("*")))
            subprocess.run(["cpio", "--quiet", "-o", "-H", "newc"], input=names.encode(),
                           cwd=initramfs, stdout=archive, check=True)
        return result.rename(cache / f"{package}_{recipe}")


def unpacked(bzimage: bytes) -> bytes:
    """The ELF kernel inside, which QEMU boots directly (PVH): 3 s less than letting an emulated CPU
    unpack it. A kernel packed by other means than xz is returned as it is and boots too.

    Offsets: the x86 boot protocol, Documentation/arch/x86/boot.rst in the kernel's source.
    """
    setup_sectors = bzimage[0x1f1] or 4
    offset, length = struct.unpack_from("<II", bzimage, 0x248)
    start = (setup_sectors + 1) * 512 + offset
    payload = bzimage[start:start + length]
    if not payload.startswith(b"\xfd7zXZ\0"):
        return bzimage
    return lzma.LZMADecompressor().decompress(payload)  # stops where xz does: a size follows it


def modules_in_order(root: Path, version: str) -> list[Path]:
    """The modules and what they depend on, each after what it needs."""
    order: dict[Path, None] = {}
    for module in MODULES:
        shown = call("modprobe", "-d", str(root), "-S", version, "--show-depends", module)
        for line in shown.splitlines():
            if line.startswith("insmod "):  # the other kind is "builtin"
                order[Path(line.split()[1])] = None
    return list(order)


def call(name: str, *arguments: str, cwd: str | None = None) -> str:
    done = subprocess.run([program(name) or name, *arguments], cwd=cwd, text=True, check=False,
                          capture_output=True)
    if done.returncode != 0:
        raise ImageError(f"{name} {' '.join(arguments)} failed: {done.stderr.strip()}. "
                         "Are the lists of apt up to date (apt-get update)?")
    return done.stdout
