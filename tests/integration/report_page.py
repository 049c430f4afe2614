#!/usr/bin/env python3
"""Opens the page of `rdmabench report` from a file in headless Chromium, and uses it by keyboard.

Usage: report_page.py RDMABENCH [SCREENSHOT_FOLDER]. Needs chromium, chromium-driver, python3-selenium and python3-pil.
"""

import io
import json
import os
import pathlib
import shutil
import sys
import tempfile
import unittest

from PIL import Image
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select, WebDriverWait

import command
import report_fixtures
from command import run

SHOTS = None  # a folder, if screenshots are wanted
FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--force-color-profile=srgb", "--window-size=1280,1000",
         "--host-resolver-rules=MAP * ~NOTFOUND")
WIDE, PHONE = (1280, 1000), (390, 844)


def open_browser(profile: str) -> webdriver.Chrome:
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or "/usr/bin/chromium"
    for flag in (*FLAGS, f"--user-data-dir={profile}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    # The driver of the package that the browser came with, so that nothing is looked up or downloaded.
    browser = webdriver.Chrome(service=Service(executable_path=shutil.which("chromedriver") or "/usr/bin/chromedriver"), options=options)
    browser.set_page_load_timeout(60)
    return browser


def colours(png: bytes) -> int:
    """How many colours take at least 20 pixels: a blank area has one."""
    found = Image.open(io.BytesIO(png)).convert("RGB").getcolors(1 << 24)
    return sum(1 for count, _ in found if count >= 20)


class Page(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        cls.path = pathlib.Path(cls.folder.name)
        files = report_fixtures.write(cls.path, 64)
        for test, words in (("lat", ("--size", "8:4K", "-n", "2000")), ("bw", ("--size", "8:64K", "-n", "2000")),
                            ("load", ("--size", "64", "-D", "20ms"))):
            file = cls.path / f"{test}.json"
            result = run(test, "--backend", "loop", *words, "--format", "json", "--output", str(file))
            if not file.exists():
                raise AssertionError(f"{test}: {result}")
            files.append(str(file))
        cls.page = cls.path / "report.html"
        result = run("report", *files, "--output", str(cls.page))
        if result.returncode != 0:
            raise AssertionError(result)
        os.environ["HOME"] = cls.folder.name  # whatever a browser leaves there goes with it
        cls.browser = open_browser(str(cls.path / "profile"))

    @classmethod
    def tearDownClass(cls):
        cls.browser.quit()
        cls.folder.cleanup()

    def setUp(self):
        self.load(WIDE)

    def load(self, size, dark=False):
        width, height = size
        self.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                                     {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500})
        self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]})
        self.browser.get_log("browser")
        self.browser.get_log("performance")
        self.browser.get(self.page.as_uri())
        self.wait("return document.documentElement.dataset.ready === '1'")
        # Those in sight of the layout draw themselves in the next frame.
        self.wait("return [...document.querySelectorAll('.chart')].every(e => e.clientWidth === 0 || e.dataset.drawn)")

    def wait(self, script: str):
        WebDriverWait(self.browser, 30).until(lambda browser: browser.execute_script(script))

    def all(self, selector: str):
        return self.browser.find_elements(By.CSS_SELECTOR, selector)

    def text(self, selector: str) -> str:
        return "\n".join(element.text for element in self.all(selector))

    def section(self, title: str):
        return next(one for one in self.all("main > section") if one.find_element(By.TAG_NAME, "h2").text == title)

    def rows(self, title: str, table: str) -> list[str]:
        """Of a table that stands open, by how its title begins."""
        return [row.text for row in self.section(title).find_elements(By.CSS_SELECTOR, f"[aria-label^='{table}'] tbody tr")]

    def ground(self) -> int:
        """The page's background: the sum of its red, green and blue."""
        value = self.browser.execute_script("return getComputedStyle(document.body).backgroundColor")
        return sum(int(part) for part in value[value.index("(") + 1:-1].split(",")[:3])

    def press(self, *keys):
        for key in keys:
            self.browser.switch_to.active_element.send_keys(key)

    def check_quiet(self):
        self.assertEqual(self.browser.get_log("browser"), [])

    def test_nothing_goes_wrong_and_nothing_is_asked_for(self):
        for element in self.all("summary"):
            self.browser.execute_script("arguments[0].click()", element)
        self.check_quiet()
        requests = []
        for entry in self.browser.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                requests.append(message["params"]["request"]["url"])
            self.assertNotIn("webSocketCreated", message["method"])
        self.assertEqual(requests, [self.page.as_uri()])

    def test_the_policy_forbids_what_the_page_never_asks(self):
        blocked = self.browser.execute_async_script("""
            const done = arguments[arguments.length - 1];
            addEventListener('securitypolicyviolation', (event) => done(event.violatedDirective));
            const image = new Image(); image.src = 'https://example.invalid/x.png'; document.body.append(image);
            setTimeout(() => done('nothing'), 5000);""")
        self.assertEqual(blocked, "default-src" if blocked == "default-src" else "img-src")

    def test_every_chart_is_drawn(self):
        charts = [chart for chart in self.all(".chart") if chart.is_displayed()]
        self.assertGreaterEqual(len(charts), 8)
        for chart in charts:
            title = self.browser.execute_script("return arguments[0].closest('figure').querySelector('figcaption').textContent", chart)
            self.browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", chart)
            with self.subTest(title):
                self.assertGreaterEqual(colours(chart.screenshot_as_png), 3)
                words = self.browser.execute_script("return [...arguments[0].querySelectorAll('svg text')].map(e => e.textContent)", chart)
                self.assertGreater(len(words), 4)

    def test_the_heat_map_has_every_cell_and_names_who_stands_out(self):
        figure = next(one for one in self.all("figure") if "Node pairs: bandwidth" in one.text)
        words = figure.find_element(By.CSS_SELECTOR, ".words").text
        cells = 64 * 63
        self.assertRegex(words, rf"Of (39\d\d|4\d\d\d) cells")
        shapes = self.browser.execute_script("return arguments[0].querySelectorAll('svg path').length", figure)
        self.assertGreater(shapes, cells - 128)  # but those of the node that was lost
        for band in ("97 to 105 %, typical (3735)", "under 50 % (2)", "over 105 % (0)"):
            self.assertIn(band, figure.find_element(By.CSS_SELECTOR, ".legend").text)
        labels = self.browser.execute_script("return [...arguments[0].querySelectorAll('svg text')].map(e => e.textContent).join(' ')", figure)
        for rank in (report_fixtures.SLOW_SENDER, report_fixtures.SLOW_RAIL, report_fixtures.LOST):
            self.assertIn(f"\u25b6 {report_fixtures.host(rank)}", labels)
        rows = self.rows("Fabric", "What stands out")
        table = "\n".join(rows)
        for rank in (report_fixtures.SLOW_SENDER, report_fixtures.SLOW_RAIL, *report_fixtures.ROUTE):
            self.assertIn(report_fixtures.host(rank), table)
        self.assertIn("confirmed against two good nodes", table)
        self.assertIn("do first", self.section("Fabric").find_element(By.CSS_SELECTOR, "[aria-label='What stands out'] thead").text)
        self.assertEqual(table.count("run doctor"), 3, "of two findings and the node that was lost")
        self.assertNotIn("run doctor", next(row for row in rows if "square test" in row), "the finding without an action")
        lost = next(row for row in rows if "lost in round 8" in row)
        self.assertIn(report_fixtures.host(report_fixtures.LOST), lost)
        self.assertIn("rank: 50", lost)
        self.assertRegex(self.section("Fabric").text, r"^.*\n\S+ FAIL 1 of 64 nodes lost: .* 63 .* 3 findings\n")
        nodes = self.rows("Fabric", "Each node's medians over its partners, the worst first; 100 % is typical".replace("'", "\\'"))
        self.assertEqual(len(nodes), 64 * 2 * 2)

    def test_a_cell_says_what_it_is(self):
        chart = next(one for one in self.all("figure") if "Node pairs: bandwidth" in one.text).find_element(By.CSS_SELECTOR, ".chart")
        self.browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", chart)
        left, top, right, bottom = 118, 118, 8, 8  # the margins of fabric.js
        cell = ((chart.size["width"] - left - right) / 64, (chart.size["height"] - top - bottom) / 64)
        column, row = report_fixtures.SLOW_SENDER, 3  # from the node that is called HOSTILE
        ActionChains(self.browser).move_to_element_with_offset(chart, int(left + (column + 0.5) * cell[0] - chart.size["width"] / 2),
                                                               int(top + (row + 0.5) * cell[1] - chart.size["height"] / 2)).perform()
        self.wait("return [...document.querySelectorAll('.tip')].some(e => e.textContent)")
        self.assertIn(f"{report_fixtures.HOSTILE} to {report_fixtures.host(column)}", self.text(".tip"))
        self.assertRegex(self.text(".tip"), r"(9\d|10\d) % of typical")
        self.assertEqual(self.all("img"), [])

    def test_a_large_fabric_is_shown_by_blocks(self):
        file = self.path / "large.jsonl"
        file.write_text(report_fixtures.fabric(512, 8), encoding="utf-8")
        page = self.path / "large.html"
        result = run("report", str(file), "-o", str(page))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.open(page)
        self.assertIn("worst of 4 by 4 pairs", self.text(".words"))
        chart = self.all(".chart")[0]
        self.browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", chart)
        self.assertGreaterEqual(colours(chart.screenshot_as_png), 4)
        self.check_quiet()

    def test_a_rail_and_a_metric_can_be_chosen(self):
        figure = next(one for one in self.all("figure") if "Node pairs: bandwidth" in one.text)
        rail = next(one for one in self.all("label.choice") if one.text.startswith("Rail"))
        Select(rail.find_element(By.TAG_NAME, "select")).select_by_visible_text("mlx5_1")
        self.assertIn("on mlx5_1", figure.find_element(By.CSS_SELECTOR, ".words").text)
        metric = next(one for one in self.all("label.choice") if one.text.startswith("Metric"))
        Select(metric.find_element(By.TAG_NAME, "select")).select_by_visible_text("latency, 8 B")
        self.assertIn("Node pairs: latency, 8 B", self.text("figcaption"))
        self.check_quiet()

    def test_a_pair_can_be_looked_up(self):
        for label, rank in (("Sender", report_fixtures.ROUTE[0]), ("receiver", report_fixtures.ROUTE[1])):
            choice = next(one for one in self.all("label.choice") if one.text.startswith(label))
            Select(choice.find_element(By.TAG_NAME, "select")).select_by_value(str(rank))
        self.assertRegex(self.text(".found"), r"mlx5_1 [\d.]+ Gb/s 4\d %")

    def test_findings_come_with_remedies(self):
        row = next(row for row in self.rows("Node checks", "What stands out") if "port.rate" in row)
        for words in ("FAIL", "replace cable", "Reseat or replace the cable of mlx5_0:1.", "2 places", "expected: 400 Gb/s (4X NDR)", "ports/1/rate"):
            self.assertIn(words, row)
        self.assertIn("2 places", self.text("#summary"))
        self.assertIn("port.rate", self.text("#summary"))
        self.assertIn("CONFOUNDED by environment.client.kernel", self.text("#summary"))

    def test_collectives_have_curves_rows_and_their_share_of_the_wire(self):
        figures = [one for one in self.all("figure") if one.find_element(By.TAG_NAME, "figcaption").text in ("Bus bandwidth over size", "Time over size")]
        self.assertEqual(len(figures), 2)
        words = self.browser.execute_script("return [...arguments[0].querySelectorAll('svg text')].map(e => e.textContent).join(' ')", figures[0])
        for word in ("all-reduce, float32, sum", "all-gather, bfloat16", "the wire, 48.5 GB/s", "1G"):
            self.assertIn(word, words)
        rows = self.rows("Collectives", "Every row")
        self.assertEqual(len(rows), 22)
        self.assertTrue(any("16 wrong elements" in row and "rank 5, iteration 12, byte 4096 for 64 bytes: stale" in row and report_fixtures.HOSTILE in row for row in rows), rows)
        self.assertTrue(any(") is late by 41 us" in row and "last in 93 %" in row for row in rows), rows)
        self.assertTrue(any("4 GiB of buffers" in row for row in rows), rows)
        self.assertTrue(any("algorithm: Ring" in row and "840 results" in row for row in rows), rows)
        section = self.section("Collectives")
        self.assertIn("8 ranks on 3 hosts, by nccl", section.text)
        self.assertRegex(section.text, r"bus bandwidth reaches [89]\d(\.\d)? % at most")
        self.assertIn("16 wrong elements", self.text("#summary"))
        self.assertIn(") is late by 41 us", self.text("#summary"))
        choice = next(one for one in self.all("label.choice") if one.text.startswith("Operation"))
        Select(choice.find_element(By.TAG_NAME, "select")).select_by_visible_text("all-gather")
        words = self.browser.execute_script("return [...arguments[0].querySelectorAll('svg text')].map(e => e.textContent).join(' ')", figures[0])
        self.assertNotIn("all-reduce", words)
        self.assertIn("all-gather, float32", words)
        self.check_quiet()

    def test_what_differs_between_two_sides_is_said_in_a_word(self):
        rows = [row.text for row in self.all("tr.differs")]
        self.assertTrue(any("kernel" in row and "differs" in row for row in rows), rows)

    def test_every_chart_has_a_table(self):
        for details in self.all("figure > details"):
            self.browser.execute_script("arguments[0].open = true", details)
        self.wait("return [...document.querySelectorAll('figure')].every(e => (e.querySelector('details') ?? e.closest('section')).querySelector('td'))")

    def test_a_name_is_never_markup(self):
        self.assertEqual(self.all("img"), [])
        self.assertEqual(len(self.all("script")), 2)
        self.assertIn(report_fixtures.HOSTILE, "\n".join(self.rows("Node checks", "What stands out")))
        self.all(".chart svg")
        begin = report_fixtures.HOSTILE
        end = report_fixtures.HOSTILE_END_SHOWN
        for name in (begin, end):
            self.assertIn(name, self.browser.execute_script("return document.querySelector('select[id]').closest('section').textContent"))
        section = self.section("Collectives")
        for element in section.find_elements(By.CSS_SELECTOR, "details"):
            self.browser.execute_script("arguments[0].open = true", element)
        WebDriverWait(self.browser, 30).until(lambda browser: browser.execute_script(
            "return [...arguments[0].querySelectorAll('details')].every(e => e.querySelector('td, li, p'))", section))
        words = self.browser.execute_script("return arguments[0].textContent", section)
        for text in (f"rank 7 ({end}{begin}) is behind", f"Gb/s by {begin} {end}.", f"{begin}: {end}", f"{end}{begin}", f"{begin}{end}{end}",
                     f"{begin} for 0x3f800000"):  # blame, wire, facts of a row and of the library, a row, what was found in place of a value
            self.assertIn(text, words)
        options = [one.get_attribute("textContent") for one in section.find_elements(By.CSS_SELECTOR, "label.choice option")]
        self.assertIn(begin, options)
        self.assertIn(end, options)
        self.assertIn(begin, self.browser.execute_script("return [...arguments[0].querySelectorAll('svg text')].map(e => e.textContent).join(' ')", section))
        self.assertEqual(self.all("img"), [])
        self.assertEqual(len(self.all("script")), 2)
        self.check_quiet()

    def test_a_document_of_odd_types_breaks_nothing(self):
        odd = [{"schema": "rdmabench-doctor/1", "host": {"a": 1}, "findings": [{"status": 7, "evidence": "x", "remedy": [1], "id": None}]},
               {"schema": "rdmabench/1", "test": "latency", "environment": 5, "resolved": [], "suspicions": [7], "notes": "x",
                "results": [{"size_bytes": "x"}, {"size_bytes": 8, "p50_ns": "fast", "max_ns": -1, "unsupported_percentiles": 3}]},
               {"schema": "rdmabench/1", "test": "load", "results": [{"size_bytes": 8, "load": "x", "knee": 1}]},
               {"schema": "rdmabench/1", "test": ["x"], "results": [{}]},
               {"schema": "rdmabench-compare/1", "verdict": 3, "a": 1, "families": [{"cells": 3}, {"cells": [None, {"estimate": 5}]}], "confounds": [1]},
               {"schema": "rdmabench-coll/1", "backend": 3, "blame": 7, "ranks": "x", "notes": [7], "library": 5, "results": [{"size_bytes": "x"},
                {"size_bytes": 0, "p50_ns": 1, "bus_bytes_per_s": 2, "facts": [3, {"name": 1}, {"name": "wire_share", "value": "x"}], "wrong": 7, "late": {"rank": "y"}},
                {"size_bytes": 8, "p50_ns": 5, "bus_bytes_per_s": -1, "skipped": 0, "wrong": {"checked_results": 1, "wrong_elements": 1, "first": 3}, "root": "r"}]},
               {"schema": "rdmabench-project/1", "axis": 7, "rows": [{}, {"value": "x", "a": 1, "difference": "y"}], "assumptions": ["words", {"name": 3}], "break_evens": 1}]
        lines = [{"record": "plan", "nodes": [{"rank": 0, "host": 5, "rails": "x", "environment": [3, {"name": 1}]}], "plan": [1]},
                 {"record": "lost", "rank": "x"}, {"record": "measurement", "sender": 0, "receiver": 0, "rail": 9, "metric": "latency", "size_bytes": 0, "value": 1e-300},
                 {"record": "verdict", "findings": [{"a": "x", "b": [], "part": 5, "ratio": "y", "evidence": 1}], "typical": [7, {"value": "x"}], "nodes": [7], "not_judged": [{}], "withdrawn": 3}]
        files = [self.path / "odd.json", self.path / "odd.jsonl"]
        files[0].write_text(json.dumps(odd), encoding="utf-8")
        files[1].write_text("".join(json.dumps({"schema": "rdmabench-fabric/1", **line}) + "\n" for line in lines), encoding="utf-8")
        page = self.path / "odd.html"
        result = run("report", *map(str, files), "-o", str(page))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.browser.get(page.as_uri())
        self.wait("return document.documentElement.dataset.ready === '1'")
        for element in self.all("summary"):
            self.browser.execute_script("arguments[0].click()", element)
        self.check_quiet()
        self.assertNotIn("could not be drawn", self.text("main"))
        self.assertGreaterEqual(len(self.all("main > section")), 7)

    def test_by_keyboard_alone(self):
        self.press(Keys.TAB)
        self.assertEqual(self.browser.switch_to.active_element.text, "Skip to the results")
        self.press(Keys.TAB)
        self.assertEqual(self.browser.switch_to.active_element.get_attribute("name"), "theme")
        light = self.ground()
        self.press(Keys.ARROW_RIGHT, Keys.ARROW_RIGHT)
        self.assertEqual(self.browser.execute_script("return document.documentElement.dataset.theme"), "dark")
        self.assertLess(self.ground(), light)
        reached = set()
        for _ in range(60):
            self.press(Keys.TAB)
            active = self.browser.switch_to.active_element
            if active.tag_name == "body":
                break  # once around
            reached.add(active.get_attribute("aria-label") or active.tag_name)
            outline = self.browser.execute_script("return getComputedStyle(document.activeElement).outlineStyle")
            self.assertEqual(outline, "solid", active.tag_name)
        self.assertLessEqual({"a", "select", "summary", "What stands out"}, reached)

    def test_the_skip_link_goes_to_the_results(self):
        self.press(Keys.TAB, Keys.ENTER)
        self.assertEqual(self.browser.execute_script("return document.activeElement.id"), "main")

    def test_dark_follows_the_system(self):
        light = self.ground()
        self.load(WIDE, dark=True)
        self.assertLess(self.ground(), light / 4)
        self.shoot("dark")

    def test_a_phone_scrolls_one_way_only(self):
        self.load(PHONE)
        for element in self.all("details"):
            self.browser.execute_script("arguments[0].open = true", element)
        wide = self.browser.execute_script("return document.documentElement.scrollWidth")
        self.assertLessEqual(wide, PHONE[0])
        self.wait("return [...document.querySelectorAll('.scroll')].every(e => (e.scrollWidth > e.clientWidth + 1) === e.hasAttribute('data-more'))")
        findings = self.all("[aria-label='What stands out']")
        self.assertEqual([one for one in findings if one.get_attribute("data-more") is not None], [], "each finding stands by itself")
        self.check_quiet()
        self.load(PHONE)
        self.shoot("phone")

    def test_paper_is_as_wide_as_the_page(self):
        """A browser makes a page smaller of which a table is wider than the paper."""
        document = json.loads((self.path / "doctor-bad.json").read_text(encoding="utf-8"))
        for one in document["findings"]:
            one["evidence"] = ["sys/devices/pci0000:00/0000:00:0e.0/0000:05:00.0/infiniband/mlx5_8/ports/1/rate"]
        self.report("checks", json.dumps(document))
        self.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {"width": 717, "height": 1000, "deviceScaleFactor": 1, "mobile": False})
        self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
        self.browser.execute_script("dispatchEvent(new Event('beforeprint'))")
        wide = self.browser.execute_script("return document.documentElement.scrollWidth")
        self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
        self.assertLessEqual(wide, 717)

    def report(self, name: str, *documents: str):
        """Opens the page of these documents."""
        files = []
        for i, text in enumerate(documents):
            file = self.path / f"{name}-{i}.json"
            file.write_text(text, encoding="utf-8")
            files.append(str(file))
        page = self.path / f"{name}.html"
        result = run("report", *files, "-o", str(page))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.open(page)

    def open(self, page: pathlib.Path):
        self.browser.get(page.as_uri())
        self.wait("return [...document.querySelectorAll('.chart')].every(e => e.clientWidth === 0 || e.dataset.drawn)")

    def test_a_doubt_of_many_runs_is_one_line(self):
        runs = []
        for i in range(9):
            one = report_fixtures.latency(1, f"node{i}")
            one["suspicions"] = [{"code": "noise", "text": f"client: {i} gaps; use another CPU.", "side": "client",
                                  "summary": "the machine is noisy", "remedy": "use another CPU"}]
            runs.append(json.dumps(one))
        self.report("not_judged", *runs)
        points = [one.text for one in self.all("#summary .points li")]
        files = f"{self.path}/not_judged-0.json, {self.path}/not_judged-1.json and 7 more"
        self.assertEqual(points, [f"! WARN 9 places in {files}: suspect: noise: the machine is noisy"])
        [row] = self.rows("Latency", "What stands out")
        self.assertIn("suspect: noise", row)
        places = self.section("Latency").find_element(By.CSS_SELECTOR, "[aria-label='What stands out'] details")
        self.assertEqual(places.text, "9 places")
        self.browser.execute_script("dispatchEvent(new Event('beforeprint'))")
        self.assertEqual(len(places.find_elements(By.TAG_NAME, "li")), 9, "on paper nothing can be opened")
        self.browser.execute_script("dispatchEvent(new Event('afterprint'))")
        self.assertFalse(places.get_property("open"))
        self.browser.execute_script("arguments[0].open = true", places)
        self.wait("return document.querySelectorAll('td details li').length === 9")
        self.assertIn("client: 8 gaps", places.text)
        self.assertNotIn("use another CPU", places.text, "the remedy is said once")
        self.assertIn("use another CPU", row)

    def test_launches_of_a_side_are_one_line_with_a_band(self):
        runs = [json.dumps(report_fixtures.latency(factor, "node0")) for factor in (1, 1.1, 1.2)]
        self.report("launch", *runs)
        self.assertEqual(self.browser.title, self.text("h1"))
        self.assertIn("node0", self.text("h1"))
        names = self.browser.execute_script("return [...document.querySelectorAll('.chart svg text')].map(e => e.textContent)")
        self.assertTrue(any("3 launches" in name for name in names), names)
        self.assertFalse([name for name in names if "launch-1.json" in name], names)
        for i, text in enumerate(runs):  # what a run counted is no other configuration, and what launches have in common none of them
            runs[i] = json.dumps({**json.loads(text), "not_rdma": "NOT RDMA: measured over ofi", "config": {"depth": 1},
                                  "resolved": {"backend": "verbs", "details": {"retries": str(i), "mtu": "4096"}}})
        runs.insert(0, json.dumps({**json.loads(runs[0]), "over_launches": 3}))
        other = [json.dumps({**json.loads(text), "config": {"depth": 2}}) for text in runs]
        folder = self.path / "p2"
        folder.mkdir()
        for name, side in (("a10", runs), ("b10", other)):
            (folder / f"{name}.json").write_text(json.dumps([json.loads(text) for text in side]), encoding="utf-8")
        self.report("p2/c", *runs[1:])
        names = self.browser.execute_script("return [...document.querySelectorAll('.chart svg text')].map(e => e.textContent)")
        self.assertTrue(any("3 launches" in name for name in names), names)
        files = ", ".join(f"{folder}/c-{i}.json" for i in range(2))
        self.assertEqual([one.text for one in self.all("#summary .points li")], [f"! WARN 3 places in {files} and 1 more: RDMA: NOT RDMA: measured over ofi"])
        self.assertEqual([one.text for one in self.all(".verdict")], ["! WARN NOT RDMA: measured over ofi (3 documents)"])
        page = self.path / "p2.html"
        self.assertEqual(run("report", str(folder / "a10.json"), str(folder / "b10.json"), "-o", str(page)).returncode, 0)
        self.open(page)
        names = " ".join(self.browser.execute_script("return [...document.querySelectorAll('.chart svg text')].map(e => e.textContent)"))
        for one in ("a10.json, 3 launches", "b10.json, 3 launches"):
            self.assertIn(one, names)
        self.assertIn("shaded from the lowest to the highest", self.text(".words"))

    def test_no_knee_is_drawn_into_a_curve_that_does_not_rise(self):
        for factor, begin in ((1, "Above 10 k/s, 10 % of capacity, the offered rate was not kept"), (5, "The knee, the highest load before latency rises")):
            one = {**report_fixtures.latency(1, "node0"), "test": "load"}
            one["results"] = [{**one["results"][0], "load": load / 10, "offered_messages_per_s": load * 1e4, "achieved_messages_per_s": 1e4, "p50_ns": 1e4 if load == 1 else 1e4 * factor,
                               "knee": load == 1, "knee_reliable": True, "saturated": load > 1} for load in range(1, 6)]
            self.report(f"knee{factor}", json.dumps(one))
            self.assertTrue(self.text("figure .words").startswith(begin), self.text("figure .words"))

    def test_runs_of_other_settings_or_unknown_hosts_are_no_launches_of_one(self):
        runs = [report_fixtures.latency(1, "node0") for _ in range(4)]
        for run, depth in zip(runs, (1, 16)):
            run["config"] = {"queue_pairs": 1, "depth": depth, "sizes": "8"}
        for run in runs[2:]:
            run["environment"]["server"] = []
        self.report("other", *[json.dumps(run) for run in runs])
        names = self.browser.execute_script("return [...document.querySelectorAll('.chart svg text')].map(e => e.textContent)")
        self.assertFalse([name for name in names if "launches" in name], names)

    def test_a_limit_that_was_not_decided_is_no_pass(self):
        one = report_fixtures.latency(1, "node0")
        one["expectations"] = [{"expectation": "p99<=2us", "row": "8 B", "status": status, "text": "it was 1.98 us"} for status in ("PASS", "OPEN")]
        self.report("open", json.dumps(one))
        self.assertEqual(self.text("#summary .counts"), "\u25cb 1 OPEN")
        self.assertEqual([point.text for point in self.all("#summary .points li")], [f"\u25cb OPEN {self.path}/open-0.json, 8 B: p99<=2us: it was 1.98 us"])
        self.assertNotIn("Nothing in these documents", self.text("#summary"))

    def test_an_improvement_is_no_failure_and_sides_have_names(self):
        better = report_fixtures.compare()
        better.update(verdict="DIFFERENT", direction="better", failed=False, confounds=[], summary="roce is BETTER than ib: 1 of 1.")
        cell = better["families"][0]["cells"][0]
        cell.update(direction="better", p_beyond_margin_holm=0.001, estimate={**cell["estimate"], "ratio": 0.12, "ratio_low": 0.1, "ratio_high": 0.15})
        better["families"][0]["cells"] = [cell, {**cell, "size_bytes": 64, "estimate": {**cell["estimate"], "ratio": 9.03, "ratio_low": 8, "ratio_high": 10}, "direction": "worse"}]
        self.report("better", json.dumps(better))
        self.assertEqual(self.text(".verdict .badge.pass"), "\u2713 PASS")
        self.assertIn("roce is BETTER than ib", self.text(".verdict"))
        self.assertIn("Nothing in these documents", self.text("#summary"))
        self.assertEqual([row.split(" times")[0].split()[-1] for row in self.rows("Comparison", "write latency p50")], ["0.12", "9.03"])
        self.assertEqual([one.text for one in self.section("Comparison").find_elements(By.CSS_SELECTOR, "td .badge")], ["\u2713 BETTER", "\u2717 WORSE"])
        self.assertFalse([one for one in self.all("details") if one.text.startswith("What else differs") and one.get_attribute("open")])
        ticks = self.browser.execute_script("return [...document.querySelectorAll('.chart svg text')].map(e => e.textContent)")
        self.assertIn("roce against ib", ticks)
        self.assertIn("alike", ticks)
        self.assertIn("10 times", ticks)
        self.assertIn("1/10", ticks)
        self.assertFalse([one for one in ticks if "803" in one or "margin" in one], ticks)
        boxes = self.browser.execute_script("""return [...document.querySelectorAll('.chart svg text')].map(e => e.getBoundingClientRect()).map(r => [r.left, r.right, r.top, r.bottom])""")
        for i, one in enumerate(boxes):
            for other in boxes[i + 1:]:
                apart = one[1] <= other[0] or other[1] <= one[0] or one[3] <= other[2] or other[3] <= one[2]
                self.assertTrue(apart, (ticks[i], one, other))

    def test_a_decision_has_its_answer_its_tables_and_its_commands(self):
        section = self.section("Decision")
        said = self.browser.execute_script("return arguments[0].textContent", section)
        for words in (report_fixtures.HOSTILE, "예", "56 (12 ~ 90)", "1.2초", "2 이상", "rdmabench decide ib roce --rails LINKS", "노드당 링크 1개(기본값)"):
            self.assertIn(words, said)
        self.assertEqual(section.find_element(By.CSS_SELECTOR, ".verdict").text, "예")
        self.check_quiet()

    def test_a_projection_has_its_cost_its_bounds_and_its_first_sentence(self):
        section = self.section("Projection")
        self.assertTrue(section.text.splitlines()[1].startswith("Break-even: ib is better"), section.text[:200])
        for caption, words in (("Cost of one step, in the currency of the prices per node and hour", ("ib", "roce", "0.0125")),
                               ("Bounds by overlap of communication and computation", ("ib: nothing hidden", "roce: all hidden that can be"))):
            table = self.text(f"[aria-label='{caption}']")
            for word in words:
                self.assertIn(word, table)

    def test_nodes_of_one_host_are_told_apart(self):
        lines = [json.loads(line) for line in report_fixtures.fabric(4).splitlines()[:-1]]  # without its verdict
        for node in lines[0]["nodes"]:
            node["host"] = "vm"
        self.report("vm", "".join(json.dumps(line) + "\n" for line in lines))
        labels = self.browser.execute_script("return [...document.querySelectorAll('.chart svg text')].map(e => e.textContent)")
        for rank in range(4):
            self.assertEqual(sum(f"vm ({rank})" in one for one in labels), 2, labels)

    def test_confirming_rounds_stand_beside_those_of_the_plan(self):
        lines = [json.loads(line) for line in report_fixtures.fabric(8).splitlines()[:-1]]  # without its verdict
        again = next(one for one in lines if one.get("metric") == "bandwidth" and (one["sender"], one["receiver"]) == (0, 1))
        usual = again["value"]
        alone = next(one for one in lines if one.get("metric") == "bandwidth" and (one["sender"], one["receiver"]) == (0, 2))
        lines.remove(alone)
        lines += [{**one, "round": 99, "confirming": True, "value": usual * 0.4} for one in (again, alone)]
        lines.append({**again, "round": 99, "confirming": True, "value": 0, "error": "no answer within 5 s"})
        self.report("confirmed", "".join(json.dumps(line) + "\n" for line in lines))
        labels = self.browser.execute_script("return [...document.querySelectorAll('.chart svg text')].map(e => e.textContent)")
        self.assertEqual(len(labels), 2 * (1 + 8), labels)  # of each axis
        for label, rank in (("Sender", 0), ("receiver", 1)):
            choice = next(one for one in self.all("label.choice") if one.text.startswith(label))
            Select(choice.find_element(By.TAG_NAME, "select")).select_by_value(str(rank))
        found = self.text(".found")
        self.assertIn(f"mlx5_0 {usual / 1e9:.3g} Gb/s", found)
        self.assertIn(f"{usual * 0.4 / 1e9:.3g} Gb/s", found)
        Select(choice.find_element(By.TAG_NAME, "select")).select_by_value("2")
        self.assertRegex(self.text(".found"), rf"bandwidth, 1 MiB mlx5_0 \u2013 \u2013 {usual * 0.4 / 1e9:.3g} Gb/s")
        rail = next(one for one in self.all("label.choice") if one.text.startswith("Rail"))
        Select(rail.find_element(By.TAG_NAME, "select")).select_by_visible_text("mlx5_0")
        figure = next(one for one in self.all("figure") if "Node pairs: bandwidth" in one.text)
        self.assertIn("Of 55 cells, 0 are below 90 %", figure.text)
        self.browser.find_element(By.XPATH, "//summary[text()='Confirming rounds: bandwidth, 1 MiB']").click()
        self.wait("return document.querySelectorAll('.chart[data-drawn]').length === 2")
        figure = next(one for one in self.all("figure") if "Node pairs, confirming rounds: bandwidth" in one.text)
        self.assertRegex(figure.text, "Of 2 cells, 2 are below 90 %.* 1 measurement failed")
        self.check_quiet()

    def test_nothing_is_cut_off_on_paper(self):
        self.browser.execute_script("dispatchEvent(new Event('beforeprint'))")
        widths = self.browser.execute_script("return [...document.querySelectorAll('.chart')].filter(e => e.dataset.drawn).map(e => (e.querySelector('svg') ?? e.querySelector('canvas')).clientWidth)")
        self.assertGreater(len(widths), 7)
        self.assertLessEqual(max(widths), 640, widths)
        figure = next(one for one in self.all("figure") if one.find_element(By.TAG_NAME, "figcaption").text == "Latency over message size")
        names = self.browser.execute_script("return [...arguments[0].querySelectorAll('.on-paper li')].map(e => e.textContent)", figure)
        self.assertGreaterEqual(len(names), 6)  # of each run p50 and p99
        self.browser.execute_script("dispatchEvent(new Event('afterprint'))")
        self.assertGreater(self.browser.execute_script("return Math.max(...[...document.querySelectorAll('.chart svg')].map(e => e.clientWidth))"), 640)

    def test_it_can_be_printed(self):
        self.load(WIDE, dark=True)
        before = self.browser.execute_script("return document.documentElement.dataset.theme")
        pdf = self.browser.print_page()
        self.assertEqual(before, "dark")
        self.assertEqual(self.browser.execute_script("return document.documentElement.dataset.theme"), "dark")
        self.assertGreater(len(pdf), 50_000)
        if SHOTS:
            import base64
            (SHOTS / "print.pdf").write_bytes(base64.b64decode(pdf))

    def test_light_is_what_it_is_without_a_wish(self):
        self.assertGreater(self.ground(), 700)
        self.shoot("light")

    def shoot(self, name: str):
        """The whole page, not only what is in sight."""
        width, height = self.browser.execute_script("return [innerWidth, document.documentElement.scrollHeight]")
        if SHOTS is None:
            return
        self.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500})
        self.browser.save_screenshot(str(SHOTS / f"{name}.png"))


if __name__ == "__main__":
    arguments = command.take_tool()
    if len(arguments) > 1 and not arguments[1].startswith("-"):
        SHOTS = pathlib.Path(arguments.pop(1))
        SHOTS.mkdir(parents=True, exist_ok=True)
    unittest.main(argv=arguments)
