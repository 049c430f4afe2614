#!/usr/bin/env python3
"""Fails when web/report.html was not written from what web/ has now: then run scripts/page.

Usage: page.py PROJECT_ROOT
"""

import hashlib
import pathlib
import sys

web = pathlib.Path(sys.argv[1]) / "web"
digest = hashlib.sha256()
for path in [web / "build.mjs", web / "package-lock.json", *sorted((web / "src").iterdir())]:
    digest.update(f"{path.relative_to(web)}\0".encode())
    digest.update(path.read_bytes())
if f"SHA-256 {digest.hexdigest()}" not in (web / "report.html").read_text(encoding="utf-8"):
    sys.exit("web/report.html is older than its sources: run scripts/page and commit it")
