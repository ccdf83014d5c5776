#!/usr/bin/env bash
# Unpacks GoogleTest and google-benchmark below build/debian, without root. They are in no Python registry, so
# they come from the Debian (or Ubuntu) archive. Does nothing when they are there already or
# installed system-wide.
#
# usage: scripts/fetch_debian_packages.sh [FOLDER]     (default: build/debian)
set -euo pipefail

packages=(libgtest-dev libbenchmark-dev)
root=$(cd "$(dirname "$0")/.." && pwd)
target=${1:-$root/build/debian}
stamp=$target/.complete

installed() {
    printf '#include <gtest/gtest.h>\n#include <benchmark/benchmark.h>\n' | "${CXX:-c++}" -E -x c++ - >/dev/null 2>&1
}

if [[ -e $stamp ]] || installed; then
    exit 0
fi
if ! command -v apt-get >/dev/null || ! command -v dpkg >/dev/null; then
    echo "GoogleTest is missing (this system has no apt-get to take it from); install GoogleTest and google-benchmark" \
        "with your package manager, e.g. 'dnf install gtest-devel google-benchmark-devel'." >&2
    exit 1
fi

# The library beside libbenchmark-dev carries its ABI version in its name, which differs between releases.
runtime_package() { apt-cache "$@" depends libbenchmark-dev 2>/dev/null | sed -n "s/.*Depends: \(libbenchmark[0-9].*\)/\1/p"; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# apt drops to its own user for downloads and complains when that user cannot write; we only ever need our own.
apt_options=(-q -o "APT::Sandbox::User=$(id -un)")

download() {
    local runtime
    runtime=$(runtime_package "$@")
    (cd "$work" && apt-get "${apt_options[@]}" "$@" download "${packages[@]}" $runtime >"$work/log" 2>&1)
}

# The system's package lists may be absent, stale or not ours to refresh: then use lists of our own.
download_with_own_lists() {
    local state=$target/apt
    mkdir -p "$state/lists/partial" "$state/cache/archives/partial"
    local own=(-o "Dir::State::Lists=$state/lists" -o "Dir::Cache=$state/cache")
    apt-get "${apt_options[@]}" "${own[@]}" update >"$work/log" 2>&1 && download "${own[@]}"
}

if ! download && ! download_with_own_lists; then
    cat "$work/log" >&2
    echo "GoogleTest could not be downloaded (see above); run 'apt-get install ${packages[*]}' as root, or repair apt." >&2
    exit 1
fi
for package in "$work"/*.deb; do
    dpkg -x "$package" "$target"
done
rm -rf "$target/apt"
touch "$stamp"
echo "Unpacked ${packages[*]} below $target"
