# SPDX-License-Identifier: Apache-2.0

PREFIX ?= /usr/local
DESTDIR ?=
FUZZ_SECONDS ?= 60

bindir = $(DESTDIR)$(PREFIX)/bin
libexecdir = $(DESTDIR)$(PREFIX)/libexec/watchdogd
docdir = $(DESTDIR)$(PREFIX)/share/doc/watchdogd
release = .build/release

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help demo test check build release install uninstall bench fuzz format clean

help: ## list the targets
	@echo 'usage: make TARGET'
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  %-10s %s\n", $$1, $$2 }' Makefile

demo: ## watch four programs being supervised (less than 40 s)
	@scripts/setup demo
	@swift build
	@scripts/demo

test: ## install what is missing, build, run all tests
	@scripts/setup
	@scripts/test

check: ## format, lint, layers, linkage, builds without warnings
	@scripts/setup
	@scripts/check

build: ## build for debugging, into .build/debug
	@scripts/setup build
	@swift build

release: ## build for use, into .build/release
	@scripts/setup build
	@swift build -c release --static-swift-stdlib -Xlinker --gc-sections --product watchdogd
	@swift build -c release --static-swift-stdlib -Xlinker --gc-sections --product watchdogd-symbolicate

install: ## build for use and install: PREFIX=/usr/local DESTDIR=
	@# sudo hides Swift from PATH: what `make release` has built is installed then.
	@if command -v swift >/dev/null || [ ! -x $(release)/watchdogd ]; then $(MAKE) --no-print-directory release; fi
	install -D -m 755 $(release)/watchdogd $(bindir)/watchdogd
	install -D -m 755 $(release)/watchdogd-symbolicate $(libexecdir)/watchdogd-symbolicate
	install -d $(docdir)
	install -m 644 README.md LICENSE $(docdir)

uninstall: ## remove what install has installed
	rm -f $(bindir)/watchdogd $(libexecdir)/watchdogd-symbolicate $(docdir)/README.md $(docdir)/LICENSE
	rmdir --ignore-fail-on-non-empty $(wildcard $(libexecdir) $(docdir)) 2>/dev/null || true

bench: release ## measure, where the tree has benchmarks (Benchmarks/run)
	@if [ -x Benchmarks/run ]; then Benchmarks/run; else echo 'bench: no Benchmarks/run in this tree'; exit 69; fi

fuzz: ## feed the parsers garbage: FUZZ_SECONDS=60 (Fuzz/run)
	@scripts/setup build
	@if [ -x Fuzz/run ]; then Fuzz/run $(FUZZ_SECONDS); else echo 'fuzz: no Fuzz/run in this tree'; exit 69; fi

format: ## rewrite the Swift sources in the project's format
	swift format --in-place --parallel --recursive Package.swift Sources Tests Samples

clean: ## remove everything that was built
	rm -rf .build
