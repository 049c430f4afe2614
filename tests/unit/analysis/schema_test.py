"""Validates what analysis_samples writes, and checks that the schemas refuse broken documents.

schema_test.py SCHEMA_FOLDER ANALYSIS_SAMPLES. Needs python3-jsonschema.
"""
import copy
import json
import pathlib
import subprocess
import sys
import tempfile

import jsonschema


def refuse_constant(name):
    raise ValueError(f"{name} is not JSON")


def load_documents(program):
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([program, folder], check=True)
        return {
            path.stem: json.loads(path.read_text(encoding="utf-8"), parse_constant=refuse_constant)
            for path in pathlib.Path(folder).glob("*.json")
        }


def find_object(document, path):
    for step in path:
        document = document[step]
    return document


def broken_copies(document, paths):
    """Each with what was done to it: a key left out, a key added, a value of the wrong type."""
    for path in paths:
        for key in find_object(document, path):
            broken = copy.deepcopy(document)
            del find_object(broken, path)[key]
            yield f"without {path} {key}", broken
            broken = copy.deepcopy(document)
            find_object(broken, path)[key] = {"of": "no such type"}
            yield f"wrong type of {path} {key}", broken
        broken = copy.deepcopy(document)
        find_object(broken, path)["surplus"] = 1
        yield f"surplus key in {path}", broken


PATHS = {
    "compare-confounded": [(), ("settings",), ("a",), ("order",), ("confounds", 0), ("families", 0),
                           ("families", 0, "cells", 0), ("families", 0, "cells", 0, "estimate")],
    "compare-plan": [(), ("plan",), ("plan", "quantities", 0)],
    "decide": [(), ("a",), ("premium",), ("works", 1), ("rows", 1), ("rows", 1, "a"), ("paying", 0), ("paying", 0, "spans", 0), ("flips", 0),
               ("page",), ("page", "question"), ("page", "sections", 0), ("page", "sections", 0, "blocks", 0)],
    "project-against": [(), ("a",), ("assumptions", 0), ("rows", 1), ("rows", 1, "a"),
                        ("rows", 1, "difference")],
}


def main(folder, program):
    validators = {}
    for kind in ("compare", "decide", "project"):
        text = (pathlib.Path(folder) / f"rdmabench-{kind}-1.schema.json").read_text(encoding="utf-8")
        schema = json.loads(text)
        jsonschema.Draft202012Validator.check_schema(schema)
        validators[kind] = jsonschema.Draft202012Validator(schema)
    failures = []
    documents = load_documents(program)
    count = 0
    for name, document in documents.items():
        validator = validators[name.split("-")[0]]
        for error in validator.iter_errors(document):
            failures.append(f"{name}: {error.json_path}: {error.message}")
        for what, broken in broken_copies(document, PATHS.get(name, [])):
            count += 1
            if validator.is_valid(broken):
                failures.append(f"{name} accepted: {what}")
    print(f"{len(documents)} documents, {count} broken copies, {len(failures)} failures")
    print("\n".join(failures))
    return 1 if failures or len(documents) != 10 else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
