#!/usr/bin/env python3
"""Every option of every command is in its manual page and in the completions of three shells.

Usage: manual.py COMMAND DIRECTORY   (of what cmake/manual.sh wrote)
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

import command

FOLDER = pathlib.Path(sys.argv.pop())


def options(name: str) -> set[str]:
    """The options that the help of a command lists."""
    done = command.run(name, "--help-all")
    text = done.stdout if done.returncode == 0 else command.run(name, "--help").stdout
    return set(re.findall(r"^  (?:-\w,)?(--[a-z0-9-]+)", text, re.MULTILINE))


class Manual(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        listed = command.run("--help").stdout.partition("Subcommands:\n")[2].partition("\n\n")[0]
        cls.options = {name: options(name) for name in re.findall(r"^  (\w+) {2,}", listed, re.MULTILINE)}

    def text(self, name: str) -> str:
        return (FOLDER / name).read_text(encoding="utf-8")

    def test_the_help_lists_options(self):
        self.assertGreater(len(self.options), 13)
        self.assertGreater(sum(map(len, self.options.values())), 200)
        self.assertIn("--relaxed-ordering", self.options["lat"])

    @unittest.skipUnless(shutil.which("help2man"), "help2man is not installed")
    def test_manual_pages(self):
        self.assertEqual({path.stem for path in FOLDER.glob("*.1")}, {"rdmabench", *(f"rdmabench-{name}" for name in self.options)})
        for name, expected in self.options.items():
            page = self.text(f"rdmabench-{name}.1").replace("\\-", "-")
            for option in expected:
                self.assertRegex(page, rf"{option}\b", name)
        self.assertIn("rdmabench serve", self.text("rdmabench.1").replace("\\&", ""))

    def complete_in_bash(self, *words: str) -> list[str]:
        script = ('source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _rdmabench; printf "%s\\n" "${COMPREPLY[@]}"')
        done = subprocess.run(["bash", "-c", script, "bash", FOLDER / "rdmabench.bash", *words],
                              capture_output=True, text=True, timeout=20, check=True)
        return done.stdout.split()

    def test_bash(self):
        self.assertLessEqual(set(self.options), set(self.complete_in_bash("rdmabench", "")))
        for name, expected in self.options.items():
            self.assertLessEqual(expected, set(self.complete_in_bash("rdmabench", name, "-")), name)
        self.assertEqual(self.complete_in_bash("rdmabench", "compare", "--format", "j"), ["json"])

    def test_bash_knows_values(self):
        for name, option, beginning, value in (("lat", "--op", "write-", "write-imm"), ("bw", "--memory", "hu", "huge"),
                                               ("lat", "--transport", "x", "xrc"), ("project", "--model", "bert", "bert-large"),
                                               ("load", "--backend", "lo", "loop"), ("fabric", "--op", "rea", "read"),
                                               ("fabric", "--pattern", "bi", "bisection"), ("fabric", "--metric", "la", "latency"),
                                               ("compare", "--metric", "b", "bandwidth"), ("lat", "--require", "rdma-w", "rdma-write"),
                                               ("lat", "--require", "dev", "device="), ("doctor", "--only", "limit.meml", "limit.memlock")):
            self.assertEqual(self.complete_in_bash("rdmabench", name, option, beginning), [value])
        for name, option, beginning, value in (("coll", "--type", "bf", "bfloat16"), ("coll", "--reduction", "mul", "mulsum"),
                                               ("project", "--parallel", "sh", "sharded"), ("serve", "--auth", "mu", "munge")):
            self.assertEqual(self.complete_in_bash("rdmabench", name, option, beginning), [value])
            self.assertEqual(self.complete_in_bash("rdmabench", name, option, "=", beginning), [value], "a word ends at =")
            self.assertEqual(self.complete_in_bash("rdmabench", name, f"{option}={beginning}"), [f"{option}={value}"])
        self.assertEqual(self.complete_in_bash("rdmabench", "coll", "--type", "half,bf"), ["half,bfloat16"])
        self.assertEqual(self.complete_in_bash("rdmabench", "coll", "--reduction", "=", "sum,mul"), ["sum,mulsum"])
        self.assertIn("sharded", self.complete_in_bash("rdmabench", "project", "--parallel", "="))
        self.assertIn("'*--type=[", self.text("rdmabench.zsh"))
        self.assertIn("gpu", self.complete_in_bash("rdmabench", "doctor", "--only", "gp"))
        self.assertIn("lo", self.complete_in_bash("rdmabench", "lat", "-d", "l"))  # of /sys/class/net
        for program in ("ib_write_bw", "all_reduce_perf", "fi_pingpong", "ucx_perftest"):
            self.assertEqual(self.complete_in_bash("rdmabench", program), [program])
            self.assertIn(program, self.text("rdmabench.zsh"))
            self.assertIn(program, self.text("rdmabench.fish"))

    def test_words_without_an_option(self):
        self.assertEqual(self.complete_in_bash("rdmabench", "completion", "z"), ["zsh"])
        self.assertEqual(self.complete_in_bash("rdmabench", "he"), ["help"])
        self.assertEqual(self.complete_in_bash("rdmabench", "help", "doc"), ["doctor"])
        for shell in ("zsh", "fish"):
            self.assertIn("bash zsh fish", self.text(f"rdmabench.{shell}"))

    def test_the_flags_of_other_programs(self):
        for program, flags in (("ib_write_bw", {"--size", "-s", "--ib-dev", "--qp", "--token-file"}), ("ib_send_lat", {"--iters"}),
                               ("all_reduce_perf", {"--minbytes", "-b", "--ngpus", "--backend"}), ("fi_pingpong", {"-p", "-e"}), ("ucx_perftest", {"-t", "-s", "--backend"})):
            found = self.complete_in_bash("rdmabench", program, "-")
            self.assertLessEqual(flags, set(found))
            self.assertEqual(len(found), len(set(found)), program)
            # What --help lists is what is completed.
            listed = set(re.findall(r"^  (?:-\w, )?(--[\w-]+)", command.run(program, "--help").stdout, re.MULTILINE))
            self.assertLessEqual(listed, set(found), program)
            zsh = self.text("rdmabench.zsh").partition(f"    {program}) _arguments")[2].partition(";;")[0]
            fish = [line for line in self.text("rdmabench.fish").splitlines() if f"__fish_seen_subcommand_from {program}'" in line]
            for flag in flags:
                self.assertRegex(zsh, rf"'\*{flag}=?\[")
                self.assertTrue(any(f" -{'l' if flag[1] == '-' else 's'} {flag.lstrip('-')} " in line + " " for line in fish), (program, flag))
        self.assertNotIn("--tclass", self.complete_in_bash("rdmabench", "all_reduce_perf", "-"))
        self.assertIn("lo", self.complete_in_bash("rdmabench", "ib_send_bw", "-d", "l"))

    def test_bash_knows_hosts(self):
        with tempfile.TemporaryDirectory() as home:
            (pathlib.Path(home) / ".ssh").mkdir()
            (pathlib.Path(home) / ".ssh/known_hosts").write_text(
                "# old\nnode7,10.0.0.7 ssh-ed25519 AAAA\n|1|hash= ssh-rsa AAAA\n[node8]:2222 ssh-rsa AAAA\n"
                "$(touch${IFS}$HOME/started) ssh-ed25519 AAAA\n`touch${IFS}$HOME/started`,node9 ssh-rsa AAAA\n", encoding="utf-8")
            with unittest.mock.patch.dict(os.environ, HOME=home):
                self.assertEqual(self.complete_in_bash("rdmabench", "lat", "node"), ["node7", "node8", "node9"])
                self.assertFalse((pathlib.Path(home) / "started").exists(), "a name was run as a command")
                self.assertEqual(self.complete_in_bash("rdmabench", "bw", "10.0.0"), ["10.0.0.7"])
                self.assertEqual(self.complete_in_bash("rdmabench", "ib_write_lat", "node7"), ["node7"])
                if re.search(r"^127.*\slocalhost\b", pathlib.Path("/etc/hosts").read_text(encoding="utf-8"), re.MULTILINE):
                    self.assertIn("localhost", self.complete_in_bash("rdmabench", "lat", "localh"))

    def test_zsh(self):
        text = self.text("rdmabench.zsh")
        for name, expected in self.options.items():
            part = text.partition(f"    {name}) _arguments")[2].partition(";;")[0]
            self.assertLessEqual(expected, set(re.findall(r"^      '\*(--[a-z0-9-]+)=?\[", part, re.MULTILINE)), name)

    def test_fish(self):
        text = self.text("rdmabench.fish")
        for name, expected in self.options.items():
            lines = [line for line in text.splitlines() if f"__fish_seen_subcommand_from {name}'" in line]
            self.assertLessEqual(expected, {f"--{found}" for line in lines for found in re.findall(r" -l ([a-z0-9-]+)", line)}, name)


if __name__ == "__main__":
    unittest.main(argv=command.take_tool())
