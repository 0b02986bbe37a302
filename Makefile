# SPDX-License-Identifier: Apache-2.0

PREFIX ?= /usr/local
DESTDIR ?=
FUZZ_SECONDS ?= 60
SCALE ?= 1

release = .build/release
place = --prefix '$(PREFIX)' --destdir '$(DESTDIR)'

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help demo samples test test-all check build docs release install uninstall man completions deb deb-test packages bundle bundle-test image image-test test-kubernetes test-swarm bench fuzz format clean

help: ## list the targets
	@echo 'usage: make TARGET'
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-16s %s\n", $$1, $$2 }' Makefile

demo: ## watch four programs being supervised (less than 40 s)
	@scripts/setup demo
	@scripts/build
	@scripts/demo

samples: ## four apps in all states of repair, as a table (7 min): SCALE=1
	@scripts/setup build
	@scripts/release watchdogd PhotoServer QuickPick StarSearcher SuperfastLog Stocks Glassboard
	@scripts/samples --time-scale $(SCALE)

test: ## install what is missing, build, run the tests that every change must pass
	@scripts/setup test
	@scripts/test

test-all: ## everything that can be tested here, one group after the other (90 min, root)
	@scripts/setup
	@scripts/setup image
	@scripts/test all

check: ## format, lint, layers, linkage, builds without warnings
	@scripts/setup check
	@scripts/check

build: ## build for debugging, into .build/debug
	@scripts/setup build
	@scripts/build

docs: ## build the documentation of the Swift modules with DocC, into .build/docs
	@scripts/setup build
	@scripts/build --target WatchdogTesting
	@scripts/docs-build

release: ## build for use, into .build/release
	@scripts/setup build
	@scripts/release watchdogd

install: ## build for use and install: PREFIX=/usr/local DESTDIR=
	@# sudo hides Swift from PATH: what `make release` has built is installed then.
	@if command -v swift >/dev/null || [ ! -x $(release)/watchdogd ]; then $(MAKE) --no-print-directory release; fi
	scripts/install --from $(release) $(place)

uninstall: ## remove what install has installed
	scripts/install --remove $(place)

man: release ## write the man pages, into .build/man
	scripts/manual $(release)/watchdogd .build/man

completions: release ## write the completions of bash, fish and zsh, into .build/completions
	scripts/completions $(release)/watchdogd .build/completions

deb: release ## write the Debian packages, into dist
	@scripts/setup package
	@scripts/deb --from $(release)

deb-test: deb ## install, upgrade and purge the packages in a container (root)
	@scripts/setup package
	@scripts/deb-test

packages: ## write the packages of the clients in Python, Node.js and Java, into dist
	@scripts/packages

bundle: release ## one folder with everything that watchdogd needs, for images of others, into dist
	@scripts/setup package
	@mkdir -p dist && rm -rf dist/bundle
	@scripts/bundle --from $(release) dist/bundle

bundle-test: release ## try the bundle in a root file system that has only libc (root)
	@scripts/setup package
	@scripts/bundle-test --from $(release)

image: release ## the container image, without a network, into dist
	@scripts/setup image
	@scripts/image --from $(release)

image-test: release ## try the image and the bundle with podman (root)
	@scripts/setup image
	@scripts/image-test --from $(release)

test-kubernetes: release ## try the image in pods of a real kubelet, which is built once: 15 min (root)
	@scripts/setup kubernetes
	@scripts/test-kubernetes --from $(release)

test-swarm: release ## try the image as a service of Docker Swarm (root)
	@scripts/setup swarm
	@scripts/test-swarm --from $(release)

bench: release ## measure, where the tree has benchmarks (Benchmarks/run)
	@if [ -x Benchmarks/run ]; then Benchmarks/run; else echo 'bench: no Benchmarks/run in this tree'; exit 69; fi

fuzz: ## feed the parsers garbage: FUZZ_SECONDS=60 (Fuzz/run)
	@scripts/setup build
	@if [ -x Fuzz/run ]; then Fuzz/run $(FUZZ_SECONDS); else echo 'fuzz: no Fuzz/run in this tree'; exit 69; fi

format: ## rewrite the Swift sources in the project's format
	swift format --in-place --parallel --recursive Package.swift Sources Tests Samples

clean: ## remove everything that was built
	rm -rf .build dist
