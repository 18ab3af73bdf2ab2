"""The program in the package."""

import json
import signal
import subprocess
import sys
import sysconfig
import tempfile
import time
import unittest
from importlib.metadata import version
from pathlib import Path

import servemark
from plans import plan

SCRIPT = Path(sysconfig.get_path("scripts"), "servemark")


def program(*args, start=(SCRIPT,)):
    """Runs the program to its end."""
    command = [*map(str, start), *args]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)


class ProgramTest(unittest.TestCase):
    def test_it_is_a_script_and_a_module(self):
        for start in [[SCRIPT], [sys.executable, "-m", "servemark"]]:
            done = program("--version", start=start)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn(version("servemark"), done.stdout)
        self.assertEqual(servemark.__version__, version("servemark"))

    def test_its_exit_codes_are_the_program_s(self):
        done = program("score", "missing.runlog.jsonl")
        self.assertEqual(done.returncode, 2)
        self.assertIn("cannot read the run log missing.runlog.jsonl", done.stderr)
        self.assertNotIn("Traceback", done.stderr)
        self.assertEqual(program("--no-such-flag").returncode, 2)

    def test_ctrl_c_ends_a_run_in_order(self):
        with tempfile.TemporaryDirectory() as folder, servemark.MockServer(ttft=2, itl=1) as url:
            file, log = Path(folder, "plan.json"), Path(folder, "out", "run.runlog.jsonl")
            file.write_text(json.dumps(plan(url, requests=100_000)))
            command = [SCRIPT, "run", file, "--out", log.parent, "--quiet"]
            output = subprocess.PIPE
            with subprocess.Popen(command, stdout=output, stderr=output, text=True) as run:
                has_measured = lambda: log.is_file() and '"phase":"measure"' in log.read_text()
                while run.poll() is None and not has_measured():
                    time.sleep(0.01)
                run.send_signal(signal.SIGINT)
                _, errors = run.communicate(timeout=300)
            self.assertEqual(run.returncode, 130, errors)
            self.assertNotIn("Traceback", errors)
            self.assertGreater(len(servemark.read(log).requests), 0)

    def test_it_starts_itself_again(self):
        # The ranks print their help: their coordinator is never asked.
        done = program(
            "launch", "--hosts", "localhost", "--coordinator", "nats://127.0.0.1:1", "--",
            "run", "--help",
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("Run a plan from a file", done.stdout)
