//! Writes the result files of vLLM's client.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use servemark_core::JsonObject;
use servemark_plan::{Layout, SaveMode, VllmFiles};
use servemark_pyjson::{Text, to_writer};
use servemark_report::{
    DatasetStatsPlot, Report, ReportFormat, ResultDetails, TimelinePlot, VllmResult,
    vllm_file_name, vllm_pytorch_records,
};

use crate::Scores;

/// Paths of the files that were requested and written.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct VllmSaved {
    /// HTML page with the timeline of every request.
    pub timeline: Option<PathBuf>,
    /// Image with the distributions of prompt and output lengths.
    pub dataset_stats: Option<PathBuf>,
    /// JSON file with the result.
    pub result: Option<PathBuf>,
    /// JSON file with the result for `PyTorch`'s benchmark database.
    pub pytorch: Option<PathBuf>,
}

impl Scores<'_> {
    /// Writes the files that vLLM's client would write.
    pub fn save_vllm(&self, files: &VllmFiles) -> io::Result<VllmSaved> {
        let place = self.vllm_place(files)?;
        let saved = self.save_vllm_at(files, place.path());
        if let (Err(_), ResultPath::Reserved(path)) = (&saved, &place) {
            // An incomplete file would be taken for a result. The error of writing it is reported,
            // not one of the removal.
            let _ = fs::remove_file(path);
        }
        saved
    }

    fn save_vllm_at(&self, files: &VllmFiles, path: &Path) -> io::Result<VllmSaved> {
        let mut saved = VllmSaved::default();
        if let Some([slow, very_slow]) = files.timeline {
            let timeline = TimelinePlot::new(slow, very_slow);
            saved.timeline = Some(self.draw(&timeline, path.with_extension("timeline.html"))?);
        }
        if files.dataset_stats {
            let path = path.with_extension("dataset_stats.png");
            saved.dataset_stats = Some(self.draw(&DatasetStatsPlot, path)?);
        }
        if let Some(mode) = files.save {
            let result = self.vllm_result(ResultDetails::of(files.details), files.utc_offset_s);
            if let Some(args) = &files.pytorch {
                saved.pytorch = Some(self.write_pytorch(&result, args, path)?);
            }
            saved.result = Some(self.save_result(&result, mode, path.to_owned())?);
        }
        Ok(saved)
    }

    fn save_result(
        &self,
        result: &VllmResult,
        mode: SaveMode,
        path: PathBuf,
    ) -> io::Result<PathBuf> {
        match mode {
            SaveMode::Append => append_vllm(&self.vllm_line(result)?, &path).map(|()| path),
            SaveMode::Replace => self.draw(result, path),
        }
    }

    /// Returns the UTC offset in seconds of the machine that made the log; 0 if its plan does not
    /// have it.
    pub(crate) fn utc_offset_s(&self) -> i32 {
        let known = self.log.header().plan.pointer("/output/vllm/utc_offset_s");
        let known = known.and_then(serde_json::Value::as_i64);
        known.and_then(|seconds| seconds.try_into().ok()).unwrap_or_default()
    }

    pub(crate) fn vllm_result(&self, details: ResultDetails, utc_offset_s: i32) -> VllmResult {
        VllmResult::new(self.scoring.vllm.clone(), details, utc_offset_s)
    }

    /// Returns a result as a line without its end.
    pub(crate) fn vllm_line(&self, result: &VllmResult) -> io::Result<Vec<u8>> {
        let mut line = Vec::new();
        result.write(&self.vllm_report(), &mut line)?;
        Ok(line)
    }

    /// Creates the folder if one is named and returns the place of the result.
    fn vllm_place(&self, files: &VllmFiles) -> io::Result<ResultPath> {
        let folder = files.folder.clone().unwrap_or_default();
        if files.folder.is_some() {
            fs::create_dir_all(&folder)?;
        }
        if let Some(name) = &files.name {
            return Ok(ResultPath::Known(folder.join(name)));
        }
        let usual = vllm_file_name(self.log, files.label.as_deref(), files.utc_offset_s);
        let path = folder.join(usual);
        match files.save {
            Some(SaveMode::Replace) => reserve(&path).map(ResultPath::Reserved),
            _ => Ok(ResultPath::Known(path)),
        }
    }

    fn draw(&self, format: &dyn ReportFormat, path: PathBuf) -> io::Result<PathBuf> {
        let mut out = io::BufWriter::new(File::create(&path)?);
        format.write(&self.vllm_report(), &mut out)?;
        out.flush()?;
        Ok(path)
    }

    fn write_pytorch(
        &self,
        result: &VllmResult,
        args: &JsonObject,
        path: &Path,
    ) -> io::Result<PathBuf> {
        let path = path.with_extension("pytorch.json");
        let records = vllm_pytorch_records(args, &result.object(&self.vllm_report()));
        to_writer(&records, Text::Ascii, File::create(&path)?)?;
        Ok(path)
    }

    fn vllm_report(&self) -> Report<'_> {
        self.report(Layout::Vllm).with_native(self.metrics(Layout::Native))
    }
}

/// Appends a line. Like vLLM, writes no newline after it but one before it if the file is not
/// empty.
pub(crate) fn append_vllm(line: &[u8], path: &Path) -> io::Result<()> {
    let mut file = OpenOptions::new().create(true).append(true).open(path)?;
    let is_empty = file.metadata()?.len() == 0;
    let before: &[u8] = if is_empty { b"" } else { b"\n" };
    file.write_all(&[before, line].concat())
}

/// Path of the result. Its plots have the same name with other extensions.
enum ResultPath {
    /// A path that other runs may write to as well.
    Known(PathBuf),
    /// An empty file that was created for this result alone.
    Reserved(PathBuf),
}

impl ResultPath {
    fn path(&self) -> &Path {
        match self {
            Self::Known(path) | Self::Reserved(path) => path,
        }
    }
}

/// Creates an empty file with the default name, or with that name and a number if it exists:
/// default names differ only by second.
fn reserve(path: &Path) -> io::Result<PathBuf> {
    let numbered = |number: u32| path.with_extension(format!("{number}.json"));
    for path in std::iter::once(path.to_owned()).chain((2..).map(numbered)) {
        match File::create_new(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            created => return created.map(|_| path),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}
