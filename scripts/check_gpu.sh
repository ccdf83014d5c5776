#!/usr/bin/env bash
# Everything that needs a GPU, in one go: the C++ and Python tests of that kind, PnP in custom mode on the GPU
# against the CPU, and the C++ example. Where PyTorch sees no GPU it says so and succeeds.
#
# usage: scripts/check_gpu.sh              needs nothing but a Python that has torch and the build packages
#   PY=python3                             that Python (default: .venv's, else python3); it gets iterscope
#   TORCH_RANGE='2.11...<2.16'             also try a torch outside the supported versions
set -uo pipefail
cd "$(dirname "$0")/.."

if [[ -z ${PY:-} ]]; then
    PY=python3
    [[ -x .venv/bin/python ]] && PY=$PWD/.venv/bin/python
fi
if ! seen=$("$PY" -c 'import torch
print(f"PyTorch {torch.__version__}", torch.cuda.get_device_name(0) if torch.cuda.is_available() else "none")'); then
    echo "check_gpu: $PY has no working PyTorch (see above); run 'make setup', or pass PY=<a python that has it>." >&2
    exit 1
fi
echo "check_gpu: $seen"
if [[ $seen == *" none" ]]; then
    echo "check_gpu: skipped (PyTorch sees no GPU on this machine); nothing was checked."
    exit 0
fi

failed=0
stage() {
    scripts/stage.sh "$@" || failed=1
}

export SKBUILD_CMAKE_DEFINE="ITERSCOPE_TORCH_RANGE=${TORCH_RANGE:-2.13...<2.16}"
if ! scripts/stage.sh "install iterscope" scripts/quietly.sh "$PY" -m pip install --no-build-isolation --no-deps .; then
    exit 1
fi
if cmake -S . -B build/release -DITERSCOPE_BUILD_TESTS=ON >/dev/null 2>&1; then
    stage "build C++ tests" cmake --build build/release
    stage "C++ tests" ctest --test-dir build/release --output-on-failure -L gpu
else
    cmake -S . -B build/release -DITERSCOPE_BUILD_TESTS=OFF >/dev/null
    echo "check_gpu: the C++ tests were left out (no GoogleTest here); see scripts/fetch_debian_packages.sh."
fi
stage "Python tests" "$PY" -m pytest -q -m gpu
stage "PnP in custom mode" "$PY" scripts/check_gpu.py
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
run_example() {
    cmake --build build/release &&
        scripts/quietly.sh cmake --install build/release --component cpp --prefix "$work/prefix" &&
        scripts/quietly.sh cmake -S examples/pnp -B "$work/build" -DCMAKE_PREFIX_PATH="$work/prefix" \
            -DPython_EXECUTABLE="$(command -v "$PY")" &&
        cmake --build "$work/build" && (cd "$work" && build/pnp cuda)
}
echo "== C++ example"
run_example || failed=1

if ((failed)); then
    echo "check_gpu: FAILED" >&2
else
    echo "check_gpu: everything passed"
fi
exit "$failed"
