#!/usr/bin/env python3
"""The column parser on what perftest 4.5 printed (real/, from Soft-RoCE) and on what we print.

columns_test.py [RDMABENCH]
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
import perftest_columns  # pylint: disable=wrong-import-position
from perftest_columns import differences, nonsense, parse  # pylint: disable=wrong-import-position

REAL = pathlib.Path(__file__).parent / "real"
TOOLS = [f"ib_{verb}_{kind}" for verb in ("send", "write", "read", "atomic")
         for kind in ("bw", "lat")]
LAT = ["#bytes", "#iterations", "t_min[usec]", "t_max[usec]", "t_typical[usec]", "t_avg[usec]",
       "t_stdev[usec]", "99% percentile[usec]", "99.9% percentile[usec]"]
BW = ["#bytes", "#iterations", "BW peak[MiB/sec]", "BW average[MiB/sec]", "MsgRate[Mpps]"]


def real(name: str) -> dict:
    return parse((REAL / f"{name}.txt").read_text(encoding="utf-8"))


class Real(unittest.TestCase):
    def test_every_file_is_understood(self):
        for path in sorted(REAL.iterdir()):
            result = parse(path.read_text(encoding="utf-8"))
            self.assertTrue(result["test"].endswith(" Test"), path)
            self.assertEqual(result["info"]["Device"], "rxe0", path)
            self.assertEqual(result["info"]["rdma_cm QPs"], "ON" if "_R" in path.name else "OFF")
            self.assertTrue(result["local"] and result["remote"], path)
            self.assertEqual(nonsense(result), [], path)

    def test_all_eight_tools_are_there(self):
        for tool in TOOLS:
            table = real(tool)["tables"][0]
            self.assertEqual(table["columns"], LAT if tool.endswith("lat") else BW)
            self.assertEqual(len(table["rows"]), 1)

    def test_values(self):
        result = real("ib_read_lat")
        self.assertEqual(result["tables"][0]["rows"][0]["t_stdev[usec]"], 15.03)
        self.assertEqual(result["tables"][0]["rows"][0]["99.9% percentile[usec]"], 229.83)
        self.assertEqual(result["local"][0]["OUT"], 0x80)
        self.assertEqual(result["remote"][0]["VAddr"], 0x5595ec773000)
        self.assertEqual(result["remote"][0]["GID"], "00" * 10 + "ffff0a4d0001")
        self.assertEqual(result["info"]["Outstand reads"], "128")

    def test_modes(self):
        self.assertEqual(real("ib_write_lat_D")["tables"][0]["columns"],
                         ["#bytes", "#iterations", "t_avg[usec]", "tps average"])
        self.assertEqual(real("ib_write_bw_gbits")["tables"][0]["columns"][2], "BW peak[Gb/sec]")
        self.assertEqual(real("ib_write_bw_gbits_small")["tables"][0]["rows"][0]["MsgRate[Mpps]"],
                         0.019239)
        self.assertEqual(real("ib_write_bw_cpu")["tables"][0]["columns"][-1], "CPU_Util[%]")
        self.assertEqual(len(real("ib_write_bw_q4")["remote"]), 4)
        self.assertEqual(len(real("ib_write_bw_bboth")["tables"]), 3)
        self.assertIn("hw_counters/sent_pkts=800", real("ib_send_lat_W")["extra"])
        self.assertIn("Bidirectional", real("ib_write_bw_b")["test"])

    def test_newer_releases_say_what_the_number_is(self):
        text = (REAL / "ib_send_bw.txt").read_text(encoding="utf-8").replace("MB/sec", "MiB/sec")
        self.assertEqual(parse(text)["tables"][0]["columns"], BW)


class Broken(unittest.TestCase):
    def test_a_row_that_lacks_a_column(self):
        text = (REAL / "ib_send_bw.txt").read_text(encoding="utf-8").replace("0.008658", "")
        with self.assertRaises(perftest_columns.FormatError):
            parse(text)

    def test_no_table_at_all(self):
        with self.assertRaises(perftest_columns.FormatError):
            parse("Couldn't connect\n")

    def test_a_gid_of_fifteen_bytes(self):
        text = (REAL / "ib_send_bw.txt").read_text(encoding="utf-8").replace("GID: 00:", "GID: ")
        with self.assertRaises(perftest_columns.FormatError):
            parse(text)

    def test_differences_are_seen(self):
        one = real("ib_send_bw")
        self.assertEqual(differences(one, real("ib_send_bw")), [])
        self.assertTrue(differences(one, real("ib_write_bw")))
        self.assertTrue(differences(real("ib_write_bw"), real("ib_write_bw_gbits")))
        other = real("ib_send_bw")
        other["tables"][0]["rows"][0]["#iterations"] = 201
        self.assertIn("iterations", differences(one, other)[0])

    def test_nonsense_is_seen(self):
        one = real("ib_write_lat")
        one["tables"][0]["rows"][0]["t_max[usec]"] = 1.0
        self.assertTrue(nonsense(one))


@unittest.skipIf(len(sys.argv) < 2, "built without the command")
class Ours(unittest.TestCase):
    """The command by perftest's names; the in-process transport needs no device."""

    def run_tool(self, *words: str, name: str = "", code: int = 0) -> subprocess.CompletedProcess:
        command = [COMMAND, *words]
        if name:
            command = [name, *words]
        result = subprocess.run(command, capture_output=True, text=True, timeout=60)
        self.assertEqual(result.returncode, code, result)
        return result

    def own(self, tool: str, *words: str) -> dict:
        # The loop back end has no atomics and nothing that a peer could not do in a thread.
        return parse(self.run_tool(tool, "--backend", "loop", "-n", "200", *words).stdout)

    def test_columns_are_those_of_the_real_tool(self):
        for tool in TOOLS:
            if "atomic" in tool:
                continue
            theirs, own = real(tool), self.own(tool, "-F", *([] if "bw" in tool else ["-s", "8"]),
                                               *(["-s", "4096"] if "bw" in tool else []))
            self.assertEqual(own["test"], theirs["test"])
            self.assertEqual(own["tables"][0]["heading"], theirs["tables"][0]["heading"])
            self.assertEqual(own["tables"][0]["rows"][0].keys(),
                             theirs["tables"][0]["rows"][0].keys())
            self.assertEqual(own["tables"][0]["rows"][0]["#iterations"], 200)
            self.assertEqual(nonsense(own), [])

    def test_modes(self):
        gigabits = self.own("ib_write_bw", "--report_gbits")
        self.assertEqual(gigabits["tables"][0]["heading"],
                         real("ib_write_bw_gbits")["tables"][0]["heading"])
        short = parse(self.run_tool("ib_write_lat", "--backend", "loop", "-D", "1").stdout)
        self.assertEqual(short["tables"][0]["heading"],
                         real("ib_write_lat_D")["tables"][0]["heading"])
        self.assertEqual([row["#bytes"] for row in self.own("ib_send_bw", "-a")["tables"][0]["rows"]],
                         [2 ** power for power in range(1, 24)])

    def test_one_number(self):
        for tool, what in (("ib_write_lat", "latency"), ("ib_write_bw", "bandwidth"),
                           ("ib_write_bw", "message_rate")):
            result = self.run_tool(tool, "--backend", "loop", "-n", "100", f"--output={what}")
            self.assertGreater(float(result.stdout), 0)

    def test_limits_set_the_exit_code(self):
        words = ("ib_write_bw", "--backend", "loop", "-n", "100", "-s", "64")
        self.run_tool(*words, "-w", "0.0001", "-y", "0.0001")
        self.assertIn("below the limit", self.run_tool(*words, "-w", "1e12", code=1).stderr)
        self.assertIn("below the limit", self.run_tool(*words, "-y", "1e12", code=1).stderr)

    def test_json_is_json(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "bw.json"
            self.run_tool("ib_write_bw", "--backend", "loop", "-n", "100", "--out_json",
                          f"--out_json_file={path}")
            self.assertGreater(json.loads(path.read_text())["results"]["BW_average"], 0)

    def test_the_name_of_the_program_chooses_the_tool(self):
        with tempfile.TemporaryDirectory() as folder:
            link = os.path.join(folder, "ib_read_lat")
            os.symlink(os.path.abspath(COMMAND), link)
            result = self.run_tool("--backend", "loop", "-n", "100", name=link)
            self.assertEqual(parse(result.stdout)["test"], "RDMA_Read Latency Test")

    def test_wrong_usage_is_2_and_names_the_remedy(self):
        self.assertIn("Did you mean --size", self.run_tool("ib_write_bw", "--sise", code=2).stderr)
        self.assertIn("raw_ethernet_bw", self.run_tool("ib_write_bw", "--tcp", code=2).stderr)
        self.assertIn("ib_write_bw", self.run_tool("ib_wriet_bw", code=2).stderr)
        self.assertIn("--iters", self.run_tool("ib_write_bw", "--help").stdout)

    def test_a_server_serves_one_client_and_ends(self):
        devices = subprocess.run([COMMAND, "devices"], capture_output=True, text=True, check=True)
        if "ofi" not in devices.stdout:
            self.skipTest("this build has no libfabric, and the loop back end no second process")
        with subprocess.Popen([COMMAND, "ib_send_bw", "-p", "18611", "--backend", "ofi", "--provider", "tcp"], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True) as server:
            try:
                client = self.run_tool("ib_send_bw", "-p", "18611", "--backend", "ofi", "--provider",
                                       "tcp", "-n", "50", "127.0.0.1")
                self.assertEqual(parse(client.stdout)["tables"][0]["rows"][0]["#iterations"], 50)
                output, errors = server.communicate(timeout=30)
            finally:
                server.kill()
            self.assertEqual(server.returncode, 0, errors)
            self.assertIn("Waiting for client to connect", output)
            self.assertIn("bandwidth of send", errors)


if __name__ == "__main__":
    COMMAND = sys.argv.pop(1) if len(sys.argv) > 1 else ""
    unittest.main()
