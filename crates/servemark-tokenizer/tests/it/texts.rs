//! Ids, texts and rendered conversations.

use servemark_core::{JsonObject, SpecialTokens, Tokenizer};
use servemark_tokenizer::HfTokenizer;

use crate::{BOTCHAN, GPT2, MISTRAL, QWEN, folder, tokenizer};

const ASCII: &str = "Hello, world! It's 3.14 €  and   spaces";
const SCRIPTS: &str = "日本語 🚀\n\ttab";
const SPECIAL: &str = "<|im_start|>user\n<s>x</s>";

#[track_caller]
fn check(name: &str, text: &str, ids: &[u32], decoded: &str) {
    let tokenizer = tokenizer(name);
    assert_eq!(tokenizer.encode(text, SpecialTokens::Add).unwrap(), ids);
    assert_eq!(tokenizer.decode(ids).unwrap(), decoded);
    let bare = tokenizer.encode(text, SpecialTokens::Omit).unwrap();
    assert_eq!(bare, ids[tokenizer.special_tokens_added() as usize..]);
}

#[test]
fn byte_level_bpe() {
    check(
        GPT2,
        ASCII,
        &[15496, 11, 995, 0, 632, 338, 513, 13, 1415, 10432, 220, 290, 220, 220, 9029],
        ASCII,
    );
    check(
        GPT2,
        SCRIPTS,
        &[33768, 98, 17312, 105, 45739, 252, 12520, 248, 222, 198, 197, 8658],
        SCRIPTS,
    );
    check(
        GPT2,
        SPECIAL,
        &[27, 91, 320, 62, 9688, 91, 29, 7220, 198, 27, 82, 29, 87, 3556, 82, 29],
        SPECIAL,
    );
    check(GPT2, "", &[], "");
    check(GPT2, " leading", &[3756], " leading");
}

#[test]
fn byte_level_bpe_with_added_tokens() {
    check(
        QWEN,
        ASCII,
        &[9707, 11, 1879, 0, 1084, 594, 220, 18, 13, 16, 19, 12984, 220, 323, 256, 12621],
        ASCII,
    );
    check(QWEN, SCRIPTS, &[101_059, 102_819, 11162, 248, 222, 198, 58149], SCRIPTS);
    check(QWEN, SPECIAL, &[151_644, 872, 198, 44047, 28257, 522, 82, 29], SPECIAL);
    check(QWEN, "", &[], "");
    check(QWEN, " leading", &[6388], " leading");
}

#[test]
fn sentencepiece_bpe() {
    check(
        MISTRAL,
        ASCII,
        &[
            1, 22557, 28725, 1526, 28808, 661, 28742, 28713, 28705, 28770, 28723, 28740, 28781,
            17416, 28705, 304, 259, 10599,
        ],
        "<s> Hello, world! It's 3.14 €  and   spaces",
    );
    check(
        MISTRAL,
        SCRIPTS,
        &[1, 28705, 29142, 29119, 30321, 28705, 30012, 13, 12, 4252],
        "<s> 日本語 🚀\n\ttab",
    );
    check(
        MISTRAL,
        SPECIAL,
        &[1, 523, 28766, 321, 28730, 2521, 28766, 28767, 1838, 13, 1, 1318, 2],
        "<s> <|im_start|>user\n<s> x</s>",
    );
    check(MISTRAL, "", &[1], "<s>");
    check(MISTRAL, " leading", &[1, 28705, 5374], "<s>  leading");
}

#[test]
fn unigram() {
    check(
        BOTCHAN,
        ASCII,
        &[151, 88, 21, 5, 887, 147, 225, 32, 8, 4, 0, 6, 357, 0, 4, 0, 13, 273, 19, 135, 8],
        "Hello, world! It's <unk>.1<unk> <unk> and spaces",
    );
    check(BOTCHAN, SCRIPTS, &[4, 0, 4, 0, 281, 66], "<unk> <unk>tab");
    check(
        BOTCHAN,
        SPECIAL,
        &[4, 0, 437, 0, 85, 48, 15, 0, 193, 40, 0, 1, 297, 2],
        "<unk>im<unk>start<unk>user<unk><s>x</s>",
    );
    check(BOTCHAN, "", &[], "");
    check(BOTCHAN, " leading", &[4, 82, 218, 18], "leading");
}

/// Arbitrary ids, some of which are parts of characters.
const IDS: [u32; 10] = [0, 5, 100, 300, 999, 500, 13, 11, 220, 2];

#[test]
fn any_ids_have_a_text() {
    assert_eq!(tokenizer(GPT2).decode(&IDS).unwrap(), "!&� limesine., #");
    assert_eq!(tokenizer(QWEN).decode(&IDS).unwrap(), "!&�as                           pl., #");
    assert_eq!(tokenizer(MISTRAL).decode(&IDS).unwrap(), "<unk>\u{2}aomoth U���</s>");
    assert_eq!(tokenizer(BOTCHAN).decode(&IDS).unwrap(), "<unk>,I Whenj appear and a am</s>");
}

#[track_caller]
fn renders(messages: &str, expected: &str) {
    let messages: Vec<JsonObject> = serde_json::from_str(messages).unwrap();
    assert_eq!(tokenizer(QWEN).apply_chat_template(&messages).unwrap(), expected);
}

#[test]
fn conversations_render_as_in_transformers() {
    renders(
        r#"[{"role":"user","content":"Hi <b>&\"é\"</b>"}]"#,
        "<|im_start|>system\nYou are Qwen, created by Alibaba Cloud. You are a helpful assistant.\
         <|im_end|>\n<|im_start|>user\nHi <b>&\"é\"</b><|im_end|>\n<|im_start|>assistant\n",
    );
}

#[test]
fn tool_calls_render_as_in_transformers() {
    renders(
        r#"[
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Hi"},
            {"role": "assistant", "content": "", "tool_calls": [{"function":
                {"name": "f", "arguments": {"city": "東京", "n": [1, 2.5, null]}}}]},
            {"role": "tool", "content": "{}"}
        ]"#,
        "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n\
         <|im_start|>assistant\n<tool_call>\n{\"name\": \"f\", \"arguments\": \
         {\"city\": \"東京\", \"n\": [1, 2.5, null]}}\n</tool_call><|im_end|>\n\
         <|im_start|>user\n<tool_response>\n{}\n</tool_response><|im_end|>\n\
         <|im_start|>assistant\n",
    );
}

#[test]
fn a_tokenizer_that_is_made_to_decode_is_no_other() {
    for name in [GPT2, MISTRAL, QWEN, BOTCHAN] {
        let (made, whole) = (HfTokenizer::load_to_decode(&folder(name)).unwrap(), tokenizer(name));
        assert_eq!(made.vocab_size(), whole.vocab_size(), "{name}");
        assert_eq!(made.token_ids(), whole.token_ids(), "{name}");
        assert_eq!(made.special_ids(), whole.special_ids(), "{name}");
        assert_eq!(made.special_tokens_added(), whole.special_tokens_added(), "{name}");
        assert_eq!(made.image_token_id(), whole.image_token_id(), "{name}");
        let ids = whole.encode("Möchten Sie 12 Brötchen?", SpecialTokens::Add).unwrap();
        assert_eq!(made.decode(&ids).unwrap(), whole.decode(&ids).unwrap(), "{name}");
        assert_eq!(made.encode("Möchten Sie 12 Brötchen?", SpecialTokens::Add).unwrap(), ids);
    }
}
