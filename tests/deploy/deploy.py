#!/usr/bin/env python3
"""Checks deploy/ as far as it can be without a cluster: schema, and that its files agree with one another.

Usage: deploy.py PROJECT_ROOT RDMABENCH
"""

import copy
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import jsonpatch
import jsonschema
import yaml

ROOT = pathlib.Path(sys.argv[1]).resolve()
TOOL = sys.argv[2]
VERSION = re.search(r"^project\(rdmabench VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text(), re.MULTILINE).group(1)
INSTRUCTIONS = {"ARG", "CMD", "COPY", "ENV", "FROM", "RUN", "USER", "WORKDIR"}


def instructions(text: str) -> list[tuple[str, str]]:
    """A Dockerfile's, each with its continued lines as one."""
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    whole = re.sub(r"\\\n", "", "\n".join(lines))
    return [tuple(line.split(None, 1)) for line in whole.splitlines() if line.strip()]


class Dockerfile(unittest.TestCase):
    def setUp(self) -> None:
        self.text = (ROOT / "deploy/docker/Dockerfile").read_text()
        self.steps = instructions(self.text)

    def values(self, name: str) -> list[str]:
        return [value for instruction, value in self.steps if instruction == name]

    def test_instructions_are_known(self) -> None:
        self.assertLessEqual({name for name, _ in self.steps}, INSTRUCTIONS)

    def test_what_is_copied_exists(self) -> None:
        stages = {value.split(" AS ")[1] for value in self.values("FROM")}
        for value in self.values("COPY"):
            words = value.split()
            if words[0].startswith("--from="):
                self.assertIn(words[0].removeprefix("--from="), stages)
            else:
                for source in words[:-1]:
                    self.assertTrue((ROOT / source).exists(), source)

    def test_stages_build_on_stages_before(self) -> None:
        seen = {"debian:${DEBIAN}-slim"}
        for value in self.values("FROM"):
            source, stage = value.split(" AS ")
            self.assertIn(source, seen)
            seen.add(stage)

    def test_shell_of_every_step_parses(self) -> None:
        for command in self.values("RUN"):
            done = subprocess.run(["sh", "-n", "-c", command], capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stderr)

    def test_it_does_not_end_as_root(self) -> None:
        self.assertEqual(self.values("USER"), ["mpiuser"])

    def test_the_download_is_pinned(self) -> None:
        arguments = dict(value.split("=", 1) for value in self.values("ARG"))
        self.assertRegex(arguments["EFA_INSTALLER"], r"^\d+\.\d+\.\d+$")
        self.assertRegex(arguments["EFA_INSTALLER_SHA256"], r"^[0-9a-f]{64}$")
        self.assertIn("sha256sum --check", self.text)


class NodeProblemDetector(unittest.TestCase):
    def test_its_rule_belongs_to_its_condition(self) -> None:
        config = json.loads((ROOT / "deploy/kubernetes/node-problem-detector.json").read_text())
        self.assertEqual(config["plugin"], "custom")
        (rule,), (condition,) = config["rules"], config["conditions"]
        self.assertEqual(rule["condition"], condition["type"])
        self.assertEqual(rule["type"], "permanent")
        self.assertNotEqual(rule["reason"], condition["reason"])
        # Else the condition keeps the message of a fault that is repaired while another one remains.
        self.assertIs(config["pluginConfig"]["enable_message_change_based_condition_update"], True)
        self.assertEqual([rule["path"], *rule["args"]], ["/usr/bin/rdmabench", "doctor", "--format", "line"])


def job(name: str) -> dict:
    """What `kubectl apply -k deploy/kubernetes/NAME` applies."""
    folder = ROOT / "deploy/kubernetes" / name
    kustomization = yaml.safe_load((folder / "kustomization.yaml").read_text())
    (resource,) = kustomization["resources"]
    resource = (folder / resource).resolve()
    document = job(resource.name) if resource.is_dir() else yaml.safe_load(resource.read_text())
    for patch in kustomization.get("patches", ()):
        assert patch["target"] == {"kind": document["kind"], "name": document["metadata"]["name"]}, patch["target"]
        document = jsonpatch.apply_patch(document, yaml.safe_load(patch["patch"]))
    return document


class MpiJob:
    """What holds for each of the jobs."""

    NAME = ""
    DEVICES: set[str] = set()

    def setUp(self) -> None:
        self.job = job(self.NAME)
        self.schema = json.loads((ROOT / "tests/deploy/mpijob.schema.json").read_text())
        replicas = self.job["spec"]["mpiReplicaSpecs"]
        self.launcher = replicas["Launcher"]["template"]["spec"]["containers"][0]
        self.worker = replicas["Worker"]["template"]["spec"]["containers"][0]
        self.dockerfile = (ROOT / "deploy/docker/Dockerfile").read_text()

    def test_it_has_known_fields_of_the_right_kind(self) -> None:
        jsonschema.validate(self.job, self.schema)

    def test_the_schema_sees_mistakes(self) -> None:
        for path, value in ((("spec", "slotPerWorker"), 1), (("spec", "slotsPerWorker"), "1"),
                            (("spec", "runPolicy", "cleanPodPolicy"), "running"),
                            (("apiVersion",), "kubeflow.org/v1")):
            job = copy.deepcopy(self.job)
            place = job
            for key in path[:-1]:
                place = place[key]
            place[path[-1]] = value
            with self.assertRaises(jsonschema.ValidationError, msg=path):
                jsonschema.validate(job, self.schema)

    def test_the_schema_sees_rights_that_a_user_does_not_get_and_others(self) -> None:
        for change in ({"capabilities": {"drop": ["ALL"], "add": ["IPC_LOCK"]}}, {"allowPrivilegeEscalation": True},
                       {"seccompProfile": {"type": "Unconfined"}}, {"runAsUser": 0}):
            job = copy.deepcopy(self.job)
            (container,) = job["spec"]["mpiReplicaSpecs"]["Worker"]["template"]["spec"]["containers"]
            container["securityContext"].update(change)
            with self.assertRaises(jsonschema.ValidationError, msg=change):
                jsonschema.validate(job, self.schema)

    def test_the_image_is_of_this_version(self) -> None:
        self.assertEqual(self.worker["image"], "rdmabench:" + VERSION)

    def test_as_many_ranks_as_workers(self) -> None:
        ranks = self.job["spec"]["mpiReplicaSpecs"]["Worker"]["replicas"]
        ranks *= self.job["spec"]["slotsPerWorker"]
        self.assertEqual(ranks, 2)
        self.assertEqual(re.findall(r"mpirun -n (\d+)", self.launcher["args"][0]), [str(ranks)])

    def test_resources_that_cannot_be_overcommitted_are_equal(self) -> None:
        resources = self.worker["resources"]
        self.assertEqual(resources["requests"], resources["limits"])
        self.assertEqual({"memory", "cpu"} | self.DEVICES, resources["requests"].keys())
        self.assertFalse(self.DEVICES & self.launcher["resources"]["requests"].keys())

    def test_volumes_that_are_mounted_exist(self) -> None:
        pod = self.job["spec"]["mpiReplicaSpecs"]["Worker"]["template"]["spec"]
        volumes = {volume["name"] for volume in pod["volumes"]}
        self.assertEqual({mount["name"] for mount in self.worker["volumeMounts"]}, volumes)

    def test_image_user_port_and_keys_agree_with_the_dockerfile(self) -> None:
        sshd = (ROOT / "deploy/docker/sshd_config").read_text()
        port = self.worker["readinessProbe"]["tcpSocket"]["port"]
        self.assertIn(f"\nPort {port}\n", sshd)
        self.assertIn(f"  Port {port}\\n", self.dockerfile)
        user = self.worker["securityContext"]["runAsUser"]
        self.assertEqual(user, self.launcher["securityContext"]["runAsUser"])
        self.assertIn(f"useradd --create-home --uid {user} mpiuser", self.dockerfile)
        self.assertIn(f"HostKey {self.job['spec']['sshAuthMountPath']}/id_rsa\n", sshd)
        self.assertEqual(self.worker["image"], self.launcher["image"])
        command = re.search(r"^CMD (\[.*\])$", self.dockerfile, re.MULTILINE)
        self.assertEqual(self.worker["command"], json.loads(command.group(1)))

    def test_shell_of_the_launcher_parses(self) -> None:
        subprocess.run(["sh", "-n", "-c", self.launcher["args"][0]], check=True)

    def test_fabric_has_the_options(self) -> None:
        (fabric,) = [item["value"] for item in self.launcher["env"] if item["name"] == "FABRIC"]
        self.assertIn("rdmabench fabric $FABRIC --output", self.launcher["args"][0])
        known = subprocess.run([TOOL, "fabric", "--help-all"], check=True, text=True, capture_output=True).stdout
        for option in re.findall(r"--[a-z-]+", fabric):
            self.assertRegex(known, rf"(?m)^ .*{option}\b")


class Efa(MpiJob, unittest.TestCase):
    NAME = "efa"
    DEVICES = {"vpc.amazonaws.com/efa", "hugepages-2Mi"}


class Sriov(MpiJob, unittest.TestCase):
    NAME = "sriov"
    DEVICES = {"nvidia.com/mlnxnics", "nvidia.com/gpu"}


class Shared(MpiJob, unittest.TestCase):
    NAME = "shared"
    DEVICES = {"rdma/hca_shared_devices_a", "nvidia.com/gpu"}


class Serve(unittest.TestCase):
    def setUp(self) -> None:
        self.document = yaml.safe_load((ROOT / "deploy/kubernetes/serve.yaml").read_text())
        self.schema = json.loads((ROOT / "tests/deploy/serve.schema.json").read_text())
        self.pod = self.document["spec"]["template"]["spec"]
        self.container = self.pod["containers"][0]

    def test_it_has_known_fields_of_the_right_kind(self) -> None:
        jsonschema.validate(self.document, self.schema)

    def test_the_schema_sees_a_right_too_many(self) -> None:
        for change in ({"privileged": True}, {"allowPrivilegeEscalation": True},
                       {"readOnlyRootFilesystem": False},
                       {"capabilities": {"drop": ["ALL"], "add": ["SYS_ADMIN"]}},
                       {"capabilities": {"drop": ["ALL"], "add": ["IPC_LOCK"]}}):
            document = copy.deepcopy(self.document)
            container = document["spec"]["template"]["spec"]["containers"][0]
            container["securityContext"].update(change)
            with self.assertRaises(jsonschema.ValidationError, msg=change):
                jsonschema.validate(document, self.schema)

    def test_labels_ports_and_volumes_agree(self) -> None:
        self.assertEqual(self.document["spec"]["selector"]["matchLabels"],
                         self.document["spec"]["template"]["metadata"]["labels"])
        words = self.container["command"]
        port = self.container["ports"][0]
        self.assertEqual(words[words.index("--port") + 1], str(port["containerPort"]))
        self.assertEqual(port["hostPort"], port["containerPort"])
        self.assertEqual({mount["name"] for mount in self.container["volumeMounts"]},
                         {volume["name"] for volume in self.pod["volumes"]})

    def test_the_server_keeps_below_its_pod(self) -> None:
        words = self.container["command"]
        memory = int(words[words.index("--max-memory") + 1].removesuffix("G"))
        self.assertLess(memory, int(self.container["resources"]["limits"]["memory"].removesuffix("Gi")))

    def test_the_image_is_of_this_version(self) -> None:
        self.assertEqual(self.container["image"], "rdmabench:" + VERSION)

    def test_its_user_is_the_image_s(self) -> None:
        dockerfile = (ROOT / "deploy/docker/Dockerfile").read_text()
        self.assertIn(f"--uid {self.pod['securityContext']['runAsUser']} mpiuser", dockerfile)


class Unit(unittest.TestCase):
    TEXT = (ROOT / "deploy/systemd/rdmabench.service").read_text()

    @unittest.skipUnless(shutil.which("systemd-analyze"), "systemd-analyze is not installed")
    def test_systemd_rates_it_at_most_2(self) -> None:
        known = subprocess.run(["systemd-analyze", "--help"], capture_output=True, text=True).stdout
        if "--threshold" not in known or "--offline" not in known:
            self.skipTest("this systemd-analyze rates no file")
        with tempfile.TemporaryDirectory() as folder:
            unit = pathlib.Path(folder, "rdmabench.service")
            unit.write_text(self.TEXT.replace("@CMAKE_INSTALL_FULL_BINDIR@", "/usr/bin"))
            done = subprocess.run(["systemd-analyze", "security", "--no-pager", "--offline=true", "--threshold=20", unit],
                                  capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_the_server_keeps_below_the_unit_s_limits(self) -> None:
        text = self.TEXT
        memory = int(re.search(r"--max-memory (\d+)G", text).group(1))
        self.assertLess(memory, int(re.search(r"^MemoryMax=(\d+)G$", text, re.MULTILINE).group(1)))
        threads = int(re.search(r"--max-threads (\d+)", text).group(1))
        clients = int(re.search(r"--max-clients (\d+)", text).group(1))
        tasks = int(re.search(r"^TasksMax=(\d+)$", text, re.MULTILINE).group(1))
        self.assertLess(threads + clients, tasks)


class Sbatch(unittest.TestCase):
    def setUp(self) -> None:
        self.path = ROOT / "deploy/slurm/fabric.sbatch"
        self.text = self.path.read_text()

    def test_shell_parses(self) -> None:
        subprocess.run(["sh", "-n", self.path], check=True)

    def test_options_come_before_the_first_command(self) -> None:
        lines = self.text.splitlines()
        options = [number for number, line in enumerate(lines) if line.startswith("#SBATCH")]
        first = next(number for number, line in enumerate(lines) if line and line[0] != "#")
        self.assertTrue(options)
        self.assertLess(max(options), first)
        for number in options:
            self.assertRegex(lines[number], r"^#SBATCH --[a-z-]+(=\S+)?$")

    def test_another_users_link_redirects_no_result(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder)
            (path / "theirs").mkdir()
            (path / "rdmabench-7").symlink_to("theirs")
            (path / "srun").write_text("#!/bin/sh\n")
            (path / "srun").chmod(0o755)
            environment = {"PATH": f"{folder}:{os.environ['PATH']}", "SLURM_JOB_ID": "7", "RDMABENCH": "true"}
            done = subprocess.run(["sh", self.path], cwd=folder, env=environment, capture_output=True, text=True)
            self.assertNotEqual(done.returncode, 0, done)
            self.assertEqual(list((path / "theirs").iterdir()), [])
            again = subprocess.run(["sh", self.path], cwd=folder, env={**environment, "SLURM_RESTART_COUNT": "1"},
                                   capture_output=True, text=True)
            self.assertTrue((path / "rdmabench-7.1/doctor.txt").is_file(), again)

    def test_one_task_on_each_node(self) -> None:
        self.assertIn("#SBATCH --ntasks-per-node=1\n", self.text)
        steps = [line for line in self.text.splitlines() if line.startswith("srun ")]
        self.assertEqual(len(steps), 3)
        for step in steps:
            self.assertIn(" --ntasks-per-node=1 ", step)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]])
