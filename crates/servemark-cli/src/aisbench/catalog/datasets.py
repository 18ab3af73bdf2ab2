# The data sets of AISBench that are supported, by the names of their files, with the settings of
# what is sent. Settings of how answers are judged are left out.

from mmengine.config import read_base
from ais_bench.benchmark.datasets import (
    GSM8KDataset, MMCustomDataset, MMStarDataset, MTBenchDataset, MooncakeTraceDataset,
    ShareGPTDataset, SyntheticDataset, TEXTVQADataset)
from ais_bench.benchmark.openicl.icl_inferencer import GenInferencer, MultiTurnGenInferencer

# A file below the current folder takes precedence, because AISBench's guide has it edited.
with read_base():
    from ais_bench.datasets.synthetic.synthetic_config import synthetic_config

question = dict(input_columns=["question"], output_column="answer")
turns = dict(input_columns=["question", "answer"], output_column="answer")
as_it_is = dict(
    prompt_template=dict(template="{question}"),
    inferencer=dict(type=GenInferencer),
)
turn_by_turn = dict(
    prompt_template=dict(template=dict(round=[
        dict(role="HUMAN", prompt="{question}"),
        dict(role="BOT", prompt="{answer}"),
    ])),
    inferencer=dict(type=MultiTurnGenInferencer, infer_mode="every"),
)

synthetic = dict(
    abbr="synthetic",
    type=SyntheticDataset,
    config=synthetic_config,
    reader_cfg=dict(input_columns=["question", "max_out_len"], output_column="answer"),
    infer_cfg=as_it_is,
)
synthetic_gen = [synthetic]
# synthetic_gen_string and synthetic_gen_tokenid have settings of their own.
inline_config = {
    "Type": "tokenid",
    "RequestCount": 10,
    "TrustRemoteCode": False,
    "StringConfig": {
        "Input": {"Method": "uniform", "Params": {"MinValue": 1, "MaxValue": 200}},
        "Output": {
            "Method": "gaussian",
            "Params": {"Mean": 100, "Var": 200, "MinValue": 1, "MaxValue": 100},
        },
    },
    "TokenIdConfig": {"RequestSize": 10, "PrefixLen": 0},
}
synthetic_gen_string = [{**synthetic, "config": {**inline_config, "Type": "string"}}]
synthetic_gen_tokenid = [{**synthetic, "config": inline_config, "reader_cfg": question}]

mooncake_trace_gen = [dict(
    abbr="mooncake-trace",
    type=MooncakeTraceDataset,
    path="",
    generated_prompts_path="",
    random_seed=None,
    fixed_schedule_auto_offset=False,
    fixed_schedule_start_offset=0,
    fixed_schedule_end_offset=-1,
    reader_cfg=dict(
        input_columns=["prompt", "timestamp", "max_out_len"],
        output_column="answer",
    ),
    infer_cfg=dict(
        prompt_template=dict(template="{prompt}"),
        inferencer=dict(type=GenInferencer),
    ),
)]

sharegpt_gen = [dict(
    abbr="sharegpt",
    type=ShareGPTDataset,
    disable_shuffle=True,
    path="ais_bench/datasets/sharegpt/ShareGPT_V3_unfiltered_cleaned_split.json",
    reader_cfg=turns,
    infer_cfg=turn_by_turn,
)]

mtbench_gen = [dict(
    abbr="mtbench",
    type=MTBenchDataset,
    path="ais_bench/datasets/mtbench/question.jsonl",
    reader_cfg=turns,
    infer_cfg=turn_by_turn,
)]

picture_path = {"type": "image_url", "image_url": {"url": "file://{image}"}}

mmstar_gen = [dict(
    abbr="mmstar",
    type=MMStarDataset,
    path="ais_bench/datasets/mmstar/MMStar.tsv",
    reader_cfg=dict(input_columns=["question", "image"], output_column="answer"),
    infer_cfg=dict(
        prompt_template=dict(template=dict(round=[dict(role="HUMAN", prompt_mm={
            "text": {"type": "text", "text": "Question: {question}\n"},
            "image": picture_path,
        })])),
        inferencer=dict(type=GenInferencer),
    ),
)]
mmstar_gen_cot = [{**mmstar_gen[0], "infer_cfg": dict(
    prompt_template=dict(template=dict(round=[dict(role="HUMAN", prompt_mm={
        "text": {"type": "text", "text":
            "Answer the following multiple choice question.\n"
            "The last line of your response should be of the following format:\n"
            "'ANSWER: [LETTER]' (without quotes)\n"
            "where [LETTER] is one of A,B,C,D. Think step by step before answering.\n\n{question}"},
        "image": picture_path,
    })])),
    inferencer=dict(type=GenInferencer),
)}]

textvqa_text = "{question} Answer the question using a single word or phrase."
textvqa = dict(
    abbr="textvqa",
    type=TEXTVQADataset,
    path="ais_bench/datasets/textvqa/textvqa_json/textvqa_val.jsonl",
    reader_cfg=dict(input_columns=["question", "image"], output_column="answer"),
)
textvqa_gen = [dict(**textvqa, image_type="image_path", infer_cfg=dict(
    prompt_template=dict(template=dict(round=[dict(role="HUMAN", prompt_mm={
        "text": {"type": "text", "text": textvqa_text},
        "image": picture_path,
    })])),
    inferencer=dict(type=GenInferencer),
))]
textvqa_gen_base64 = [dict(**textvqa, image_type="image_base64", infer_cfg=dict(
    prompt_template=dict(template=dict(round=[dict(role="HUMAN", prompt_mm={
        "text": {"type": "text", "text": textvqa_text},
        "image": {"type": "image_url", "image_url": {"url": "data:image/jpeg;base64,{image}"}},
    })])),
    inferencer=dict(type=GenInferencer),
))]

mm_custom_gen = [dict(
    abbr="mm_custom",
    type=MMCustomDataset,
    path="ais_bench/datasets/mm_custom/mm_custom.jsonl",
    mm_type="path",
    num_frames=5,
    reader_cfg=dict(
        input_columns=["question", "image", "video", "audio"],
        output_column="answer",
    ),
    infer_cfg=dict(
        prompt_template=dict(template=dict(round=[dict(role="HUMAN", prompt_mm={
            "text": {"type": "text", "text": "{question}"},
            "image": picture_path,
            "video": {"type": "video_url", "video_url": {"url": "file://{video}"}},
            "audio": {"type": "audio_url", "audio_url": {"url": "file://{audio}"}},
        })])),
        inferencer=dict(type=GenInferencer),
    ),
)]

gsm8k = dict(
    abbr="gsm8k",
    type=GSM8KDataset,
    path="ais_bench/datasets/gsm8k",
    reader_cfg=question,
)
gsm8k_gen_0_shot_cot_str_perf = [dict(**gsm8k, infer_cfg=as_it_is)]
gsm8k_gen_0_shot_cot_chat_prompt = [dict(**gsm8k, infer_cfg=dict(
    prompt_template=dict(template=dict(round=[dict(role="HUMAN", prompt=
        "Answer the following question.The last line of the response should follow this format: "
        "\"answer:$ANSWER\" (without quotes), where ANSWER is a number. Let's think step by step."
        "\n\nQuestion: {question}")])),
    inferencer=dict(type=GenInferencer),
))]
