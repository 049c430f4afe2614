#!/usr/bin/env python3
"""Validates what report_samples writes, and checks that the schema refuses broken documents.

schema_test.py [--write] SCHEMA REPORT_SAMPLES. Needs python3-jsonschema.
--write brings what the schema says of rows to what lib/results/row.cc says of their columns.
"""
import copy
import json
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

import jsonschema

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from broken_documents import broken_copies, load_documents  # noqa: E402


def paths_of(document):
    paths = [(), ("environment",), ("resolved",), ("clock",), ("conditions",), ("counters",), ("results", 0)]
    if document["counters"]["client"]:
        paths += [("counters", "client", 0), ("suspicions", 0)]
    return paths


def with_columns(text, program):
    """The schema's text, with the properties of each kind of row as the program has them."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([program, folder], check=True)
        columns = json.loads((pathlib.Path(folder) / "columns").read_text(encoding="utf-8"))
    for kind, properties in columns.items():
        lines = ",\n".join(f"        {json.dumps(key)}: {json.dumps(value)}" for key, value in properties.items())
        pattern = rf'("{kind}": {{.*?"required": )\[.*?\](,\n      "properties": {{\n).*?(\n      }},)'
        text = re.sub(pattern, lambda found: found[1] + json.dumps(list(properties)) + found[2] + lines + found[3], text, count=1, flags=re.DOTALL)
    return text


def main(schema_file, program):
    text = pathlib.Path(schema_file).read_text(encoding="utf-8")
    schema = json.loads(text)
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    documents = load_documents(program)
    failures = []
    if with_columns(text, program) != text:
        failures.append("what the schema says of rows is not what lib/results/row.cc says: "
                        + shlex.join([sys.executable, sys.argv[0], "--write", schema_file, program]))

    for name, document in documents.items():
        for error in validator.iter_errors(document):
            failures.append(f"{name}: {error.json_path}: {error.message}")

    broken = [case for name in ("latency", "bandwidth") for case in broken_copies(documents[name], paths_of(documents[name]))]
    swapped = copy.deepcopy(documents["latency"])
    swapped["test"] = "bandwidth"
    broken.append(("latency results in a bandwidth document", swapped))
    several = copy.deepcopy(documents["several"])
    del several["documents"][1]["results"][0]["bits_per_s"]
    broken.append(("a broken document among several", several))
    bare = copy.deepcopy(documents["latency"])
    bare["results"][0]["kind"] = "scatter"
    broken.append(("a kind that is not ours and has no namespace", bare))
    custom = copy.deepcopy(documents["latency"])
    custom["results"][0]["kind"] = "vendor/scatter"
    if not validator.is_valid(custom):
        failures.append("refused: a kind with a namespace")
    for what, document in broken:
        if validator.is_valid(document):
            failures.append(f"accepted: {what}")

    print(f"{len(documents)} documents, {len(broken)} broken copies, {len(failures)} failures")
    print("\n".join(failures))
    return 1 if failures else 0


if __name__ == "__main__":
    if sys.argv[1] == "--write":
        file = pathlib.Path(sys.argv[2])
        file.write_text(with_columns(file.read_text(encoding="utf-8"), sys.argv[3]), encoding="utf-8")
        sys.exit(0)
    sys.exit(main(*sys.argv[1:]))
