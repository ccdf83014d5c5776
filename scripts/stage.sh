#!/usr/bin/env bash
# Runs a command and says how long it took.
#
# usage: scripts/stage.sh NAME COMMAND [ARGUMENT...]
name=$1
shift
printf '== %s\n' "$name"
start=$SECONDS
"$@"
status=$?
if ((status == 0)); then
    printf '== %s: %d s\n' "$name" $((SECONDS - start))
else
    printf '== %s: failed after %d s (exit status %d)\n' "$name" $((SECONDS - start)) "$status" >&2
fi
exit "$status"
