"""Data sets in Python."""

import asyncio
import itertools
import json
import tempfile
import unittest
from pathlib import Path

import servemark
from plans import plan, plan_without_dataset


class DatasetTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.out = Path(folder.name, "out")
        self.server = servemark.MockServer(ttft=2, itl=1)
        self.addCleanup(self.server.stop)
        self.plan = plan_without_dataset(self.server.url, requests=6, warmup={"requests": 0, "most_output_tokens": 1})

    def run_with(self, dataset):
        return servemark.run(self.plan, out=self.out, dataset=dataset)

    def bodies(self):
        """Returns the bodies that the server received, in the order of their prompts."""
        asked = [request for request in self.server.requests() if request["method"] == "POST"]
        bodies = [json.loads(request["body"]) for request in asked]
        return sorted(bodies, key=lambda body: body["messages"][0]["content"])

    def test_a_function_gives_the_requests(self):
        asked = []

        def sums(count):
            asked.append(count)
            for number in itertools.count():
                yield {
                    "prompt": f"What is {number} + 1?",
                    "output_tokens": 3 + number,
                    "extra_body": {"seed": number},
                }

        result = self.run_with(sums)
        self.assertEqual((result.exit_code, asked), (0, [6]))
        self.assertEqual(
            [body["messages"][0]["content"] for body in self.bodies()],
            [f"What is {number} + 1?" for number in range(6)],
        )
        self.assertEqual([body["seed"] for body in self.bodies()], list(range(6)))
        requests = result.log().requests
        self.assertEqual(len(requests), 6)
        dataset = result.log().header["plan"]["workload"]["dataset"]
        self.assertEqual(dataset, {"dataset": "provided", "name": "sums"})

    def test_a_request_may_have_messages_and_a_body_of_its_own(self):
        messages = [[{"role": "user", "content": text}] for text in "bc"]
        requests = [
            {"prompt": "a", "output_tokens": 2},
            {"prompt": messages[0], "output_tokens": 2, "input_tokens": 7},
            {"prompt": "", "output_tokens": 2, "extra_body": {"messages": messages[1], "top_p": 0.5}},
        ]
        result = self.run_with(requests)
        self.assertEqual(result.exit_code, 0)
        bodies = self.bodies()
        self.assertEqual([body["messages"][0]["content"] for body in bodies], ["a", "b", "c"])
        self.assertEqual(bodies[2]["top_p"], 0.5)

    def test_a_list_of_requests_is_a_conversation(self):
        turns = [{"prompt": [{"role": "user", "content": text}], "output_tokens": 2, "input_tokens": 1}
                 for text in ("a", "b")]
        self.plan["workload"]["requests"] = 1
        self.assertEqual(self.run_with([turns]).exit_code, 0)
        lengths = sorted(len(body["messages"]) for body in self.bodies())
        self.assertEqual(lengths, [1, 3])

    def test_an_exception_of_the_function_is_raised(self):
        def broken(count):
            yield {"prompt": "a", "output_tokens": 1}
            raise LookupError("no more")

        with self.assertRaises(LookupError):
            self.run_with(broken)
        self.assertFalse(self.out.exists())
        with self.assertRaises(LookupError):
            asyncio.run(servemark.run_async(self.plan, out=self.out, dataset=broken))

    def test_what_is_no_request_is_told_with_its_place(self):
        whole = {"prompt": "a", "output_tokens": 1}
        for wrong, told in (
            ({"prompt": "a"}, "requests[1]: missing field `output_tokens`"),
            ({**whole, "tokens": 3}, "unknown field `tokens`"),
            ({**whole, "prompt": 3}, "requests[1]"),
            ([], "a conversation without turns"),
        ):
            with self.assertRaises(ValueError) as refused:
                self.run_with([whole, wrong])
            self.assertIn(told, str(refused.exception))
        with self.assertRaises(ValueError):
            self.run_with([])
        for wrong in (3, [{"prompt": object(), "output_tokens": 1}]):
            with self.assertRaises(TypeError):
                self.run_with(wrong)

    def test_a_plan_has_one_data_set(self):
        with self.assertRaises(ValueError):
            servemark.run(plan(self.server.url), out=self.out, dataset=[])
        with self.assertRaises(TypeError):
            servemark.run("plan.toml", out=self.out, dataset=[])
        with self.assertRaises(ValueError):
            servemark.run({**self.plan}, out=self.out)
