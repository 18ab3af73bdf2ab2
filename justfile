# Short names for the project's commands; each works without just.

check:
    cargo xtask check

tidy:
    cargo xtask tidy

bench:
    cargo bench -p servemark-benches

overhead:
    cargo run --release -p servemark-benches --bin overhead

conformance *engines:
    cargo xtask conformance {{engines}}

fuzz target="sse_split":
    cargo +nightly fuzz run {{target}}
