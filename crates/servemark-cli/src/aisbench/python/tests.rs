//! Tests of the Python that is read as data, and of what is refused.

use super::{Dict, Library, Value};
use crate::environment::Environment;

const HERE: &str = "here.py";

fn read(files: &[(&str, &str)]) -> Result<Dict, String> {
    let with =
        |environment: Environment, (path, text): &(&str, &str)| environment.with_file(*path, text);
    let environment = files.iter().fold(Environment::default(), with);
    let library = Library::new(&environment, crate::aisbench::catalog::module);
    library.file(files[0].0).map_err(|fault| format!("{}: {}", fault.place, fault.why))
}

/// Formats a value like JSON, with strings in quotes and all names and keys without.
fn format_value(value: &Value) -> String {
    match value {
        Value::None => "null".to_owned(),
        Value::Bool(value) => value.to_string(),
        Value::Int(number) => number.to_string(),
        Value::Float(number) => format!("{number:?}"),
        Value::Text(text) => format!("{text:?}"),
        Value::Name(name) => name.clone(),
        Value::List(items) => {
            let items: Vec<String> =
                items.borrow().iter().map(|item| format_value(&item.value)).collect();
            format!("[{}]", items.join(","))
        }
        Value::Dict(entries) => {
            let entries = entries.borrow();
            let entries =
                entries.iter().map(|(key, value)| format!("{key}:{}", format_value(&value.value)));
            format!("{{{}}}", entries.collect::<Vec<_>>().join(","))
        }
    }
}

#[track_caller]
fn is(text: &str, name: &str, expected: &str) {
    let names = read(&[(HERE, text)]).unwrap();
    let (_, value) = names.iter().find(|(key, _)| key == name).expect(name);
    assert_eq!(format_value(&value.value), expected);
}

#[track_caller]
fn refuses(text: &str, message: &str) {
    assert_eq!(read(&[(HERE, text)]).unwrap_err(), message);
}

#[test]
fn literals_are_read() {
    is(
        "a = [1, -2.5, 0x10, 1_000, .5, 1e-3, True, None]",
        "a",
        "[1,-2.5,16,1000,0.5,0.001,true,null]",
    );
    is("a = 'x' \"y\" r'\\n' '\\n\\u00e9\\'' # said", "a", r#""xy\\n\né'""#);
    is(r"a = '\%\d\61\0\a'", "a", r#""\\%\\d1\0\u{7}""#);
    is("a = \"\"\"two\nlines\"\"\"\nb = 1", "a", r#""two\nlines""#);
    is("a = (1,)", "a", "[1]");
    is("a = (1)", "a", "1");
    is("a = ()", "a", "[]");
    is("a = {'k': dict(x=1, y=[2]), \"l\": {},}", "a", "{k:{x:1,y:[2]},l:{}}");
    is("a = dict[str, list[str] | str](x=1)", "a", "{x:1}");
}

#[test]
fn simple_arithmetic_is_worked_out() {
    is("a = 1024 * 4 + 2 ** 10 - 7 // 2", "a", "5117");
    is("a = -(1 + 2) / 4", "a", "-0.75");
    is("a = 'x' + \\\n  'y'", "a", "\"xy\"");
    is("a = [1] + [2]\na += [3]\nb = [*a, 4]", "b", "[1,2,3,4]");
    is("a = dict(x=1, y=2)\nb = dict(**a, z=3)\nc = {**b, 'x': 0}", "c", "{x:0,y:2,z:3}");
}

#[test]
fn lists_and_dicts_have_one_content_under_all_their_names() {
    is(
        "a = [dict(x=1)]\nb = a\nb[0]['x'] = 'n' + 'ew'\na[-1][\"y\"] = a[0]['x']",
        "a",
        "[{x:\"new\",y:\"new\"}]",
    );
}

#[test]
fn classes_are_names() {
    let text =
        "'''A remark.'''\nimport os\nfrom a.b import (Y as Z,\n  W)\na = dict(type=Z, w=W)\n";
    is(text, "a", "{type:Y,w:W}");
}

#[test]
fn files_include_one_another() {
    let main = "from mmengine.config import read_base\n\nwith read_base():\n    from .sub.one import \
                models as ours  # said\n\n    from .two import *\n\nmodels = ours + more\n";
    let files = [
        ("conf/main.py", main),
        ("conf/sub/one.py", "with read_base():\n    from ..two import more\nmodels = [*more, 2]\n"),
        ("conf/two.py", "more = [1]\n"),
    ];
    let names = read(&files).unwrap();
    let (_, models) = names.iter().find(|(key, _)| key == "models").unwrap();
    assert_eq!(format_value(&models.value), "[1,2,1]");
}

#[test]
fn what_is_built_in_may_be_included_from_where_the_peer_has_it() {
    let text = "with read_base():\n    from ais_bench.benchmark.configs.models.vllm_api.vllm_api_general \
                import models as m\nm[0]['abbr'] = 'demo-' + m[0]['abbr']\nabbr = m[0]['abbr']\n";
    is(text, "abbr", "\"demo-vllm-api-general\"");
}

#[test]
fn what_cannot_be_included_is_named() {
    let error = read(&[(HERE, "\nwith read_base():\n    from .gone import x\n")]).unwrap_err();
    assert!(error.starts_with("here.py:3: gone.py cannot be read: "), "{error}");
    refuses(
        "with read_base():\n    from some.where import x",
        "here.py:2: some.where is not built in, and there is no some/where.py here",
    );
    refuses("with read_base():\n    from .here import x", "here.py:2: here.py includes itself");
}

#[test]
fn code_is_refused_with_its_line() {
    refuses("a = 1\nfor x in a:\n    pass", "here.py:2: this is code, not data: for x in a:");
    refuses("a = [x for x in b]", "here.py:1: x has no value here: a = [x for x in b]");
    refuses("b = 1\na = [b for x in y]", "here.py:2: this is code, not data: a = [b for x in y]");
    refuses(
        "import os\na = dict(\n  b=os.getenv('X'),\n)",
        "here.py:3: calls and attributes are not data: b=os.getenv('X'),",
    );
    refuses("a = f'{x}'", "here.py:1: f'…: only plain strings are data");
    refuses("print(1)", "here.py:1: this is code, not data: print(1)");
    refuses(
        "a = 1 if b else 2",
        "here.py:1: the statement goes on with what is not data: a = 1 if b else 2",
    );
    refuses(
        "with open('x') as f:\n    a = 1",
        "here.py:1: of with, only \"with read_base():\" is understood: with open('x') as f:",
    );
    refuses("if True:\n    a = 1", "here.py:1: this is code, not data: if True:");
    refuses("a = b'x'", "here.py:1: b'…: only plain strings are data");
}

#[test]
fn mistakes_are_refused_with_their_line() {
    refuses("a = [1\n2]", "here.py:2: a comma is expected here: 2]");
    refuses("a = 'x", "here.py:1: a string has no end");
    refuses("\na = c", "here.py:2: c has no value here: a = c");
    refuses("a = 1 + 'x'", "here.py:1: an int + a str cannot be worked out: a = 1 + 'x'");
    refuses("a = [1]\nb = a[3]", "here.py:2: there is no such item");
    refuses("a = {1: 2}", "here.py:1: the keys of a dict must be strings here");
    refuses("a = dict(x=1, x=2)", "here.py:1: x is given twice: a = dict(x=1, x=2)");
    refuses("a = [", "here.py:1: it ends where a value is expected: a = [");
    refuses("a = 12abc", "here.py:1: 12abc is no number");
    refuses("a = ?", "here.py:1: ? is not understood");
}

/// Asserts that a file that contains too much is refused at a line, with a message that contains
/// `words`.
#[track_caller]
fn is_too_much(text: &str, words: &str) {
    let refused = read(&[(HERE, text)]).unwrap_err();
    assert!(refused.starts_with("here.py:") && refused.contains(words), "{refused}");
}

#[test]
fn nesting_has_a_limit() {
    let nested = |open: &str, close: &str, depth| {
        format!("a = {}0{}", open.repeat(depth), close.repeat(depth))
    };
    for (open, close) in [("[", "]"), ("(", ",)"), ("{'a': ", "}"), ("- ", ""), ("dict(a=", ")")] {
        assert!(read(&[(HERE, &nested(open, close, 90))]).is_ok(), "{open}");
        is_too_much(&nested(open, close, 4_000), "nested more than 200 deep");
    }
    is_too_much(&format!("a = {}", "2**".repeat(4_000)), "nested more than 200 deep");
    is_too_much(&format!("a = 0\n{}", "a = [a]\n".repeat(50_000)), "nested more than 200 deep");
}

#[test]
fn doubling_has_a_limit() {
    for start in ["'aaaaaaaaaaaaaaaa'", "[1, 2, 3, 4]"] {
        is_too_much(
            &format!("a = {start}\n{}", "a = a + a\n".repeat(64)),
            "more than 1000000 values",
        );
    }
    is_too_much(&format!("a = [1]\n{}", "a += a\n".repeat(64)), "more than 1000000 values");
    is_too_much(&format!("a = [1]\n{}", "a = [*a, *a]\n".repeat(64)), "more than 1000000 values");
    // Lists that share items contain more values than were made.
    is_too_much(&format!("a = [1]\n{}", "a = [a, a]\n".repeat(64)), "more than 1000000 values");
    is_too_much("a = 'a' * 10**9", "a str * an int cannot be worked out");
    is_too_much("a = [1] * 10**9", "a list * an int cannot be worked out");
}

#[test]
fn a_value_that_holds_itself_is_refused() {
    is_too_much("a = [0]\na[0] = a", "nested more than 200 deep");
    is_too_much("a = {}\nb = {'a': a}\na['b'] = b", "nested more than 200 deep");
    // Each value is shallow when it is bound, and deep after others are put into it.
    let links = (1..300).map(|link| format!("n{link} = [0]\nn{}[0] = n{link}\n", link - 1));
    is_too_much(&format!("n0 = [0]\n{}", links.collect::<String>()), "nested more than 200 deep");
}

#[test]
fn a_config_file_has_a_size() {
    let large = format!("a = 1 # {}", "x".repeat(1 << 20));
    let refused = read(&[(HERE, &large)]).unwrap_err();
    assert_eq!(refused, "here.py: the config has more than 1048576 bytes, which is the limit");
}

#[test]
fn files_that_include_one_another_again_and_again_are_refused() {
    // Each file includes the next one twice, so the last one would be read 2^18 times.
    let twice = |next: usize| format!("with read_base():\n    from .f{next} import a\n").repeat(2);
    let files: Vec<(String, String)> =
        (0..18).map(|file| (format!("f{file}.py"), twice(file + 1))).collect();
    let mut files: Vec<(&str, &str)> =
        files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    files.push(("f18.py", "a = 1"));
    let refused = read(&files).unwrap_err();
    assert!(refused.contains("more than 1000000 values"), "{refused}");
}
