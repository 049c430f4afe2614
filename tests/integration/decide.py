#!/usr/bin/env python3
"""`rdmabench decide` from nothing: its script run over libfabric's net, by srun where Slurm is, and what it decides from that.

Usage: decide.py RDMABENCH SCHEMA. Needs python3-jsonschema.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import jsonschema

import command
from command import run, server

SCHEMA: dict = {}
JOB = ("--model", "bert-large", "--nodes", "8:64", "--bucket", "1M", "--rails", "1", "--gpus", "1", "--gpu-flops", "100T")
NAMES = ("--a-name", "My net", "--b-name", "Ethernet")
ONE_NODE = pathlib.Path(__file__).resolve().parents[1] / "slurm" / "one_node"
SLURM = (str(ONE_NODE), "--seconds", "200") if shutil.which("slurmctld", path=f"{os.environ['PATH']}:/usr/sbin") else ()
MONEY = ("--price-a", "30", "--price-b", "26", "--steps", "500k")


class Decide(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.path = pathlib.Path(cls.folder.name)
        planned = run("decide", "--plan", *JOB, *NAMES, *MONEY, "-o", str(cls.path / "measure.sh"))
        if planned.returncode != 0:
            raise AssertionError(planned)
        # As ssh does: the words become one line for a shell in another folder.
        ssh = cls.path / "ssh"
        ssh.write_text('#!/bin/sh\nshift\ncd /\nexec sh -c "$*"\n', encoding="utf-8")
        ssh.chmod(0o755)
        with server() as peer:
            link = f"--backend ofi --port {peer.port} --no-watch"
            cls.environment = {**os.environ, "RDMABENCH": os.path.realpath(command.TOOL), "SERVER_A": "127.0.0.1", "SERVER_B": "127.0.0.1", "LAUNCHER_A": "srun -N1 -n1 --overlap" if SLURM else "env", "LAUNCHER_B": f"{ssh} node1",
                               "OPTIONS_A": link, "OPTIONS_B": link, "BW_TIME": "30ms"}
            cls.first = cls.measure(*SLURM)
        cls.again = cls.measure()  # without a server

    @classmethod
    def measure(cls, *launcher: str) -> subprocess.CompletedProcess:
        return subprocess.run([*launcher, "sh", "measure.sh"], cwd=cls.path, env=cls.environment, capture_output=True, text=True, timeout=240)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def decide(self, *words: str, job=JOB):
        return run("decide", str(self.path / "my-net"), str(self.path / "ethernet"), *job, *NAMES, *words)

    def test_the_script_measures_in_turn_and_decides(self):
        self.assertEqual(self.first.returncode, 0, self.first.stderr)
        order = re.findall(r"^(my-net|ethernet)/lat-(\d\d)\.json", self.first.stderr, re.MULTILINE)
        self.assertEqual([(name[0], number) for name, number in order],
                         [("m", "01"), ("e", "01"), ("e", "02"), ("m", "02"), ("m", "03"), ("e", "03"), ("e", "04"), ("m", "04"), ("m", "05"), ("e", "05")])
        for side in ("my-net", "ethernet"):
            self.assertEqual(len(list((self.path / side).glob("*.json"))), 10)
        self.assertRegex((self.path / "decision.html").read_text(encoding="utf-8"), '"Is My net .*Ethernet.*[?]"')

    def test_what_is_measured_is_not_measured_again(self):
        self.assertEqual(self.again.returncode, 0, self.again.stderr)
        self.assertNotIn("lat-", self.again.stderr)

    def test_the_json_follows_its_schema_in_both_languages(self):
        for language in ("en", "ko"):
            done = self.decide(*MONEY, "--format", "json", "--language", language)
            self.assertEqual(done.returncode, 0, done.stderr)
            document = json.loads(done.stdout)
            jsonschema.validate(document, SCHEMA)
            self.assertEqual(document["language"], language)
            self.assertEqual(document["a"]["latency_launches"], 5)
            commands = [block["command"]["line"] for section in document["page"]["sections"] for block in section["blocks"] if "command" in block]
            for line in commands:
                self.assertEqual(f"--language {language}" in line, line.startswith("rdmabench decide "), line)

    def test_a_report_holds_what_the_page_says(self):
        self.assertEqual(self.decide(*MONEY, "-o", str(self.path / "page.json")).returncode, 0)
        page = json.loads((self.path / "page.json").read_text(encoding="utf-8"))["page"]
        for form in ("html", "markdown", "junit", "csv"):
            done = run("report", str(self.path / "page.json"), "-o", str(self.path / "report"), "--format", form)
            self.assertEqual(done.returncode, 0, done.stderr)
            text = (self.path / "report").read_text(encoding="utf-8")
            self.assertIn(page["sections"][0]["blocks"][0]["sentence"]["text"], text)
            self.assertNotIn("<failure", text)

    def test_the_format_follows_the_name_of_the_file(self):
        for end, first in ((".html", "<!DOCTYPE html>"), (".md", "# Is "), (".json", "{"), (".txt", "Is My net")):
            file = self.path / f"page{end}"
            self.assertEqual(self.decide("-o", str(file)).returncode, 0)
            self.assertTrue(file.read_text(encoding="utf-8").startswith(first))
        done = self.decide("-o", str(self.path / "page.pdf"))
        self.assertEqual(done.returncode, 2)
        self.assertIn("page.pdf", done.stderr)
        self.assertIn(".txt, .md, .json, .html", done.stderr)

    def test_all_that_is_missing_is_said_at_once_with_the_commands(self):
        done = self.decide(job=("--model", "bert-large", "--nodes", "8:1000", "--rails", "1"))
        self.assertEqual(done.returncode, 2)
        for words in ("My net: the job sends", "Ethernet: the job sends", "My net: the slowest of", "rdmabench lat HOST --op write --size",
                      "rdmabench bw HOST --op write --size", "rdmabench decide --plan --a-name 'My net'"):
            self.assertIn(words, done.stderr)

    def test_the_links_of_a_node_are_asked_for_or_measured(self):
        job = ("--model", "bert-large", "--nodes", "8:64", "--bucket", "1M", "--gpu-flops", "100T")
        for done in (self.decide(job=job), run("decide", "--plan", *job, *NAMES)):
            self.assertEqual(done.returncode, 2)
            self.assertIn("Give --rails 8 where each GPU has a NIC", done.stderr.replace("\n", " "))
        for side in ("my-net", "ethernet"):
            (self.path / "all" / side).mkdir(parents=True)
            for file in (self.path / side).glob("*.json"):
                document = json.loads(file.read_text(encoding="utf-8"))
                document["resolved"]["device"] = "mlx5_0,mlx5_1"
                (self.path / "all" / side / file.name).write_text(json.dumps(document), encoding="utf-8")
        done = run("decide", str(self.path / "all" / "my-net"), str(self.path / "all" / "ethernet"), *job, *NAMES)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout.replace("\n", " "), r"links per node, each as measured: 1 \(measured\)")

    def test_the_script_needs_no_folder_that_clients_see(self):
        script = (self.path / "measure.sh").read_text(encoding="utf-8")
        self.assertNotIn("--output \"$file", script)
        self.assertRegex(script, r"# It measures for about \d+ min over links of 25 Gb/s; REST=TIME adds a pause between its 5 rounds\.")
        self.assertIn("measuring for about", self.first.stderr)
        korean = run("decide", "--plan", *JOB, *NAMES, "--language", "ko").stdout
        self.assertRegex(korean, r"(?m)^\"\$RDMABENCH\" decide .* --language ko --output ")

    def test_a_pilot_counts_the_launches(self):
        done = run("decide", "--plan", *JOB, *NAMES, "--pilot", str(self.path / "my-net"))
        self.assertEqual(done.returncode, 0, done.stderr)
        varies = re.search(r"step time varies by [\d.]+ %: (\d+) launches", done.stderr)
        self.assertIn(f'-le {varies.group(1)} ]', done.stdout)
        self.assertTrue(5 <= int(varies.group(1)) <= 30)

    def test_wrong_usage(self):
        for words, said in ((("--price-a", "3"), "--price-a and --price-b"), (("--steps", "5", "--tokens-total", "5"), "--steps and --tokens-total"),
                            (("--pilot", "x"), "--pilot without --plan")):
            done = self.decide(*words)
            self.assertEqual(done.returncode, 2, words)
            self.assertIn(said, done.stderr.replace("\n", " "))
        several = self.decide(job=("--params", "1B,2B", "--nodes", "8"))
        self.assertRegex(several.stderr, "Several values .*--nodes")
        self.assertIn("--plan with --format", run("decide", "--plan", *JOB, "--format", "json").stderr)
        self.assertIn("two paths are needed, not 1", run("decide", "x", *JOB).stderr)


if __name__ == "__main__":
    SCHEMA.update(json.loads(pathlib.Path(sys.argv.pop()).read_text(encoding="utf-8")))
    command.take_tool()
    unittest.main(verbosity=2)
