//! Sweeps as tables and pages, and figures as files.

use serde_json::{Value, json};
use servemark_core::{Header, RunFacts, RunLog};
use servemark_metrics::{Audit, MetricPolicy, Metrics};
use servemark_report::chart::{Axis, ChartStyle, Curve, Figure, Mark, Panel, Scale};
use servemark_report::{SweepReport, SweepRow, TableFormat};

fn sweep_text(format: TableFormat) -> String {
    let log = RunLog::new(Header::new(0, RunFacts::default(), Value::Null), Vec::new(), None);
    let (metrics, audit) = (Metrics::score(&log, &MetricPolicy::native()), Audit::of(&log));
    let settings = [
        vec![("limit".to_owned(), json!(1))],
        vec![("limit".to_owned(), json!("inf")), ("extra".to_owned(), json!({"a": "<b>"}))],
    ];
    let rows = [("one", &settings[0]), ("two", &settings[1])];
    let rows = rows.map(|(name, settings)| SweepRow::new(name, settings, &metrics, &audit));
    let mut out = Vec::new();
    SweepReport::of(rows).write(format, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn a_point_is_a_row_with_what_it_sets_first() {
    insta::assert_snapshot!(sweep_text(TableFormat::Csv), @r#"
    limit,extra,completed,failed,duration_s,client_audit
    1,,0,0,0.00,suspect
    inf,"{""a"":""<b>""}",0,0,0.00,suspect
    "#);
    insta::assert_snapshot!(sweep_text(TableFormat::Markdown), @r#"
    | limit | extra | ok | failed | duration (s) | client audit |
    |---:|---:|---:|---:|---:|---:|
    | 1 | - | 0 | 0 | 0.00 | suspect |
    | inf | {"a":"<b>"} | 0 | 0 | 0.00 | suspect |
    "#);
}

#[test]
fn what_programs_read_has_every_number() {
    let document: Value = serde_json::from_str(&sweep_text(TableFormat::Json)).unwrap();
    assert_eq!(document["schema"], "servemark/sweep/1");
    let rows = &document["points"];
    assert_eq!(rows[1]["settings"], json!({"limit": "inf", "extra": {"a": "<b>"}}));
    assert_eq!(rows[0]["metrics"]["requests"]["completed"], json!(0));
    assert!(rows[0]["audit"]["verdict"].is_string());
}

fn figure() -> Figure {
    let marks = |slope: f64| [1.0, 10.0, 100.0].map(|x| Mark::at(x, slope * x).within(Some(0.5)));
    let curves = vec![
        Curve::line("first", 0, marks(1.0).into()),
        Curve::line("second", 1, marks(2.0).into()).looking(ChartStyle::joined(1, 1, 2)),
        Curve::dots("", vec![Mark::at(f64::INFINITY, 1.0), Mark::at(5.0, 9.0).labelled("a\nb")]),
    ];
    let panel = Panel::new("k=1", Axis::new("load", Scale::Log), Axis::even("time (ms)"), curves);
    Figure::new(vec![vec![panel.clone(), panel.clone()], vec![panel]])
}

#[test]
fn a_drawing_has_its_words() {
    let svg = figure().svg().unwrap();
    for word in ["k=1", "load", "time (ms)", "first", "second"] {
        assert!(svg.contains(word), "{word} is not in {svg}");
    }
    assert_eq!(svg.matches("\nfirst\n").count(), 1, "a name is in the legend once");
    assert!(svg.starts_with("<svg width=\"1388\" height=\"960\""), "{}", &svg[..60]);
}

#[cfg(feature = "png")]
#[test]
fn a_picture_has_letters_and_as_many_dots_as_were_asked_for() {
    let file = figure().png(150).unwrap();
    let mut reader = png::Decoder::new(std::io::Cursor::new(&file)).read_info().unwrap();
    let info = reader.info();
    assert_eq!((info.width, info.height), (2082, 1440));
    assert_eq!(info.pixel_dims.map(|dims| dims.xppu), Some(5905));
    let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
    reader.next_frame(&mut pixels).unwrap();
    // Above the axes there is only the title.
    let row = |y: usize| &pixels[y * 2082 * 3..(y + 1) * 2082 * 3];
    assert!((20..50).any(|y| row(y)[..960 * 3].iter().any(|value| *value < 128)));
}
