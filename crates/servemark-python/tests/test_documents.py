"""The programs in the documents."""

import contextlib
import io
import json
import os
import re
import tempfile
import unittest
from pathlib import Path

PACKAGE = Path(__file__).parents[1]
DOCS = PACKAGE.parents[1] / "docs"
DOCUMENTS = [PACKAGE / "README.md", DOCS / "python.md"]


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

    def test_the_cells_of_the_notebook_run(self):
        import matplotlib

        matplotlib.use("agg")
        import matplotlib.pyplot as plt

        cells = json.loads((DOCS / "sweep.ipynb").read_text())["cells"]
        names = {}
        with contextlib.redirect_stdout(io.StringIO()):
            for cell in cells:
                if cell["cell_type"] == "code":
                    exec(compile("".join(cell["source"]), cell["id"], "exec"), names)
        self.addCleanup(plt.close, "all")
        self.assertEqual(len(plt.get_fignums()), 2)
        late = names["quantiles"][0.9]
        self.assertGreater(late[160], 2 * late[40], "requests wait at the highest rate")
        self.assertEqual(set(names["requests"].groupby("rate").size()), {200})
