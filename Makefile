# Runs under data/ are directories that hold a MANIFEST.
RUNS := $(sort $(patsubst %/MANIFEST,%,$(wildcard data/*/*/MANIFEST)))
RIGEL := target/release/rigel

.PHONY: reproduce redraw schema test

# Verify every committed run with both verifiers and redraw every figure, page and README table; fail if a byte differs.
reproduce:
	cargo build --release
	$(RIGEL) verify $(RUNS)
	for run in $(RUNS); do \
	  python3 integrations/python/verify.py $$run && \
	  $(RIGEL) figures $$run --check && \
	  $(RIGEL) report $$run --check || exit 1; \
	done
	$(RIGEL) report $(firstword $(RUNS)) --readme README.md --check

# The same, writing what differs.
redraw:
	cargo build --release
	for run in $(RUNS); do $(RIGEL) figures $$run && $(RIGEL) report $$run || exit 1; done
	$(RIGEL) report $(firstword $(RUNS)) --readme README.md

test:
	cargo test --workspace
