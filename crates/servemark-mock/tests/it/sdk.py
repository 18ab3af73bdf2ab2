"""Exercises the server with every feature of the `openai` package and checks the results."""

import sys

import openai

TEXT = " time year work"
CHAT = {"model": "org/m", "messages": [{"role": "user", "content": "how are you"}]}

client = openai.OpenAI(base_url=sys.argv[1] + "/v1", api_key="none", max_retries=0)
strict = openai.OpenAI(base_url=sys.argv[2] + "/v1", api_key="none", max_retries=0)

# Models.
assert [model.id for model in client.models.list()] == ["org/m"]
assert client.models.retrieve("org/m").object == "model"

# Chats: whole, streamed, and by the helper that puts a stream together.
whole = client.chat.completions.create(**CHAT, max_tokens=3, n=2, logprobs=True, top_logprobs=2)
assert [choice.message.content for choice in whole.choices] == [TEXT, TEXT]
assert [token.token for token in whole.choices[1].logprobs.content] == [" time", " year", " work"]
assert len(whole.choices[0].logprobs.content[0].top_logprobs) == 2
assert whole.usage.completion_tokens == 6
texts = {}
usage = None
options = {"include_usage": True}
for chunk in client.chat.completions.create(
    **CHAT, max_tokens=3, n=2, stream=True, stream_options=options
):
    usage = chunk.usage or usage
    for choice in chunk.choices:
        texts[choice.index] = texts.get(choice.index, "") + (choice.delta.content or "")
assert texts == {0: TEXT, 1: TEXT} and usage.completion_tokens == 6
with client.chat.completions.stream(**CHAT, max_tokens=3, n=2, logprobs=True) as stream:
    for event in stream:
        pass
    choices = stream.current_completion_snapshot.choices
assert [choice.message.content for choice in choices] == [TEXT, TEXT]
assert len(choices[1].logprobs.content) == 3

# Completions.
asked = {"model": "org/m", "prompt": "a b", "max_tokens": 3, "n": 2, "logprobs": 2}
whole = client.completions.create(**asked)
assert [choice.text for choice in whole.choices] == [TEXT, TEXT]
assert whole.choices[1].logprobs.text_offset == [0, 5, 10]
texts = {}
for chunk in client.completions.create(**asked, stream=True):
    for choice in chunk.choices:
        texts[choice.index] = texts.get(choice.index, "") + choice.text
assert texts == {0: TEXT, 1: TEXT}

# Responses.
asked = {"model": "org/m", "input": "a b", "max_output_tokens": 3}
whole = client.responses.create(**asked)
assert whole.output_text == TEXT and whole.usage.output_tokens_details.reasoning_tokens == 0
with client.responses.stream(**asked) as stream:
    kinds = [event.type for event in stream]
    final = stream.get_final_response()
assert kinds[-1] == "response.completed" and kinds.count("response.output_text.delta") == 3, kinds
assert final.output_text == TEXT and final.usage.total_tokens == 5

# Embeddings, which the package asks for as base64.
vectors = client.embeddings.create(model="org/m", input=["a", "b"])
assert [vector.index for vector in vectors.data] == [0, 1] and len(vectors.data[0].embedding) == 8

# Errors.
try:
    client.post("/chat/completions", body={"model": "org/m"}, cast_to=object)
    raise AssertionError("a chat without messages was answered")
except openai.BadRequestError as error:
    assert (error.param, error.code) == ("messages", "missing_required_parameter"), error
try:
    strict.chat.completions.create(**{**CHAT, "model": "other"}, max_tokens=3)
    raise AssertionError("an unknown model was answered")
except openai.NotFoundError as error:
    assert (error.param, error.code) == ("model", "model_not_found"), error
try:
    client.models.retrieve("other")
    raise AssertionError("an unknown model was found")
except openai.NotFoundError as error:
    assert error.code == "model_not_found", error

print("accepted")
