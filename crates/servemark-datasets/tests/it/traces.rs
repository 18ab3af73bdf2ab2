//! Tests that published trace formats are drawn into sessions.

use std::fs;
use std::path::Path;
use std::time::Duration;

use servemark_core::{Prompt, Session, SpecialTokens, Tokenizer};
use servemark_datasets::{DatasetSpec, Draw, TraceFormat, TraceSpec};
use servemark_rng::RandomState;
use tempfile::NamedTempFile;

use crate::{draw, fixture, text, tokenizer};

fn trace(format: TraceFormat, path: &Path, count: usize) -> Draw {
    let spec = DatasetSpec::Trace(TraceSpec::new(format, Some(path.to_owned())));
    draw(&spec, count, tokenizer("qwen2.5"), &mut RandomState::seeded(9)).unwrap()
}

fn trace_file(lines: &[&str]) -> NamedTempFile {
    let file = NamedTempFile::new().unwrap();
    fs::write(&file, lines.join("\n")).unwrap();
    file
}

/// Returns the prompt and output token counts of every turn.
fn lengths(session: &Session) -> Vec<(u32, u32)> {
    session.samples().map(|sample| (sample.prompt_tokens, sample.output_tokens)).collect()
}

fn millis(session: &Session) -> u128 {
    session.begins.unwrap().as_millis()
}

#[test]
fn azures_rows_are_requests() {
    let drawn = trace(TraceFormat::Azure, &fixture("traces/azure_llm_2023_code_100.csv"), 3);
    let rows: Vec<_> =
        drawn.sessions.iter().map(|session| (millis(session), lengths(session))).collect();
    assert_eq!(rows[0], (0, vec![(4808, 10)]));
    assert_eq!(rows[1], (52, vec![(3180, 8)]));
    assert_eq!(rows.len(), 3);
    for session in &drawn.sessions {
        let text = text(&session.first.prompt);
        let counted = tokenizer("qwen2.5").count(&text, SpecialTokens::Add).unwrap();
        assert_eq!(counted, session.first.prompt_tokens);
    }
}

#[test]
fn pictures_that_are_not_sent_are_told() {
    let file = trace_file(&[
        "TIMESTAMP,NumImages,ContextTokens,GeneratedTokens",
        "2025-01-01 00:00:00.000+00:00,2,100,5",
        "2025-01-01 00:00:01.500+00:00,0,50,0",
    ]);
    let drawn = trace(TraceFormat::Azure, file.path(), 10);
    assert_eq!(
        drawn.summary.to_string(),
        "#Input tokens: 150\n#Output tokens: 5\nImages of the trace that are not sent: 2\n"
    );
    assert_eq!(millis(&drawn.sessions[1]), 1500);
}

#[test]
fn burstgpts_rows_are_requests() {
    let file = trace_file(&[
        "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type",
        "5,ChatGPT,472,18,490,Conversation log",
        "45,ChatGPT,1087,230,1317,Conversation log",
        "60,GPT-4,100,0,100,API log",
        "118,GPT-4,417,276,693,Conversation log",
    ]);
    let drawn = trace(TraceFormat::Burstgpt, file.path(), 10);
    let rows: Vec<_> =
        drawn.sessions.iter().map(|session| (millis(session), lengths(session))).collect();
    let expected = [(0, vec![(472, 18)]), (40_000, vec![(1087, 230)]), (113_000, vec![(417, 276)])];
    assert_eq!(rows, expected);
    let told = drawn.summary.to_string();
    assert!(told.ends_with("Failed requests of the trace left out: 1\n"), "{told}");
}

#[test]
fn burstgpts_sessions_are_conversations() {
    let file = trace_file(&[
        "Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens,Total tokens,Log Type",
        "100,a,10,GPT-4,50,20,70,Conversation log",
        "105,b,1,GPT-4,30,10,40,Conversation log",
        "130,a,4,GPT-4,95,30,125,Conversation log",
        "140,,4,GPT-4,11,7,18,API log",
        "141,a,4,GPT-4,90,30,125,Conversation log",
    ]);
    let drawn = trace(TraceFormat::Burstgpt, file.path(), 2);
    let [one, other] = drawn.sessions.as_slice() else { panic!("{:?}", drawn.sessions) };
    assert_eq!(lengths(one), [(50, 20), (25, 30), (1, 30)]);
    assert_eq!(lengths(other), [(30, 10)]);
    let pauses: Vec<Duration> = one.follow_ups.iter().map(|turn| turn.pause).collect();
    assert_eq!(pauses, [Duration::from_secs(20), Duration::from_secs(7)]);
    assert_eq!((millis(one), millis(other)), (0, 5000));
}

#[test]
fn servegens_clients_ask_at_their_rates() {
    let drawn = trace(TraceFormat::Servegen, &fixture("traces/servegen/mm-image"), 2000);
    assert_eq!(drawn.sessions.len(), 2000);
    assert!(drawn.sessions.is_sorted_by_key(|session| session.begins));
    // In the first 600 seconds the first client sends 0.805 requests/s of 136 or 372 tokens.
    let early = drawn.sessions.iter().take_while(|session| millis(session) < 595_000);
    let of_it = early.filter(|session| matches!(session.first.prompt_tokens, 136 | 372)).count();
    assert!((470..=483).contains(&of_it), "{of_it}");
    assert!(drawn.summary.to_string().contains("images, audio and videos are not sent: 2"));
}

#[test]
fn servegen_draws_the_same_for_the_same_seed() {
    let drawn = || trace(TraceFormat::Servegen, &fixture("traces/servegen/m-small"), 50);
    assert_eq!(drawn(), drawn());
    assert_eq!(drawn().sessions.len(), 50);
}

fn agents(file: &str) -> Vec<Session> {
    trace(TraceFormat::Otel, &fixture(&format!("traces/otel/{file}")), 100).sessions
}

fn roles(prompt: &Prompt) -> Vec<&str> {
    let Prompt::Messages(messages) = prompt else { panic!("{prompt:?}") };
    messages.iter().map(|message| message["role"].as_str().unwrap()).collect()
}

#[test]
fn an_agents_chain_is_a_session_with_pauses() {
    let [chain] = agents("simple_chain.json").try_into().unwrap();
    let prompts: Vec<_> = chain.samples().map(|sample| roles(&sample.prompt)).collect();
    assert_eq!(prompts, [["user"], ["user"], ["user"]]);
    let pauses: Vec<u128> = chain.follow_ups.iter().map(|turn| turn.pause.as_millis()).collect();
    assert_eq!(pauses, [500, 1000]);
    assert!(chain.samples().all(|sample| sample.prompt_tokens > 5 && sample.output_tokens > 20));
}

#[test]
fn branches_of_a_call_graph_begin_when_they_did() {
    let sessions = agents("parallel_requests.json");
    let turns: Vec<_> = sessions.iter().map(|session| (millis(session), session.turns())).collect();
    assert_eq!(turns, [(0, 4), (3000, 1)]);
    // The third turn repeats the other branch's question and recorded answer.
    assert_eq!(roles(&sessions[0].follow_ups[1].sample.prompt), ["user", "assistant", "user"]);
    let fan_in = agents("fan_in_dependencies.json");
    assert_eq!(fan_in.iter().map(Session::turns).collect::<Vec<_>>(), [2, 1, 1]);
}

#[test]
fn a_folder_is_many_traces() {
    let all = agents("");
    assert_eq!(all.iter().map(Session::turns).sum::<usize>(), 3 + 5 + 4 + 7);
    assert!(all.is_sorted_by_key(|session| session.begins));
    let counted = agents("prefix_sharing_example.json");
    assert_eq!(counted.iter().map(Session::turns).collect::<Vec<_>>(), [1, 1, 4, 1]);
}

#[test]
fn a_plan_holds_a_trace() {
    let json = r#"{"dataset":"trace","format":"burstgpt","path":"a.csv"}"#;
    let spec: DatasetSpec = serde_json::from_str(json).unwrap();
    assert_eq!(
        spec,
        DatasetSpec::Trace(TraceSpec::new(TraceFormat::Burstgpt, Some("a.csv".into())))
    );
    assert_eq!(serde_json::to_string(&spec).unwrap(), json);
    let json = r#"{"dataset":"mooncake","path":null,"workload":"toolagent","rounds":2,"prompts":"sglang"}"#;
    let spec: DatasetSpec = serde_json::from_str(json).unwrap();
    assert_eq!(serde_json::to_string(&spec).unwrap(), json);
    assert!(spec.has_timestamps());
}
