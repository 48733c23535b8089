# Everything worth running, by name. `make` alone lists it.
# Needs a Rust toolchain (rustup), a C compiler and make; nothing else.

CARGO ?= cargo
FUZZ_SECONDS ?= 60
LAXITY := $(or $(CARGO_TARGET_DIR),target)/release/laxity

.DEFAULT_GOAL := help
.PHONY: help demo test stress fuzz lint bench reproduce doc packages toolchain

help: ## Print this list
	@echo "Laxity: a transport for jobs that may lose a little."
	@echo
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-9s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: toolchain ## Compare TCP and Laxity in a private network on this machine and draw what happens
	@echo "Building the laxity command (some minutes the first time) ..."
	@$(CARGO) build --quiet --release --package laxity-cli
	@$(LAXITY) demo

test: toolchain packages ## Run every test, examples in the documentation included
	@echo "Building and running all tests ..."
	@$(CARGO) test --workspace

stress: toolchain ## Run the long tests, which `make test` leaves out
	@echo "Running the long tests; this takes minutes ..."
	@$(CARGO) test --workspace --release -- --ignored stress

fuzz: toolchain ## Feed every decoder random input for FUZZ_SECONDS (default 60) each
	@test -d fuzz || { echo "There is no fuzz/ folder in this tree."; exit 1; }
	@$(CARGO) fuzz --version >/dev/null 2>&1 || { \
		echo "Fuzzing needs cargo-fuzz and a nightly toolchain:"; \
		echo "  cargo install cargo-fuzz && rustup toolchain install nightly"; exit 1; }
	@for target in $$($(CARGO) +nightly fuzz list); do \
		echo "Fuzzing $$target for $(FUZZ_SECONDS) s ..."; \
		$(CARGO) +nightly fuzz run $$target -- -max_total_time=$(FUZZ_SECONDS) || exit 1; \
	done

lint: toolchain ## Check formatting, clippy and the documentation; warnings are errors
	@echo "Formatting ..."
	@$(CARGO) fmt --all -- --check
	@echo "Clippy ..."
	@$(CARGO) clippy --quiet --workspace --all-targets -- -D warnings
	@echo "Documentation ..."
	@RUSTDOCFLAGS="-D warnings" $(CARGO) doc --quiet --workspace --no-deps

bench: toolchain ## Compare transfers over TCP and Laxity on this machine
	@$(CARGO) build --quiet --release --package laxity-cli
	@$(LAXITY) bench transfer

reproduce: toolchain ## Run the papers' experiments, quick ones, and say which claims hold (FAMILY=cadentflow: one paper)
	@$(CARGO) build --quiet --release --package laxity-cli
	@$(LAXITY) reproduce all --quick --out $(or $(OUT),target/reproduce) $(addprefix --family ,$(FAMILY))

doc: toolchain ## Build the documentation of all crates
	@$(CARGO) doc --quiet --workspace --no-deps
	@echo "Open $(or $(CARGO_TARGET_DIR),target)/doc/laxity_endpoint/index.html"

# What tests of the lab use beside Rust. Without root, or without apt, they say what they skip.
PACKAGES := clang bpftool iproute2
packages:
	@if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then \
		for package in $(PACKAGES); do \
			dpkg -s $$package >/dev/null 2>&1 || missing="$$missing $$package"; \
		done; \
		if [ -n "$$missing" ]; then \
			echo "Installing$$missing ..."; \
			(apt-get install -y -qq $$missing || { apt-get update -qq && apt-get install -y -qq $$missing; }) \
				>/dev/null 2>&1 || echo "could not install$$missing: some tests will be skipped"; \
		fi; \
	fi

toolchain:
	@command -v $(CARGO) >/dev/null 2>&1 || { \
		echo "cargo was not found. Install Rust from https://rustup.rs and open a new shell."; \
		exit 1; }
	@command -v cc >/dev/null 2>&1 || { \
		echo "No C compiler was found. On Debian: apt install gcc libc6-dev"; exit 1; }
