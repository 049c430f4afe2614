"""Measures RDMA fabrics, serves such measurements, examines nodes and compares results.

A result is the document that the command writes with --format json, as a plain dict; docs/python.md
has examples. The work is done by librdmabench-c.so.0, which is loaded when it is first needed.
"""

from ._documents import Document, load, to_frame
from ._library import Cancelled, RdmabenchError
from ._measure import Cancel, Server, compare, doctor, judge, report, run, version

__all__ = ["Cancel", "Cancelled", "Document", "RdmabenchError", "Server", "compare", "doctor", "judge", "load", "report", "run",
           "to_frame", "version"]
