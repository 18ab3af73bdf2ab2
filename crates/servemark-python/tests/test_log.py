"""Run logs: tables, scores and comparisons."""

import json
import tempfile
import unittest
from pathlib import Path

import pandas
import pyarrow
import servemark
from plans import plan, program


class LogTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name)
        with servemark.MockServer(ttft=2, itl=1, faults=["status:500/7"]) as url:
            asked = plan(url, requests=30)
            asked["control"] = {"telemetry": {"sources": ["server"], "interval": 0.02}}
            cls.runs = [servemark.run(asked, out=cls.folder / name) for name in ("a", "b")]
        cls.log = cls.runs[0].log()
        lines = map(json.loads, cls.runs[0].run_log.read_text().splitlines())
        cls.requests = {
            (request.get("phase", "measure"), request["index"]): request
            for request in (line["request"] for line in lines if "request" in line)
        }

    def test_the_table_of_requests_has_the_log_s_values(self):
        table = pyarrow.table(self.log.requests)
        self.assertEqual(table.num_rows, len(self.requests))
        failed = 0
        for row in table.to_pylist():
            request = self.requests[row["phase"], row["index"]]
            self.assertEqual(row["scheduled_ns"], request["scheduled"])
            self.assertEqual(row["sent_ns"], request["sent"])
            self.assertEqual(row["ended_ns"], request["ended"])
            self.assertEqual(row["success"], "Ok" in request["outcome"])
            self.assertEqual(row["planned_output_tokens"], request["planned"]["output_tokens"])
            if row["success"]:
                first = request["deltas"]["at"][0]
                self.assertEqual(row["first_output_ns"], first)
                self.assertAlmostEqual(row["ttft_ms"], (first - request["sent"]) / 1e6)
                took = request["ended"] - request["sent"]
                self.assertAlmostEqual(row["e2e_ms"], took / 1e6)
            else:
                failed += 1
                self.assertEqual(row["error_kind"], request["outcome"]["Err"]["kind"])
                self.assertIsNone(row["ttft_ms"])
        self.assertGreater(failed, 0)

    def test_the_table_of_tokens_has_the_log_s_values(self):
        requests = pandas.DataFrame.from_arrow(self.log.requests)
        tokens = pandas.DataFrame.from_arrow(self.log.tokens)
        pieces = 0
        for number, of_request in tokens.groupby("request"):
            row = requests.iloc[number]
            deltas = self.requests[row["phase"], row["index"]]["deltas"]
            self.assertEqual(of_request["at_ns"].tolist(), deltas["at"])
            self.assertEqual(of_request["bytes"].tolist(), deltas["bytes"])
            self.assertEqual(of_request["piece"].tolist(), list(range(len(deltas["at"]))))
            pieces += len(of_request)
        self.assertEqual(pieces, len(self.log.tokens))
        self.assertGreater(pieces, 0)

    def test_tables_are_those_of_the_export(self):
        folder = self.folder / "tables"
        done = program("export", self.log.path, "--parquet", folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        import pyarrow.parquet

        for name in ("requests", "tokens", "series"):
            written = pyarrow.parquet.read_table(folder / f"{name}.parquet")
            table = pyarrow.table(getattr(self.log, name))
            self.assertEqual(table.schema.names, written.schema.names)
            self.assertEqual(table.to_pylist(), written.to_pylist())

    def test_series_are_readings_of_the_server(self):
        series = pyarrow.table(self.log.series).to_pylist()
        self.assertEqual({row["kind"] for row in series}, {"gauge", "counter", "histogram"})
        for row in series:
            self.assertTrue(row["source"].startswith("http://127.0.0.1:"), row["source"])
            self.assertIsInstance(json.loads(row["labels"]), dict)
            is_histogram = row["kind"] == "histogram"
            self.assertEqual(row["value"] is None, is_histogram)
            self.assertEqual(row["count"] is None, not is_histogram)

    def test_tables_share_their_memory(self):
        one, other = pyarrow.table(self.log.requests), pyarrow.table(self.log.requests)
        address = lambda table: table["sent_ns"].chunk(0).buffers()[1].address
        self.assertEqual(address(one), address(other))
        kept = pyarrow.table(servemark.read(self.log.path).tokens)
        self.assertEqual(kept.num_rows, len(self.log.tokens))
        self.assertEqual(pyarrow.schema(self.log.tokens), kept.schema)

    def test_scores_are_the_program_s(self):
        done = program("score", self.log.path, "--json")
        self.assertEqual(self.log.score(), json.loads(done.stdout))
        self.assertEqual(self.log.score(), self.runs[0].summary)
        for name in ("vllm", "sglang", "vllm-0.11.0"):
            file = self.folder / f"{name}.jsonl"
            done = program("score", self.log.path, "--layout", name, "--result-file", file)
            self.assertEqual(self.log.score(name), json.loads(file.read_text()), name)
            self.assertIn(self.log.table(name), done.stdout)
        self.assertEqual(self.log.table("evalscope"), self.log.table("evalscope-1.14"))
        self.assertNotEqual(self.log.table("evalscope"), self.log.table("evalscope-1.0"))

    def test_unknown_scores_are_refused(self):
        with self.assertRaisesRegex(ValueError, "there is no layout vlm"):
            self.log.score("vlm")
        with self.assertRaisesRegex(ValueError, "no result of one document"):
            self.log.score("evalscope")

    def test_comparisons_are_the_program_s(self):
        sides = [run.run_log for run in self.runs]
        done = program("compare", *sides, "--json")
        expected = json.loads(done.stdout)
        self.assertEqual(servemark.compare(*sides), expected)
        self.assertEqual(servemark.compare(self.log, [str(sides[1])]), expected)
        vllm = json.loads(program("compare", *sides, "--as", "vllm", "--json").stdout)
        self.assertEqual(servemark.compare(*sides, as_="vllm"), vllm)
        with self.assertRaisesRegex(ValueError, "expected native, sglang or vllm"):
            servemark.compare(*sides, as_="theirs")
        with self.assertRaises(FileNotFoundError):
            servemark.compare(self.log, "missing.runlog.jsonl")
        with self.assertRaisesRegex(ValueError, "at least one result"):
            servemark.compare([], self.log)

    def test_what_is_no_log_is_refused(self):
        with self.assertRaises(FileNotFoundError):
            servemark.read("missing.runlog.jsonl")
        damaged = self.folder / "damaged.runlog.jsonl"
        text = self.log.path.read_text().replace('"index":3,', '"index":4,')
        damaged.write_text(text)
        with self.assertRaises(ValueError):
            servemark.read(damaged)
        skipping = servemark.read(damaged, skip_damaged=True)
        self.assertLess(len(skipping.requests), len(self.log.requests))
        damaged.write_text("no log\n")
        with self.assertRaises(ValueError):
            servemark.read(damaged)
