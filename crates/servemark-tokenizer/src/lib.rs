//! Tokenizer and chat-template loading, and token counting.
