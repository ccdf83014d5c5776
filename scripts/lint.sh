#!/usr/bin/env bash
# Formatting, lint and types of everything; needs iterscope installed in the active environment (`make lint`).
set -euo pipefail
cd "$(dirname "$0")/.."
jobs=${CMAKE_BUILD_PARALLEL_LEVEL:-2}
failed=0

check() {
    echo "-- $1"
    shift
    "$@" || failed=1
}
cpp_files() { git ls-files -z -c -o --exclude-standard -- "$@"; }

format_check() { cpp_files '*.cpp' '*.hpp' '*.inc' | xargs -0 -r clang-format --dry-run --Werror; }

# clang-tidy covers what includes no torch: the headers of ATen alone would take minutes a file. The compile
# commands are those of the asan tree, which has no torch; the flag that only GCC knows is left out.
tidy_check() {
    scripts/quietly.sh cmake --preset asan --no-warn-unused-cli
    cpp_files 'src/core/*.cpp' 'src/sinks/*.cpp' 'src/backends/custom/*.cpp' 'src/backends/timeline/*.cpp' |
        xargs -0 -r -n 1 -P "$jobs" clang-tidy -p build/asan --quiet --warnings-as-errors='*' 2> >(
            grep -v 'warnings\? generated\|^Suppressed\|^Use -header-filter' >&2
        )
}

check "clang-format" format_check
check "clang-tidy" tidy_check
check "ruff" ruff check .
check "ruff format" ruff format --check .
check "mypy" python -m mypy
check "stubtest" python -m mypy.stubtest iterscope._iterscope --ignore-disjoint-bases \
    --allowlist scripts/stubtest_allowlist.txt
exit "$failed"
