"""The programs in the documents."""

import contextlib
import io
import os
import re
import tempfile
import unittest
from pathlib import Path

PACKAGE = Path(__file__).parents[1]
DOCUMENTS = [PACKAGE / "README.md", PACKAGE.parents[1] / "docs" / "python.md"]


class DocumentsTest(unittest.TestCase):
    def test_the_programs_run(self):
        before = Path.cwd()
        self.addCleanup(os.chdir, before)
        for document in DOCUMENTS:
            programs = re.findall(r"^```python\n(.*?)^```", document.read_text(), re.M | re.S)
            self.assertTrue(programs, document)
            with self.subTest(document.name), tempfile.TemporaryDirectory() as folder:
                os.chdir(folder)
                names = {}
                with contextlib.redirect_stdout(io.StringIO()):
                    for program in programs:
                        exec(compile(program, str(document), "exec"), names)
                os.chdir(before)
