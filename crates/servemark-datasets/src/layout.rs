//! Layouts of data files, as far as the beginning of a file shows them: whether a file is of the
//! layout that a data set reads is known before anything is sent.

use std::path::Path;

use servemark_core::DatasetError;

use crate::csv_file::Table;
use crate::jsonl::{BadLine, Reader};
use crate::trace::{TraceFormat, azure, burstgpt};
use crate::{BatchSource, DatasetSpec, RandomSpec, Source, json_array, text_file};

/// Layout of a data file.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum FileLayout {
    /// One JSON array.
    Array,
    /// A table whose first line names its columns, with at least these.
    Csv(&'static [&'static str]),
    /// One JSON object per line. The user may choose what becomes of other lines.
    Lines(Option<BadLine>),
    /// One JSON object.
    Object,
}

impl DatasetSpec {
    /// Returns an error if the data set's file begins like one of another layout. The rest of the
    /// file is not read. A file that cannot be read passes, and so do a folder and a pipe, which
    /// can be read only once.
    pub fn check_layout(&self) -> Result<(), DatasetError> {
        let files: Vec<_> = match self {
            Self::Aisbench(spec) => spec.file_layouts(),
            _ => self.file_layout().into_iter().collect(),
        };
        let mut files = files.into_iter().filter(|(path, _)| path.is_file());
        files.try_for_each(|(path, layout)| layout.check(path))
    }

    /// Returns the data set's file and its layout, if it has one file of one text layout.
    fn file_layout(&self) -> Option<(&Path, FileLayout)> {
        use FileLayout::{Array, Csv, Lines, Object};
        let (path, layout) = match self {
            Self::AgenticTrace(spec) => (&spec.path, Object),
            Self::Aisbench(spec) => return spec.file_layout(),
            Self::Batch(spec) => match &spec.source {
                BatchSource::Dataset(dataset) => return dataset.file_layout(),
                BatchSource::File { .. } => return None,
            },
            Self::Custom(spec) => (&spec.path, Lines(Some(spec.on_bad_line))),
            Self::Evalscope(spec) => return spec.file_layout(),
            Self::Mooncake(spec) => (&spec.path, Lines(None)),
            Self::Openai(spec) => (&spec.path, Lines(Some(spec.on_bad_line))),
            Self::Random(RandomSpec { source: Source::Sharegpt { path }, .. }) => (path, Array),
            Self::Sharegpt(spec) => (&spec.path, Array),
            Self::SpeedBench(spec) => (&spec.path, Lines(Some(spec.on_bad_line))),
            Self::Trace(spec) => match spec.format {
                TraceFormat::Azure => (&spec.path, Csv(azure::COLUMNS)),
                TraceFormat::Burstgpt => (&spec.path, Csv(burstgpt::COLUMNS)),
                TraceFormat::Otel => (&spec.path, Object),
                TraceFormat::Servegen => return None,
            },
            Self::Vllm(spec) => return spec.file_layout(),
            // Prompts that are drawn, and tables in one of several layouts.
            Self::GeneratedSharedPrefix(_)
            | Self::Image(_)
            | Self::LongBenchV2(_)
            | Self::Mmmu(_)
            | Self::Provided(_)
            | Self::Random(_) => return None,
        };
        Some((path.as_deref()?, layout))
    }
}

impl FileLayout {
    fn check(self, path: &Path) -> Result<(), DatasetError> {
        match self {
            Self::Array => json_array::check_beginning(path),
            Self::Csv(columns) => Table::open(path, columns).map(drop),
            Self::Lines(on_bad_line) => Reader { path, on_bad_line, limit: None }.check_beginning(),
            Self::Object => check_object(path),
        }
    }
}

fn check_object(path: &Path) -> Result<(), DatasetError> {
    let Some(beginning) = text_file::beginning(path)? else { return Ok(()) };
    let first = text_file::lines(&beginning.text).next();
    match first {
        Some((line, text)) if !text.trim_start_matches('\u{feff}').starts_with('{') => {
            Err(text_file::malformed(path, line, "expected one JSON object".to_owned()))
        }
        _ => Ok(()),
    }
}

#[cfg(feature = "peers")]
#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::PathBuf;

    use serde_json::{Value, json};

    use super::*;
    use crate::{
        EvalscopeData, EvalscopeSpec, EvalscopeTextSpec, EvalscopeTexts, EvalscopeTurns,
        EvalscopeTurnsSpec, VllmBurstgptSpec, VllmCustomImageSpec, VllmData, VllmSpec,
    };

    /// Data sets by their layout, without a file.
    fn data_sets() -> [(&'static str, Vec<Value>); 4] {
        let plain = |dataset: &str| json!({"dataset": dataset});
        let trace = |format: &str| json!({"dataset": "trace", "format": format});
        let vllm = |data| json!(DatasetSpec::Vllm(VllmSpec::new(data)));
        let evalscope = |data| json!(DatasetSpec::Evalscope(EvalscopeSpec::new(data)));
        let texts = |texts| {
            let (path, target) = (None, None);
            evalscope(EvalscopeData::Texts(EvalscopeTextSpec { texts, path, target }))
        };
        let turns = |turns| {
            let (path, most_turns) = (None, None);
            evalscope(EvalscopeData::Turns(EvalscopeTurnsSpec { turns, path, most_turns }))
        };
        [
            ("array", vec![plain("sharegpt"), texts(EvalscopeTexts::LongAlpaca)]),
            (
                "csv",
                vec![
                    trace("azure"),
                    trace("burstgpt"),
                    vllm(VllmData::Burstgpt(VllmBurstgptSpec::default())),
                ],
            ),
            (
                "lines",
                vec![
                    plain("custom"),
                    plain("mooncake"),
                    plain("openai"),
                    plain("speed_bench"),
                    vllm(VllmData::CustomImage(VllmCustomImageSpec::default())),
                    texts(EvalscopeTexts::Openqa),
                    turns(EvalscopeTurns::ShareGptEn),
                ],
            ),
            ("object", vec![plain("agentic_trace"), trace("otel")]),
        ]
    }

    fn at(data: &Value, path: &Path) -> Option<DatasetSpec> {
        let mut data = data.clone();
        data["path"] = json!(path);
        serde_json::from_value(data).ok()
    }

    fn write(folder: &Path, name: &str, text: &str) -> PathBuf {
        let path = folder.join(name);
        fs::write(&path, text).unwrap();
        path
    }

    #[test]
    fn a_file_of_another_layout_is_told_by_its_beginning() {
        let folder = tempfile::tempdir().unwrap();
        let columns = "Timestamp,TIMESTAMP,ContextTokens,GeneratedTokens,Model,Request tokens,\
                       Response tokens\n";
        let files = [
            ("array", write(folder.path(), "array", "[\n{\"a\": 1}\n]\n")),
            ("csv", write(folder.path(), "csv", columns)),
            ("lines", write(folder.path(), "lines", "\n{\"a\": 1}\n{\"a\": 2}\n")),
            ("object", write(folder.path(), "object", "{\n\"conversations\": []}\n")),
            ("text", write(folder.path(), "text", "once upon a time\n")),
            ("table", write(folder.path(), "table", "PAR1\u{0}\u{1}")),
        ];
        for (layout, sets) in data_sets() {
            for data in sets {
                for (kind, path) in &files {
                    let Some(spec) = at(&data, path) else { panic!("{data} is no data set") };
                    let checked = spec.check_layout();
                    // An object may begin as a line of several objects does.
                    let is_alike = layout == *kind || (layout, *kind) == ("object", "lines");
                    assert_eq!(checked.is_ok(), is_alike, "{data} of {kind}: {checked:?}");
                }
            }
        }
    }

    #[test]
    fn lines_that_may_be_left_out_pass_and_an_array_does_not() {
        let folder = tempfile::tempdir().unwrap();
        let custom = json!({"dataset": "custom", "on_bad_line": "skip"});
        let checked = |text: &str| {
            let spec = at(&custom, &write(folder.path(), "file", text)).unwrap();
            spec.check_layout().map_err(|error| error.to_string())
        };
        assert_eq!(checked("no JSON\n{\"a\": 1}\n"), Ok(()));
        assert!(checked("[\n{\"a\": 1}\n]").unwrap_err().contains("the data set sharegpt"));
    }

    #[test]
    fn a_first_line_that_is_longer_than_what_is_read_passes() {
        let folder = tempfile::tempdir().unwrap();
        let line = format!("{{\"a\": \"{}\"}}\n", "\u{e4}".repeat(5000));
        let custom = at(&json!({"dataset": "custom"}), &write(folder.path(), "long", &line));
        assert!(custom.unwrap().check_layout().is_ok());
    }

    #[test]
    fn what_cannot_be_read_passes() {
        let folder = tempfile::tempdir().unwrap();
        for path in [folder.path().to_owned(), folder.path().join("absent")] {
            for (_, sets) in data_sets() {
                for data in sets {
                    assert!(at(&data, &path).unwrap().check_layout().is_ok(), "{data}");
                }
            }
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_check_of_a_pipe_takes_nothing_of_it() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status().unwrap();
        assert!(made.success());
        let to = pipe.clone();
        let writer = std::thread::spawn(move || fs::write(to, "{}"));
        at(&json!({"dataset": "sharegpt"}), &pipe).unwrap().check_layout().unwrap();
        assert_eq!(fs::read_to_string(&pipe).unwrap(), "{}");
        writer.join().unwrap().unwrap();
    }
}
