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
GONE = "crc32_generic"  # Linux 7 has it in the kernel itself

PACKAGE_OF = {  # program: the Debian package that has it
    "qemu-system-x86_64": "qemu-system-x86",
    "busybox": "busybox-static",
    "cpio": "cpio",
    "modprobe": "kmod",
    "depmod": "kmod",
    "rdma": "iproute2",
}
INIT = Path(__file__).with_name("initramfs_init")


KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"


class ImageError(Exception):
    """What is missing or failed, and what to do about it."""


class NoSuite(ImageError):
    """This machine's mirror has no such suite, or there is none: nothing is wrong here."""


def prepare(cache: Path) -> tuple[Path, Path]:
    """Returns (kernel, initramfs), building them when `cache` has none made by this recipe.

    RDMABENCH_VM_KERNEL names a kernel package; without it one that is already cached is used, else
    the package that linux-image-amd64 depends on. RDMABENCH_VM_SUITE takes either from another suite
    of this machine's mirror. Safe when several processes call it at once.
    """
    check_programs()
    recipe = hashlib.sha256(Path(__file__).read_bytes() + INIT.read_bytes()).hexdigest()[:8]
    package = os.environ.get("RDMABENCH_VM_KERNEL", "")
    suite = os.environ.get("RDMABENCH_VM_SUITE", "")
    if suite == "backports":
        suite = f"{codename()}-backports"
    if suite:
        cache /= suite
    cache.mkdir(parents=True, exist_ok=True)
    with open(cache / "lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        ready = sorted(cache.glob(f"{package or 'linux-image-*'}_{recipe}"))
        if ready:
            folder = ready[-1]
        else:
            with tempfile.TemporaryDirectory(prefix="apt-", dir=cache) as scratch:
                apt = Apt(suite, Path(scratch))
                folder = build(cache, package or newest_package(apt), recipe, apt)
    return folder / "kernel", folder / "initramfs"


class Apt:
    """apt-get and apt-cache, as this machine has them or, with a suite, with lists of that alone."""

    def __init__(self, suite: str, scratch: Path):
        self._options = ["-o", "APT::Sandbox::User=root"]
        if not suite:
            return
        mirrors = call("apt-get", "indextargets", "--format", "$(REPO_URI) $(COMPONENT)",
                       "Created-By: Packages", "Origin: Debian", "Codename: " + codename())
        mirror = next((line.split()[0] for line in mirrors.splitlines() if line.endswith(" main")),
                      None)
        if mirror is None:
            raise NoSuite(f"no mirror of Debian is known here to take the suite {suite} from")
        (scratch / "lists/partial").mkdir(parents=True)
        sources = scratch / "sources.list"
        sources.write_text(f"deb [signed-by={KEYRING}] {mirror} {suite} main\n", encoding="ascii")
        self._options += ["-o", f"Dir::Etc::sourcelist={sources}", "-o", "Dir::Etc::sourceparts=-",
                          "-o", f"Dir::State::lists={scratch / 'lists'}",
                          "-o", "Dir::Cache::pkgcache=", "-o", "Dir::Cache::srcpkgcache="]
        try:
            self("apt-get", "-qq", "update")
        except ImageError as error:
            raise NoSuite(f"the suite {suite} cannot be had: {error}") from error

    def __call__(self, name: str, *arguments: str, cwd: str | None = None) -> str:
        return call(name, *self._options, *arguments, cwd=cwd)


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


def codename() -> str:
    """"bookworm": the suite this machine runs."""
    for line in Path("/etc/os-release").read_text(encoding="utf-8").splitlines():
        if line.startswith("VERSION_CODENAME="):
            return line.partition("=")[2].strip('"')
    raise NoSuite("/etc/os-release names no VERSION_CODENAME")


def dependencies(apt: Apt, package: str) -> list[str]:
    """The packages that the newest version of `package` depends on."""
    for line in apt("apt-cache", "show", "--no-all-versions", package).splitlines():
        if line.startswith("Depends:"):
            return [word.split()[0] for word in line.removeprefix("Depends:").split(",")]
    return []


def newest_package(apt: Apt) -> str:
    """linux-image-amd64 is a meta package, which depends on the kernel itself."""
    for package in dependencies(apt, "linux-image-amd64"):
        if package.startswith("linux-image-"):
            return package
    raise ImageError("apt-cache knows no linux-image-amd64. Run apt-get update, or name a kernel "
                     "package in RDMABENCH_VM_KERNEL.")


def parts(apt: Apt, package: str) -> list[str]:
    """The packages that hold a kernel: itself, or from Linux 7 on some that it depends on."""
    return [package, *(name for name in dependencies(apt, package)
                       if name.startswith(("linux-base-", "linux-binary-", "linux-modules-")))]


def build(cache: Path, package: str, recipe: str, apt: Apt) -> Path:
    """Downloads `package` and makes the folder of one kernel; it appears whole or not at all."""
    for leftover in [*cache.glob(f"{package}_*"), *cache.glob("build-*")]:
        shutil.rmtree(leftover)
    with tempfile.TemporaryDirectory(prefix="build-", dir=cache) as scratch:
        root, initramfs, result = (Path(scratch, n) for n in ("root", "initramfs", "result"))
        download = ("apt-get", "-qq", "download", *parts(apt, package))
        try:
            apt(*download, cwd=scratch)
        except ImageError:  # lists of last week name a file that the mirror has replaced
            apt("apt-get", "-qq", "update")
            apt(*download, cwd=scratch)
        for archive in Path(scratch).glob("*.deb"):
            call("dpkg-deb", "-x", str(archive), str(root))
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
        kernel = root / "boot" / f"vmlinuz-{version}"
        if not kernel.exists():  # Linux 7 and later
            kernel = root / "lib/modules" / version / "vmlinuz"
        (result / "kernel").write_bytes(unpacked(kernel.read_bytes()))
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
        try:
            shown = call("modprobe", "-d", str(root), "-S", version, "--show-depends", module)
        except ImageError:
            if module != GONE:
                raise
            continue
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
