"""Validates what analysis_samples writes, and checks that the schemas refuse broken documents.

schema_test.py SCHEMA_FOLDER ANALYSIS_SAMPLES. Needs python3-jsonschema.
"""
import json
import pathlib
import sys

import jsonschema

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from broken_documents import broken_copies, load_documents  # noqa: E402


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
