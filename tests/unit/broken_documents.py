"""Documents as a program writes them, and broken copies of them, for the tests of schemas."""
import copy
import json
import pathlib
import subprocess
import tempfile


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
            # The facts are a free object, so that any other is as good.
            if key not in ("config", "details"):
                yield f"wrong type of {path} {key}", broken
        broken = copy.deepcopy(document)
        find_object(broken, path)["surplus"] = 1
        yield f"surplus key in {path}", broken
