# The models of AISBench by the names of their files, with exactly the settings of these files.

from ais_bench.benchmark.models import (
    MindieStreamApi, TGICustomAPI, TritonCustomAPI, VLLMCustomAPI, VLLMCustomAPIChat)

service = dict(
    attr="service",
    path="",
    request_rate=0,
    use_timestamp=False,
    retry=2,
    host_ip="localhost",
    host_port=8080,
    url="",
    max_out_len=512,
    batch_size=1,
    trust_remote_code=False,
    generation_kwargs=dict(temperature=0.01, ignore_eos=False),
)
vllm = dict(**service, model="", api_key="")
completions = dict(**vllm, type=VLLMCustomAPI)
chat = dict(**vllm, type=VLLMCustomAPIChat)
triton = dict(**service, type=TritonCustomAPI, model_name="")
tgi = dict(**service, type=TGICustomAPI)

vllm_api_general = [dict(**completions, abbr="vllm-api-general", stream=False)]
vllm_api_general_stream = [dict(**completions, abbr="vllm-api-general-stream", stream=True)]
vllm_api_general_chat = [dict(**chat, abbr="vllm-api-general-chat", stream=False)]
vllm_api_stream_chat = [dict(**chat, abbr="vllm-api-stream-chat", stream=True)]
vllm_api_stream_chat_multiturn = [
    dict(**chat, abbr="vllm-multiturn-api-chat-stream", stream=True),
]
mindie_stream_api_general = [dict(**service, type=MindieStreamApi, abbr="mindie-stream-api")]
tgi_api_general = [dict(**tgi, abbr="tgi-api-general", stream=False)]
tgi_stream_api_general = [dict(**tgi, abbr="tgi-stream-api-general", stream=True)]
triton_api_general = [dict(**triton, abbr="triton-api-general", stream=False)]
triton_stream_api_general = [dict(**triton, abbr="triton-stream-api-general", stream=True)]
