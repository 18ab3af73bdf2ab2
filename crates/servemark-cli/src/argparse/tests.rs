use clap::{Arg, Command};

use super::*;

fn flag(name: &str, arity: Arity) -> FlagSyntax {
    FlagSyntax { name: name.to_owned(), letter: None, arity }
}

fn grammar() -> Grammar {
    Grammar {
        peer: vec![
            flag("--help", Arity::Switch),
            flag("--host", Arity::One),
            flag("--random-input-len", Arity::One),
            flag("--random-image-count", Arity::Switch),
            flag("--lora-name", Arity::Any),
            FlagSyntax { letter: Some('n'), ..flag("--header", Arity::Some) },
            flag("--tag", Arity::One),
            flag("--tag-of-all", Arity::One),
            flag("--first-url", Arity::Any),
            flag("--second-url", Arity::Any),
        ],
        own: vec![flag("--random-own", Arity::One), flag("--simulate", Arity::Optional)],
        exclusive: EXCLUSIVE,
    }
}

const EXCLUSIVE: &[&[Flag]] = &[&[Flag::new("--first-url"), Flag::new("--second-url")]];

#[track_caller]
fn check(args: &[&str], expected: &[&str]) {
    let args: Vec<String> = args.iter().copied().map(str::to_owned).collect();
    let mut reading = Reading::default();
    grammar().read(&args, &mut reading).unwrap();
    assert_eq!(reading.leftovers, [""; 0]);
    let canonical: Vec<String> = reading.canonical().map(|arg| arg.replace(LIST, "|")).collect();
    assert_eq!(canonical, expected);
}

#[track_caller]
fn refuses(args: &[&str], message: &str) {
    let args: Vec<String> = args.iter().copied().map(str::to_owned).collect();
    let mut reading = Reading::default();
    let refusal = grammar().read(&args, &mut reading).and_then(|()| reading.refuse_leftovers());
    assert_eq!(refusal.unwrap_err().to_string(), message);
}

#[test]
fn a_prefix_stands_for_the_only_flag_that_begins_so() {
    check(&["--random-in", "5"], &["--random-input-len=5"]);
    check(&["--ho=h", "--random-im"], &["--host=h", "--random-image-count"]);
}

#[test]
fn a_flag_is_never_ambiguous_with_its_own_extensions() {
    check(&["--tag", "a", "--tag-of", "b"], &["--tag=a", "--tag-of-all=b"]);
}

#[test]
fn several_flags_that_begin_so_are_named_in_order() {
    refuses(
        &["--random=5"],
        "ambiguous option: --random=5 could match --random-input-len, --random-image-count",
    );
    refuses(&["--h"], "ambiguous option: --h could match --help, --host, --header");
}

#[test]
fn our_flags_are_matched_whole_only() {
    check(&["--random-own", "x", "--random-own=y"], &["--random-own=x", "--random-own=y"]);
    refuses(
        &["--random-ow", "5"],
        "unrecognized arguments: --random-ow 5; did you mean --random-own?",
    );
    refuses(&["--simul"], "unrecognized arguments: --simul; did you mean --simulate?");
}

#[test]
fn lists_take_all_values_that_follow() {
    check(&["--header", "A=1", "B=2", "--tag", "t"], &["--header=A=1|B=2", "--tag=t"]);
    check(&["--lora-name"], &["--lora-name"]);
    check(&["--simulate", "--simulate", "ttft=1"], &["--simulate", "--simulate=ttft=1"]);
    refuses(&["--header=A=1", "B=2"], "unrecognized arguments: B=2");
}

#[test]
fn a_missing_value_is_told() {
    refuses(&["--tag"], "argument --tag: expected one argument");
    refuses(&["--tag", "--host", "h"], "argument --tag: expected one argument");
    refuses(&["--tag", "--", "x"], "argument --tag: expected one argument");
    refuses(&["--header", "-x"], "argument --header: expected at least one argument");
}

#[test]
fn a_value_may_look_like_a_negative_number() {
    check(&["--tag", "-5", "--tag", "-.5"], &["--tag=-5", "--tag=-.5"]);
    check(&["--tag", "-", "--tag", "-a b", "--tag", ""], &["--tag=-", "--tag=-a b", "--tag="]);
    for value in ["-1e5", "-inf", "-5.", "-x"] {
        refuses(&["--tag", value], "argument --tag: expected one argument");
    }
}

#[test]
fn what_no_flag_takes_is_told_in_order() {
    refuses(&["a", "--tag", "t", "--unknown=5", "b"], "unrecognized arguments: a --unknown=5 b");
    refuses(&["--", "x", "--tag"], "unrecognized arguments: -- x --tag");
}

#[test]
fn a_switch_takes_nothing() {
    refuses(
        &["--random-image-count=yes"],
        "argument --random-image-count: ignored explicit argument 'yes'",
    );
    refuses(&["--help=5"], "argument -h/--help: ignored explicit argument '5'");
}

#[test]
fn only_one_of_a_group_may_be_given() {
    refuses(
        &["--first-url", "a", "--second-url", "b"],
        "argument --second-url: not allowed with argument --first-url",
    );
    check(&["--first-url", "a", "--first-url", "b"], &["--first-url=a", "--first-url=b"]);
}

#[test]
fn nothing_after_help_counts() {
    check(&["--tag", "t", "-h", "--tag"], &["--tag=t", "--help"]);
}

#[test]
fn a_letter_stands_for_its_flag() {
    check(&["-n", "1", "2"], &["--header=1|2"]);
    check(&["-n1"], &["--header=1"]);
    check(&["-n=1"], &["--header=1"]);
    refuses(&["-n"], "argument --header: expected at least one argument");
    refuses(&["-m", "1"], "unrecognized arguments: -m 1");
}

#[test]
fn what_is_wrong_first_is_told_first() {
    let number = Arg::new("count").long("count").value_parser(clap::value_parser!(u8));
    let command = Command::new("c").arg(number).arg(Arg::new("tag").long("tag"));
    let refusal = |args: &[&str]| {
        let args: Vec<String> = args.iter().copied().map(str::to_owned).collect();
        let read = ParsedCommandLine::read(command.clone(), &["--count", "--tag"], &[], &args);
        read.err().map(|error| error.to_string()).unwrap_or_default()
    };
    let wrong = refusal(&["--count=x", "--tag"]);
    assert!(wrong.starts_with("argument --count: "), "{wrong}");
    assert_eq!(refusal(&["--tag", "--count=x"]), "argument --tag: expected one argument");
    assert_eq!(refusal(&["--count=5", "--tag"]), "argument --tag: expected one argument");
}
