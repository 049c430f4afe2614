"""What the C library does, for Python."""

from __future__ import annotations

import ctypes
import json
import threading
from typing import Any, Callable, Iterable, List, Optional, Union

from ._documents import Document, Source, document_of, items_of
from ._library import (CALLBACK, NO_CALLBACK, Hooks, RdmabenchError, call, call_for_text, checked,
                       library)

_PATIENCE_S = 2.0  # for a run that was told to end; one that only connects ends by its timeout


def version() -> str:
    """The version of the C library: "0.3.0"."""
    return str(library().rdmabench_version().decode())


class Cancel:
    """Ends runs early: give it to run(), and call request() from any thread or from a signal handler.

    A request stays: take a new object for the next run.
    """

    def __init__(self) -> None:
        self._library = library()
        self.handle = self._library.rdmabench_cancel_new()
        if self.handle is None:
            raise MemoryError("rdmabench_cancel_new()")

    def request(self) -> None:
        """Ends the run within some 100 ms and one message; opening devices ends first."""
        self._library.rdmabench_cancel_request(self.handle)

    def __del__(self) -> None:
        handle, self.handle = getattr(self, "handle", None), None
        if handle is not None:
            self._library.rdmabench_cancel_free(handle)


def _encode(configuration: object) -> bytes:
    return json.dumps(configuration, allow_nan=False).encode()


class _Work(threading.Thread):
    """One call of the C library. A thread of its own, because a signal's handler runs only in the main
    thread, and only while that thread is not within a call."""

    def __init__(self, work: Callable[[], Document]) -> None:
        super().__init__(name="rdmabench", daemon=True)
        self._work = work
        self.finished = threading.Event()
        self.document: Optional[Document] = None
        self.error: Optional[BaseException] = None

    def run(self) -> None:
        try:
            self.document = self._work()
        except BaseException as error:  # pylint: disable=broad-exception-caught
            self.error = error
            self.document = getattr(error, "report", None)
        finally:
            self.finished.set()


def run(*, on_progress: Optional[Callable[[Document], object]] = None,
        on_row: Optional[Callable[[Document], object]] = None,
        cancel: Optional[Cancel] = None, **configuration: Any) -> Document:
    """Measures, and returns the document rdmabench/1.

    The other arguments are the configuration's keys (docs/c.md): run(host="node1", shape="bandwidth",
    sizes=[8, 65536], stop={"duration_s": 1}). Without a host it measures within this process: run(backend="loop").
    on_progress is called between epochs, and about four times a second of a stream without a number of iterations,
    which sends nothing meanwhile; on_row with the document so far after each row; both in a thread that is not the caller's.

    Raises RdmabenchError, and Cancelled of `cancel`; its report has what was finished. An exception of a callback ends the run, and
    so does one that reaches this thread meanwhile, such as KeyboardInterrupt: it is raised again once the
    run has ended, with the document so far in its attribute `report`, or None. Where the run only waits for
    the server, that is after 2 s at the latest; the run then ends by itself, at its timeout.
    """
    stop = Cancel() if cancel is None else cancel
    raised: List[BaseException] = []

    def hook(function: Optional[Callable[[Document], object]]) -> Any:
        if function is None:
            return NO_CALLBACK
        called = function

        def tell(_user: object, text: bytes) -> int:
            if raised:
                return 1
            try:
                called(json.loads(text))
            except BaseException as error:  # pylint: disable=broad-exception-caught
                raised.append(error)
                return 1
            return 0

        return CALLBACK(tell)

    text = _encode(configuration)
    hooks = Hooks(ctypes.sizeof(Hooks), None, hook(on_progress), hook(on_row), NO_CALLBACK, stop.handle)
    work = _Work(lambda: call("run", text, ctypes.byref(hooks)))
    try:
        work.start()
        work.finished.wait()
    except BaseException as error:
        stop.request()
        work.finished.wait(_PATIENCE_S)
        error.report = work.document  # type: ignore[attr-defined]
        raise
    if raised:
        raised[0].report = work.document  # type: ignore[attr-defined]
        raise raised[0]
    if work.error is not None:
        raise work.error
    assert work.document is not None
    return work.document


class Server:
    """Answers clients until it is stopped: `with Server(port=0) as server: ... server.port`.

    The arguments are the keys of rdmabench_server_start(): address, port, max_clients, ... on_event is
    called with a line about each client, by threads of the server, one at a time. Who has the token can make
    this machine send data and allocate memory. Raises RdmabenchError.
    """

    def __init__(self, *, on_event: Optional[Callable[[str], object]] = None, **configuration: Any) -> None:
        def tell(_user: object, line: bytes) -> int:
            if on_event is not None:
                on_event(line.decode(errors="replace"))
            return 0

        self._handle: Optional[int] = None
        self._tell = NO_CALLBACK if on_event is None else CALLBACK(tell)  # lives as long as the server
        handle = ctypes.c_void_p()
        call("server_start", _encode(configuration), self._tell, None, ctypes.byref(handle))
        self._handle = handle.value
        self.port: int = library().rdmabench_server_port(handle)

    def stop(self) -> None:
        """Ends the sessions, then the server: within a second, unless a call of a driver does not return."""
        handle, self._handle = self._handle, None
        if handle is not None:
            library().rdmabench_server_stop(handle)

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def __del__(self) -> None:
        if getattr(self, "_handle", None) is not None:
            self.stop()


def doctor(root: str = "/", *, only: Iterable[str] = (), expect: Iterable[str] = ()) -> Document:
    """Examines this node, or a saved one, and returns the document rdmabench-doctor/1, whatever it says.

    doctor(only=["port", "limit.memlock"], expect=["devices=8"]). Raises RdmabenchError.
    """
    return call("doctor", _encode({"root": root, "only": list(only), "expect": list(expect)}))


def compare(a: Union[Source, Iterable[Source]], b: Union[Source, Iterable[Source]], **settings: Any) -> Document:
    """Decides whether two sides of results differ by more than a margin: the document rdmabench-compare/1.

    A side is what load() takes. Settings are margin (0.05), alpha (0.05), factors, metrics,
    skip_failed, and a_name and b_name, what the sides are called. Raises RdmabenchError.
    """
    return call("compare", _encode({"a": items_of(a), "b": items_of(b), **settings}))


def judge(documents: Union[Source, Iterable[Source]], limits: Union[str, Iterable[str]] = (), *,
          profile: str = "") -> Document:
    """Holds one run against limits: judge(document, ["p99<=5us", "bw>=90%line"]), as --expect does.

    Several documents are launches of the same run, and what load() takes. Returns the document, of several launches
    one over them, with the judgements as "expectations", whose "status" is PASS, FAIL or OPEN. profile is the path of
    a file with limits. Raises RdmabenchError, for a run that ended early too, such as a fabric that lost a node or has
    no verdict; its report has the judgements then.
    """
    texts = [limits] if isinstance(limits, str) else list(limits)
    request = {"documents": items_of(documents), "limits": texts, "profile": profile}
    code, text = call_for_text("judge", _encode(request))
    document = document_of(text)
    if "schema" not in document:
        return checked(document)
    why = _why_early(document)
    if why or (code != 0 and all(one["status"] != "FAIL" for one in document["expectations"])):
        # Of the run's failure: that it was cancelled cancels nothing here.
        raise RdmabenchError(why or "the run ended early", "failed", document.get("failure"), document)
    return document


def _why_early(document: Document) -> str:
    """Why a run ended before its time; "" where it did not."""
    why = [document.get("error"), *document.get("errors", [])]
    if "records" in document:
        kinds = {one.get("record"): one for one in document["records"]}
        if "lost" in kinds:
            why.append(f"the fabric lost rank {kinds['lost'].get('rank')}: {kinds['lost'].get('reason')}")
        elif "verdict" not in kinds:
            why.append("the fabric has no verdict: it ended early")
    return "; ".join(str(one) for one in why if one)


def report(documents: Union[Source, Iterable[Source]],
           format: str = "html") -> str:  # pylint: disable=redefined-builtin
    """Documents of any kind, as load() takes them, as a text: html (one page), junit, prometheus, csv or markdown.

    Raises RdmabenchError.
    """
    code, text = call_for_text("report", _encode({"documents": items_of(documents), "format": format}))
    if code != 0:
        checked(json.loads(text))
    return text


__all__ = ["Cancel", "RdmabenchError", "Server", "compare", "doctor", "judge", "report", "run", "version"]
