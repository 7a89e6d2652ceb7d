# One command per task; `make` lists them. Builds are in build/<preset> and can also be used with cmake directly.

# Debian's own cmake, ninja and python3, even if others are earlier on PATH.
export PATH := /usr/bin:$(PATH)

JOBS ?= $(shell nproc)
PREFIX ?= /usr/local
ARCHS ?= $(shell sed -n 's/.*{\.name = "\([^"]*\)", \.vendor = "amd".*/\1/p' kernels/architectures.hpp)
ALL_ARCHS := $(shell sed -n 's/.*{\.name = "\([^"]*\)", \.vendor = .*/\1/p' kernels/architectures.hpp)
VENV := build/python-venv
TRITON_VENV := build/triton-venv
SCRIPTS := tools/check-pages tools/draw-bench tools/draw-gpu-bench tools/svg.py tools/flash-attn-tests tools/pytorch-tests tools/time-triton tools/tune-shipped sim/tests/triton kernels/triton tests/gpu/triton
# The demo compares with this Python's PyTorch: an active environment's Python, or the system's.
PYTHON ?= $(if $(VIRTUAL_ENV),$(VIRTUAL_ENV)/bin/python,python3)
# Asked once, and only by the demo.
beside_torch = $(eval beside_torch := $(shell $(PYTHON) -c "import torch, nanobind, sys; \
  print('-DRAPT_BUILD_PYTHON=ON -DPython_EXECUTABLE=' + sys.executable)" 2>/dev/null))$(beside_torch)
empty :=
space := $(empty) $(empty)

# The compiler cache's keys have paths relative to the tree, so that another checkout of the same sources hits.
export CCACHE_BASEDIR := $(CURDIR)
export CCACHE_SLOPPINESS := pch_defines,time_macros # which ccache asks for with precompiled headers
export CTEST_PARALLEL_LEVEL := $(JOBS)
export CMAKE_BUILD_PARALLEL_LEVEL := $(JOBS)

# Compilers take memory in huge pages and 64 MiB at a time: clang then needs 5 to 10 % less time. Not for
# NVIDIA's kernels: ptxas's code can depend on addresses.
compile := GLIBC_TUNABLES=glibc.malloc.hugetlb=1:glibc.malloc.top_pad=67108864 cmake --build

# $(call test,PRESET): configure, build and test
test = cmake --preset $(1) >/dev/null && $(compile) --preset $(1) && ctest --preset $(1)

# The archives that the simulator's build takes, of every AMD GPU: $(call archives_of_release,CMAKE_ARGUMENTS...)
archives_of_release = cmake --preset release -DRAPT_BUILD_ARCHIVES=ON -DRAPT_KERNEL_FILTER= \
  "-DRAPT_ARCHS=$(subst $(space),;,$(ARCHS))" $(1) >/dev/null && $(compile) --preset release --target archives

every_sm := "-DRAPT_ARCHS=sm_80;sm_90;sm_100;sm_110;sm_120" # the test command leaves Blackwell, whose kernels are sm_80's, to the nightly one

.PHONY: help
help: ## this list
	@sed -n 's/^\([a-z0-9-]*\):.*## \(.*\)/\1\t\2/p' $(MAKEFILE_LIST) | awk -F '\t' '{printf "  make %-13s %s\n", $$1, $$2}'

.PHONY: deps deps-test
deps: ## install what building needs (Debian's packages; does nothing when they are there)
	@tools/install-deps build
deps-test: ## install what testing needs
	@tools/install-deps test

.PHONY: build archives dev demo demo-gpu bench install uninstall aotriton-prefix gpu-folder
build: deps ## build the library and the command, optimised
	cmake --preset release -DRAPT_BUILD_TESTS=OFF >/dev/null && $(compile) --preset release
archives: deps ## compile AMD's GPU kernels and libaotriton_v2 (ARCHS="gfx942 sm_90": only these architectures', also NVIDIA's; TRITON=1: Triton's too)
	@tools/install-deps kernels
	$(if $(filter sm_%,$(ARCHS)),@tools/install-deps cuda && tools/install-nvcc build/nvcc)
	$(if $(TRITON),@tools/install-triton build/triton)
	cmake --preset release -DRAPT_BUILD_ARCHIVES=ON -DRAPT_BUILD_AOTRITON=ON -DRAPT_TRITON=$(if $(TRITON),ON,OFF) "-DRAPT_ARCHS=$(subst $(space),;,$(ARCHS))" >/dev/null
	cmake --build --preset release --target archives
dev: deps-test ## build and test with debug information
	cmake --workflow --preset dev
demo: deps ## attention over real text on this machine's CPU, compared with float64 (TEXT=FILE: over your own)
	cmake --preset demo >/dev/null && $(compile) --preset demo
	demo/run.sh build/demo build/demo/results $(if $(TEXT),"$(TEXT)")
demo-gpu: deps ## a long benchmark with an HTML report, kernels on simulated GPUs, and PyTorch's attention if PYTHON has it
	@tools/install-deps demo
	cmake --preset demo-gpu $(beside_torch) >/dev/null && $(compile) --preset demo-gpu
	$(if $(beside_torch),$(compile) build/demo --target python)
	demo/gpu.sh build/demo build/demo/results $(if $(beside_torch),$(PYTHON))
bench: build ## the named benchmark tables, with a report and rows in build/bench
	mkdir -p build/bench
	build/release/cli/rapt bench strix-halo mi300x-d256 fa3 decode \
	  --html build/bench/report.html --json build/bench/rows.json
install: build ## install to PREFIX (/usr/local)
	cmake --install build/release --prefix $(PREFIX)
uninstall: ## remove what the last `make install` and `make aotriton-prefix` of this checkout installed
	tools/uninstall build/release
aotriton-prefix: archives ## AOTriton's place for a build of PyTorch, in PREFIX: AOTRITON_INSTALLED_PREFIX names it (API=0.14: that release's)
	cmake --preset release $(if $(API),-DRAPT_AOTRITON_API=$(API)) >/dev/null
	cmake --install build/release --component aotriton --prefix $(PREFIX)

.PHONY: wheel release-files
wheel: ## dist/: wheels with kernels of every GPU, installed in an empty environment and checked (PYTHONS="python3.11 python3.12": built with these)
	@tools/install-deps wheel
	$(MAKE) archives ARCHS="$(ALL_ARCHS)"
	tools/make-wheels dist build/release/kernels $(PYTHONS)
release-files: wheel ## dist/: all files of a release: wheels, source distribution, kernels, changes, checksums
	tools/release-files dist build/release/kernels $(firstword $(wildcard build/wheel-*/bin/python))

gpu-folder: deps-test ## build/gpu-tests: what a machine with an NVIDIA GPU needs to run tools/gpu-tests (WHEEL=, FLASH_ATTN_TESTS=: its Python tests too)
	@tools/install-deps cuda
	tools/install-nvcc build/nvcc
	$(if $(TRITON),@tools/install-triton build/triton)
	cmake --preset cuda $(every_sm) -DRAPT_KERNEL_FILTER= -DRAPT_TRITON=$(if $(TRITON),ON,OFF) >/dev/null && cmake --build --preset cuda --target archives rapt_cli gpu_variants_test gpu_kv_cache_test attack gpu_overhead
	cmake -E make_directory build/gpu-tests/lib build/gpu-tests/kernels
	cp tools/gpu-tests build/cuda/cli/rapt build/cuda/tests/gpu/gpu_variants_test build/cuda/tests/gpu/gpu_kv_cache_test build/cuda/tests/attack build/cuda/tests/gpu/gpu_overhead build/gpu-tests
	cp build/cuda/src/librapt.so.0 build/gpu-tests/lib && cp build/cuda/kernels/*.rapt build/gpu-tests/kernels
	$(if $(WHEEL),rm -rf build/gpu-tests/python && python3 -m zipfile -e $(WHEEL) build/gpu-tests/python)
	$(if $(WHEEL),rm -rf build/gpu-tests/python-tests && cp -r python/tests build/gpu-tests/python-tests && cp tools/flash-attn-tests build/gpu-tests)
	$(if $(FLASH_ATTN_TESTS),cp $(FLASH_ATTN_TESTS) build/gpu-tests/test_flash_attn.py)

.PHONY: test test-nightly
test: deps-test ## what must pass before a change lands
	@tools/run-parts format release sim gpu+tsan+cuda python+asan+clean-tree
test-nightly: deps-test ## the longer lists too, and 64-bit Arm
	@TIDY=all tools/run-parts lint release sim gpu+tsan+cuda python+asan+clean-tree cross nightly

.PHONY: release sim gpu cuda python python-torch asan tsan fuzz cross clean-tree nightly
release: ## tests of the optimised build, the installed package and the layers
	@tools/install-deps kernels
	cmake --preset release -DRAPT_BUILD_TESTS=ON -DRAPT_BUILD_ARCHIVES=ON >/dev/null && $(compile) --preset release && ctest --preset release
sim: ## the AMD GPU simulator and its tests
	@tools/install-deps sim
	test -d build/hip-headers/7 || sim/tests/hip_abi/fetch_headers.sh build/hip-headers
	RAPT_HIP_HEADERS=$(CURDIR)/build/hip-headers; export RAPT_HIP_HEADERS; $(call test,sim)
gpu: ## every GPU kernel of every architecture on the simulator, with its sanitizer
	@tools/install-deps sim
	$(call archives_of_release)
	cmake --preset sim >/dev/null && $(compile) --preset gpu && ctest --preset gpu
	@cat build/sim/tests/gpu/variants.txt
cuda: ## NVIDIA's kernels, compiled and gated for sm_80 and sm_90, and one twice; none is run
	@tools/install-deps test cuda
	tools/install-nvcc build/nvcc
	cmake --preset cuda -DRAPT_KERNEL_FILTER= -DRAPT_TRITON=OFF >/dev/null && cmake --build --preset cuda && ctest --preset cuda
python: ## the Python package: its tests, with GPU tensors on the simulator, and its wheel in an empty environment
	@tools/install-deps sim python
	test -x $(VENV)/bin/python || python3 -m venv $(VENV)
	$(VENV)/bin/python -m pip install -q -r python/requirements-test.txt
	$(VENV)/bin/ruff check python $(SCRIPTS) && $(VENV)/bin/ruff format --check python $(SCRIPTS)
	cmake --preset release -DRAPT_BUILD_PYTHON=ON -DRAPT_BUILD_ARCHIVES=ON -DRAPT_BUILD_AOTRITON=ON -DPython_EXECUTABLE=$(CURDIR)/$(VENV)/bin/python >/dev/null
	$(compile) --preset release --target python archives
	cmake --preset sim >/dev/null && $(compile) --preset sim --target amdhip64_7
	RAPT_HIP_LIBRARY=$(CURDIR)/build/sim/sim/lib/libamdhip64.so.7 RAPT_SIM_ARCH=gfx942 \
	  PYTHONPATH=build/release/python $(VENV)/bin/python -m pytest -q -p no:cacheprovider python/tests
	tools/test-wheel $(CURDIR)/$(VENV)/bin/python $(CURDIR)/build/release/kernels
python-torch: ## the tests that need PyTorch alone with another version of it (TORCH=2.5.1), after `make python`
	$(if $(TORCH),,$(error TORCH=VERSION is missing))
	test -x build/torch-$(TORCH)/bin/python || python3 -m venv build/torch-$(TORCH)
	build/torch-$(TORCH)/bin/python -m pip install -q torch==$(TORCH) numpy pytest expecttest
	PYTHONPATH=build/release/python build/torch-$(TORCH)/bin/python -m pytest -q -p no:cacheprovider python/tests/pytorch \
	  python/tests/test_bench.py python/tests/test_bench_models.py python/tests/test_verify.py $(foreach name,flash_attn flash_attn_3 flash_attn_passes flash_attn_rotary,python/tests/test_$(name).py)
asan: ## tests under the address and undefined-behaviour sanitizers, and the fuzz targets on their corpus
	@tools/install-deps sim
	$(call test,asan)
tsan: ## tests of threads under the thread sanitizer
	$(call test,tsan)
fuzz: ## only the fuzz targets, on their corpus for a few seconds (shares its build folder with `make asan`)
	@tools/install-deps sim
	cmake --preset asan >/dev/null && $(compile) --preset fuzz && ctest --preset fuzz
cross: ## tests on 64-bit Arm, under qemu
	$(call test,aarch64)
clean-tree: ## `make demo` and `make demo-gpu` in a clean tree of HEAD
	tools/test-clean-tree
nightly: # after the parts above: every case where the parts sample, all levels of the simulator, and minutes of fuzzing
	@tools/install-deps python
	for version in 2.5.1 2.11.0 2.15.0; do $(MAKE) python-torch TORCH=$$version || exit 1; done
	PYTHONPATH=$(CURDIR)/build/release/python tools/real-programs build/real-programs
	test -x $(TRITON_VENV)/bin/python || python3 -m venv --system-site-packages $(TRITON_VENV)
	$(TRITON_VENV)/bin/python -m pip install -q --no-deps --require-hashes -r tools/triton-requirements.txt
	tools/install-triton build/triton
	$(call archives_of_release,-DRAPT_BUILD_TESTS=ON -DRAPT_TRITON=ON)
	$(compile) --preset release --target archives_clang_19
	cmake --preset sim "-DRAPT_SIM_LEVELS=x86-64-v3;x86-64-v4" >/dev/null
	$(compile) build/sim --target sim gpu
	cmake --preset cuda $(every_sm) -DRAPT_TRITON=ON >/dev/null && cmake --build --preset cuda --target archives test_archives_sm_120
	ctest --preset cuda
	cmake --preset asan -DRAPT_X86_TIERS=host >/dev/null && $(compile) --preset asan && ctest --preset asan
	ctest --test-dir build/asan -L threads -LE nightly --output-on-failure
	ctest --test-dir build/release -L nightly --output-on-failure
	rm -rf build/old-glibc && cmake --install build/release --prefix build/old-glibc >/dev/null && tools/test-old-glibc build/old-glibc
	ctest --test-dir build/sim -L nightly -R '^(sim_|gpu\.)' --verbose
	cmake --preset release -B build/minimal -DRAPT_BUILD_TESTS=OFF -DRAPT_BUILD_ARCHIVES=ON -DRAPT_BUILD_AOTRITON=ON -DRAPT_ARCHS=gfx908 '-DRAPT_KERNEL_FILTER=[.]d(32|64)[.]' >/dev/null
	$(compile) build/minimal --target archives rapt_cli
	for d in 32 64; do RAPT_HIP_LIBRARY=$(CURDIR)/build/sim/sim/lib/libamdhip64.so.7 RAPT_SIM_ARCH=gfx908 \
	  build/minimal/cli/rapt verify "b1 hq2 hk1 sq40 sk64 d$$d bf16 causal" --device hip:0 || exit 1; done
	for name in correctness math property; do \
	  build/asan/tests/$${name}_test --gtest_brief=1 && \
	    qemu-aarch64 -L /usr/aarch64-linux-gnu build/aarch64/tests/$${name}_test --gtest_brief=1 || exit 1; \
	done
	for name in npy safetensors problem archive; do \
	  build/asan/tests/fuzz/$${name}_fuzz -max_total_time=300 build/asan/tests/fuzz/found/$$name \
	    tests/fuzz/corpus/$$name || exit 1; \
	done
	$(compile) build/asan --target sim_loader_fuzz sim_decoder_fuzz sim_lines_fuzz
	for name in loader decoder lines; do \
	  build/asan/sim/tests/fuzz/sim_$${name}_fuzz -max_total_time=300 -rss_limit_mb=4096 -max_len=16384 \
	    build/asan/sim/tests/fuzz/found/$$name sim/tests/fuzz/corpus/$$name || exit 1; \
	done

.PHONY: lint format reformat clean
lint: format ## formatting, layers, and clang-tidy on what changed (TIDY=all: on everything)
	tools/lint --tidy $(TIDY)
format: ## formatting only
	tools/lint
reformat: ## let clang-format rewrite the sources
	tools/lint --fix
clean: ## remove build/
	rm -rf build
