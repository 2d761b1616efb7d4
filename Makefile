# Short names for common tasks; CMake does the work, with the presets of CMakePresets.json.

JOBS ?= $(shell nproc)
TEST_JOBS ?= $(shell expr 2 \* $(JOBS))# many tests wait; tests of several ranks count as several
CLANG_FORMAT ?= clang-format-14
CLANG_TIDY ?= clang-tidy-14
PRESET ?= release# for test, install, faults, compare and bench-guard; cpu builds without CUDA
PREFIX ?= /usr/local# for install
DRY ?=# for setup: with DRY=1 it only lists packages
MINUTES ?= 30# for faults
COMPARE ?=# options for compare: --quick, --only FAMILY; see bench/compare/compare.py --help

cxx_files = find apps bench examples include src tests -name '*.[ch]pp' -o -name '*.cu' -o -name '*.cuh'
linted_files = '/(apps|examples|src)/.*\.(cpp|cxx)$$'

.DEFAULT_GOAL := help
.NOTPARALLEL: # packages must be installed before a build, also with make -j
.PHONY: help setup demo test install faults gpu-check bench compare peer-check compare-gpu bench-guard format check-format lint docs sanitize test-mpich clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: ## Install missing packages; with DRY=1, only list them
	@scripts/setup $(if $(DRY),--dry-run)

demo: setup ## Build and run a seismic inversion; writes report.html
	cmake --preset release
	cmake --build --preset release -j $(JOBS) --target weft_app
	build/release/apps/weft demo

test: setup ## Build and run all tests
	$(MAKE) --no-print-directory build-$(PRESET)
	ctest --preset $(PRESET) -j $(TEST_JOBS)

install: setup ## Build and install into PREFIX=/usr/local
	cmake --preset $(PRESET)
	cmake --build --preset $(PRESET) -j $(JOBS) --target weft weft_app
	cmake --install build/$(PRESET) --prefix "$(PREFIX)"

faults: setup ## Inject failures of ranks, memory and files for MINUTES=30; see docs/reliability.md
	cmake --preset $(PRESET)
	cmake --build --preset $(PRESET) -j $(JOBS) --target weft_fault_programs
	@scripts/setup faults
	cmake --preset fuzz
	cmake --build --preset fuzz -j $(JOBS) --target fuzzers
	scripts/faults --build build/$(PRESET) --minutes $(MINUTES)

gpu-check: setup ## Run all tests on the GPU of this machine
	scripts/gpu-check

bench: setup build-release ## Run all benchmarks; results in build/bench/*.json
	scripts/bench

compare: setup ## Compare with PyLops-MPI, PETSc and MPI; writes docs/benchmarks.md
	@scripts/setup compare
	scripts/compare-peers
	cmake --preset $(PRESET)
	cmake --build --preset $(PRESET) -j $(JOBS) --target weft_app compare_sides
	build/compare/venv/bin/python bench/compare/compare.py --build build/$(PRESET) $(COMPARE); \
	  status=$$?; build/compare/venv/bin/python bench/compare/render.py && exit $$status

peer-check: setup ## Compare the operators with those of PyLops, which it installs in build/peer; updates docs/operators.md
	@scripts/setup peer
	cmake --preset $(PRESET)
	cmake --build --preset $(PRESET) -j $(JOBS) --target weft_peer
	scripts/peer-check --program build/$(PRESET)/tests/weft_peer --page docs/operators.md

compare-gpu: setup ## Compare on the GPU of this machine, with the packages that make compare installed
	scripts/compare-gpu

bench-guard: setup ## Check that no cheap ratio is worse than committed by more than a quarter
	cmake --preset $(PRESET)
	cmake --build --preset $(PRESET) -j $(JOBS) --target vector_bench derivative_bench solver_bench weft_app compare_sides
	python3 bench/compare/guard.py --build build/$(PRESET)

format: ## Format all C++ files
	@scripts/setup lint
	$(cxx_files) | xargs $(CLANG_FORMAT) -i

check-format: ## Check formatting and includes
	@scripts/setup lint
	$(cxx_files) | xargs $(CLANG_FORMAT) --dry-run -Werror
	scripts/check-includes

# clang-tidy reads each header once for several sources, and for one CPU level. Only the generated files include
# sources, and unnecessary-value-param would take half of the time there: editors apply it to single files.
lint_checks = -bugprone-suspicious-include,-performance-unnecessary-value-param
lint: setup check-format ## Check formatting, includes and clang-tidy
	@scripts/setup clang
	cmake --preset lint
	run-$(CLANG_TIDY) -p build/lint -quiet -j $(JOBS) -checks=$(lint_checks) $(linted_files)

docs: ## Generate the reference in build/docs/html
	@scripts/setup docs
	mkdir -p build/docs
	doxygen docs/Doxyfile

sanitize: setup build-asan build-tsan ## Run the tests under the sanitizers
	ctest --preset asan -j $(JOBS)
	ctest --preset tsan -j $(JOBS)

test-mpich: setup ## Run the MPI tests on MPICH
	@scripts/setup mpich
	$(MAKE) --no-print-directory build-mpich
	ctest --preset mpich -j $(JOBS) --label-regex mpi

clean: ## Remove all build folders
	rm -rf build

build-%:
	cmake --preset $*
	cmake --build --preset $* -j $(JOBS)
