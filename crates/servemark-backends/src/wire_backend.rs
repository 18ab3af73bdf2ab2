//! All dialects behind one type, so that a run need not know its dialect.

use std::fmt;

use http::HeaderMap;
use servemark_core::{RequestError, Sample, Sink};
use servemark_sse::Event;

use crate::{
    AisbenchBackend, AnthropicBackend, AnthropicDecoder, Backend, BatchBackend, BatchDecoder,
    ChatBackend, CompletionsBackend, DashscopeDecoder, DecisionDecoder, Decoder, EmbeddingsBackend,
    EmbeddingsDecoder, EvalscopeBackend, Flow, Framing, GenerateBackend, GenerateDecoder,
    GeneratedDecoder, OllamaBackend, OllamaDecoder, OpenAiDecoder, PoolingDecoder, ProvidedBackend,
    RerankBackend, RerankDecoder, ResponsesDecoder, TritonDecoder, TrtBackend, TrtDecoder,
    TrussBackend, VllmBackend, WireRequest,
};

/// A codec of any dialect.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum WireBackend {
    /// SGLang's `/generate`.
    Generate(GenerateBackend),
    /// OpenAI's `/v1/completions`.
    Completions(CompletionsBackend),
    /// OpenAI's `/v1/chat/completions`.
    Chat(ChatBackend),
    /// OpenAI's `/v1/embeddings`.
    Embeddings(EmbeddingsBackend),
    /// The route `/v1/rerank`.
    Rerank(RerankBackend),
    /// Anthropic's `/v1/messages`.
    Anthropic(AnthropicBackend),
    /// Ollama's own API.
    Ollama(OllamaBackend),
    /// TensorRT-LLM behind Triton.
    Trt(TrtBackend),
    /// Baseten's Truss.
    Truss(TrussBackend),
    /// A dialect of vLLM's client.
    Vllm(VllmBackend),
    /// An API of evalscope's client.
    Evalscope(EvalscopeBackend),
    /// A class of AISBench's client.
    Aisbench(AisbenchBackend),
    /// Several prompts in one request.
    Batch(BatchBackend),
    /// A dialect that the program supplies.
    Provided(ProvidedBackend),
}

impl Backend for WireBackend {
    type Decoder = WireDecoder;

    fn encode(&self, sample: &Sample) -> Result<WireRequest, RequestError> {
        match self {
            Self::Generate(backend) => backend.encode(sample),
            Self::Completions(backend) => backend.encode(sample),
            Self::Chat(backend) => backend.encode(sample),
            Self::Embeddings(backend) => backend.encode(sample),
            Self::Rerank(backend) => backend.encode(sample),
            Self::Anthropic(backend) => backend.encode(sample),
            Self::Ollama(backend) => backend.encode(sample),
            Self::Trt(backend) => backend.encode(sample),
            Self::Truss(backend) => backend.encode(sample),
            Self::Vllm(backend) => backend.encode(sample),
            Self::Evalscope(backend) => backend.encode(sample),
            Self::Aisbench(backend) => backend.encode(sample),
            Self::Batch(backend) => backend.encode(sample),
            Self::Provided(backend) => backend.encode(sample),
        }
    }

    fn decoder(&self, sample: &Sample) -> WireDecoder {
        match self {
            Self::Generate(backend) => WireDecoder::Generate(backend.decoder(sample)),
            Self::Completions(backend) => WireDecoder::OpenAi(backend.decoder(sample)),
            Self::Chat(backend) => WireDecoder::OpenAi(backend.decoder(sample)),
            Self::Embeddings(backend) => WireDecoder::Embeddings(backend.decoder(sample)),
            Self::Rerank(backend) => WireDecoder::Rerank(backend.decoder(sample)),
            Self::Anthropic(backend) => WireDecoder::Anthropic(backend.decoder(sample)),
            Self::Ollama(backend) => WireDecoder::Ollama(backend.decoder(sample)),
            Self::Trt(backend) => WireDecoder::Trt(backend.decoder(sample)),
            Self::Truss(backend) => WireDecoder::OpenAi(backend.decoder(sample)),
            Self::Vllm(backend) => backend.decoder(sample),
            Self::Evalscope(backend) => backend.decoder(sample),
            Self::Aisbench(backend) => backend.decoder(sample),
            Self::Batch(backend) => WireDecoder::Batch(backend.decoder(sample)),
            Self::Provided(backend) => WireDecoder::Provided(backend.decoder(sample)),
        }
    }

    fn framing(&self) -> Framing {
        match self {
            Self::Generate(backend) => backend.framing(),
            Self::Completions(backend) => backend.framing(),
            Self::Chat(backend) => backend.framing(),
            Self::Embeddings(backend) => backend.framing(),
            Self::Rerank(backend) => backend.framing(),
            Self::Anthropic(backend) => backend.framing(),
            Self::Ollama(backend) => backend.framing(),
            Self::Trt(backend) => backend.framing(),
            Self::Truss(backend) => backend.framing(),
            Self::Vllm(backend) => backend.framing(),
            Self::Evalscope(backend) => backend.framing(),
            Self::Aisbench(backend) => backend.framing(),
            Self::Batch(backend) => backend.framing(),
            Self::Provided(backend) => backend.framing(),
        }
    }
}

/// A decoder of any dialect.
#[non_exhaustive]
pub enum WireDecoder {
    /// Anthropic's `/v1/messages`.
    Anthropic(AnthropicDecoder),
    /// Several prompts in one request.
    Batch(BatchDecoder),
    /// `DashScope`'s own route.
    Dashscope(DashscopeDecoder),
    /// System One and `AutoTrust`.
    Decision(DecisionDecoder),
    /// OpenAI's `/v1/embeddings`.
    Embeddings(EmbeddingsDecoder),
    /// SGLang's `/generate`.
    Generate(GenerateDecoder),
    /// text-generation-inference and `MindIE`.
    Generated(GeneratedDecoder),
    /// Ollama's own API.
    Ollama(OllamaDecoder),
    /// OpenAI's two routes that generate text, and Truss.
    OpenAi(OpenAiDecoder),
    /// vLLM's `/pooling`.
    Pooling(PoolingDecoder),
    /// A dialect that the program supplies.
    Provided(Box<dyn Decoder>),
    /// The route `/v1/rerank`.
    Rerank(RerankDecoder),
    /// OpenAI's `/v1/responses`.
    Responses(ResponsesDecoder),
    /// Triton's generate extension.
    Triton(TritonDecoder),
    /// TensorRT-LLM behind Triton.
    Trt(TrtDecoder),
}

impl fmt::Debug for WireDecoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WireDecoder")
    }
}

impl WireDecoder {
    fn inner(&mut self) -> &mut dyn Decoder {
        match self {
            Self::Anthropic(decoder) => decoder,
            Self::Batch(decoder) => decoder,
            Self::Dashscope(decoder) => decoder,
            Self::Decision(decoder) => decoder,
            Self::Embeddings(decoder) => decoder,
            Self::Generate(decoder) => decoder,
            Self::Generated(decoder) => decoder,
            Self::Ollama(decoder) => decoder,
            Self::OpenAi(decoder) => decoder,
            Self::Pooling(decoder) => decoder,
            Self::Provided(decoder) => decoder,
            Self::Rerank(decoder) => decoder,
            Self::Responses(decoder) => decoder,
            Self::Triton(decoder) => decoder,
            Self::Trt(decoder) => decoder,
        }
    }
}

impl Decoder for WireDecoder {
    fn head(&mut self, headers: &HeaderMap, out: &mut dyn Sink) {
        self.inner().head(headers, out);
    }

    fn event(&mut self, event: Event<'_>, out: &mut dyn Sink) -> Result<Flow, RequestError> {
        self.inner().event(event, out)
    }

    fn document(&mut self, body: &[u8], out: &mut dyn Sink) -> Result<(), RequestError> {
        self.inner().document(body, out)
    }

    fn end(&mut self) -> Result<(), RequestError> {
        self.inner().end()
    }
}
