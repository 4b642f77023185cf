#!/usr/bin/env bash
# Does every shard of a plan have a finished run, with GNU parallel as the scheduler?
#
#     integrations/gnu-parallel/shards.sh SHARDS RUN [options of `rigel run`]
#
# Measures shard m into RUN.shards/m and merges all of them into RUN. RUN.shards/joblog says which are done: give the same
# command again and only the others run, each from where it stopped. From the environment: RIGEL (the binary),
# JOBS (shards at once, default: 1, since a device measures one run at a time), RETRIES (tries of a shard, default: 3).
set -euo pipefail

rigel=${RIGEL:-rigel}
shards=${1:?usage: shards.sh SHARDS RUN [options of rigel run]}
run=${2:?usage: shards.sh SHARDS RUN [options of rigel run]}
shift 2
if ! [[ $shards =~ ^[1-9][0-9]*$ ]]; then
  echo "SHARDS is '$shards', which is no number from 1: usage: shards.sh SHARDS RUN [options of rigel run]" >&2
  exit 2
fi

# A plan or device that cannot run says so once, with its own exit code, before any shard starts.
"$rigel" run "$@" --dry-run >/dev/null

parts=()
for ((shard = 1; shard <= shards; shard++)); do parts+=("$run.shards/$shard"); done
mkdir -p "$run.shards"
# `--quote` keeps every word of the command one word in the shell that parallel starts.
if ! seq "$shards" | parallel --quote --jobs "${JOBS:-1}" --retries "${RETRIES:-3}" \
  --joblog "$run.shards/joblog" --resume-failed \
  "$rigel" run "$@" --partition "slice:{}/$shards" --out "$run.shards/{}"; then
  echo "not every shard is finished; $run.shards/joblog says which: give the same command again" >&2
  exit 5
fi
"$rigel" merge "$run" "${parts[@]}"
"$rigel" verify "$run"
"$rigel" report "$run"
