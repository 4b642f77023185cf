# Runs under data/ are directories that hold a MANIFEST.
RUNS := $(sort $(patsubst %/MANIFEST,%,$(wildcard data/*/*/MANIFEST)))
RIGEL := target/release/rigel
# The run whose table stands in the README.
HEADLINE := data/epyc-zen5-2core/paper
# The runs of a device whose units have a page each: of the units, of rates, of energies; and where the pages are.
BOOK := data/nvidia-h200/units-recovered --units docs/devices/nvidia-h200 --beside data/nvidia-h200/paper --beside data/nvidia-h200/power
# The calibration whose table stands in the README, where one is committed.
CALIBRATION := $(patsubst %/calibration.json,%,$(firstword $(wildcard data/sim/*/calibration.json)))

.PHONY: reproduce redraw test

# Verify every committed run with both verifiers and redraw every figure, page and README table; fail if a byte differs.
reproduce:
	cargo build --release
	@test -n "$(RUNS)" || echo "no committed runs under data/: nothing to reproduce"
	set -e; for run in $(RUNS); do \
	  $(RIGEL) verify $$run; \
	  python3 integrations/python/verify.py $$run; \
	  $(RIGEL) figures $$run --check; \
	  if grep -q 'rigel findings: begin' $$run/README.md; then $(RIGEL) report $$run --readme $$run/README.md --check; \
	  else $(RIGEL) report $$run --check; fi; \
	done
	$(RIGEL) report $(HEADLINE) --readme README.md --check
	$(RIGEL) report $(BOOK) --check
	set -e; for run in $(RUNS); do for page in docs/devices/*.md; do \
	  if grep -q "rigel findings of $$run: begin" $$page; then $(RIGEL) report $$run --readme $$page --check; fi; done; done
	set -e; for made in $(CALIBRATION); do $(RIGEL) calibrate --from $$made --readme README.md --check; done

# The same, writing what differs.
redraw:
	cargo build --release
	set -e; for run in $(RUNS); do \
	  $(RIGEL) figures $$run; \
	  if grep -q 'rigel findings: begin' $$run/README.md; then $(RIGEL) report $$run --readme $$run/README.md; \
	  else $(RIGEL) report $$run; fi; \
	done
	$(RIGEL) report $(HEADLINE) --readme README.md
	$(RIGEL) report $(BOOK)
	set -e; for run in $(RUNS); do for page in docs/devices/*.md; do \
	  if grep -q "rigel findings of $$run: begin" $$page; then $(RIGEL) report $$run --readme $$page; fi; done; done
	set -e; for made in $(CALIBRATION); do $(RIGEL) calibrate --from $$made --readme README.md; done

test:
	cargo test --workspace
