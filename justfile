# Short names for the project's commands; each works without just.

check:
    cargo xtask check

tidy:
    cargo xtask tidy

bench:
    cargo bench -p servemark-benches

# The client-overhead study; `just overhead --plan` says what it does and for how long.
overhead *flags:
    cargo build --release -p servemark-benches -p bench-serving
    cargo run --release -p servemark-benches --bin overhead -- {{flags}}

# The same, and its figures and pictures into the documents.
overhead-docs *flags:
    cargo build --release -p servemark-benches -p bench-serving
    cargo run --release -p servemark-benches --bin overhead -- --docs . {{flags}}

# How often confidence intervals and searches miss a simulated truth; some minutes.
calibration runs="400" *parts:
    cargo run --release -p servemark-benches --bin calibration -- {{runs}} {{parts}}

conformance *engines:
    cargo xtask conformance {{engines}}

fuzz target="sse_split":
    fuzz/build {{target}}
    mkdir -p fuzz/found/{{target}}
    fuzz/target/*/release/{{target}} -rss_limit_mb=1024 -timeout=20 -max_len=4096 fuzz/found/{{target}} fuzz/corpus/{{target}}
