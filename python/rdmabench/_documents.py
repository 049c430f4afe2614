"""Documents that were written before, and results as tables."""

from __future__ import annotations

import importlib
import json
import os
import pathlib
from typing import Any, Dict, Iterable, List, Mapping, Union

Document = Dict[str, Any]
Source = Union[str, "os.PathLike[str]", Mapping[str, Any]]


def items_of(sources: Union[Source, Iterable[Source]]) -> List[Any]:
    """Each source as a request of the C library has it: a document, its text or a path."""
    several: Iterable[Any] = [sources] if isinstance(sources, (str, os.PathLike, Mapping)) else sources
    return [_item_of(one) if isinstance(one, Mapping) else _without_blanks(os.fspath(one)) for one in several]


def _item_of(document: Mapping[str, Any]) -> Union[str, Document]:
    if "records" not in document:
        return dict(document)
    plan = {key: document[key] for key in document if key not in ("records", "expectations")}
    return "".join(json.dumps(one) + "\n" for one in [plan, *document["records"]])


def document_of(text: str) -> Document:
    """The document of a text of the C library, which is lines of a fabric."""
    try:
        document: Document = json.loads(text)
    except ValueError:
        document, = _plans([json.loads(line) for line in text.splitlines()], "the result")
    return document


def _without_blanks(text: str) -> str:
    return text.lstrip() if text.lstrip().startswith("{") else text


def load(sources: Union[Source, Iterable[Source]]) -> List[Document]:
    """Documents of any kind, as plain dicts, in the given order.

    A source is the path of a file, the path of a folder (its *.json and *.jsonl, by name), the text of a document,
    or a document. A file that holds the documents of several runs gives each. The lines that ``fabric --output``
    writes are one document, its plan, with the records that follow as "records". Raises OSError for what cannot be
    read and ValueError, which names the source, for what is not a document.
    """
    documents: List[Document] = []
    for item in items_of(sources):
        if isinstance(item, dict):
            item = json.dumps(item)
        if item.startswith("{"):
            documents += _parse(item, "the document")
            continue
        path = pathlib.Path(item)
        files = sorted(path.glob("*.json*")) if path.is_dir() else [path]
        for file in files:
            documents += _parse(file.read_text(encoding="utf-8"), str(file))
    return documents


def _parse(text: str, source: str) -> List[Document]:
    try:
        document = json.loads(text)
    except ValueError as error:
        try:
            records = [json.loads(line) for line in text.splitlines() if line.strip()]
        except ValueError:
            raise ValueError(f"{source} is not JSON: {error}") from error
        return _plans(records, source)
    if not isinstance(document, dict) or "schema" not in document:
        raise ValueError(f"{source} is not a document of rdmabench: it has no \"schema\"")
    if document.get("record") == "plan":  # of a fabric that has measured nothing yet
        return _plans([document], source)
    several = document.get("documents")
    return list(several) if isinstance(several, list) else [document]


def _plans(records: List[Any], source: str) -> List[Document]:
    documents: List[Document] = []
    for record in records:
        if isinstance(record, dict) and "schema" in record:
            documents.append({**record, "records": []})
        elif isinstance(record, dict) and documents:
            documents[-1]["records"].append(record)
            if "expectations" in record:
                documents[-1]["expectations"] = record["expectations"]
        else:
            raise ValueError(f"{source} is not a document of rdmabench: a record comes before any \"schema\"")
    return documents


def _rows(document: Document) -> List[Document]:
    if "results" in document:
        return list(document["results"])
    if "findings" in document:
        return list(document["findings"])
    if "families" in document:
        return [{**{key: family[key] for key in family if key != "cells"}, **cell}
                for family in document["families"] for cell in family["cells"]]
    if "records" in document:
        return [record for record in document["records"] if record.get("record") == "measurement"]
    raise ValueError(f"a document {document.get('schema')} has no results")


def to_frame(results: Union[Document, Iterable[Document]]) -> Any:
    """The rows of one document or of several as a pandas DataFrame: a column for each key of a row.

    A row is a result, a finding of ``doctor``, a cell of ``compare`` with the keys of its family, or a measurement
    of ``fabric``. Column "test" is the document's; of several documents "document" is the number of each, from 0.
    Raises ImportError where pandas is missing and ValueError for a document of another kind.
    """
    try:
        pandas = importlib.import_module("pandas")
    except ImportError as error:
        raise ImportError("to_frame() needs pandas, which is not installed: "
                          "apt-get install python3-pandas, or pip install pandas") from error
    one = isinstance(results, Mapping)
    documents: List[Any] = [results] if one else list(results)
    rows = []
    for number, document in enumerate(documents):
        head = {"test": document.get("test")} if one else {"document": number, "test": document.get("test")}
        rows += [{**head, **row} for row in _rows(document)]
    return pandas.DataFrame(rows)
