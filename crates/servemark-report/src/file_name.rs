//! The default name of a result file.

/// The parts of SGLang's default name of a result file.
///
/// ```
/// let name = servemark_report::ResultFileName::new("sglang", "random-ids", 200)
///     .with_lengths(1024, 128);
/// assert_eq!(name.on(7, 4), "sglang_0704_200_1024_128.jsonl");
/// ```
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ResultFileName {
    backend: String,
    dataset: String,
    prompts: usize,
    lengths: (u32, u32),
    images: (u32, String),
}

impl ResultFileName {
    /// Returns the name for a run of `prompts` requests, the number asked for.
    pub fn new(backend: impl Into<String>, dataset: impl Into<String>, prompts: usize) -> Self {
        Self {
            backend: backend.into(),
            dataset: dataset.into(),
            prompts,
            lengths: (0, 0),
            images: (0, String::new()),
        }
    }

    /// Sets the requested prompt and output lengths, in tokens. Only synthetic data sets include
    /// them in the name.
    #[must_use]
    pub fn with_lengths(self, input: u32, output: u32) -> Self {
        Self { lengths: (input, output), ..self }
    }

    /// Sets the number of images per request and their resolution as the user wrote it. Only the
    /// image data set includes them in the name.
    #[must_use]
    pub fn with_images(self, count: u32, resolution: impl Into<String>) -> Self {
        Self { images: (count, resolution.into()), ..self }
    }

    /// Returns the name of the file for a day of the local calendar.
    pub fn on(&self, month: u8, day: u8) -> String {
        let Self { backend, dataset, prompts, lengths: (input, output), images } = self;
        let (count, resolution) = images;
        let tail = match dataset.as_str() {
            "image" => format!("{input}_{output}_{count}imgs_{resolution}"),
            random if random.starts_with("random") => format!("{input}_{output}"),
            other => other.to_owned(),
        };
        format!("{backend}_{month:02}{day:02}_{prompts}_{tail}.jsonl")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(dataset: &str, expected: &str) {
        let name = ResultFileName::new("vllm", dataset, 10).with_lengths(5, 6);
        assert_eq!(name.with_images(2, "720p").on(11, 3), expected);
    }

    #[test]
    fn each_data_set_shows_what_it_is_made_of() {
        check("image", "vllm_1103_10_5_6_2imgs_720p.jsonl");
        check("random", "vllm_1103_10_5_6.jsonl");
        check("random-ids", "vllm_1103_10_5_6.jsonl");
        check("sharegpt", "vllm_1103_10_sharegpt.jsonl");
    }
}
