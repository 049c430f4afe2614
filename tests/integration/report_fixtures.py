"""Documents for the tests of `rdmabench report`: a fabric of 64 nodes with planted faults, checks, a comparison and a
projection. Usage: report_fixtures.py FOLDER [NODES]"""

import json
import pathlib
import random
import sys

HOSTILE = "<img src=x onerror=alert(1)>"
HOSTILE_END = "</script><script>alert(2)</script>\u2028<!--"
HOSTILE_END_SHOWN = HOSTILE_END.replace("\u2028", "?")  # no name ends a line
SLOW_SENDER, SLOW_RAIL, ROUTE, LOST = 17, 33, (5, 40), 50  # what is planted
TYPICAL = {"bandwidth": 392e9, "latency": 1900.0}
SIZE = {"bandwidth": 1 << 20, "latency": 8}


def host(rank: int) -> str:
    return {3: HOSTILE, 4: HOSTILE_END}.get(rank, f"gpu-{rank // 16 + 1}-{rank % 16 + 1:02}")


def slowness(sender: int, receiver: int, rail: int) -> float:
    """By what a pair is slower than typical, noise aside."""
    factor = 1.0
    if sender == SLOW_SENDER:
        factor *= 0.6
    if rail == 0 and SLOW_RAIL in (sender, receiver):
        factor *= 0.72
    if (sender, receiver) == ROUTE and rail == 1:
        factor *= 0.45
    return factor


def finding(part, a, b, rail, ratio, text, evidence):
    action = {"action": "run doctor"} if part != "route" else {}  # files of earlier releases have none
    return {"part": part, "a": a, "b": b, "rail": rail, "metric": "bandwidth", "size_bytes": SIZE["bandwidth"],
            "ratio": ratio, "score": 12.5, "confirmed": part != "route", "evidence": evidence, "text": text, **action}


def fabric(nodes: int = 64, rounds: int | None = None) -> str:
    """JSON Lines as `rdmabench fabric` writes them; of round-robin matchings, as many as `rounds`."""
    random.seed(1)
    environment = [{"name": "kernel", "value": "6.1.0-18"}, {"name": "mlx5_firmware", "value": "28.39.1002"}]
    records = [{"record": "plan", "nodes": [
        {"rank": rank, "host": host(rank), "rails": ["mlx5_0", "mlx5_1"], "environment": [
            {"name": "hostname", "value": host(rank)}, environment[0],
            environment[1] if rank != 9 else {"name": "mlx5_firmware", "value": "28.36.2050"}]}
        for rank in range(nodes)], "plan": {"pattern": "full", "rounds": 0, "seed": 1, "operation": "write",
                                            "backend": "verbs", "transport": "rc", "bandwidth_sizes_bytes": [1 << 20],
                                            "latency_sizes_bytes": [8], "provider": "", "rails": ["mlx5_0", "mlx5_1"], "duration_s": 0.1, "iterations": 0, "timeout_s": 5.0}}]
    for turn in range(nodes - 1 if rounds is None else rounds):
        ring = [0] + [(i + turn) % (nodes - 1) + 1 for i in range(nodes - 1)]
        for a, b in zip(ring[:nodes // 2], reversed(ring[nodes // 2:])):
            for sender, receiver in ((a, b), (b, a)):
                for rail in range(2):
                    for metric in ("bandwidth", "latency"):
                        dead = LOST in (a, b) and turn >= 8
                        if dead and turn > 8:
                            continue
                        factor = slowness(sender, receiver, rail) * random.gauss(1, 0.008)
                        value = TYPICAL[metric] * factor if metric == "bandwidth" else TYPICAL[metric] / factor
                        records.append({"record": "measurement", "round": turn, "pattern": "round-robin", "sender": sender,
                                        "receiver": receiver, "rail": rail, "metric": metric, "size_bytes": SIZE[metric],
                                        "value": 0 if dead else value, "p99_ns": value * 1.4 if metric == "latency" and not dead else None,
                                        "error": f"{host(LOST)} did not answer within 5 s" if dead else None, "confirming": False, "notes": []})
    if nodes > LOST:
        records.append({"record": "lost", "rank": LOST, "round": 8, "reason": "no answer within 5 s"})
    lost = f"1 of {nodes} nodes lost: node {LOST} ({host(LOST)}); among the other {nodes - 1} there are 3 findings"
    records.append({"record": "verdict", "summary": lost if nodes > LOST else "3 findings", "findings": [
        finding("sender", SLOW_SENDER, None, None, 0.6, "sends at 60 % of what its peers send",
                ["59 of 63 receivers see 58 to 62 % from it", "it receives at 100 %", "confirmed against two good nodes"]),
        finding("node", SLOW_RAIL, None, 0, 0.72, "is slow both ways on its first rail only", ["mlx5_0 72 %, mlx5_1 100 %"]),
        finding("route", ROUTE[0], ROUTE[1], 1, 0.45, "is slow though both ends are good with others", ["square test: 45 %, 100 %, 100 %, 99 %"]),
    ], "typical": [{"metric": metric, "size_bytes": SIZE[metric], "value": TYPICAL[metric], "noise": 0.008, "cells": 7900, "failed": 4} for metric in TYPICAL],
        "leads": [], "withdrawn": [], "rails": [], "not_judged": ["Node 50 left the run early and was judged by few partners."],
        "nodes": [{"metric": metric, "size_bytes": SIZE[metric], "rank": rank, "sender_ratio": 1, "receiver_ratio": 1, "partners": 63,
                   "verdict": "slow" if rank in (SLOW_SENDER, SLOW_RAIL) else "lost" if rank == LOST else "good"} for metric in TYPICAL for rank in range(nodes)]})
    records[0] = {"schema": "rdmabench-fabric/1", **records[0]}
    return "".join(json.dumps(record) + "\n" for record in records)


def doctor(name: str, faults: bool) -> dict:
    findings = []
    for group, count in (("port", 8), ("address", 5), ("qos", 4), ("pcie", 9), ("gpu", 3), ("limit", 6), ("cpu", 5)):
        for i in range(count):
            status = "SKIP" if group == "gpu" else "PASS"
            findings.append({"id": f"{group}.check{i + 1}", "group": group, "title": f"A check of {group}", "subject": "mlx5_0:1", "status": status,
                             "reason": "There is no GPU here." if status == "SKIP" else "", "observed": "4: ACTIVE", "expected": "4: ACTIVE",
                             "expected_source": "standard", "remedy": "", "evidence": ["sys/class/infiniband/mlx5_0/ports/1/state"], "privilege": "none"})
    if faults:
        findings[2].update(id="port.rate", title="The port runs at its full rate", status="FAIL", reason="", observed="200 Gb/s (2X NDR)",
                           expected="400 Gb/s (4X NDR)", expected_source="peers", remedy="Reseat or replace the cable of mlx5_0:1.", action="replace cable", evidence=["sys/class/infiniband/mlx5_0/ports/1/rate"])
        findings[20].update(id="pcie.max_read_request", title="The largest PCIe read request", status="WARN", reason="", observed="512",
                            expected="4096", expected_source="derived", remedy="setpci -s 97:00.0 68.w=5936", evidence=["sys/bus/pci/devices/0000:97:00.0/config"])
        findings[30].update(id="limit.memlock", title="Memory that may be locked", status="ERROR", reason="The file could not be read.")
    counts = {status.lower(): sum(one["status"] == status for one in findings) for status in ("PASS", "WARN", "FAIL", "SKIP", "ERROR")}
    return {"schema": "rdmabench-doctor/1", "host": name, "root": "/", "summary": counts, "findings": findings}


def compare() -> dict:
    cells = []
    for i, (ratio, half, verdict) in enumerate(((1.31, 0.02, "DIFFERENT"), (1.02, 0.01, "DIFFERENT_BUT_IMMATERIAL"),
                                                (1.001, 0.012, "EQUIVALENT"), (0.97, 0.06, "INCONCLUSIVE"), (None, 0, "REFUSED"))):
        cells.append({"size_bytes": 8 ** (i + 1), "load": None, "a_log_stddev": 0.01 if ratio else None, "b_log_stddev": 0.01 if ratio else None, "p_within_margin": 0.01,
                      "p_beyond_margin": 0.99, "p_nonzero": 0.2, "p_beyond_margin_holm": 1, "p_nonzero_holm": 0.6, "drift_ratio": 1.0, "drift_p": 0.7, "a_suspect_launches": 0, "b_suspect_launches": 1,
                      "unit": "ns", "a": 1900.0 if ratio else None, "b": 1900.0 * ratio if ratio else None, "a_units": 7, "b_units": 7,
                      "estimate": {"ratio": ratio, "ratio_low": ratio - half, "ratio_high": ratio + half, "log_standard_error": 0.01, "method": "welch_t"} if ratio else None,
                      "verdict": verdict, "direction": "worse" if verdict == "DIFFERENT" else None,
                      "more_launches": 9 if verdict == "INCONCLUSIVE" else None, "obstacle": None,
                      "reason": "Fewer than 10 samples lie beyond this percentile." if verdict == "REFUSED" else ""})
    return {"schema": "rdmabench-compare/1", "not_rdma": None, "verdict": "CONFOUNDED", "as_they_stand": "DIFFERENT", "direction": "worse", "failed": True, "more_launches": None, "obstacle": None,
            "summary": "CONFOUNDED by environment.client.kernel: not only what is compared differs. As they stand: roce is WORSE than ib.",
            "settings": {"margin": 0.05, "alpha": 0.05, "nonzero_alpha": 0.01, "power": 0.9, "seed": 1, "resamples": 9999, "fewest_launches": 5, "factors": ["backend"], "fail_on": ["worse"]},
            "a": {"name": "ib", "launches": 7, "pairs": 1, "failed": [], "suspicions": {}, "counters": {}},
            "b": {"name": "roce", "launches": 7, "pairs": 1, "failed": [], "suspicions": {"migration": 1}, "counters": {"retransmission": 12}},
            "order": {"known": True, "separate": False, "blocks": 4, "pattern": "ABBAABBAABBAAB"},
            "confounds": [{"name": "config.backend", "where": "", "a": ["verbs"], "b": ["ofi"], "declared": True},
                          {"name": "environment.client.kernel", "where": "", "a": ["6.1.0-18"], "b": ["6.5.0-9"], "declared": False}],
            "families": [{"test": "latency", "operation": "write", "kind": "half_round_trip", "metric": "p50", "verdict": "DIFFERENT", "direction": "worse", "more_launches": None, "obstacle": None, "confounded_by": [], "cells": cells}],
            "notes": ["Seven launches of each side, by turns."]}


def project() -> dict:
    def step(seconds):
        return {"step_s": seconds, "step_low_s": seconds * 0.97, "step_high_s": seconds * 1.04, "compute_s": 1.41, "communication_s": seconds - 1.3,
                "stragglers_s": 0.01, "hidden_s": 0.2, "nothing_hidden_s": seconds + 0.2, "all_hidden_s": 1.41, "collectives": 96, "message_bytes": 26214400,
                "message_s": 0.002, "cost_per_step": seconds / 120}
    rows = []
    for nodes in (2, 4, 8, 16, 32, 64, 128):
        a, b = 1.5 + 0.002 * nodes, 1.5 + 0.004 * nodes
        rows.append({"value": nodes, "a": step(a), "b": step(b), "difference": {"ratio": b / a, "ratio_low": b / a * 0.98, "ratio_high": b / a * 1.02,
                     "verdict": "EQUIVALENT" if nodes < 16 else "DIFFERENT", "direction": None if nodes < 16 else "worse", "more_launches": None,
                     "obstacle": None, "reason": ""}, "refusal": None})
    rows.append({"value": 1024, "a": None, "b": None, "difference": None, "refusal": "The tail at 1024 nodes needs 15000 samples; there are 2000."})
    return {"schema": "rdmabench-project/1", "not_rdma": None, "summary": "Break-even: ib is better by more than the margin of 2 % from about 11.6 nodes on.", "operation": "write", "curve": "latency", "margin": 0.02, "alpha": 0.05, "axis": "nodes",
            "a": {"name": "ib", "latency_launches": 7, "bandwidth_launches": 7, "sources": ["ib.json"], "suspicions": []}, "b": {"name": "roce", "latency_launches": 7, "bandwidth_launches": 7, "sources": ["roce.json"], "suspicions": []},
            "assumptions": [{"name": "parameters", "value": "7e9", "unit": "", "origin": "7B: its paper"}, {"name": "overlap", "value": "0.5", "unit": "", "origin": "default"},
                            {"name": "bucket_bytes", "value": "26214400", "unit": "bytes", "origin": "default"}],
            "rows": rows, "break_evens": [{"from": 8, "to": 16, "about": 11.6, "then": "beyond_margin", "direction": "worse"}], "price_a_per_node_hour": None, "price_b_per_node_hour": None,
            "notes": ["A ring over all nodes was assumed."]}


def decide() -> dict:
    """In Korean, with hostile names."""
    def phrase(text):
        return {"key": "cell", "text": text, "values": {"value": {"value": text, "shown": text}}}

    def table(heads, *rows):
        return {"table": {"heads": list(map(phrase, heads)), "rows": [list(map(phrase, row)) for row in rows]}}

    def section(key, title, *blocks):
        return {"key": key, "title": phrase(title) if title else None, "blocks": list(blocks)}
    likely = {"value": 0.8, "low": 0.75, "high": 0.85}
    side = {"latency_launches": 5, "bandwidth_launches": 5, "suspect_launches": 0, "unknown_launches": 0, "suspicions": {}, "sources": []}
    step = {"step_s": 1.2, "step_low_s": 1.1, "step_high_s": 1.3, "compute_s": 1, "network_s": 0.2, "cost_per_step": 0.01}
    line = {"points": [{"nodes": 64, "step_s": 1.2, "step_low_s": None, "step_high_s": None}]}
    return {"schema": "rdmabench-decide/1", "not_rdma": None, "language": "ko", "answer": "YES", "ground": "proven", "nodes": 64, "margin": 0.05, "alpha": 0.05, "pays_by_estimate": True,
            "pays_above_ratio": 1.05, "step_ratio_a_to_b": likely, "cost_ratio_a_to_b": likely, "price_a_per_node_hour": 30, "price_b_per_node_hour": 26, "currency": "USD", "premium": likely,
            "variation": 0.01, "launches": 5, "units": 1, "more_launches": None, "one_after_the_other": False, "a": {"name": HOSTILE, **side}, "b": {"name": "roce", **side}, "works": [],
            "rows": [{"nodes": 64, "a": step, "b": step}], "paying": [{"kind": "none", "overlap": 0, "spans": []}], "flips": [],
            "page": {"question": phrase(f"이 작업에 roce 대신 {HOSTILE} 네트워크를 쓸 가치가 있습니까?"), "subject": phrase("노드 8~64대"), "answer": phrase("예"), "sections": [
                section("answer", None, {"sentence": phrase("20% 짧습니다.")}),
                section("money", "비용 차이", table(("노드 64대 기준", HOSTILE, "절감량"), ("1,000스텝, 비용", "1,234", "56 (12 ~ 90)"))),
                section("steps", "스텝 시간", {"chart": {"lines": [{"name": HOSTILE, **line}, {"name": "roce", **line}], "compute_s": 1, "labels": [phrase("노드 수")], "ticks": [0, 1, 2]}},
                        table(("노드 수", "스텝"), ("64", "1.2초"))),
                section("flips", "결론을 바꿀 수 있는 가정", table(("가정", "뒤집히는 값"), ("노드당 링크 수(--rails)", "2 이상"))),
                section("next", "다음에 할 일", {"command": {"why": phrase("실행합니다."), "line": "rdmabench decide ib roce --rails LINKS"}}),
                section("basis", "계산의 전제", {"small": [phrase("노드당 링크 1개(기본값)")]})]}}


def latency(tail: float, source: str) -> dict:
    """A sweep of a fabric that this machine has not."""
    rows = []
    for size in (8, 64, 512, 4096, 32768, 262144):
        base = 1800 + size * 0.025
        rows.append({"operation": "write", "backend": "verbs", "provider": "mlx5", "device": "mlx5_0:1", "kind": "half_round_trip", "completion": "delivery",
                     "size_bytes": size, "iterations": 20000, "min_ns": base * 0.94, "p50_ns": base, "p90_ns": base * 1.03, "p99_ns": base * 1.1 * tail, "p999_ns": base * 1.6 * tail,
                     "p9999_ns": base * 3 * tail, "max_ns": base * 9 * tail, "unsupported_percentiles": ["p9999_ns"], "stable": True, "notes": []})
    return {"schema": "rdmabench/1", "test": "latency", "error": None, "suspicions": [], "environment": {"client": [
        {"name": "hostname", "value": source}, {"name": "kernel", "value": "6.1.0-18"}], "server": [{"name": "hostname", "value": "peer"}, {"name": "kernel", "value": "6.5.0-9"}]},
        "resolved": {"backend": "verbs", "provider": "mlx5", "device": "mlx5_0:1", "transport": "rc"}, "results": rows, "notes": []}


def coll() -> dict:
    """Two operations over size on eight ranks; one row has a wrong element, one a late rank, one was left out. Two more rows,
    a host, facts, a pair of the wire and the blame are of a rank that means harm."""
    wire = 388e9
    rows = []
    for operation, factor in (("all-reduce", 2 * 7 / 8), ("all-gather", 7 / 8)):
        for kind in ("float32", "bfloat16"):
            for size in (8, 1 << 10, 1 << 17, 1 << 24, 1 << 30):
                time = 18e3 + size / (0.9 * wire / 8 / factor) * 1e9 * (1.06 if kind == "bfloat16" else 1)
                bus = size / time * 1e9 * factor
                row = {"operation": operation, "type": kind, "reduction": "sum" if operation == "all-reduce" else None, "root": None,
                       "size_bytes": size, "count": size // 4, "in_place": False, "skipped": None, "iterations": 100, "warmup_iterations": 5,
                       "batch": 1, "min_ns": time * 0.97, "p50_ns": time, "p90_ns": time * 1.03, "p99_ns": time * 1.1, "p999_ns": None,
                       "max_ns": time * 1.4, "mean_ns": time * 1.01, "stddev_ns": time * 0.01, "median_low_ns": time * 0.99,
                       "median_high_ns": time * 1.01, "median_level": 0.95, "unsupported_percentiles": ["p99_ns", "p999_ns"], "stable": True,
                       "algorithm_bytes_per_s": bus / factor, "bus_bytes_per_s": bus, "bus_reason": None,
                       "wrong": {"checked_results": 840, "wrong_results": 0, "wrong_elements": 0, "first": None}, "arrivals": None,
                       "late": None, "late_reason": None, "ranks": [], "facts": [{"name": "algorithm", "value": "Ring"},
                       {"name": "wire_bits_per_s", "value": wire}, {"name": "wire_share", "value": bus * 8 / wire}]}
                rows.append(row)
    rows[3]["wrong"] = {"checked_results": 840, "wrong_results": 1, "wrong_elements": 16, "first": {
        "rank": 5, "iteration": 12, "offset_bytes": 4096, "run_bytes": 64, "pattern": "stale", "expected": "0x3f800000", "actual": HOSTILE}}
    rows[8]["late"] = {"rank": 6, "share": 0.93, "by_ns": 41000.0, "error_bound_ns": 900.0}
    rows[19].update(skipped="4 GiB of buffers are asked for and 2 GiB are there", p50_ns=None, bus_bytes_per_s=None, facts=[])
    rows += [{**rows[at], "operation": HOSTILE, "type": HOSTILE_END, "reduction": HOSTILE_END,
              "facts": [{"name": HOSTILE, "value": HOSTILE_END}]} for at in (1, 2)]
    wire_route = {6: f"{HOSTILE} {HOSTILE_END}"}
    return {"schema": "rdmabench-coll/1", "backend": "nccl", "error": None,
            "blame": {"ranks": [7], "text": f"rank 7 ({HOSTILE_END}{HOSTILE}) is behind"}, "environment": [{"name": "hostname", "value": host(0)}],
            "library": [{"name": "nccl_version", "value": "2.28.9"}, {"name": HOSTILE_END, "value": HOSTILE}], "config": [{"name": "operations", "value": "all-reduce,all-gather"}],
            "ranks": [{"rank": rank, "host": HOSTILE_END if rank == 7 else host(rank // 4), "process": 100 + rank, "clock": {"offset_ns": 0.0, "error_bound_ns": 900.0},
                       "facts": [], "counters": [], "notes": []} for rank in range(8)], "results": rows,
            "notes": [f"Wire, rank {rank} -> {(rank + 1) % 8}: {390 - 2 * (rank == 3)}.00 Gb/s by {wire_route.get(rank, 'verbs mlx5_0:1 rc, memory cuda:0')}." for rank in range(8)]}


def write(folder: pathlib.Path, nodes: int = 64, rounds: int | None = None) -> list[str]:
    files = {"fabric.jsonl": fabric(nodes, rounds if nodes <= 128 else 8), "doctor-good.json": json.dumps(doctor("gpu-1-01", False)),
             "doctor-bad.json": json.dumps(doctor("gpu-1-02", True)), "doctor-worse.json": json.dumps(doctor(HOSTILE, True)),
             "compare.json": json.dumps(compare(), indent=2), "project.json": json.dumps(project()), "decide.json": json.dumps(decide()), "coll.json": json.dumps(coll()),
             "lat-a.json": json.dumps(latency(1, "gpu-1-01")), "lat-b.json": json.dumps(latency(2.5, "gpu-1-02"))}
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    return [str(folder / name) for name in files]


if __name__ == "__main__":
    write(pathlib.Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 64)
