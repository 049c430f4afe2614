#!/usr/bin/env python3
"""Opens the page of `rdmabench decide` in headless Chromium: light, dark, on a phone and on paper.

Usage: decide_page.py RDMABENCH [SCREENSHOT_FOLDER]. Needs chromium, chromium-driver and python3-selenium.
"""

import base64
import json
import os
import pathlib
import re
import sys
import tempfile
import unittest

from selenium.webdriver.support.ui import WebDriverWait

import command
from command import run
from report_page import PHONE, WIDE, open_browser

SHOTS = None  # a folder, if screenshots are wanted
JOB = ("--model", "bert-large", "--nodes", "2:256", "--rails", "1", "--bucket", "1M", "--gpu-flops", "100T", "--stragglers", "none")
NAMES = ("--a-name", "InfiniBand NDR 400 Gb/s", "--b-name", "100 Gb/s Ethernet (RoCE)")
MONEY = ("--price-a", "30", "--price-b", "26", "--currency", "USD", "--steps", "500k")
PAPER = {"A4": (8.27, 11.69), "Letter": (8.5, 11)}


def texts(node):
    """What the JSON has of the page."""
    if isinstance(node, dict):
        for key, child in node.items():
            if key in ("text", "line", "name") and isinstance(child, str):
                yield child
            else:
                yield from texts(child)
    elif isinstance(node, list):
        for child in node:
            yield from texts(child)


class DecidePage(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        cls.path = pathlib.Path(cls.folder.name)
        for side, depth in (("a", "64"), ("b", "1")):
            (cls.path / side).mkdir()
            for number in range(5):
                for test, words in (("lat", ("--size", "8", "-n", "200")), ("bw", ("--size", "256:1M", "-n", "200", "--depth", depth))):
                    done = run(test, "--backend", "loop", "--op", "write", *words, "--format", "json", "--output", str(cls.path / side / f"{test}{number}.json"))
                    if done.returncode != 0:
                        raise AssertionError(done)
        cls.pages = {}
        for language in ("en", "ko"):
            for kind, money in (("priced", MONEY), ("unpriced", ())):
                page = cls.path / f"{language}-{kind}.html"
                words = ("decide", str(cls.path / "a"), str(cls.path / "b"), *JOB, *NAMES, *money, "--language", language)
                done = run(*words, "-o", str(page))
                if done.returncode != 0:
                    raise AssertionError(done)
                # The page's own name is in the commands that it tells.
                twin = json.loads(run(*words, "--format", "json", "-o", str(page)).stdout or page.read_text(encoding="utf-8"))
                run(*words, "-o", str(page))
                cls.pages[page] = twin
        os.environ["HOME"] = cls.folder.name  # whatever a browser leaves there goes with it
        cls.browser = open_browser(str(cls.path / "profile"))

    @classmethod
    def tearDownClass(cls):
        cls.browser.quit()
        cls.folder.cleanup()

    def load(self, page, size=WIDE, dark=False):
        width, height = size
        self.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500})
        self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]})
        self.browser.get_log("browser")
        self.browser.get_log("performance")
        self.browser.get(page.as_uri())
        self.wait("return document.documentElement.dataset.ready === '1' && document.querySelector('.chart').dataset.drawn === '1'")

    def wait(self, script):
        WebDriverWait(self.browser, 30).until(lambda browser: browser.execute_script(script))

    def shoot(self, name):
        if SHOTS:
            self.browser.save_screenshot(str(pathlib.Path(SHOTS) / f"{name}.png"))

    def ask(self, script):
        return self.browser.execute_script(script)

    def test_it_asks_for_nothing(self):
        for page in self.pages:
            self.load(page)
            self.assertEqual(self.browser.get_log("browser"), [])
            messages = [json.loads(entry["message"])["message"] for entry in self.browser.get_log("performance")]
            asked = [one["params"]["request"]["url"] for one in messages if one["method"] == "Network.requestWillBeSent"]
            self.assertEqual(asked, [page.as_uri()])

    def test_every_text_and_number_is_in_the_json(self):
        for page, twin in self.pages.items():
            self.load(page)
            known = set(texts(twin["page"]))
            shown = self.ask("return [...document.querySelectorAll('h1,#about,main :is(h2,p:not(.small,.words),td,th,pre,.small > span,figcaption)')].map(e => e.textContent)")
            self.assertGreater(len(shown), 60)
            for text in shown:
                self.assertIn(text, known)
            chart = next(block["chart"] for section in twin["page"]["sections"] for block in section["blocks"] if "chart" in block)
            numbers = {f"{tick:g}" for tick in chart["ticks"]} | {f"{point['nodes']:,.0f}" for point in chart["lines"][0]["points"]}
            for text in self.ask("return [...document.querySelectorAll('svg text')].map(e => e.textContent)"):
                self.assertIn(text, numbers | known)

    def test_it_is_in_its_language(self):
        for page, twin in self.pages.items():
            self.load(page)
            self.assertEqual(self.ask("return document.documentElement.lang"), twin["language"])
            self.assertEqual(self.ask("return document.title"), twin["page"]["question"]["text"])
            words = self.ask("return document.querySelector('.theme').textContent + document.getElementById('made').textContent")
            self.assertEqual("Auto" in words and "Made by" in words, twin["language"] == "en")

    def test_the_answer_comes_first_and_the_order_is_kept(self):
        for page, twin in self.pages.items():
            self.load(page)
            self.assertEqual(self.ask("return document.querySelector('.verdict').textContent"), twin["page"]["answer"]["text"])
            self.assertEqual(self.ask("return [...document.querySelectorAll('main > section')].map(e => e.className.slice(2))"),
                             ["answer", "money", "steps", "nodes", "sure", "flips", "next", "basis"])

    def test_the_sentence_that_decides_is_the_largest(self):
        for page in self.pages:
            for size in (WIDE, PHONE):
                self.load(page, size)
                sizes = self.ask("return [...document.querySelectorAll('h1,h2,p,td,th,pre')].map(e => parseFloat(getComputedStyle(e).fontSize))")
                self.assertEqual(self.ask("return parseFloat(getComputedStyle(document.querySelector('.s-answer p')).fontSize)"), max(sizes))

    def test_an_option_is_not_broken_and_no_column_is_lost(self):
        for page in self.pages:
            for size in (WIDE, PHONE):
                self.load(page, size)
                lines = self.ask("return [...document.querySelectorAll('.whole')].map(e => e.getClientRects().length)")
                self.assertGreater(len(lines), 3)
                self.assertEqual(set(lines), {1})
                outside = self.ask("return [...document.querySelectorAll('main td, main tbody th')].filter(e => { const b = e.getBoundingClientRect(); return b.right > innerWidth + 1 || b.left < 0 }).length")
                self.assertEqual(outside, 0)

    def test_labels_of_the_chart_do_not_overlap(self):
        for page in self.pages:
            for size in (WIDE, PHONE):
                self.load(page, size)
                boxes = self.ask("return [...document.querySelectorAll('svg text')].map(e => { const b = e.getBoundingClientRect(); return [b.left, b.top, b.right, b.bottom, e.textContent] })")
                self.assertGreater(len(boxes), 8)
                frame = self.ask("const b = document.querySelector('svg').getBoundingClientRect(); return [b.left, b.top, b.right, b.bottom]")
                for index, one in enumerate(boxes):
                    self.assertLessEqual(one[2], frame[2] + 1, one)
                    for other in boxes[index + 1:]:
                        apart = one[2] <= other[0] or other[2] <= one[0] or one[3] <= other[1] + 3 or other[3] <= one[1] + 3
                        self.assertTrue(apart, (one, other))

    def test_a_phone_shows_it_without_scrolling_sideways(self):
        for page in self.pages:
            self.load(page, PHONE)
            self.assertLessEqual(self.ask("return document.documentElement.scrollWidth"), PHONE[0])
            self.shoot(f"{page.stem}-phone")

    def test_light_and_dark_can_be_read(self):
        for page in self.pages:
            for dark in (False, True):
                self.load(page, dark=dark)
                self.shoot(f"{page.stem}-{'dark' if dark else 'light'}")
                colours = self.ask("""const rgb = (e, what) => getComputedStyle(e)[what].match(/[0-9.]+/g).slice(0, 3).map(Number);
                    return [rgb(document.body, 'backgroundColor'),
                            ...[...document.querySelectorAll('p,th,td,.verdict,h1')].map(e => rgb(e, 'color')),
                            ...[...document.querySelectorAll('svg text')].map(e => rgb(e, 'fill'))]""")

                def luminance(colour):
                    parts = [value / 255 / 12.92 if value <= 10 else ((value / 255 + 0.055) / 1.055) ** 2.4 for value in colour]
                    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]
                ground = luminance(colours[0])
                self.assertEqual(ground < 0.1, dark)
                for colour in colours[1:]:
                    high, low = sorted((ground, luminance(colour)), reverse=True)
                    self.assertGreaterEqual((high + 0.05) / (low + 0.05), 4.5, colour)  # WCAG 2, AA

    def test_it_prints_on_one_sheet(self):
        for page in self.pages:
            for name, (width, height) in PAPER.items():
                for dark in (False, True):
                    self.load(page, dark=dark)
                    printed = self.browser.execute_cdp_cmd("Page.printToPDF", {"paperWidth": width, "paperHeight": height, "preferCSSPageSize": False,
                                                                              "printBackground": True, "marginTop": 0.3, "marginBottom": 0.3})
                    pdf = base64.b64decode(printed["data"])
                    self.assertEqual(len(re.findall(rb"/Type\s*/Page\b", pdf)), 1, (page.name, name))
                    if SHOTS:
                        (pathlib.Path(SHOTS) / f"{page.stem}-{name}.pdf").write_bytes(pdf)


if __name__ == "__main__":
    arguments = command.take_tool()
    if len(arguments) > 1 and not arguments[1].startswith("-"):
        SHOTS = arguments.pop(1)
    unittest.main(argv=arguments, verbosity=2)
