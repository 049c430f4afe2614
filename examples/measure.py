#!/usr/bin/env python3
"""The Python module: launches in turn, limits, a comparison, a page, a server, and errors as types.

measure.py [PAGE.html]
"""

import json
import pathlib
import sys

import rdmabench


def launch() -> dict:
    return rdmabench.run(backend="loop", sizes=[64], stop={"iterations": 1000}, watch=False)


def check(good: bool, what: str) -> None:
    if not good:
        sys.exit(f"wrong: {what}")


def cancelled() -> rdmabench.Cancelled:
    """A run of an hour that another part of the program ends."""
    stop = rdmabench.Cancel()
    try:
        rdmabench.run(backend="loop", stop={"duration_s": 3600}, cancel=stop, on_progress=lambda _: stop.request())
    except rdmabench.Cancelled as ended:
        return ended
    sys.exit("nothing ended the run")


def main() -> None:
    sides: tuple = ([], [])
    for number in range(10):
        sides[number % 2].append(launch())
    judged = rdmabench.judge(sides[0], ["p50<=1s", "p50>=1ns"])
    check([one["status"] for one in judged["expectations"]] == ["PASS", "PASS"], "limits that are kept")
    broken = rdmabench.judge(sides[0], "p50<=1ns")
    check(broken["expectations"][0]["status"] == "FAIL", "a limit that is broken")
    compared = rdmabench.compare(sides[0], sides[1], a_name="first", b_name="second", metrics=["p50"])
    check(compared["schema"] == "rdmabench-compare/1", "a comparison")
    node = rdmabench.doctor(only=["limit"])
    check(bool(node["findings"]), "the doctor's findings")
    page = rdmabench.report([judged, compared, node])
    check("<html" in page and "<testsuite" in rdmabench.report(judged, "junit"), "a page")
    if len(sys.argv) > 1:
        pathlib.Path(sys.argv[1]).write_text(page, encoding="utf-8")

    told: list = []
    with rdmabench.Server(address="127.0.0.1", port=0, on_event=told.append) as server:
        served = rdmabench.run(host="127.0.0.1", port=server.port, backend="loop", stop={"iterations": 100})
    check(served["results"][0]["iterations"] == 100 and any("latency of send over loop" in line for line in told), "a server")

    ended = cancelled()
    check(ended.fault == "cancelled" and ended.report["failure"]["fault"] == "cancelled", "a cancel")
    try:
        rdmabench.run(dept=8)
    except rdmabench.RdmabenchError as error:
        check(error.fault == "usage" and error.remedy == "Did you mean `depth`?", "an error")
    print("rdmabench", rdmabench.version(), json.dumps(compared["verdict"] if "verdict" in compared else None))


if __name__ == "__main__":
    main()
