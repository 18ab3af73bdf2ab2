//! Tables, filters, bins and the Pareto frontier, compared with the results of vLLM's own
//! functions.

use serde_json::{Value, json};
use servemark_core::JsonObject;
use servemark_report::{Binner, Filter, ParetoSpec, Records, RelationSpec};

fn golden(part: &str) -> Vec<Value> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/vllm/sweeps.json");
    let file: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    file[part].as_array().unwrap().clone()
}

fn records(rows: &Value) -> Records {
    Records::new(serde_json::from_value::<Vec<JsonObject>>(rows.clone()).unwrap())
}

fn numbered() -> Records {
    let rows: Vec<Value> = golden("records");
    records(&Value::Array(rows))
}

#[test]
fn tables_are_pandas_own_bytes() {
    for case in golden("frames") {
        let mut out = Vec::new();
        records(&case["records"]).write_csv(&mut out).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), case["csv"].as_str().unwrap(), "{case}");
    }
}

#[test]
fn the_same_rows_stay() {
    for case in golden("filters") {
        let kept = Filter::list(case["filter"].as_str().unwrap()).and_then(|filters| {
            filters.iter().try_fold(numbered(), |records, filter| filter.apply(&records))
        });
        match kept {
            Ok(kept) => {
                let rows = kept.rows().iter().map(|row| row["n"].as_u64().unwrap() - 1);
                assert_eq!(json!(rows.collect::<Vec<_>>()), case["is"], "{case}");
            }
            Err(error) => assert!(case["error"].is_string(), "{case}: {error}"),
        }
    }
}

#[test]
fn values_are_put_together_alike() {
    for case in golden("bins") {
        let binned = Binner::list(case["bin"].as_str().unwrap())
            .and_then(|bins| bins.iter().try_fold(numbered(), |records, bin| bin.apply(&records)));
        match binned {
            Ok(binned) => {
                for key in ["n", "rate", "late"] {
                    let value = |row: &JsonObject| row.get(key).and_then(Value::as_f64);
                    let values: Vec<Option<f64>> = binned.rows().iter().map(value).collect();
                    let expected: Vec<Option<f64>> =
                        serde_json::from_value(case["is"][key].clone()).unwrap();
                    assert_eq!(values, expected, "{case}");
                }
            }
            Err(error) => assert!(case["error"].is_string(), "{case}: {error}"),
        }
    }
}

#[test]
fn the_frontier_is_the_peers() {
    let runs = records(&Value::Array(golden("runs")));
    for case in golden("paretos") {
        let text = |key: &str| case[key].as_str().map(str::to_owned);
        let mut spec = ParetoSpec::default();
        (spec.users, spec.gpus) = (text("users"), text("gpus"));
        let pareto = spec.prepare(&runs).unwrap();
        let keys = ["tokens_per_user", "tokens_per_gpu", "user_count_estimate", "gpu_count"];
        let rows = pareto.records().rows().iter().map(|row| keys.map(|key| row[key].clone()));
        assert_eq!(json!(rows.collect::<Vec<_>>()), case["is"]["rows"], "{case}");
        assert_eq!(json!(pareto.skipped()), case["is"]["skipped"]);
        assert_eq!(json!(pareto.frontier()), case["is"]["frontier"]);
    }
}

#[test]
fn labels_are_of_columns_as_pandas_has_them() {
    let runs = records(&Value::Array(golden("runs")));
    let spec = ParetoSpec {
        users: Some("max_concurrency".to_owned()),
        label_by: ["max_concurrency", "gpu_count", "nothing"].map(str::to_owned).into(),
        ..ParetoSpec::default()
    };
    let figure = spec.prepare(&runs).unwrap().figure(&spec);
    let labels: Vec<&str> =
        figure.rows[0][0].curves[1].points.iter().map(|mark| mark.label.as_str()).collect();
    assert_eq!(
        labels,
        ["max_concurrency=nan\ngpu_count=1.0", "max_concurrency=nan\ngpu_count=4.0"]
    );
}

fn runs() -> Records {
    let run = |tp, cache, x, y| json!({"tp": tp, "cache": cache, "x": x, "y": y});
    records(&json!([
        run(2, true, 1.0, 10.0),
        run(1, true, 1.0, 4.0),
        run(1, true, 1.0, 6.0),
        run(1, true, 2.0, 9.0),
        run(1, false, 3.0, 7.0),
    ]))
}

fn spec() -> RelationSpec {
    let mut spec = RelationSpec::default();
    (spec.x, spec.y) = ("x".to_owned(), "y".to_owned());
    (spec.curve_by, spec.error_bars) = (vec!["tp".to_owned()], true);
    spec
}

#[test]
fn a_curve_is_the_mean_of_its_runs() {
    let mut spec = spec();
    spec.row_by = vec!["cache".to_owned()];
    let figures = spec.figures(&runs()).unwrap();
    assert_eq!((figures.len(), figures[0].panels().unwrap()), (1, (2, 1)));
    let figure = figures[0].figure().unwrap().unwrap();
    let titles: Vec<&str> = figure.rows.iter().map(|row| row[0].title.as_str()).collect();
    assert_eq!(titles, ["cache=True", "cache=False"]);
    let curves = &figure.rows[0][0].curves;
    let labels: Vec<&str> = curves.iter().map(|curve| curve.label.as_str()).collect();
    assert_eq!(labels, ["tp=1", "tp=2"]);
    let points: Vec<_> =
        curves[0].points.iter().map(|mark| (mark.x, mark.y, mark.spread)).collect();
    assert_eq!(points, [(1.0, 5.0, Some(2f64.sqrt())), (2.0, 9.0, None)]);
}

#[test]
fn each_group_has_a_figure_and_a_name() {
    let mut spec = spec();
    spec.figure_by = vec!["tp".to_owned(), "cache".to_owned()];
    let runs = runs();
    let figures = spec.figures(&runs).unwrap();
    let names: Vec<String> = figures.iter().map(|figure| figure.name("F")).collect();
    assert_eq!(names, ["F-tp=2-cache=True", "F-tp=1-cache=True", "F-tp=1-cache=False"]);
    spec.figure_by = vec!["nothing".to_owned()];
    let refusal = spec.figures(&runs).unwrap_err().to_string();
    assert_eq!(refusal, "a run has no \"nothing\"; it has tp, cache, x, y");
}

#[test]
fn what_is_in_no_result_is_refused_by_its_flag() {
    let mut spec = spec();
    spec.curve_by = vec!["nothing".to_owned()];
    let refusal = spec.figures(&runs()).unwrap()[0].figure().unwrap_err().to_string();
    assert_eq!(refusal, "curve_by=\"nothing\" is in no result; there are tp, cache, x, y");
    spec.curve_by.clear();
    spec.filters = Filter::list("tp>7").unwrap();
    assert_eq!(spec.figures(&runs()).unwrap()[0].figure().unwrap(), None);
    let refusal = Filter::list("cache>1").unwrap()[0].apply(&runs());
    assert!(refusal.is_ok(), "a flag is 1 or 0");
}
