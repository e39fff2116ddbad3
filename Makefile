# `make run` opens the chat window and `make test` runs every test; both set up what they need first.
# Each step is done again only when what it depends on has changed.

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory
# The programs are looked for there, whatever a person's own configuration of Cargo says.
export CARGO_TARGET_DIR := $(CURDIR)/target

# Written by npm itself whenever it installs.
ui_packages := ui/node_modules/.package-lock.json
browser_packages := tests/browser/node_modules/.package-lock.json
page := ui/dist/index.html
page_sources := $(shell find ui -path ui/node_modules -prune -o -path ui/dist -prune -o -type f -print)

# Without a display the same chat is served to a browser.
ifeq ($(DISPLAY)$(WAYLAND_DISPLAY),)
way_to_run := serve
else
way_to_run := window
endif

.NOTPARALLEL:
.PHONY: help run window serve build test bench lint format setup-headless setup-window setup-test setup-bench test-ui test-rust test-browser

help: ## say what can be made
	@grep -hE '^[a-z-]+:.* ## ' $(MAKEFILE_LIST) | sed -E 's/:.* ## /\t/' | expand -t 14

run: $(way_to_run) ## open the chat window, or serve the chat to a browser where there is no display

window: setup-window $(page) ## open the chat window
	cargo build -p placard-desktop
	exec target/debug/placard-desktop

serve: setup-headless $(page) ## serve the chat to a browser and print its address
	cargo build -p placard
	exec target/debug/placard serve

build: setup-window $(page) ## build the page and every program
	cargo build --workspace --bins

test: setup-test lint test-ui test-rust test-browser ## run every test: units, wire, page, window, browser

bench: setup-bench $(page) ## measure the release build: start, memory, commands against `script`
	cargo build --release -p placard
	cargo bench -p xterm-rs-bridge
	cargo bench -p placard-tests --no-fail-fast

lint: $(ui_packages) $(page) ## check format, lints and types
	cargo fmt --all --check
	cargo clippy --workspace --all-targets -- -D warnings
	cd ui && npm run --silent check

format: ## format the Rust code
	cargo fmt --all

setup-headless setup-window setup-test setup-bench: setup-%:
	@scripts/setup $*

test-ui: $(ui_packages)
	cd ui && npm run --silent test

# The programs first: tests/ starts them, and Cargo does not build another package's programs for a test. With
# --all-targets they have the same features as in the tests, so nothing is compiled twice.
test-rust: $(page)
	@[ -n "$$PLACARD_TRANSCRIPTS" ] || echo 'PLACARD_TRANSCRIPTS is not set: recorded wires of other agents are not read (CONTRIBUTING.md)'
	cargo build --workspace --all-targets
	cargo test --workspace --no-fail-fast

test-browser: $(browser_packages) test-rust
	cd tests/browser && npm run --silent test

$(ui_packages) $(browser_packages): %/node_modules/.package-lock.json: %/package.json %/package-lock.json
	cd $* && npm ci --no-audit --no-fund
	@touch $@

$(page): $(ui_packages) $(page_sources)
	cd ui && npm run --silent build
	@touch $@
