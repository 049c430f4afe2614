#!/usr/bin/env python3
"""Ranks that real launchers start find one another: mpirun over PMIx and over TCP, and by torchrun's names.

Usage: launchers.py RENDEZVOUS_PEER [--slurm ONE_NODE --rdmabench RDMABENCH] [--pmix yes|no]

With --slurm the launcher is srun, in the Slurm of one node that ONE_NODE starts. Exits 77 when the
launcher is not installed.
"""

import argparse
import functools
import os
import pathlib
import re
import runpy
import shutil
import socket
import subprocess
import sys
import tempfile
import unittest

from command import free_port

SECONDS = 60
OPTIONS = argparse.Namespace()
OURS = ("RDMABENCH_", "PMI", "OMPI_", "SLURM_", "MASTER_", "RANK", "WORLD_SIZE", "TORCHELASTIC_")

# As the files of deploy/ do it: the shell that the launcher started outlives its rank.
OUTLIVING = ["sh", "-c", '"$@"; status=$?; [ ${SLURM_PROCID:-$OMPI_COMM_WORLD_RANK} != 0 ] || exit $status',
             "rank"]

# The node is healthy until a job ran and slurmd ran the program, and then not; a second job finds it so.
PLANT = """
srun true
until grep -qx "$1" calls; do sleep 0.1; done
scontrol show node
ln -sfn roce-faults node
echo planted
sbatch --quiet --output=/dev/null --wrap=true
until scontrol show node | grep -q "State=IDLE+DRAIN "; do sleep 0.1; done
squeue --noheader --format="job %T %r"
scontrol show node
"""


def environment(**more: str) -> dict[str, str]:
    """This one's without what a launcher around us says."""
    clean = {name: value for name, value in os.environ.items()
             if not name.startswith(OURS) or name == "RDMABENCH_TOKEN_FILE"}
    clean.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    return {**clean, **more}


def run(command: list[str], folder: str | None = None, **more: str) -> subprocess.CompletedProcess:
    return subprocess.run(command, env=environment(**more), capture_output=True, text=True,
                          timeout=SECONDS, cwd=folder)


class Case(unittest.TestCase):
    def expect(self, done: subprocess.CompletedProcess, out: str) -> None:
        self.assertEqual((done.returncode, done.stderr), (0, ""), done)
        self.assertRegex(done.stdout, out)

    def expect_missed(self, done: subprocess.CompletedProcess, ranks: int) -> None:
        """Rank 0 named rank 1, and none of the others believes that all have met."""
        lines = done.stdout.splitlines()
        self.assertEqual(len(lines), ranks - 1, done)
        named = [line for line in lines if re.match(r"rank 1\b.* did not connect", line)]
        self.assertEqual(len(named), 1, done)

    def expect_going_on(self, done: subprocess.CompletedProcess) -> None:
        self.assertEqual(done.returncode, 0, done)
        lines = sorted(line for line in done.stdout.splitlines() if line.endswith("goes on"))
        self.assertEqual(lines, [f"rank {rank} goes on" for rank in (0, 2, 3)], done)


class Mpirun(Case):
    COMMAND = ["mpirun", "--oversubscribe", "-n", "4"]

    @unittest.skipUnless(shutil.which("mpirun"), "no mpirun")
    def setUp(self) -> None:
        pass

    def test_ranks_meet(self) -> None:
        source = "OpenPMIx" if OPTIONS.pmix else "OMPI_COMM_WORLD_RANK"
        more = {} if OPTIONS.pmix else {"RDMABENCH_RENDEZVOUS": f"localhost:{free_port()}"}
        self.expect(run([*self.COMMAND, OPTIONS.peer, "meet"], **more),
                    rf"^4 ranks met on \S+ by {source}")

    def test_an_address_goes_round_pmix(self) -> None:
        self.expect(run([*self.COMMAND, OPTIONS.peer, "meet"],
                        RDMABENCH_RENDEZVOUS=f"127.0.0.1:{free_port()}"),
                    r"^4 ranks met on \S+ by OMPI_COMM_WORLD_RANK and OMPI_COMM_WORLD_SIZE")

    def test_a_rank_that_is_missing_is_named(self) -> None:
        more = {} if OPTIONS.pmix else {"RDMABENCH_RENDEZVOUS": f"localhost:{free_port()}"}
        done = run([*self.COMMAND, OPTIONS.peer, "missing"], **more)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done)
        self.expect_missed(done, 4)

    def test_a_rank_that_is_killed_is_named_where_the_rest_may_live(self) -> None:
        more = {} if OPTIONS.pmix else {"RDMABENCH_RENDEZVOUS": f"localhost:{free_port()}"}
        version = int(re.search(r"(\d+)\.", run(["mpirun", "--version"]).stdout).group(1))
        recovery = ["--enable-recovery"] if version > 4 else ["--mca", "orte_enable_recovery", "1"]
        self.expect_missed(run([*self.COMMAND, *recovery, OPTIONS.peer, "killed"], **more), 4)

    def test_the_rest_live_when_a_rank_is_killed_that_has_left_pmix(self) -> None:
        more = {} if OPTIONS.pmix else {"RDMABENCH_RENDEZVOUS": f"localhost:{free_port()}"}
        self.expect_going_on(run([*self.COMMAND, *OUTLIVING, OPTIONS.peer, "after"], **more))


class Environment(Case):
    def start(self, rank: int, size: int, port: str, **more: str) -> subprocess.Popen:
        names = {"RANK": str(rank), "WORLD_SIZE": str(size), "MASTER_ADDR": "127.0.0.1",
                 "MASTER_PORT": port}
        return subprocess.Popen([OPTIONS.peer, "meet"], env=environment(**names, **more),
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def test_ranks_meet_by_the_names_of_torchrun(self) -> None:
        port = free_port()
        ranks = [self.start(rank, 4, port) for rank in (3, 2, 1, 0)]
        output = [rank.communicate(timeout=SECONDS) for rank in ranks]
        self.assertEqual([rank.returncode for rank in ranks], [0] * 4, output)
        self.assertIn("4 ranks met", output[3][0])

    def test_without_a_launcher_it_says_what_to_do(self) -> None:
        alone = run([OPTIONS.peer])
        self.assertEqual((alone.returncode, alone.stdout), (2, ""))
        self.assertRegex(alone.stderr, r"^no launcher .*mpirun or srun.*\n$")


@functools.cache
def slurm_has_pmix() -> bool:
    """Debian's has it up to 13."""
    listed = run([OPTIONS.slurm, "--seconds", "30", "srun", "--mpi=list"])
    return "pmix" in listed.stdout + listed.stderr


class Slurm(Case):
    def need_pmix(self) -> None:
        if not slurm_has_pmix():
            self.skipTest("this Slurm has no plugin mpi/pmix")

    def srun(self, *arguments: str, **more: str) -> subprocess.CompletedProcess:
        return run([OPTIONS.slurm, "--seconds", "30", "srun", "-n", "4", *arguments],
                   **more)

    @unittest.skipUnless(shutil.which("srun") and shutil.which("munged", path=os.environ["PATH"] +
                         ":/usr/sbin"), "no Slurm")
    def setUp(self) -> None:
        pass

    def test_tasks_meet_over_pmix(self) -> None:
        self.need_pmix()
        source = "OpenPMIx" if OPTIONS.pmix else "SLURM_PROCID"
        self.expect(self.srun("--mpi=pmix", OPTIONS.peer, "meet"), rf"^4 ranks met on \S+ by {source}")

    def batch(self, folder: str, *arguments: str, **more: str) -> subprocess.CompletedProcess:
        script = pathlib.Path(OPTIONS.slurm).parents[2] / "deploy/slurm/fabric.sbatch"
        return run([OPTIONS.slurm, "--seconds", "30", "sbatch", "--nodes=1", *arguments[:1],
                    str(script), *arguments[1:]], folder, **more)

    def test_the_rest_live_when_a_task_is_killed_that_has_left_pmix(self) -> None:
        self.need_pmix()
        self.expect_going_on(self.srun("--mpi=pmix", "--kill-on-bad-exit=0", *OUTLIVING, OPTIONS.peer, "after"))

    def need_own_name(self) -> None:
        """Without PMIx Slurm says where the first task is by its node's name alone."""
        try:
            socket.getaddrinfo(socket.gethostname(), None)
        except OSError as error:
            self.skipTest(f"this machine's name {socket.gethostname()} cannot be looked up: {error}")

    def test_a_task_that_is_killed_is_named_without_pmix(self) -> None:
        self.need_own_name()
        done = self.srun("--mpi=none", "--kill-on-bad-exit=0", OPTIONS.peer, "killed")
        self.expect_missed(done, 4)

    def test_the_batch_file_could_start(self) -> None:
        done = self.batch(".", "--test-only")
        self.assertEqual(done.returncode, 0, done)
        self.assertRegex(done.stderr, r"Job \d+ to start at .* using \d+ processors on nodes")

    def test_the_batch_file_runs_doctor_fabric_and_report(self) -> None:
        self.need_pmix()
        with tempfile.TemporaryDirectory() as folder:
            stand_in = pathlib.Path(folder) / "rdmabench"
            stand_in.write_text('#!/bin/sh\necho "$1 $PMIX_RANK"\necho "$@" >>calls\n'
                                '[ $1 != fabric ]\n')
            stand_in.chmod(0o755)
            done = self.batch(folder, "--wait", "--rounds", "8", RDMABENCH=str(stand_in))
            self.assertEqual(done.returncode, 1, done)  # the fabric's status
            calls = (pathlib.Path(folder) / "calls").read_text().splitlines()
            self.assertEqual(calls, ["doctor", "fabric --output rdmabench-1/fabric.jsonl --rounds 8",
                                     "report --output rdmabench-1/fabric.html rdmabench-1/fabric.jsonl"])
            self.assertEqual((pathlib.Path(folder) / "rdmabench-1/doctor.txt").read_text(),
                             "0: doctor \n")
            self.assertIn("fabric 0\n", (pathlib.Path(folder) / "slurm-1.out").read_text())

    def test_a_faulty_node_is_drained_with_the_reason(self) -> None:
        script = pathlib.Path(OPTIONS.slurm).parents[2] / "deploy/slurm/doctor.sh"
        with tempfile.TemporaryDirectory() as folder:
            stand_in = pathlib.Path(folder) / "rdmabench"
            stand_in.write_text('#!/bin/sh\necho "FAIL port.state mlx5_0:1: 1: DOWN ($*)"\nexit $STATUS\n')
            stand_in.chmod(0o755)
            for status, drained in (("3", False), ("1", True)):  # 3: a check that could not be made is no fault
                done = run([OPTIONS.slurm, "--seconds", "30", "sh", "-c",
                            f'{script}; echo "status $?"; sinfo -R --noheader --format=%150E'],
                           RDMABENCH=str(stand_in), RDMABENCH_DOCTOR="--only port", STATUS=status)
                self.assertEqual("status 1" in done.stdout, drained, done)
                reason = "rdmabench: FAIL port.state mlx5_0:1: 1: DOWN (doctor --format line --only port)"
                self.assertEqual(reason in done.stdout, drained, done)
            node = "$(hostname -s)"
            again = f"{script}; sinfo -R --noheader --format=%150E"
            done = run([OPTIONS.slurm, "--seconds", "30", "sh", "-c",
                        f"scontrol update nodename={node} state=drain reason='ticket 7'; {again};"
                        f"scontrol update nodename={node} state=resume; {again}; RDMABENCH_DOCTOR='--only pcie' {again}"],
                       RDMABENCH=str(stand_in), RDMABENCH_DOCTOR="--only port", STATUS="1")
            ours = "rdmabench: FAIL port.state mlx5_0:1: 1: DOWN (doctor --format line --only"
            self.assertEqual([line.strip() for line in done.stdout.splitlines()],
                             ["ticket 7", f"{ours} port)", f"{ours} pcie)"], done)

    def test_slurmd_runs_the_doctor_which_drains_the_node_once_it_is_faulty(self) -> None:
        tests = pathlib.Path(OPTIONS.slurm).parents[1]
        unpack = runpy.run_path(str(tests / "fixtures/doctor/unpack.py"))["unpack"]
        script = tests.parent / "deploy/slurm/doctor.sh"
        for name, context in (("HealthCheckProgram", "health"), ("Prolog", "prolog_slurmd"), ("Epilog", "epilog_slurmd")):
            with self.subTest(name), tempfile.TemporaryDirectory() as folder:
                for node in ("roce", "roce-faults"):
                    unpack(tests / f"fixtures/doctor/{node}.tree", pathlib.Path(folder) / node)
                (pathlib.Path(folder) / "node").symlink_to("roce")
                tool = pathlib.Path(folder) / "rdmabench"
                # It tells of a call that is over: the node's fault is planted then, and must not be found by that call.
                tool.write_text(f'#!/bin/sh\n{OPTIONS.rdmabench} "$@"\nstatus=$?\n'
                                f'echo ${{SLURM_SCRIPT_CONTEXT:-health}} >>{folder}/calls\nexit $status\n')
                tool.chmod(0o755)
                done = run([OPTIONS.slurm, "--seconds", "30", "--program", f"{name}={script}", "sh", "-ec", PLANT, "plant",
                            context], folder, RDMABENCH=str(tool), RDMABENCH_DOCTOR=f"--root {folder}/node --only port.mtu")
                self.assertEqual(done.returncode, 0, done)
                healthy, faulty = done.stdout.split("planted\n")
                self.assertIn("State=IDLE", healthy)
                self.assertNotIn("Reason=", healthy)
                self.assertRegex(faulty, "Reason=rdmabench: FAIL port.mtu mlx5_2:1, change setting: .*")
                if name != "HealthCheckProgram":  # which may come before the job or after it
                    held = "job PENDING launch failed requeued held\n"  # without nohold_on_prolog_fail
                    self.assertEqual(held in faulty, name == "Prolog", faulty)

    def test_tasks_meet_on_the_first_node_without_pmix(self) -> None:
        self.need_own_name()
        self.expect(self.srun("--mpi=none", OPTIONS.peer, "meet"),
                    r"^4 ranks met on \S+ by SLURM_PROCID and SLURM_NTASKS")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("peer")
    parser.add_argument("--slurm")
    parser.add_argument("--rdmabench", type=os.path.abspath)
    parser.add_argument("--pmix", choices=["yes", "no"], default="yes")
    parser.parse_args(namespace=OPTIONS)
    OPTIONS.peer = os.path.abspath(OPTIONS.peer)  # a job may run in another folder
    OPTIONS.slurm = os.path.abspath(OPTIONS.slurm) if OPTIONS.slurm else None
    OPTIONS.pmix = OPTIONS.pmix == "yes"
    suite = unittest.TestSuite()
    for case in (Slurm,) if OPTIONS.slurm else (Environment, Mpirun):
        suite.addTests(unittest.defaultTestLoader.loadTestsFromTestCase(case))
    result = unittest.TextTestRunner(verbosity=2).run(suite)
    if not result.wasSuccessful():
        return 1
    return 77 if len(result.skipped) == result.testsRun else 0


if __name__ == "__main__":
    sys.exit(main())
