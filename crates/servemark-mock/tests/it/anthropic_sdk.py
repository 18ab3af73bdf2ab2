"""Exercises the server with the `anthropic` package and checks the results."""

import sys

import anthropic

TEXT = " time year work"
ASKED = {
    "model": "org/m",
    "max_tokens": 3,
    "system": "Be brief.",
    "messages": [{"role": "user", "content": "how are you"}],
}

client = anthropic.Anthropic(base_url=sys.argv[1], api_key="none", max_retries=0)
strict = anthropic.Anthropic(base_url=sys.argv[2], api_key="none", max_retries=0)

# A whole message.
whole = client.messages.create(**ASKED)
assert [block.text for block in whole.content] == [TEXT]
assert (whole.role, whole.stop_reason) == ("assistant", "max_tokens")
assert (whole.usage.input_tokens, whole.usage.output_tokens) == (5, 3), whole.usage

# The events of a stream.
kinds = [event.type for event in client.messages.create(**ASKED, stream=True)]
assert kinds[:3] == ["message_start", "content_block_start", "content_block_delta"], kinds
assert kinds.count("content_block_delta") == 3, kinds
assert kinds[-3:] == ["content_block_stop", "message_delta", "message_stop"], kinds

# The helper that puts a stream together.
with client.messages.stream(**ASKED) as stream:
    texts = list(stream.text_stream)
    final = stream.get_final_message()
assert "".join(texts) == TEXT and len(texts) == 3
assert (final.content[0].text, final.stop_reason) == (TEXT, "max_tokens")
assert (final.usage.input_tokens, final.usage.output_tokens) == (5, 3), final.usage

# Errors.
try:
    client.post("/v1/messages", body={"model": "org/m", "max_tokens": 3}, cast_to=object)
    raise AssertionError("a request without messages was answered")
except anthropic.BadRequestError:
    pass
try:
    strict.messages.create(**{**ASKED, "model": "other"})
    raise AssertionError("an unknown model was answered")
except anthropic.NotFoundError:
    pass

print("accepted")
