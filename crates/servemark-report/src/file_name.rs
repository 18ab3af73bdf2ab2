//! What a result file is called when nobody names it.

/// What SGLang's default name of a result file is made of.
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
    /// The name of a run of `prompts` requests, as many as were asked for.
    pub fn new(backend: impl Into<String>, dataset: impl Into<String>, prompts: usize) -> Self {
        Self {
            backend: backend.into(),
            dataset: dataset.into(),
            prompts,
            lengths: (0, 0),
            images: (0, String::new()),
        }
    }

    /// The same with the prompt and output lengths that were asked for; only synthetic data sets
    /// show them.
    #[must_use]
    pub fn with_lengths(self, input: u32, output: u32) -> Self {
        Self { lengths: (input, output), ..self }
    }

    /// The same with the images per request and their resolution as the user spells it; only the
    /// image data set shows them.
    #[must_use]
    pub fn with_images(self, count: u32, resolution: impl Into<String>) -> Self {
        Self { images: (count, resolution.into()), ..self }
    }

    /// The file's name on a day of the local calendar.
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
