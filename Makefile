# Each target installs what it needs, says so, and leaves alone what is there. `make help` lists them.

TARGET ?=
TIME ?= 60
BUILD = $${CARGO_TARGET_DIR:-target}

.DEFAULT_GOAL := help
.PHONY: help demo demo-smart boards book check test test-long bench lint fuzz

help:
	@echo 'motemix: an anonymous, authenticated network that fits in a sensor'
	@echo
	@echo '  make demo        a whole network on this machine: mixes, motes and a receiver'
	@echo '  make demo-smart  the same with a broker, an application that checks each reading, and a command'
	@echo '  make boards      the packet on three emulated cores, and boards as neighbours, and in one network'
	@echo '  make book        the pages of docs as a book: target/book/index.html'
	@echo '  make check       formatting, clippy, unit tests and the stories of what changed; ALL=1 for all'
	@echo '  make test        everything that has to hold'
	@echo '  make test-long   the same with fuzzing, Miri, secrets under valgrind, licences and the slow tests'
	@echo '  make bench       motemix beside its peers, in one run; see docs/research/benchmarks.md'
	@echo '  make lint        formatting, clippy of every workspace, licences'
	@echo '  make fuzz        fuzzes each target for TIME seconds; TARGET=packet picks one'
	@echo
	@echo 'The first run installs tools and compiles, which takes minutes. Start with: make demo'

# Not built for release: nodes wait far longer than they compute, and whoever is new waits for the compiler.
demo:
	@echo '== demo: builds the program and runs a network of processes on loopback'
	@scripts/setup rust
	cargo run --locked --package motemix -- demo

demo-smart:
	@echo '== demo-smart: the same with a broker, an application that checks each reading, and a command'
	@scripts/setup rust
	cargo build --locked --package motemix --package motemix-broker-program
	cargo run --locked --package motemix -- demo --smart

boards:
	@echo '== boards: the packet on three emulated cores, neighbours, and a network of six boards and two hosts'
	@scripts/setup rust boards qemu
	@scripts/boards

book:
	@echo '== book: the pages of docs, in target/book'
	@scripts/setup book
	@PATH=$$PWD/.build/tools/bin:$$PATH mdbook build
	@scripts/book/check target/book

check:
	@scripts/check $(if $(ALL),--all)

test:
	@echo '== test: formatting, clippy, tests, vectors, boards'
	@scripts/test

test-long:
	@echo '== test-long: takes some hours'
	@scripts/test --long

bench:
	@echo '== bench: keep the machine quiet; the table appears after a few minutes'
	@scripts/setup rust
	cargo build --locked --release --package motemix --package motemix-loopix-program --package motemix-lab
	cargo run --locked --release --manifest-path lab/bench/Cargo.toml --target-dir $(BUILD)/bench-build -- --programs $(BUILD)/release

lint:
	@echo '== lint: formatting, lock files, clippy of every workspace, licences'
	@scripts/setup rust licences memcheck
	@bash -c 'source scripts/workspaces && formatting && lock_files'
	cargo clippy --locked --workspace --all-targets -- -D warnings
	cargo clippy --locked --manifest-path lab/bench/Cargo.toml --target-dir $(BUILD)/bench-build -- -D warnings
	cargo clippy --locked --manifest-path lab/fuzz/Cargo.toml --target-dir $(BUILD)/fuzz-clippy -- -D warnings
	cargo clippy --locked --manifest-path lab/secrets/Cargo.toml --target-dir $(BUILD)/secrets-clippy -- -D warnings
	PATH="$(CURDIR)/.build/tools/bin:$$PATH" cargo deny --locked check licenses bans sources
	@scripts/setup boards
	scripts/boards --lint

fuzz:
	@echo '== fuzz: $(if $(TARGET),$(TARGET),each target) for $(TIME) s; a finding is kept in lab/fuzz/artifacts'
	@scripts/fuzz '$(TIME)' $(TARGET)
