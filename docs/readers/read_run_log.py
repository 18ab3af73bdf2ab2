"""Reads a run log of Servemark, format 1 (docs/formats.md). Needs Python's standard library alone.

usage: python3 read_run_log.py RUNLOG

Prints a JSON object for each request, in the order of the log, and one for the whole log.
"""

import json
import re
import sys
import zlib

CHECKSUM = re.compile(rb',"crc32":"([^"]{8})"}$')
KINDS = {"header", "start", "request", "telemetry", "footer"}


def line_of(raw):
    """Returns the object of a line, or None if the line is damaged."""
    raw = raw.strip()
    checksum = CHECKSUM.search(raw)
    if checksum and b"%08x" % zlib.crc32(raw[: checksum.start()]) != checksum[1]:
        return None
    try:
        line = json.loads(raw)
    except ValueError:
        return None
    return line if isinstance(line, dict) and KINDS & line.keys() else None


def read(path):
    """Returns the header, the requests, the lines of metrics, the footer (None if the run was
    killed), the number of damaged lines, and whether the last line is incomplete."""
    lines, damaged, torn = [], 0, False
    with open(path, "rb") as file:
        for raw in file:
            line = line_of(raw)
            if line is not None:
                lines.append(line)
            elif raw.endswith(b"\n"):
                damaged += 1
            else:
                torn = True
    if not lines or "header" not in lines[0]:
        raise ValueError(f"{path} does not begin with a run log's header")
    if lines[0]["header"]["format"] > 1:
        raise ValueError(f"{path} has a newer format")
    of = lambda kind: [line[kind] for line in lines if kind in line]
    footer = (of("footer") or [None])[-1]
    return of("header")[0], of("request"), of("telemetry"), footer, damaged, torn


def pieces(request):
    """Returns the pieces of output: arrival in ns, kind, tokens (None if not counted), lag in us and text."""
    deltas, text = request.get("deltas", {}), request.get("text", "").encode()
    at = deltas.get("at", [])
    column = lambda name, default: deltas.get(name) or [default] * len(at)
    rows = zip(at, column("kinds", "content"), column("tokens", None), column("lag_us", 0))
    found, start = [], 0
    for row, length in zip(rows, deltas.get("bytes", [])):
        found.append([*row, text[start : start + length].decode()])
        start += length
    return found


def started(request):
    """Returns when the time of the service began, in ns."""
    given = [request.get(name) for name in ("sent", "granted", "scheduled")]
    return next(stamp for stamp in given if stamp is not None)


def main(path):
    header, requests, telemetry, footer, damaged, torn = read(path)
    for request in requests:
        row = {
            "index": request["index"],
            "turn": request.get("turn", 0),
            "phase": request.get("phase", "measure"),
            "is_success": "Ok" in request["outcome"],
            "started": started(request),
            "ended": request["ended"],
            "pieces": pieces(request),
        }
        print(json.dumps(row))
    is_complete = footer is not None and not footer.get("interrupted", False)
    facts = {"requests": header["facts"].get("requests", 0), "telemetry": len(telemetry)}
    print(json.dumps({**facts, "is_complete": is_complete, "damaged": damaged, "is_torn": torn}))


if __name__ == "__main__":
    main(sys.argv[1])
