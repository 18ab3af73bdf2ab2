//! Length limits of prompts and outputs.

/// Maximum lengths of prompts, and of prompts with outputs, in tokens; the minimum of either is
/// four tokens.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    pub(super) prompt: u32,
    pub(super) total: u32,
}

impl Limits {
    /// Returns whether prompt and output are within the limits.
    pub(super) fn hold(self, prompt: u32, output: u32) -> bool {
        self.hold_prompt(prompt, output) && output >= SHORTEST
    }

    /// Returns whether the prompt and the total are within the limits; the output has no minimum.
    pub(super) fn hold_prompt(self, prompt: u32, output: u32) -> bool {
        (SHORTEST..=self.prompt).contains(&prompt) && prompt.saturating_add(output) <= self.total
    }
}

/// vLLM's limits for conversations.
pub(super) const CONVERSATION: Limits = Limits { prompt: 1024, total: 2048 };

const SHORTEST: u32 = 4;
