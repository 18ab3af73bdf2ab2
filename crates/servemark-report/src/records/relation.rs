//! Plots of one column over another, split into figures, panels and curves.

use std::cmp::Ordering;

use serde_json::Value;
use servemark_core::JsonObject;

use super::{Binner, Filter, Group, Records, RecordsError, number, python_str};
use crate::chart::{Axis, Curve, Figure, Look, Mark, Panel, Scale};

/// Definition of the plots: the axes, the splits, and the filters and bins.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RelationSpec {
    /// Keys with one figure per combination of values.
    pub figure_by: Vec<String>,
    /// Keys with one row of panels per combination of values.
    pub row_by: Vec<String>,
    /// Keys with one column of panels per combination of values.
    pub column_by: Vec<String>,
    /// Keys with one curve per combination of values. The first key selects the colour, the second
    /// the dash pattern, the third the line width. If there are more than three keys, each
    /// combination has its own colour.
    pub curve_by: Vec<String>,
    /// Key of the horizontal axis.
    pub x: String,
    /// Key of the vertical axis.
    pub y: String,
    /// Filters that select rows.
    pub filters: Vec<Filter>,
    /// Bins that are applied to values.
    pub bins: Vec<Binner>,
    /// Scale of the horizontal axis.
    pub x_scale: Scale,
    /// Scale of the vertical axis.
    pub y_scale: Scale,
    /// Whether the standard deviation of several runs is shown.
    pub error_bars: bool,
    /// Width and height of a panel, in hundredths of an inch.
    pub panel: u32,
}

/// The runs of one figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Relation<'a> {
    spec: &'a RelationSpec,
    group: Group,
    records: Records,
}

impl RelationSpec {
    /// Returns the figures for some runs, in the order in which their groups first occur.
    pub fn figures(&self, records: &Records) -> Result<Vec<Relation<'_>>, RecordsError> {
        let groups = records.groups(&self.figure_by)?.into_iter();
        Ok(groups.map(|(group, records)| Relation { spec: self, group, records }).collect())
    }
}

impl Relation<'_> {
    /// Returns the keys and values that all runs of the figure share.
    pub fn group(&self) -> &[(String, String)] {
        &self.group
    }

    /// Returns the file name without its extension: `figure`, followed by the group's keys and
    /// values.
    pub fn name(&self, figure: &str) -> String {
        let pairs = self.group.iter().map(|(key, value)| format!("{key}={value}"));
        std::iter::once(figure.to_owned()).chain(pairs).collect::<Vec<_>>().join("-")
    }

    /// Returns the number of rows of panels and the largest number of columns, before filters are
    /// applied.
    pub fn panels(&self) -> Result<(usize, usize), RecordsError> {
        let rows = self.records.groups(&self.spec.row_by)?;
        let mut widest = 0;
        for (_, records) in &rows {
            widest = widest.max(records.groups(&self.spec.column_by)?.len());
        }
        Ok((rows.len(), widest))
    }

    /// Returns the figure; `None` if the filters leave no run.
    pub fn figure(&self) -> Result<Option<Figure>, RecordsError> {
        self.check()?;
        let mut records = self.records.clone();
        for filter in &self.spec.filters {
            records = filter.apply(&records)?;
        }
        for bin in &self.spec.bins {
            records = bin.apply(&records)?;
        }
        if records.rows.is_empty() {
            return Ok(None);
        }
        let curve_by = &self.spec.curve_by;
        records.rows.sort_by(|one, other| compare(one, other, curve_by));
        self.draw(&records).map(Some)
    }

    fn check(&self) -> Result<(), RecordsError> {
        let spec = self.spec;
        let columns = self.records.columns();
        let axes = [("var_x", &spec.x), ("var_y", &spec.y)].into_iter();
        let row = spec.row_by.iter().map(|key| ("row_by", key));
        let column = spec.column_by.iter().map(|key| ("col_by", key));
        let curve = spec.curve_by.iter().map(|key| ("curve_by", key));
        match axes
            .chain(row)
            .chain(column)
            .chain(curve)
            .find(|(_, key)| !columns.contains(&key.as_str()))
        {
            Some((what, key)) => Err(RecordsError::no_column(what, key, &columns)),
            None => Ok(()),
        }
    }

    fn draw(&self, records: &Records) -> Result<Figure, RecordsError> {
        let spec = self.spec;
        let (rows, columns) = (records.groups(&spec.row_by)?, records.groups(&spec.column_by)?);
        let looks = Looks::of(records, &spec.curve_by);
        let panel = |row: &Group, column: &Group| {
            let title = [row.as_slice(), column].concat();
            let inside: Vec<&JsonObject> =
                records.rows.iter().filter(|run| is_of(run, &title)).collect();
            self.panel(&lines(&title), &inside, &looks)
        };
        let panels = rows
            .iter()
            .map(|(row, _)| columns.iter().map(|(column, _)| panel(row, column)).collect());
        Ok(Figure::new(panels.collect()).sized(spec.panel, spec.panel))
    }

    fn panel(&self, title: &str, runs: &[&JsonObject], looks: &Looks<'_>) -> Panel {
        let spec = self.spec;
        let curves = looks.curves.iter().filter_map(|(values, look)| {
            let own: Vec<_> =
                runs.iter().copied().filter(|run| looks.values(run) == *values).collect();
            let curve = Curve::line(looks.label(values), 0, self.marks(&own)).looking(*look);
            (!curve.points.is_empty()).then_some(curve)
        });
        let (x, y) = (Axis::new(&*spec.x, spec.x_scale), Axis::new(&*spec.y, spec.y_scale));
        Panel::new(title, x, y, curves.collect())
    }

    /// Returns the mean of the runs at each horizontal value, from left to right.
    fn marks(&self, runs: &[&JsonObject]) -> Vec<Mark> {
        let point = |run: &&JsonObject| Some((at(run, &self.spec.x)?, at(run, &self.spec.y)?));
        let mut points: Vec<(f64, f64)> = runs.iter().filter_map(point).collect();
        points.sort_by(|one, other| one.0.total_cmp(&other.0));
        let same = points.chunk_by(|one, other| one.0.total_cmp(&other.0).is_eq());
        same.map(|group| {
            let values: Vec<f64> = group.iter().map(|(_, y)| *y).collect();
            let mean = values.iter().sum::<f64>() / values.len() as f64;
            let spread = deviation(&values, mean).filter(|_| self.spec.error_bars);
            Mark::at(group[0].0, mean).within(spread)
        })
        .collect()
    }
}

/// Returns the sample standard deviation; `None` for fewer than two values.
fn deviation(values: &[f64], mean: f64) -> Option<f64> {
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (values.len() > 1).then(|| (squares / (values.len() - 1) as f64).sqrt())
}

fn at(run: &JsonObject, key: &str) -> Option<f64> {
    run.get(key).and_then(number).filter(|number| !number.is_nan())
}

fn is_of(run: &JsonObject, group: &[(String, String)]) -> bool {
    group.iter().all(|(key, value)| run.get(key).is_some_and(|own| python_str(own) == *value))
}

fn lines(group: &[(String, String)]) -> String {
    group.iter().map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>().join("\n")
}

fn compare(one: &JsonObject, other: &JsonObject, keys: &[String]) -> Ordering {
    let order = keys.iter().map(|key| order(one.get(key), other.get(key)));
    order.fold(Ordering::Equal, Ordering::then)
}

/// Compares numbers by size and all other values as text; a missing value sorts last.
fn order(one: Option<&Value>, other: Option<&Value>) -> Ordering {
    let (Some(one), Some(other)) = (one, other) else { return one.is_none().cmp(&other.is_none()) };
    match (number(one), number(other)) {
        (Some(one), Some(other)) => one.total_cmp(&other),
        _ => python_str(one).cmp(&python_str(other)),
    }
}

/// The curves of a figure with their looks.
struct Looks<'a> {
    keys: &'a [String],
    curves: Vec<(Vec<String>, Look)>,
}

impl<'a> Looks<'a> {
    fn of(records: &Records, keys: &'a [String]) -> Self {
        let mut looks = Self { keys, curves: Vec::new() };
        let all: Vec<Vec<String>> = records.rows.iter().map(|run| looks.values(run)).collect();
        let numbers = |index: usize, values: &[String]| {
            let mut levels: Vec<&String> = Vec::new();
            for value in all.iter().filter_map(|values| values.get(index)) {
                if !levels.contains(&value) {
                    levels.push(value);
                }
            }
            levels.iter().position(|level| Some(*level) == values.get(index)).unwrap_or_default()
        };
        for values in &all {
            if looks.curves.iter().any(|(known, _)| known == values) {
                continue;
            }
            let look = if keys.len() > 3 {
                Look::joined(looks.curves.len(), 0, 0)
            } else {
                Look::joined(numbers(0, values), numbers(1, values), numbers(2, values))
            };
            looks.curves.push((values.clone(), look));
        }
        looks
    }

    fn values(&self, run: &JsonObject) -> Vec<String> {
        let value = |key: &String| run.get(key).map_or_else(|| "nan".to_owned(), python_str);
        self.keys.iter().map(value).collect()
    }

    fn label(&self, values: &[String]) -> String {
        let pairs = self.keys.iter().zip(values).map(|(key, value)| format!("{key}={value}"));
        pairs.collect::<Vec<_>>().join("\n")
    }
}
