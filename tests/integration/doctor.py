#!/usr/bin/env python3
"""The doctor as a user meets it: verdicts on the saved nodes, formats, exit codes, saving a node.

Usage: doctor.py RDMABENCH FIXTURES SCHEMA [--write]
With --write the expected verdicts are written instead of compared: read the difference before you
commit it. What passes stands in passes.expected, once for all nodes.
"""

import copy
import difflib
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tarfile
import tempfile
import time
import unittest

import jsonschema

RDMABENCH, FIXTURES, SCHEMA = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
WRITE = "--write" in sys.argv
COMMAND = shlex.join([sys.executable, *sys.argv, "--write"])
sys.dont_write_bytecode = True
sys.path.insert(0, str(FIXTURES))
import unpack  # pylint: disable=wrong-import-position

NODES = sorted(path.stem for path in FIXTURES.glob("*.tree"))
FAILING = ("bnxt", "roce-faults", "vf-down", "vf-down-pod")
# What is wrong with roce-faults, and which checks may say so.
FAULTS = {
    ("pcie.width", "mlx5_1"): "half of the lanes",
    ("port.mtu", "mlx5_2:1"): "MTU 1500",
    ("address.roce_v2", "mlx5_3:1"): "no IP address",
    ("limit.memlock", "node"): "64 KiB of locked memory",
    ("log.mlx5", "node"): "a bad cable",
    ("log.xid", "node"): "a GPU off the bus",
}


def doctor(*words: str, environment: dict[str, str] | None = None) -> subprocess.CompletedProcess:
    return subprocess.run([RDMABENCH, "doctor", *words], capture_output=True, text=True, timeout=60, check=False,
                          env=dict(os.environ, **(environment or {})))


class Doctor(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.root = pathlib.Path(cls.folder.name)
        for name in NODES:
            (cls.root / name).mkdir()
            unpack.unpack(FIXTURES / f"{name}.tree", cls.root / name)
        probe = doctor("--root", "/", "--only", "limit", "--collect", str(cls.root / "probe.tar"))
        cls.archives = probe.returncode != 3

    @classmethod
    def tearDownClass(cls):
        for path in cls.root.rglob("*"):
            if not path.is_symlink():
                path.chmod(0o700)
        cls.folder.cleanup()

    def findings(self, *words: str) -> dict:
        done = doctor("--format", "json", *words)
        self.assertIn(done.returncode, (0, 1), done.stderr)
        return json.loads(done.stdout)

    def assert_expected(self, name: str, found: str):
        path = FIXTURES / f"{name}.expected"
        if WRITE:
            path.write_text(found, encoding="utf-8")
        lines = difflib.unified_diff(path.read_text(encoding="utf-8").splitlines(), found.splitlines(), str(path),
                                     "found", n=0, lineterm="")
        first = "\n".join(line for line, _ in zip(lines, range(20)))
        if first:
            self.fail(f"{first}\nIf this is right: {COMMAND}")

    def test_verdicts_on_every_saved_node(self):
        passes: dict[str, list[str]] = {}
        for name in NODES:
            with self.subTest(name):
                done = doctor("--root", str(self.root / name), "--all")
                lines = done.stdout.splitlines(keepends=True)
                own = [line for line in lines if line.startswith("PASS ")]
                for line in own:
                    passes.setdefault(line.strip(), []).append(name)
                self.assertIn(f", {len(own)} PASS, ", lines[-1])
                rest = "".join(line for line in lines if line not in own).replace(f", {len(own)} PASS, ", ", ")
                self.assert_expected(name, rest)
                self.assertEqual(done.returncode, 1 if name in FAILING else 0, done.stderr)
        self.assert_expected("passes", "".join(
            f"{line} | {'all' if nodes == NODES else ' '.join(nodes)}\n" for line, nodes in sorted(passes.items())))

    def test_each_fault_is_found_and_nothing_else(self):
        found = self.findings("--root", str(self.root / "roce-faults"))
        wrong = {(one["id"], one["subject"]) for one in found["findings"] if one["status"] in ("FAIL", "WARN", "ERROR")}
        self.assertEqual(wrong, set(FAULTS))
        well = self.findings("--root", str(self.root / "roce"))
        self.assertEqual(well["summary"]["fail"] + well["summary"]["warn"] + well["summary"]["error"], 0, well)

    def test_every_profile_of_share_is_read_and_named_in_the_documentation(self):
        share = FIXTURES.resolve().parents[2] / "share/profiles"
        documented = (share.parents[1] / "docs/expect.md").read_text(encoding="utf-8")
        for path in sorted(share.glob("*.json")):
            with self.subTest(path.name):
                rate = json.loads(path.read_text(encoding="utf-8"))["rate_gbps"]
                found = self.findings("--root", str(self.root / "roce"), "--only", "port.rate", "--profile", str(path))
                self.assertEqual({one["expected_source"] for one in found["findings"]}, {"profile"})
                self.assertRegex(documented, rf"`{path.name}` \| {rate} Gb/s")

    def test_a_gid_that_moved_since_is_reported(self):
        old = self.root / "roce.json"
        old.write_text(doctor("--root", str(self.root / "roce"), "--format", "json").stdout)
        moved = self.root / "moved"
        unpack.unpack(FIXTURES / "roce.tree", moved)
        port = next(moved.glob("sys/devices/*/*/*/infiniband/mlx5_1/ports/1"))
        for name in ("gids", "gid_attrs/types"):  # as after the address came later: 3 is now 1
            (port / name / "1").write_text((port / name / "3").read_text())
        (port / "gids/3").write_text("fe80:0000:0000:0000:ba3f:d2ff:feaa:0001\n")
        same = doctor("--root", str(self.root / "roce"), "--since", str(old), "--only", "address")
        self.assertIn(" 0 WARN", same.stdout)
        done = doctor("--root", str(moved), "--since", str(old), "--only", "address")
        self.assert_expected("roce.since", done.stdout)
        self.assertIn("index 3: 10.1.0.7 (earlier)", done.stdout)
        other = doctor("--root", str(self.root / "efa"), "--since", str(old))
        self.assertEqual(other.returncode, 2)
        self.assertIn("the earlier document is of 'roce", other.stderr)

    def test_a_saved_archive_gives_the_same_verdicts(self):
        if not self.archives:
            self.skipTest("this build has no libarchive")
        for name in NODES:
            with self.subTest(name):
                folder = self.findings("--root", str(self.root / name), "--collect", str(self.root / f"{name}.tar"))
                saved = self.findings("--root", str(self.root / f"{name}.tar"))
                self.assertEqual(saved["findings"], folder["findings"])
        with tarfile.open(self.root / "packed.tar.gz", "w:gz") as packed:
            packed.add(self.root / "roce", arcname=".")
        self.assertEqual(self.findings("--root", str(self.root / "packed.tar.gz"))["findings"],
                         self.findings("--root", str(self.root / "roce"))["findings"])

    def test_this_machine_is_judged_without_errors_and_quickly(self):
        secret = {"MY_TOKEN": "do-not-tell", "NCCL_DEBUG": "TRACE"}
        target = self.root / "self.tar"
        begin = time.monotonic()
        done = doctor("--format", "json", environment=secret)
        print(f"this machine: {time.monotonic() - begin:.2f} s; {done.stderr.strip()}")
        found = json.loads(done.stdout)
        self.assertEqual([one for one in found["findings"] if one["status"] == "ERROR"], [])
        self.assertNotIn("do-not-tell", done.stdout)
        debug = next(one for one in found["findings"] if one["id"] == "env.nccl_debug")
        self.assertEqual(debug["status"], "WARN")
        if not self.archives:
            return
        done = doctor("--collect", str(target), environment=secret)
        self.assertIn(done.returncode, (0, 1), done.stderr)
        self.assertNotIn(b"do-not-tell", target.read_bytes())
        with tarfile.open(target) as saved:
            for member in saved:
                self.assertFalse(member.name.startswith("/") or ".." in member.name.split("/"), member.name)
                self.assertLessEqual(member.size, 65536)
        again = self.findings("--root", str(target))
        moving = {"port.flaps", "cpu.throttled"}
        self.assertEqual([(one["id"], one["subject"], one["status"]) for one in again["findings"] if one["id"] not in moving],
                         [(one["id"], one["subject"], one["status"]) for one in found["findings"] if one["id"] not in moving])

    def test_the_firmware_is_asked_of_this_machine_alone(self):
        done = doctor("--ask-firmware", "--only", "pcie.write_ordering")
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertNotIn("was not asked", done.stdout)
        done = doctor("--ask-firmware", "--root", str(self.root / "roce"))
        self.assertEqual(done.returncode, 2)
        self.assertIn("--ask-firmware", done.stderr)

    def test_documents_fit_their_schema(self):
        schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
        jsonschema.Draft202012Validator.check_schema(schema)
        validator = jsonschema.Draft202012Validator(schema)
        documents = [self.findings("--root", str(self.root / name)) for name in NODES] + [self.findings()]
        for document in documents:
            errors = [f"{error.json_path}: {error.message}" for error in validator.iter_errors(document)]
            self.assertEqual(errors, [], document["host"])
        whole = documents[0]
        for key in whole:
            broken = copy.deepcopy(whole)
            del broken[key]
            self.assertFalse(validator.is_valid(broken), key)
        for key in whole["findings"][0]:
            broken = copy.deepcopy(whole)
            del broken["findings"][0][key]
            # "action" came later: a document written before it stays valid.
            self.assertEqual(validator.is_valid(broken), key == "action", key)
            broken["findings"][0][key] = {"of": "no such type"}
            self.assertFalse(validator.is_valid(broken), key)
        unexplained = copy.deepcopy(whole)
        skipped = next(one for one in unexplained["findings"] if one["status"] == "SKIP")
        skipped["status"] = "PASS"
        self.assertFalse(validator.is_valid(unexplained), "a pass with a reason to skip")

    def test_the_csv_has_a_line_for_each_finding(self):
        done = doctor("--root", str(self.root / "efa"), "--format", "csv")
        found = self.findings("--root", str(self.root / "efa"))
        lines = done.stdout.splitlines()
        self.assertEqual(len(lines), len(found["findings"]) + 1)
        self.assertTrue(lines[0].startswith("host,id,group,title,subject,status,reason"))

    def test_the_odd_one_among_peers(self):
        files = []
        for index in range(3):
            files.append(str(self.root / f"peer{index}.json"))
            node = self.root / f"peer{index}"
            node.mkdir()
            unpack.unpack(FIXTURES / "mlx5-infiniband.tree", node)
            (node / "proc/sys/kernel/hostname").write_text(f"peer{index}\n")
            doctor("--root", str(node), "--format", "json", "--output", files[-1])
        alike = self.findings("--root", str(self.root / "mlx5-infiniband"), "--peers", *files)
        kernel = next(one for one in alike["findings"] if one["id"] == "software.kernel")
        self.assertEqual((kernel["status"], kernel["expected_source"]), ("PASS", "peers"))
        self.assertEqual(alike["summary"]["warn"], 0)
        odd = self.root / "odd"
        odd.mkdir()
        unpack.unpack(FIXTURES / "mlx5-infiniband.tree", odd)
        (odd / "proc/sys/kernel/osrelease").write_text("5.15.0\n")
        found = self.findings("--root", str(odd), "--peers", *files)
        self.assertEqual([one["id"] for one in found["findings"] if one["status"] == "WARN"], ["software.kernel"])
        own = str(self.root / "own.json")
        doctor("--root", str(odd), "--format", "json", "--output", own)
        itself = self.findings("--root", str(odd), "--peers", own, files[0])
        kernel = next(one for one in itself["findings"] if one["id"] == "software.kernel")
        self.assertEqual(kernel["status"], "SKIP", "one other host is no majority")
        other = str(self.root / "other.json")  # another node that is not like the others
        document = json.loads(pathlib.Path(own).read_text(encoding="utf-8"))
        for one in document["findings"]:
            if one["id"] == "device.count":
                one["observed"] = "1"
        document["host"] = "other"
        pathlib.Path(other).write_text(json.dumps(document), encoding="utf-8")
        among = doctor("--peers", *files, other, "--format", "json")
        self.assertEqual(among.returncode, 1, among.stderr)
        self.assertIn("4 of", among.stderr)
        self.assertEqual([(one["id"], one["subject"], one["status"]) for one in json.loads(among.stdout)["findings"]],
                         [("device.count", "other", "FAIL"), ("software.kernel", "other", "WARN")])
        page = subprocess.run([RDMABENCH, "report", *files, other, "--format", "markdown"],
                              capture_output=True, text=True, check=True).stdout
        self.assertIn("device.count", page)
        page = subprocess.run([RDMABENCH, "report", *files, other, "--format", "html"],
                              capture_output=True, text=True, check=True).stdout
        fails = [int(count) for count in re.findall(r'"summary":{[^}]*"fail":([0-9]+)', page)]
        self.assertEqual(fails, [0, 0, 0, 1], "the summary counts what the comparison found")
        self.assertEqual(doctor("--peers", *files[:2]).returncode, 2, "two are too few")
        self.assertEqual(doctor("--peers", *files, "--ask-gpus").returncode, 2, "it is about this machine")
        for ignored in (("--only", "gpu"), ("--expect", "devices=8")):
            self.assertEqual(doctor("--peers", *files, *ignored).returncode, 2, ignored)
        self.assertEqual(doctor("--peers", *files, "--format", "line").stdout,
                         "3 nodes compared, 0 WARN, no difference is a FAIL; 0 checks of 0 nodes FAIL by themselves\n")
        document["findings"][0]["status"] = document["findings"][1]["status"] = "FAIL"
        pathlib.Path(other).write_text(json.dumps(document), encoding="utf-8")
        last = doctor("--peers", *files, other).stdout.splitlines()[-1]
        self.assertIn("2 checks of 1 node FAIL by themselves", last)
        twice = doctor("--root", str(odd), "--peers", files[0], files[0])
        self.assertEqual(twice.returncode, 2, twice.stderr)
        self.assertIn("'peer0'", twice.stderr)

    def test_an_error_is_no_success(self):
        broken = self.root / "broken"
        broken.mkdir()
        unpack.unpack(FIXTURES / "mlx5-infiniband.tree", broken)
        (broken / "sys/class/infiniband/mlx5_0/ports/1/sm_lid").write_text("none\n")
        done = doctor("--root", str(broken), "--format", "json")
        summary = json.loads(done.stdout)["summary"]
        self.assertEqual(summary["fail"], 0)
        self.assertGreater(summary["error"], 0)
        self.assertEqual(done.returncode, 1)

    def test_the_root_by_another_name_is_this_machine(self):
        for root in ("/.", "//"):
            with self.subTest(root):
                found = self.findings("--root", root, "--only", "env.nccl_debug")
                own = self.findings("--only", "env.nccl_debug")
                self.assertEqual(found["findings"], own["findings"])
                done = doctor("--root", root, "--only", "env", environment={"NCCL_DEBUG": "TRACE"})
                self.assertIn("env.nccl_debug", done.stdout, "the environment is this process's")

    def test_expectations_and_their_sources(self):
        profile = self.root / "site.json"
        profile.write_text('{"rate_gbps": 800, "devices": 2}')
        found = self.findings("--root", str(self.root / "mlx5-infiniband"), "--profile", str(profile),
                              "--expect", "devices=4", "--only", "port.rate", "--only", "device.count")
        self.assertEqual([(one["id"], one["status"], one["expected_source"]) for one in found["findings"]],
                         [("device.count", "FAIL", "user"), ("port.rate", "FAIL", "profile"),
                          ("port.rate", "FAIL", "profile")])

    def test_wrong_usage_is_named(self):
        bad = self.root / "bad.json"
        bad.write_text("{}")
        for words, text in ((("--root", "/no/such/folder"), "/no/such/folder"),
                            (("--expect", "speed=1"), "'speed'"),
                            (("--expect", "mtu=big"), "'big'"),
                            (("--only", "ports"), "'ports'"),
                            (("--profile", "/no/such.json"), "/no/such.json"),
                            (("--peers", str(bad)), "bad.json"),
                            (("--format", "yaml"), "yaml")):
            with self.subTest(words):
                done = doctor(*words)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn(text, done.stderr)
                self.assertEqual(done.stdout, "")

    def test_every_check_is_listed(self):
        listed = doctor("--list").stdout
        self.assertGreaterEqual(len(listed.splitlines()), 61)
        helped = doctor("--help").stdout
        for word in ("--collect", "--root", "--peers", "NCCL_IB_HCA", "rate_gbps", "Exit codes"):
            self.assertIn(word, helped)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=1)
