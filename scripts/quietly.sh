#!/usr/bin/env bash
# Runs a command and shows what it printed only if it fails, so that the screen keeps what matters.
#
# usage: scripts/quietly.sh COMMAND [ARGUMENT...]
log=$(mktemp)
trap 'rm -f "$log"' EXIT
"$@" >"$log" 2>&1 </dev/null
status=$?
if ((status != 0)); then
    cat "$log" >&2
fi
exit "$status"
