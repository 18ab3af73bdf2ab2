"""Dialects in Python."""

import asyncio
import json
import tempfile
import threading
import traceback
import unittest
import warnings
from pathlib import Path

import pyarrow

import servemark
from line_server import ITL_S, TTFT_S, LineServer
from plans import plan_without_dataset


class Lines:
    """The dialect of ``LineServer``."""

    path = "/ask"
    framing = "lines"

    def __init__(self):
        self.asked = []
        self.answers = []
        self.threads = set()

    def body(self, request):
        self.asked.append(request)
        return {"ask": request.prompt, "most": request.output_tokens}

    def decode(self, answer):
        self.answers.append(answer)
        self.threads.add(threading.get_ident())
        pieces, end = [], {}
        for position, frame in enumerate(answer.frames):
            line = json.loads(frame.data)
            if "oops" in line:
                return servemark.Decoded(pieces, error=line["oops"])
            if "tok" in line:
                pieces.append(servemark.Piece(position, line["tok"], line["c"]))
            if "fin" in line:
                end = line
        return servemark.Decoded(
            pieces,
            prompt_tokens=end.get("in"),
            completion_tokens=end.get("out"),
            finish_reason=end.get("fin"),
        )


class SimulatedChat:
    """The dialect of the simulator's chat route, without streams or with them."""

    path = "/v1/chat/completions"

    def __init__(self, stream):
        self.stream = stream

    def body(self, request):
        messages = [{"role": "user", "content": request.prompt}]
        body = {"model": request.model, "messages": messages, "max_tokens": request.output_tokens}
        body |= {"ignore_eos": True, "stream": self.stream}
        return json.dumps(body)

    def decode(self, answer):
        pieces = []
        for position, frame in enumerate(answer.frames):
            if frame.data == "[DONE]":
                break
            choice = json.loads(frame.data)["choices"][0]
            text = choice["delta"].get("content") if self.stream else choice["message"]["content"]
            if text:
                pieces.append(servemark.Piece(position, text))
        return servemark.Decoded(pieces)


class DialectTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.out = Path(folder.name, "out")
        self.server = LineServer()
        self.addCleanup(self.server.stop)

    def plan(self, url=None, **load):
        warmup = {"requests": 1, "most_output_tokens": 2}
        plan = plan_without_dataset(url or self.server.url, 6, **{"warmup": warmup, **load})
        del plan["backend"]
        return plan

    def run_with(self, dialect, texts="abcdef", plan=None, **more):
        requests = [{"prompt": text, "output_tokens": 4} for text in texts]
        return servemark.run(plan or self.plan(), out=self.out, dataset=requests, dialect=dialect, **more)

    def records(self):
        """Returns the measured requests of the log, by their index."""
        lines = [json.loads(line) for line in (self.out / "run.runlog.jsonl").read_text().splitlines()]
        records = [line["request"] for line in lines if "request" in line]
        measured = [record for record in records if record.get("phase", "measure") == "measure"]
        return {record["index"]: record for record in measured}

    def test_another_protocol_is_measured_like_any(self):
        dialect = Lines()
        result = self.run_with(dialect)
        self.assertEqual(result.exit_code, 0)
        log = result.log()
        self.assertEqual(log.header["plan"]["wire"]["name"], "Lines")
        requests = pyarrow.table(log.requests).to_pylist()
        tokens = pyarrow.table(log.tokens).to_pylist()
        self.assertEqual([request["phase"] for request in requests], ["warmup"] + ["measure"] * 6)
        for number, request in enumerate(requests[1:], 1):
            text = json.dumps({"hello": "abcdef"[request["index"]]})
            [answer] = [it for it in dialect.answers[1:] if it.frames[0].data == text]
            pieces = [row for row in tokens if row["request"] == number]
            self.assertEqual((len(pieces), len(answer.frames)), (4, 6))
            self.assertEqual({row["tokens"] for row in pieces}, {1})
            self.assertEqual(
                [row["at_ns"] - request["sent_ns"] for row in pieces],
                [frame.at_ns for frame in answer.frames[1:-1]],
            )
            self.assertAlmostEqual(request["ttft_ms"], answer.frames[1].at_ns / 1e6)
            self.assertGreaterEqual(request["ttft_ms"], TTFT_S * 1000)
            last = TTFT_S + (len(pieces) - 1) * ITL_S
            self.assertGreaterEqual(pieces[-1]["at_ns"] - request["sent_ns"], last * 1e9)
            self.assertEqual(request["finish_reason"], "length")
            self.assertEqual(request["server_output_tokens"], len(pieces))
        for record in self.records().values():
            self.assertEqual(record["text"], "w0 w1 w2 w3 ")
            self.assertEqual(record["usage"], {"prompt_tokens": 7, "completion_tokens": 4})
        self.assertEqual(log.score("vllm")["completed"], 6)

    def test_a_frame_arrives_after_it_was_written(self):
        dialect = Lines()
        self.run_with(dialect, plan=self.plan(max_concurrency=1))
        self.assertEqual(len(dialect.answers), 7)
        for answer, written in zip(dialect.answers, self.server.written):
            for frame, time in zip(answer.frames, written):
                self.assertGreaterEqual(frame.at_ns, time)

    def test_all_bodies_are_written_before_the_first_is_sent(self):
        server = self.server

        class Checked(Lines):
            def body(self, request):
                assert not server.received
                return super().body(request)

        dialect = Checked()
        plan = self.plan()
        plan["model"]["served_name"] = "other"
        self.run_with(dialect, plan=plan)
        warm_up, *asked = dialect.asked
        self.assertEqual((warm_up.output_tokens, warm_up.model), (2, "other"))
        self.assertEqual([request.prompt for request in asked], list("abcdef"))
        self.assertEqual({request.output_tokens for request in asked}, {4})
        self.assertGreater(min(request.input_tokens for request in asked), 0)
        path, headers, body = server.received[0]
        self.assertEqual((path, body), ("/ask", {"ask": "a", "most": 2}))
        self.assertEqual(headers["content-type"], "application/json")
        self.assertEqual(len(server.received), 7)
        self.assertEqual(len(dialect.threads), 1)
        self.assertNotIn(threading.get_ident(), dialect.threads)

    def test_a_body_may_have_a_path_and_headers_of_its_own(self):
        class Own(Lines):
            name = "own lines"

            def body(self, request):
                body = json.dumps({"ask": request.prompt, "most": request.extra_body["most"]}).encode()
                path = f"/ask/{request.headers['x-user']}"
                return servemark.EncodedRequest(body, path, {"Content-Type": "text/x", "X-Own": "1"})

        request = {"prompt": "a", "output_tokens": 4, "headers": {"x-user": "7"}, "extra_body": {"most": 3}}
        plan = self.plan(warmup={"requests": 0, "most_output_tokens": 1})
        result = servemark.run(plan, out=self.out, dataset=[request], dialect=Own())
        self.assertEqual(result.exit_code, 0)
        [(path, headers, body)] = self.server.received
        self.assertEqual((path, body["most"]), ("/ask/7", 3))
        headers = {name.lower(): value for name, value in headers.items()}
        self.assertEqual([headers[name] for name in ("content-type", "x-own", "x-user")], ["text/x", "1", "7"])
        self.assertEqual(result.log().header["plan"]["wire"]["name"], "own lines")

    def test_an_error_in_an_answer_fails_its_request_alone(self):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            result = self.run_with(Lines(), ["a", "broken", "c"])
        records = self.records()
        self.assertIn("Ok", records[0]["outcome"])
        self.assertEqual(records[1]["outcome"]["Err"], {"kind": "in_stream", "message": "out of memory"})
        self.assertEqual(records[1]["text"], "w0 ")
        self.assertIn("Ok", records[2]["outcome"])
        self.assertNotEqual(result.exit_code, 0)

    def test_an_exception_of_decode_fails_its_request_alone(self):
        messages = []
        with self.assertWarns(RuntimeWarning) as warned:
            self.run_with(
                Lines(), ["garbage", "garbage", "c"], progress=lambda it: messages.extend(it.messages)
            )
        self.assertEqual(len(warned.warnings), 1)
        self.assertIn("json.loads(frame.data)", str(warned.warning))
        self.assertEqual(Path(warned.filename).name, Path(__file__).name)
        records = self.records()
        self.assertEqual(len(records), 3)
        for index in (0, 1):
            error = records[index]["outcome"]["Err"]
            self.assertEqual(error["kind"], "decode")
            self.assertIn("the dialect raised JSONDecodeError", error["message"])
        self.assertIn("Ok", records[2]["outcome"])

    def test_what_is_no_answer_fails_its_request(self):
        piece = servemark.Piece
        wrong = {
            "a": (None, "NoneType in place of Decoded"),
            "b": (servemark.Decoded([piece(9, "x")]), "frame 9 after one of frame 0, and there are 6"),
            "c": (servemark.Decoded([piece(2, "x"), piece(1, "x")]), "frame 1 after one of frame 2"),
            "d": (servemark.Decoded([piece(0, "x", kind="joke")]), "not \"joke\""),
            "e": (servemark.Decoded([piece(0, 3)]), "TypeError"),
            "f": (servemark.Decoded(), "the answer holds no output"),
        }

        class Wrong(Lines):
            def decode(self, answer):
                text = json.loads(answer.frames[0].data)["hello"]
                return wrong[text][0]

        with self.assertWarns(RuntimeWarning):
            self.run_with(Wrong())
        for index, text in enumerate(wrong):
            self.assertIn(wrong[text][1], self.records()[index]["outcome"]["Err"]["message"])

    def test_an_answer_that_is_cut_keeps_what_arrived(self):
        dialect = Lines()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            self.run_with(dialect, ["a", "cut"])
        record = self.records()[1]
        error = record["outcome"]["Err"]
        self.assertNotEqual(error["kind"], "decode")
        self.assertEqual(record["text"], "w0 ")
        [cut] = [answer for answer in dialect.answers if answer.error]
        self.assertIn(error["message"], cut.error)
        self.assertEqual(len(cut.frames), 2)

    def test_an_exception_of_body_ends_the_run_before_it_starts(self):
        class Broken(Lines):
            def body(self, request):
                if request.prompt == "c":
                    raise LookupError("no such request")
                return super().body(request)

        try:
            self.run_with(Broken())
        except LookupError as error:
            lines = [frame.line for frame in traceback.extract_tb(error.__traceback__)]
        self.assertIn('raise LookupError("no such request")', lines)
        with self.assertRaises(LookupError):
            requests = [{"prompt": "c", "output_tokens": 4}]
            asyncio.run(servemark.run_async(self.plan(), out=self.out, dataset=requests, dialect=Broken()))
        self.assertFalse(self.out.exists())
        self.assertEqual(self.server.received, [])

    def test_what_is_no_request_is_refused(self):
        def with_body(value):
            dialect = Lines()
            dialect.body = lambda request: value
            return dialect

        for wrong, error in (
            (3, TypeError),
            ([], TypeError),
            ({"a": object()}, TypeError),
            (servemark.EncodedRequest("x", path="ask"), ValueError),
            (servemark.EncodedRequest("x", headers={"a b": "c"}), ValueError),
        ):
            with self.assertRaises(error):
                self.run_with(with_body(wrong))
        self.assertEqual(self.server.received, [])

    def test_what_is_no_dialect_is_refused(self):
        framing = Lines()
        framing.framing = "words"
        for wrong, error, told in (
            (3, TypeError, "lacks: path, body, decode"),
            (Lines, TypeError, "not a class"),
            (framing, ValueError, "not \"words\""),
        ):
            with self.assertRaises(error) as refused:
                self.run_with(wrong)
            self.assertIn(told, str(refused.exception))

    def test_a_plan_with_what_a_dialect_cannot_do_is_refused(self):
        for change, error, told in (
            ({"backend": "vllm"}, ValueError, "leave backend out"),
            ({"wire": {"stream": False}, "backend": "vllm"}, ValueError, "leave backend and wire out"),
            ({"load": {"probes": 1}}, ValueError, "`load.probes`"),
            ({"load": {"retry": {"tries": 2, "after": ["connect"]}}}, ValueError, "`load.retry`"),
            ({"control": {"server_times": True}}, ValueError, "`control.server_times`"),
        ):
            with self.assertRaises(error) as refused:
                self.run_with(Lines(), plan={**self.plan(), **change})
            self.assertIn(told, str(refused.exception))
        with self.assertRaises(TypeError):
            servemark.run("plan.toml", out=self.out, dialect=Lines())

    def test_turns_of_a_conversation_have_their_own_messages_alone(self):
        turns = [{"prompt": text, "output_tokens": 4} for text in "ab"]
        with self.assertRaises(ValueError) as refused:
            servemark.run(self.plan(), out=self.out, dataset=[turns], dialect=Lines())
        self.assertIn("`load.sessions.history`", str(refused.exception))
        plan = self.plan(sessions={"history": "left"})
        result = servemark.run(plan, out=self.out, dataset=[turns], dialect=Lines())
        self.assertEqual(result.exit_code, 0)
        asked = [body["ask"] for _, _, body in self.server.received]
        self.assertEqual(asked[-2:], ["a", "b"])

    def test_events_and_documents_are_read(self):
        with servemark.MockServer(ttft=20, itl=2) as url:
            for stream in (True, False):
                self.out = self.out.with_name(f"stream-{stream}")
                result = self.run_with(SimulatedChat(stream), plan=self.plan(url))
                self.assertEqual(result.exit_code, 0)
                for record in self.records().values():
                    pieces = len(record["deltas"]["at"])
                    self.assertEqual((pieces, record.get("is_document", False)), (4, False) if stream else (1, True))

    def test_a_run_in_a_task_takes_a_dialect(self):
        requests = [{"prompt": text, "output_tokens": 4} for text in "ab"]
        running = servemark.run_async(self.plan(), out=self.out, dataset=requests, dialect=Lines())
        self.assertEqual(asyncio.run(running).exit_code, 0)
