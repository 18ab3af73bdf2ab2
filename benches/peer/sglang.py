"""Runs SGLang's serving client, in Python or in Rust, from an unpacked wheel.

usage: python sglang.py WHEEL python|rust FLAG...
WHEEL is the folder into which the wheel sglang 0.5.23 was unpacked; fixtures/SOURCES.md says which
packages its client in Python needs. The one in Rust needs none.
"""

import importlib
import sys
import types
from pathlib import Path


def python(wheel, flags):
    sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "fixtures" / "record"))
    client = importlib.import_module("client")
    serving = client.load(wheel)
    with client.command_line(flags):
        serving.cli_main()


def rust(wheel, flags):
    # The packages around the compiled one would import the whole engine.
    for name in ("sglang", "sglang.srt", "sglang.srt.rust_extensions"):
        package = types.ModuleType(name)
        package.__path__ = [str(Path(wheel).resolve().joinpath(*name.split(".")))]
        sys.modules[name] = package
    bench = importlib.import_module("sglang.srt.rust_extensions._bench")
    bench.run_argv(["sglang-bench", *flags])


if __name__ == "__main__":
    _, wheel, which, *flags = sys.argv
    {"python": python, "rust": rust}[which](wheel, flags)
