"""The simulator."""

import inspect
import json
import re
import unittest
import urllib.error
import urllib.request

import servemark
from servemark import _servemark


def ask(url, tokens):
    """Asks for an answer of a number of tokens and returns the document."""
    body = {"model": "mock", "messages": [{"role": "user", "content": "Hi"}], "max_tokens": tokens}
    request = urllib.request.Request(
        f"{url}/v1/chat/completions",
        json.dumps(body).encode(),
        {"content-type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)


class MockServerTest(unittest.TestCase):
    def test_it_answers_until_its_block_ends(self):
        with servemark.MockServer(ttft=1, itl="1ms") as url:
            self.assertEqual(ask(url, 3)["usage"]["completion_tokens"], 3)
        with self.assertRaises(urllib.error.URLError):
            ask(url, 3)

    def test_it_tells_what_it_received_and_sent(self):
        server = servemark.MockServer(ttft=1, itl=1)
        ask(server.url, 4)
        ask(server.url, 2)
        self.assertEqual(len(server.truth()), 2)
        self.assertEqual(len(server.requests()), 2)
        server.stop()
        with self.assertRaises(RuntimeError):
            server.truth()

    def test_its_settings_are_those_of_a_plan(self):
        with servemark.MockServer(faults=["status:503"]) as url:
            with self.assertRaises(urllib.error.HTTPError) as refused:
                ask(url, 1)
        self.assertEqual(refused.exception.code, 503)

    def test_every_setting_has_a_keyword(self):
        with self.assertRaises(ValueError) as refused:
            _servemark.MockServer({"unknown": 1})
        known = set(re.findall("`(\\w+)`", str(refused.exception))) - {"unknown"}
        keywords = set(inspect.signature(servemark.MockServer).parameters)
        self.assertEqual(keywords, known)
        described = inspect.getdoc(servemark.MockServer)
        self.assertEqual({name for name in known if f"``{name}``" not in described}, set())

    def test_wrong_settings_are_refused(self):
        with self.assertRaisesRegex(ValueError, "is not a duration"):
            servemark.MockServer(ttft="soon")
        with self.assertRaises(OSError):
            servemark.MockServer(listen="192.0.2.1:0")
        with servemark.MockServer() as url:
            with self.assertRaisesRegex(OSError, "in use"):
                servemark.MockServer(listen=url.removeprefix("http://"))
