//! How long prompts and outputs may be to be sent.

/// The longest prompts and exchanges; the shortest of either are four tokens.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    pub(super) prompt: u32,
    pub(super) total: u32,
}

impl Limits {
    /// Whether a prompt and an output are long and short enough.
    pub(super) fn hold(self, prompt: u32, output: u32) -> bool {
        self.hold_prompt(prompt, output) && output >= SHORTEST
    }

    /// The same of an output that may be as short as it likes.
    pub(super) fn hold_prompt(self, prompt: u32, output: u32) -> bool {
        (SHORTEST..=self.prompt).contains(&prompt) && prompt.saturating_add(output) <= self.total
    }
}

/// What vLLM allows conversations.
pub(super) const CONVERSATION: Limits = Limits { prompt: 1024, total: 2048 };

const SHORTEST: u32 = 4;
