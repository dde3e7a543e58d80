.PHONY: help up test check cost bench settings pictures soak containers release
.DEFAULT_GOAL := help

help: ## Show this list
	@sed -n 's/^\([a-z]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 12

up: ## Build and run every service on this machine, until Ctrl-C
	@scripts/up

test: ## Run every test
	@scripts/test --workspace

check: ## Check format, lints, documentation, licences, spelling and manifests
	@scripts/check

cost: ## Compare what operations cost with tests/cost.tsv
	@scripts/cost

bench: ## Measure, side by side with what a user would pick instead
	@scripts/bench all

settings: ## Write the tables of docs/settings.md again
	@WRITE_SETTINGS=1 scripts/test --package blackbox --test documents -- settings

pictures: ## Make the pictures of the desk in docs/desk again
	cargo test --locked --workspace --test browser -- --ignored pictures

soak: ## Run the tests of faults and limits for long
	@SOAK=1 scripts/test --workspace --test faults -- --nocapture
	@SOAK=1 scripts/test --workspace --test limits -- --nocapture
	@SOAK=1 scripts/test --workspace --test objstore -- replicas:: postgres:: --nocapture
	@SOAK=1 scripts/test --workspace --test payments -- operator_model:: --nocapture
	@SOAK=1 scripts/test --workspace --test failover -- live:: --nocapture
	@SOAK=1 scripts/test --package interleavings
	@SOAK=1 scripts/containers images failover
	@scripts/upgrade
	@for version in 13 14 15 16 17 18; do \
		POSTGRES_VERSION=$$version OBJSTORE_TEST_ENGINE=postgres PAYMENTS_TEST_ENGINE=postgres \
			scripts/test --workspace --test model --test objstore --test payments || exit; \
	done
	@scripts/release programs verify

containers: ## Build the images, and test the services in containers
	@scripts/containers

release: ## Make the static programs, their licences, CycloneDX lists and checksums
	@scripts/release
