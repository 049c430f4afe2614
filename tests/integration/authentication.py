"""Who may use rdmabench and who may not: tokens, MUNGE, --insecure, and strangers.

authentication.py RDMABENCH
"""

import contextlib
import os
import pathlib
import re
import resource
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import unittest

import command
import fabric
from command import run, server

QUICK = ("--backend", "ofi", "-n", "50", "--no-watch")
MUNGED = shutil.which("munged", path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")


@contextlib.contextmanager
def environment(**variables: str | None):
    """For the processes started within; None takes one away."""
    before = {name: os.environ.get(name) for name in variables}

    def put(values):
        for name, value in values.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value

    put(variables)
    try:
        yield
    finally:
        put(before)


def listening(pid: int) -> list[str]:
    """The TCP ports on which a process listens."""
    sockets = set()
    for file in pathlib.Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):  # closed meanwhile
            sockets.add(os.readlink(file))
    rows = [line.split() for table in ("tcp", "tcp6")
            for line in pathlib.Path(f"/proc/{pid}/net/{table}").read_text(encoding="ascii").splitlines()[1:]]
    return [str(int(row[1].rpartition(":")[2], 16)) for row in rows
            if row[3] == "0A" and f"socket:[{row[9]}]" in sockets]


class Authentication(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="rdmabench-auth-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def token(self, name: str, mode: int = 0o600) -> str:
        path = self.folder / name
        path.write_bytes(os.urandom(32))
        path.chmod(mode)
        return str(path)

    def lat(self, port: str, *words: str) -> subprocess.CompletedProcess:
        return run("lat", "127.0.0.1", "--port", port, *QUICK, *words)

    def test_the_same_user_needs_no_option(self):
        with environment(RDMABENCH_TOKEN_FILE=None, XDG_CONFIG_HOME=None, HOME=str(self.folder)), \
                server("--address", "127.0.0.1") as peer:
            made = self.folder / ".config/rdmabench/token"
            self.assertEqual(made.stat().st_mode & 0o7777, 0o600)
            self.assertEqual(made.stat().st_size, 32)
            result = self.lat(peer.port)
            self.assertEqual(result.returncode, 0, result.stderr)
            with environment(HOME=str(self.folder / "other")):
                refused = self.lat(peer.port)
            self.assertEqual(refused.returncode, 1)
            self.assertIn("scp -p 127.0.0.1:.config/rdmabench/token ~/.config/rdmabench/token", refused.stderr)

    def test_a_token_file_that_others_can_read_is_refused(self):
        with server() as peer:
            refused = self.lat(peer.port, "--token-file", self.token("open", 0o644))
            self.assertEqual(refused.returncode, 2)
            self.assertIn("has mode 0644", refused.stderr)
            self.assertIn("chmod 600", refused.stderr)

    def test_insecure_on_one_side_is_refused_by_name(self):
        with server() as peer:
            refused = self.lat(peer.port, "--insecure")
            self.assertEqual(refused.returncode, 1)
            self.assertRegex(refused.stderr, r"uses a token.* this side .*\(--insecure\)")
            self.assertRegex(peer.wait_lines(1)[0], r"127\.0\.0\.1:\d+: refused: another way")
        with server("--insecure") as peer:
            refused = self.lat(peer.port)
            self.assertEqual(refused.returncode, 1)
            self.assertIn("--insecure to both", refused.stderr)
            self.assertEqual(self.lat(peer.port, "--insecure").returncode, 0)

    def test_refused_clients_are_a_line_for_each_address_and_a_count(self):
        stranger = self.token("stranger")
        with environment(RDMABENCH_TOKEN_FILE=self.token("own")), server("--address", "127.0.0.1") as peer:
            for _ in range(3):
                with socket.create_connection(("127.0.0.1", int(peer.port)), 5) as probe:
                    probe.sendall(b"GET /metrics HTTP/1.1\r\nHost: gpu07\r\n\r\n")
                    with contextlib.suppress(ConnectionResetError):
                        probe.recv(4096)
                self.assertEqual(self.lat(peer.port, "--token-file", stranger).returncode, 1)
            self.assertEqual(peer.stop(), 0)
            peer.reader.join()
        counts: dict[str, list[int]] = {}  # on a slow machine those behind the first are told in two lines
        for line in peer.lines:
            told = re.search(r"Z 127\.0\.0\.1(:\d+)?: refused: ((\d+) more clients?: )?(.*)", line)
            self.assertTrue(told, line)
            counts.setdefault(told[4], []).append(int(told[3] or 1))
        self.assertEqual(set(counts), {"not rdmabench, or another version of its protocol", "another token"})
        for each in counts.values():
            self.assertEqual((each[0], sum(each)), (1, 3))

    def test_an_insecure_server_says_so_first(self):
        process = subprocess.Popen([command.TOOL, "serve", "--port", "0", "--insecure"],
                                   stderr=subprocess.PIPE, text=True)
        try:
            self.assertRegex(process.stderr.readline(), r"listening on \*:\d+, insecure: ")
        finally:
            process.kill()
            process.wait()
            process.stderr.close()

    def test_options_that_exclude_one_another(self):
        for words in (("--insecure", "--auth", "munge"), ("--auth", "munge", "--insecure"),
                      ("--insecure", "--token-file", "x"), ("--token-file", "x", "--auth", "munge")):
            refused = self.lat("1", *words)
            self.assertEqual(refused.returncode, 2, refused.stderr)
            self.assertIn("together", refused.stderr)
        self.assertIn("token or munge", self.lat("1", "--auth", "password").stderr)

    def test_strangers_learn_nothing_and_delay_nobody(self):
        with server("--address", "127.0.0.1") as peer, contextlib.ExitStack() as stack:
            port = int(peer.port)
            silent = [stack.enter_context(socket.create_connection(("127.0.0.1", port)))
                      for _ in range(100)]  # 64 of an address are heard at once
            begin = time.monotonic()
            result = self.lat(peer.port)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertLess(time.monotonic() - begin, 20)
            said = b""
            for one in silent:
                one.settimeout(10)
                with contextlib.suppress(ConnectionError):
                    while part := one.recv(4096):
                        said += part
            self.assertEqual(said.replace(command.START + b"\0\6\0\0\0\2", b"").strip(b"\1\4\5"), b"")
            self.assertEqual(len(peer.wait_lines(1)), 1)  # of the client alone

    def one_shot(self, *server_words: str, client: tuple, port: str) -> None:
        """A server for one client is still there after a stranger."""
        serving = subprocess.Popen([command.TOOL, *server_words], stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, text=True)
        try:
            deadline = time.monotonic() + 20
            while True:
                try:
                    with socket.create_connection(("127.0.0.1", int(port)), 5) as stranger:
                        stranger.sendall(b"GET / HTTP/1.1\r\n\r\n")
                        stranger.recv(4096)
                    break
                except ConnectionRefusedError:
                    self.assertLess(time.monotonic(), deadline)
                except ConnectionResetError:
                    break
            refused = run(*client, "--insecure")
            self.assertNotEqual(refused.returncode, 0)
            result = run(*client)
            self.assertEqual(result.returncode, 0, result.stderr)
            output, _ = serving.communicate(timeout=20)
            self.assertEqual(serving.returncode, 0, output)
        finally:
            serving.kill()
            serving.wait()
            serving.stdout.close()

    def test_one_shot_servers_follow_the_same_rule(self):
        port = fabric.free_port()
        self.one_shot("fi_rdm_pingpong", "-p", "tcp", "-B", port,
                      client=("fi_rdm_pingpong", "-p", "tcp", "-I", "20", "-S", "64", "-P", port,
                              "127.0.0.1"), port=port)

    @unittest.skipUnless(MUNGED, "munged is not installed (Debian: munge)")
    def test_munge(self):
        self.folder.chmod(0o755)  # munged insists that others may reach its socket
        with open(self.folder / "munge.key", "wb") as key:
            os.fchmod(key.fileno(), 0o600)
            key.write(os.urandom(1024))
        where = self.folder / "socket"
        daemon = subprocess.Popen(
            [MUNGED, "--foreground", "--force", "--num-threads=1", f"--key-file={key.name}",
             f"--socket={where}", f"--pid-file={self.folder}/pid",
             f"--log-file={self.folder}/log", f"--seed-file={self.folder}/seed"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            deadline = time.monotonic() + 20
            while not where.exists():
                self.assertLess(time.monotonic(), deadline, "munged does not listen")
                time.sleep(0.05)
            with environment(RDMABENCH_MUNGE_SOCKET=str(where)), \
                    server("--auth", "munge") as peer:
                result = self.lat(peer.port, "--auth", "munge")
                self.assertEqual(result.returncode, 0, result.stderr)
                refused = self.lat(peer.port)
                self.assertEqual(refused.returncode, 1)
                self.assertIn("uses MUNGE, this side a token", refused.stderr)
                if os.geteuid() == 0:
                    # The other user may not reach the folder where it was built.
                    copy = self.folder / "rdmabench"
                    shutil.copy(command.TOOL, copy)
                    other = subprocess.run(
                        [copy, "lat", "127.0.0.1", "--port", peer.port, *QUICK, "--auth",
                         "munge"], capture_output=True, text=True, timeout=60, user=65534)
                    self.assertEqual(other.returncode, 1, other.stderr)
                    self.assertIn("MUNGE credential", other.stderr)
                with self.subTest("a munged that does not answer"), command.dial(peer.port) as one:
                    daemon.send_signal(signal.SIGSTOP)
                    greeting = command.START + struct.pack(">HIB", 2, 33, 2) + b"n" * 32
                    one.sendall(greeting)
                    self.assertEqual(one.recv(44, socket.MSG_WAITALL)[:8], command.START + b"\0\3")
                    one.sendall(command.START + struct.pack(">HI", 4, 100) + b"p" * 100)
                    begin = time.monotonic()
                    with command.dial(peer.port) as other:  # is heard meanwhile
                        other.sendall(greeting)
                        self.assertEqual(other.recv(44, socket.MSG_WAITALL)[:8], command.START + b"\0\3")
                    self.assertEqual(one.recv(14, socket.MSG_WAITALL)[:8], command.START + b"\0\6")
                    self.assertLess(time.monotonic() - begin, 8)  # 10 s in libmunge
                    self.assertEqual(peer.stop(), 0)
                    self.assertFalse([line for line in peer.lines if "did not end" in line])
                daemon.send_signal(signal.SIGCONT)
            with environment(RDMABENCH_MUNGE_SOCKET=str(self.folder / "nobody")):
                with server() as peer:
                    self.assertIn("this side MUNGE", self.lat(peer.port, "--auth", "munge").stderr)
        finally:
            daemon.terminate()
            daemon.wait()


class Takeover(unittest.TestCase):
    """What took over a fabric without a launcher."""

    WORDS = ("--provider", "tcp", "-s", "4K", "--timeout", "8s")

    def start(self, rank: int, port: str, *words: str, lasts: tuple = ("-n", "20"),
              **variables: str) -> subprocess.Popen:
        launcher = ("RANK", "SIZE", "SLURM_", "PMIX_", "OMPI_", "PMI_", "MASTER_", "LOCAL_")
        clean = {k: v for k, v in os.environ.items() if not k.startswith(launcher)}
        process = subprocess.Popen(
            [command.TOOL, "fabric", "--rank", str(rank), "--ranks", "2", "--rendezvous",
             f"127.0.0.1:{port}", *self.WORDS, *lasts, *words], env=clean | variables,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def test_a_stranger_takes_no_rank(self):
        port = fabric.free_port()
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "token"
            path.write_bytes(os.urandom(32))
            path.chmod(0o600)
            zero = self.start(0, port)
            stranger = self.start(1, port, "--token-file", str(path))
            _, errors = stranger.communicate(timeout=60)
            self.assertEqual(stranger.returncode, 1)
            self.assertIn("has another token", errors)
            one = self.start(1, port)
            output, errors = zero.communicate(timeout=120)
            self.assertEqual(zero.returncode, 0, errors)
            self.assertEqual(one.wait(30), 0)
            self.assertIn("Gb/s", output)

    def test_a_rail_server_serves_its_own_run_alone(self):
        port = fabric.free_port()
        zero, one = (self.start(rank, port, lasts=("-D", "1s", "--no-confirm")) for rank in (0, 1))
        deadline = time.monotonic() + 20
        while True:  # a provider may listen for a moment, to see what it has
            self.assertLess(time.monotonic(), deadline)
            if not (served := listening(one.pid)):
                continue
            refused = run("lat", "127.0.0.1", "--port", served[0], *QUICK)  # with the user's token
            if "Connection refused" not in refused.stderr:
                break
        self.assertEqual(refused.returncode, 1)
        self.assertIn("has another token", refused.stderr)
        _, errors = zero.communicate(timeout=120)
        self.assertEqual(zero.returncode, 0, errors)

    def test_a_squatter_leads_no_agent(self):
        with socket.socket() as squatter:
            squatter.bind(("127.0.0.1", 0))
            squatter.listen()
            one = self.start(1, str(squatter.getsockname()[1]))
            client, _ = squatter.accept()
            with client:
                greeting = client.recv(4096)
                self.assertEqual(greeting[:8], command.START + b"\0\2")
                client.sendall(command.START + b"\0\3\0\0\0\x20" + b"s" * 32)
                client.recv(4096)
                client.sendall(command.START + b"\0\5\0\0\0\x20" + b"p" * 32)
                _, errors = one.communicate(timeout=60)
        self.assertEqual(one.returncode, 1)
        self.assertIn("did not prove", errors)

    def test_idle_sockets_kill_no_rank(self):
        port = fabric.free_port()
        zero = self.start(0, port)
        files = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(4096, files[1]), files[1]))
        with contextlib.ExitStack() as stack:
            stack.callback(resource.setrlimit, resource.RLIMIT_NOFILE, files)
            deadline = time.monotonic() + 20
            idle = 0
            while idle < 1100:  # more than rank 0 keeps of those that said nothing, or has files
                try:
                    stack.enter_context(socket.create_connection(("127.0.0.1", int(port)), 5))
                    idle += 1
                except ConnectionRefusedError:
                    self.assertLess(time.monotonic(), deadline)
                    time.sleep(0.02)
            one = self.start(1, port)
            _, errors = zero.communicate(timeout=120)
            self.assertEqual(zero.returncode, 0, errors)
            self.assertEqual(one.wait(30), 0)


class NoHome(unittest.TestCase):
    def test_demo_needs_neither_a_home_nor_a_file(self):
        clean = {name: value for name, value in os.environ.items()
                 if name not in ("HOME", "XDG_CONFIG_HOME", "RDMABENCH_TOKEN_FILE")}
        for words in ([], ["--provider", "tcp"]):
            done = subprocess.run([command.TOOL, "demo", "--size", "8", *words], env=clean, capture_output=True, text=True,
                                  timeout=60, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    command.take_tool()
    unittest.main(argv=sys.argv[:1], verbosity=2)
