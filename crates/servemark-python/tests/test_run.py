"""Runs of plans."""

import asyncio
import json
import os
import signal
import tempfile
import threading
import unittest
from pathlib import Path

import servemark
from plans import plan


def measured(log):
    """Returns the outcomes of the measured requests in a log's file."""
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    requests = [line["request"] for line in lines if "request" in line]
    return [request["outcome"] for request in requests if request.get("phase") in (None, "measure")]


class RunTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.out = Path(folder.name, "out")
        self.log = self.out / "run.runlog.jsonl"

    def serve(self, **settings):
        server = servemark.MockServer(**{"ttft": 2, "itl": 1, **settings})
        self.addCleanup(server.stop)
        return server.url

    def test_a_run_leaves_what_the_command_leaves(self):
        seen = []
        result = servemark.run(plan(self.serve()), out=self.out, progress=seen.append)
        self.assertEqual(result.exit_code, 0)
        self.assertEqual(result.folder, self.out)
        self.assertEqual(result.run_log, self.log)
        self.assertEqual(json.loads((self.out / "summary.json").read_text()), result.summary)
        self.assertTrue((self.out / "report.html").is_file())
        self.assertEqual(len(measured(self.log)), 20)
        self.assertTrue(result.log().is_complete)
        self.assertEqual((seen[-1].finished, seen[-1].failed, seen[-1].requests), (20, 0, 20))
        self.assertTrue(any(progress.messages for progress in seen))

    def test_a_plan_may_be_a_file(self):
        file = self.out.with_name("plan.json")
        file.write_text(json.dumps(plan(self.serve(), requests=3)))
        self.assertEqual(servemark.run(file, out=self.out).exit_code, 0)
        self.assertEqual(len(measured(self.log)), 3)

    def test_an_objective_that_is_missed_is_an_exit_code(self):
        asked = plan(self.serve(ttft=30))
        asked["scoring"] = {"slo": {"objectives": ["ttft:p50<1ms"]}}
        self.assertEqual(servemark.run(asked, out=self.out).exit_code, 3)

    def test_faults_of_a_plan_are_told_together(self):
        asked = {**plan("http://127.0.0.1:1"), "laod": {}}
        asked["workload"]["sed"] = 3
        with self.assertRaises(ValueError) as refused:
            servemark.run(asked, out=self.out)
        told = str(refused.exception)
        self.assertTrue(told.startswith("the plan is not run:\n  - "), told)
        self.assertIn("did you mean load?", told)
        self.assertIn("did you mean seed?", told)
        self.assertFalse(self.out.exists())
        for nothing in ({}, {"backend": "none"}):
            with self.assertRaises(ValueError):
                servemark.run(nothing)
        with self.assertRaises(TypeError):
            servemark.run(3)
        with self.assertRaises(TypeError):
            servemark.run({"backend": object()})

    def test_files_are_errors_of_the_system(self):
        with self.assertRaises(FileNotFoundError) as missing:
            servemark.run(self.out / "plan.toml")
        self.assertEqual(missing.exception.filename, str(self.out / "plan.toml"))
        self.out.write_text("a file")
        with self.assertRaises((OSError, ValueError)) as taken:
            servemark.run(plan(self.serve()), out=self.out)
        self.assertIn(str(self.out), str(taken.exception))

    def test_a_server_that_is_not_ready_is_an_error_of_the_run(self):
        asked = plan("http://127.0.0.1:1")
        asked["control"] = {"ready_timeout": 0.1}
        with self.assertRaises(servemark.RunError) as failed:
            servemark.run(asked, out=self.out)
        self.assertEqual(failed.exception.exit_code, 4)

    def test_ctrl_c_keeps_what_was_finished(self):
        def interrupt(progress):
            if progress.finished >= 4 and not signals:
                signals.append(1)
                os.kill(os.getpid(), signal.SIGINT)

        signals = []
        # A shell's background jobs ignore the signal, and their children do.
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        self.addCleanup(signal.signal, signal.SIGINT, before)
        with self.assertRaises(KeyboardInterrupt):
            servemark.run(plan(self.serve(), requests=100_000), out=self.out, progress=interrupt)
        self.keeps_finished()

    def test_an_exception_of_the_caller_ends_the_run(self):
        def refuse(progress):
            if progress.finished >= 4:
                raise LookupError("enough")

        with self.assertRaisesRegex(LookupError, "enough"):
            servemark.run(plan(self.serve(), requests=100_000), out=self.out, progress=refuse)
        self.keeps_finished()

    def cancelled(self, asked, is_enough, times):
        """Runs a plan and cancels it a number of times when there is enough progress."""

        async def cancel():
            enough = asyncio.Event()
            progress = lambda seen: is_enough(seen) and enough.set()
            task = asyncio.ensure_future(
                servemark.run_async(asked, out=self.out, progress=progress)
            )
            reached = asyncio.ensure_future(enough.wait())
            await asyncio.wait({task, reached}, return_when=asyncio.FIRST_COMPLETED)
            if not reached.done():
                reached.cancel()
                return await task
            for _ in range(times):
                task.cancel()
                await asyncio.sleep(0)
            with self.assertRaises(asyncio.CancelledError):
                await task

        asyncio.run(cancel())

    def test_a_task_can_be_cancelled(self):
        asked = plan(self.serve(), requests=100_000)
        self.cancelled(asked, lambda seen: seen.finished >= 4, times=1)
        self.keeps_finished()

    def test_a_second_cancellation_abandons_requests(self):
        warmup = {"requests": 0, "most_output_tokens": 1}
        asked = plan(self.serve(ttft="60s"), requests=100, warmup=warmup)
        asked["control"] = {"greeting": None}
        self.cancelled(asked, lambda seen: seen.in_flight >= 4, times=2)
        self.assertFalse(servemark.read(self.log).is_complete)

    def test_python_goes_on_during_a_run(self):
        async def count():
            turns = 0
            task = asyncio.ensure_future(
                servemark.run_async(plan(self.serve(), requests=200), out=self.out)
            )
            while not task.done():
                turns += 1
                await asyncio.sleep(0)
            return turns, await task

        turns, result = asyncio.run(count())
        self.assertGreater(turns, 1)
        self.assertEqual(result.exit_code, 0)

    def test_a_run_needs_not_the_main_thread(self):
        results = []
        work = lambda: results.append(servemark.run(plan(self.serve()), out=self.out))
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        self.assertEqual(results[0].exit_code, 0)

    def keeps_finished(self):
        outcomes = measured(self.log)
        self.assertGreaterEqual(len(outcomes), 4)
        self.assertLess(len(outcomes), 100_000)
        self.assertTrue(all("Ok" in outcome for outcome in outcomes), outcomes)
        self.assertFalse(servemark.read(self.log).is_complete)
        self.assertTrue((self.out / "summary.json").is_file())
