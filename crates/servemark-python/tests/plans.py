"""Plans of the tests."""

import subprocess
import sys


def plan(url, requests=20, **load):
    """Returns a plan for a simulator."""
    dataset = {"dataset": "random", "source": "vocabulary", "input_tokens": 8, "output_tokens": 4}
    return {
        "backend": "vllm-chat",
        "server": {"at": {"base_url": url}},
        "model": {"name": "mock", "bundled_tokenizer": True},
        "workload": {"requests": requests, "dataset": dataset},
        "load": {"max_concurrency": 4, **load},
    }


def plan_without_dataset(url, requests=20, **load):
    """Returns a plan for a simulator to which a data set is given."""
    whole = plan(url, requests, **load)
    del whole["workload"]["dataset"]
    return whole


def program(*args):
    """Runs the program to its end."""
    command = [sys.executable, "-m", "servemark", *map(str, args)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
