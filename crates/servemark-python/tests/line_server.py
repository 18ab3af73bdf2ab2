"""A server with a protocol of its own, whose times are scripted."""

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

TTFT_S, ITL_S = 0.03, 0.01


class LineServer:
    """Answers ``{"ask": text, "most": n}`` with lines: a greeting, ``n`` words, and a summary.

    Some texts have other answers: ``broken`` has an error after the first word, ``garbage`` a line that
    is no JSON, ``cut`` ends in the middle.
    """

    def __init__(self):
        self.received = []
        """Path, headers and body of each request."""
        self.written = []
        """For each answer, when each of its lines was written, in nanoseconds since its request."""
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                outer.answer(self)

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01})
        self.thread.start()

    def stop(self):
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()

    def answer(self, handler):
        began = time.monotonic_ns()
        body = json.loads(handler.rfile.read(int(handler.headers["content-length"])))
        self.received.append((handler.path, dict(handler.headers), body))
        handler.send_response(200)
        handler.send_header("content-type", "application/x-ndjson")
        handler.send_header("transfer-encoding", "chunked")
        handler.end_headers()
        times = []
        for due, line in script(body["ask"], body["most"]):
            time.sleep(max(0, began / 1e9 + due - time.monotonic()))
            times.append(time.monotonic_ns() - began)
            if line is None:
                handler.close_connection = True
                return
            data = line.encode() + b"\n"
            handler.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        handler.wfile.write(b"0\r\n\r\n")
        self.written.append(times)


def script(text, most):
    """Returns the lines of an answer, each with the seconds after its request; ``None`` is the end."""
    yield 0, json.dumps({"hello": text})
    for number in range(most):
        at = TTFT_S + ITL_S * number
        yield at, json.dumps({"tok": f"w{number} ", "c": 1})
        if number == 0 and text == "broken":
            yield at, json.dumps({"oops": "out of memory"})
            return
        if number == 0 and text == "garbage":
            yield at, "no JSON"
        if number == 0 and text == "cut":
            yield at, None
    yield at, json.dumps({"fin": "length", "in": 7, "out": most})
