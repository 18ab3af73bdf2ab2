//! A tokenizer of the Hugging Face layout.

use std::fmt;
use std::path::Path;

use servemark_core::{ImageSize, JsonObject, SpecialTokens, Tokenizer, TokenizerError};

use crate::chat_template::{ChatTemplate, Conversation};
use crate::config::Config;
use crate::document::{Document, Loaded};
use crate::error::unusable;
use crate::files::Folder;
use crate::pipeline::{Pipeline, bare_ids};
use crate::special::Wrapping;
use crate::vision::Vision;

/// A tokenizer of the Hugging Face layout: `tokenizer.json`, or an older file that is converted to
/// it, with `tokenizer_config.json` and `chat_template.jinja` beside it if they exist.
pub struct HfTokenizer {
    pipeline: Pipeline,
    vocab_size: u32,
    token_ids: Vec<u32>,
    byte_ids: Vec<u32>,
    special_ids: Vec<u32>,
    /// Whether special tokens are recognised in a text.
    finds_special: bool,
    wrapping: Wrapping,
    bos_token: Option<String>,
    chat_template: Option<ChatTemplate>,
    vision: Option<VisionTokens>,
}

/// A model's image processor, and the id of its placeholder token.
#[derive(Debug)]
struct VisionTokens {
    vision: Vision,
    token: u32,
}

/// A function that loads a document, entirely or only for decoding.
type Load = fn(Document, &Path) -> Result<Loaded, TokenizerError>;

impl HfTokenizer {
    /// Loads the tokenizer in the folder `path`, or the file `path` and the files beside it.
    pub fn load(path: &Path) -> Result<Self, TokenizerError> {
        Self::load_by(path, Document::load)
    }

    /// Loads a tokenizer for decoding, in a tenth of the time of [`load`](Self::load), or in half
    /// of it if it is not a byte-level BPE. The rest is loaded when a text is encoded for the first
    /// time.
    pub fn load_to_decode(path: &Path) -> Result<Self, TokenizerError> {
        Self::load_by(path, Document::load_to_decode)
    }

    fn load_by(path: &Path, load: Load) -> Result<Self, TokenizerError> {
        let folder = Folder::at(path)?;
        let config = folder.config()?;
        let (file, read) = folder.tokenizer(&config)?;
        let template = folder.chat_template(&config)?;
        let template = template.or_else(|| read.chat_template.map(str::to_owned));
        let mut tokenizer = Self::assemble(file, load(read.tokenizer, file)?, &config, template)?;
        tokenizer.vocab_size = read.vocab_size.unwrap_or(tokenizer.vocab_size);
        if let Some(ids) = read.special_ids {
            (tokenizer.special_ids, tokenizer.finds_special) = (ids, false);
        }
        tokenizer.with_vision(Vision::of(&folder, &config)?)
    }

    /// Loads a tokenizer from the contents of a `tokenizer.json`, without other files.
    pub fn from_json(text: &str) -> Result<Self, TokenizerError> {
        let file = Path::new("tokenizer.json");
        let loaded = Document::Text(text.to_owned()).load(file)?;
        Self::assemble(file, loaded, &Config::default(), None)
    }

    fn assemble(
        file: &Path,
        loaded: Loaded,
        config: &Config,
        template: Option<String>,
    ) -> Result<Self, TokenizerError> {
        let Loaded { pipeline, base_size, ids, bytes } = loaded;
        Ok(Self {
            vocab_size: base_size,
            token_ids: ids,
            byte_ids: bytes,
            wrapping: wrapping(&pipeline, config, file)?,
            bos_token: config.token("bos_token").map(str::to_owned),
            special_ids: special_ids(&pipeline, config)?,
            finds_special: true,
            chat_template: template
                .map(|source| ChatTemplate::new(&source, config.special_tokens())),
            vision: None,
            pipeline,
        })
    }

    /// Adds an image processor, unless its placeholder is not a single token: then the processor
    /// belongs to another tokenizer.
    fn with_vision(mut self, vision: Option<Vision>) -> Result<Self, TokenizerError> {
        if let Some(vision) = vision
            && let [token] = self.pipeline.token_ids(&vision.placeholder)?[..]
        {
            self.vision = Some(VisionTokens { vision, token });
        }
        Ok(self)
    }
}

impl Tokenizer for HfTokenizer {
    fn encode(&self, text: &str, special: SpecialTokens) -> Result<Vec<u32>, TokenizerError> {
        let bare = bare_ids(self.pipeline.encoding()?, text)?;
        Ok(match special {
            SpecialTokens::Omit => bare,
            SpecialTokens::Add => {
                [self.wrapping.before.as_slice(), &bare, &self.wrapping.after].concat()
            }
        })
    }

    fn decode(&self, ids: &[u32]) -> Result<String, TokenizerError> {
        self.pipeline.decode(ids)
    }

    fn vocab_size(&self) -> u32 {
        self.vocab_size
    }

    fn token_ids(&self) -> &[u32] {
        &self.token_ids
    }

    fn special_ids(&self) -> &[u32] {
        &self.special_ids
    }

    fn byte_ids(&self) -> &[u32] {
        &self.byte_ids
    }

    fn added_special_ids(&self) -> Result<Vec<u32>, TokenizerError> {
        if !self.finds_special {
            return Ok(self.special_ids.clone());
        }
        let added = self.pipeline.encoding()?.get_added_vocabulary().get_added_tokens_decoder();
        let special = added.into_iter().filter(|(_, token)| token.special).map(|(id, _)| id);
        let mut ids: Vec<u32> = special.collect();
        ids.sort_unstable();
        Ok(ids)
    }

    fn image_token_id(&self) -> Option<u32> {
        self.vision.as_ref().map(|observed| observed.token)
    }

    fn count_with_images(
        &self,
        prompt: &str,
        images: &[ImageSize],
    ) -> Result<Option<u32>, TokenizerError> {
        let Some(VisionTokens { vision, .. }) = &self.vision else { return Ok(None) };
        // A placeholder is already counted as one token, which is included in the picture's number
        // of tokens.
        let pictures = prompt.matches(&vision.placeholder).count().min(images.len());
        let tokens = images[..pictures].iter().map(|size| vision.tokens(*size));
        let tokens = tokens.sum::<Result<u32, TokenizerError>>()?;
        let framed = vision.framing(prompt, pictures);
        Ok(Some(self.count(&framed, SpecialTokens::Add)? - pictures as u32 + tokens))
    }

    fn special_tokens_added(&self) -> u32 {
        self.wrapping.len() as u32
    }

    fn bos_token(&self) -> Option<&str> {
        self.bos_token.as_deref()
    }

    fn render_chat(
        &self,
        messages: &[JsonObject],
        arguments: &JsonObject,
    ) -> Result<String, TokenizerError> {
        let template = self.chat_template.as_ref().ok_or(TokenizerError::NoChatTemplate)?;
        let mut conversation = Conversation::new(messages);
        conversation.variables = Some(arguments);
        template.render(&conversation)
    }
}

impl fmt::Debug for HfTokenizer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("HfTokenizer")
            .field("vocab_size", &self.vocab_size)
            .field("wrapping", &self.wrapping)
            .field("bos_token", &self.bos_token)
            .field("chat_template", &self.chat_template)
            .field("vision", &self.vision)
            .finish_non_exhaustive()
    }
}

/// Returns the ids of the special tokens in increasing order.
fn special_ids(pipeline: &Pipeline, config: &Config) -> Result<Vec<u32>, TokenizerError> {
    let mut ids = Vec::new();
    for token in config.special_texts() {
        // A special token that is not a single token does not belong to this vocabulary.
        if let [id] = pipeline.token_ids(token)?[..] {
            ids.push(id);
        }
    }
    ids.sort_unstable();
    ids.dedup();
    Ok(ids)
}

/// Returns the special tokens around a text: those of the configuration if it sets them, else those
/// of `tokenizer.json`.
fn wrapping(pipeline: &Pipeline, config: &Config, file: &Path) -> Result<Wrapping, TokenizerError> {
    let id_of = |token: &str| match pipeline.token_ids(token)?.as_slice() {
        [id] => Ok(*id),
        ids => Err(unusable(file)(format!(
            "the special token {token:?} of its tokenizer_config.json is {} tokens",
            ids.len()
        ))),
    };
    let configured = Wrapping::configured(config, id_of)?;
    Ok(configured.unwrap_or_else(|| pipeline.wrapping()))
}
