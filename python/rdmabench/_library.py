"""The C library: where it is found, and its functions as rdmabench.h declares them."""

from __future__ import annotations

import ctypes
import functools
import json
import os
import pathlib
from typing import Any, Dict, Iterator, Optional, Tuple

NAME = "librdmabench-c.so.0"

CALLBACK = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)
NO_CALLBACK = CALLBACK(0)  # null


class Hooks(ctypes.Structure):
    """struct rdmabench_hooks."""

    _fields_ = [("size", ctypes.c_size_t), ("user", ctypes.c_void_p), ("on_progress", CALLBACK),
                ("on_row", CALLBACK), ("on_report", CALLBACK), ("cancel", ctypes.c_void_p)]


class RdmabenchError(RuntimeError):
    """What failed. str() of it is the whole text, the remedy included."""

    def __init__(self, text: str, fault: str, failure: Optional[Dict[str, Any]] = None,
                 report: Optional[Dict[str, Any]] = None) -> None:
        super().__init__(text)
        self.text = text
        #: "failed" (the measurement), "usage" (wrong use), "unavailable" (not on this machine) or "cancelled"
        self.fault = fault
        #: The document's "failure", which has more of an epoch that failed.
        self.failure: Dict[str, Any] = failure or {}
        #: An errno, or 0.
        self.code = int(self.failure.get("code") or 0)
        #: Whose call failed, that call, and the status of a completion; "" where that is not known.
        self.library = self._text("library")
        self.call = self._text("call")
        self.status = self._text("status")
        #: The other side: "node2:18515"; "" where there is none yet.
        self.peer = self._text("peer")
        #: What to do, where that is known apart from the text; otherwise "".
        self.remedy = self._text("remedy")
        #: The document of a run that had begun to measure, with what was finished.
        self.report = report

    def _text(self, key: str) -> str:
        return str(self.failure.get(key) or "")


class Cancelled(RdmabenchError):
    """The run was told to end, by Cancel.request(). Its report is None where it had not begun to measure."""


def _places() -> Iterator[str]:
    named = os.environ.get("RDMABENCH_LIBRARY")
    if named:
        yield named
        return
    package = pathlib.Path(__file__).resolve().parent
    # Beside the package, or where 'cmake --install' puts it: PREFIX/lib.../ for
    # PREFIX/lib/python3/dist-packages/rdmabench.
    folders = [package]
    if len(package.parents) > 3:
        folders += [package.parents[2], *sorted(package.parents[2].glob("*-linux-gnu*")), package.parents[3] / "lib64"]
    for folder in folders:
        if (folder / NAME).exists():
            yield str(folder / NAME)
    yield NAME


@functools.lru_cache(maxsize=None)
def library() -> ctypes.CDLL:
    """The library, loaded once. Its calls release Python's lock."""
    failures = []
    for place in _places():
        try:
            found = ctypes.CDLL(place)
        except OSError as error:
            failures.append(str(error))
            continue
        _declare(found)
        return found
    remedy = f"Install rdmabench's {NAME}, or name it in RDMABENCH_LIBRARY."
    raise RdmabenchError(f"{'; '.join(failures)}. {remedy}", "unavailable", {"remedy": remedy})


def _declare(found: ctypes.CDLL) -> None:
    text, handle = ctypes.c_char_p, ctypes.c_void_p
    result = ctypes.POINTER(ctypes.c_void_p)
    for name, returns, *takes in (
            ("version", text),
            ("free", None, handle),
            ("cancel_new", handle),
            ("cancel_request", None, handle),
            ("cancel_free", None, handle),
            ("run", ctypes.c_int, text, ctypes.POINTER(Hooks), result),
            ("doctor", ctypes.c_int, text, result),
            ("compare", ctypes.c_int, text, result),
            ("judge", ctypes.c_int, text, result),
            ("report", ctypes.c_int, text, result),
            ("server_start", ctypes.c_int, text, CALLBACK, handle, ctypes.POINTER(handle), result),
            ("server_port", ctypes.c_uint16, handle),
            ("server_stop", None, handle)):
        function = getattr(found, f"rdmabench_{name}")
        function.restype = returns
        function.argtypes = list(takes)


def call_for_text(name: str, *arguments: Any) -> Tuple[int, str]:
    """What a function with a `result` returns, and the text that it gives; "" where it gives none."""
    text = ctypes.c_void_p()
    code = getattr(library(), f"rdmabench_{name}")(*arguments, ctypes.byref(text))
    try:
        # The C library writes only valid UTF-8.
        written = ctypes.string_at(text.value).decode() if text.value else ""
    finally:
        library().rdmabench_free(text)
    if not written and code != 0:
        raise RdmabenchError(f"rdmabench_{name}() returned {code} and no text: memory is short", "failed")
    return code, written


def call(name: str, *arguments: Any) -> Dict[str, Any]:
    """The document that a function with a `result` gives; {} where it gives none. Raises RdmabenchError."""
    _, written = call_for_text(name, *arguments)
    return checked(json.loads(written)) if written else {}


def checked(document: Dict[str, Any]) -> Dict[str, Any]:
    """The document. Raises the RdmabenchError that it tells."""
    if document.get("error") is None:
        return document
    failure = document.get("failure") or {}
    fault = failure.get("fault", "failed")
    kind = Cancelled if fault == "cancelled" else RdmabenchError
    raise kind(document["error"], fault, failure, document if "schema" in document else None)
