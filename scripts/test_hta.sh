#!/usr/bin/env bash
# HolisticTraceAnalysis reads traces that iterscope writes. Each has an environment of its own (`make test-hta`).
#
# usage: scripts/test_hta.sh PYTHON_WITH_ITERSCOPE PYTHON_WITH_HTA
set -euo pipefail
cd "$(dirname "$0")/.."
traces=$(mktemp -d)
trap 'rm -rf "$traces"' EXIT
export OMP_NUM_THREADS=1
scripts/quietly.sh "$1" tests/hta/write_traces.py "$traces/one"
scripts/quietly.sh "$1" -m torch.distributed.run --standalone --nproc-per-node=2 tests/hta/write_traces.py "$traces/two"
ITERSCOPE_HTA_TRACES=$traces "$2" -m pytest -q tests/hta
