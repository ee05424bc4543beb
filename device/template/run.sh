#!/usr/bin/env bash
# Runs the exported kernels: plainly, then under rocprofv3 for each group of
# counters in counters.txt and for a kernel trace, then with thread trace.
#
#   ./run.sh [RESULTS]        RESULTS is a folder, results unless given
#
# Every step leaves RESULTS/STEP.log and a line in RESULTS/steps.tsv; a step that
# fails does not stop the others, but a plain run that fails does.
# Environment: ROCM (/opt/rocm), ROCPROFV3, ATT_LIBRARY_PATH, HOST (./host),
# WARMUP and LAUNCHES of the plain run (500 and 100), STEP_TIMEOUT in seconds (600).
# Exit code: 0 done, 1 a step failed, 2 bad usage, 3 no GPU that fits.
set -uo pipefail
cd "$(dirname "$0")" || exit 2

if [ "$#" -gt 1 ]; then
  echo "usage: ./run.sh [RESULTS]" >&2
  exit 2
fi
out=${1:-results}
rocm=${ROCM:-/opt/rocm}
host=${HOST:-./host}
limit=${STEP_TIMEOUT:-600}
profiler=${ROCPROFV3:-}
if [ -z "$profiler" ]; then
  profiler=$(command -v rocprofv3 || true)
  if [ -z "$profiler" ] && [ -x "$rocm/bin/rocprofv3" ]; then
    profiler=$rocm/bin/rocprofv3
  fi
fi

mkdir -p "$out" || exit 1
steps=$out/steps.tsv
printf 'step\tstatus\texit\tseconds\n' >"$steps"
failed=0

# step NAME STDOUT COMMAND...: runs a command with a time limit.
step() {
  local name=$1 stdout=$2 begin=$SECONDS code status
  shift 2
  echo "== $name: $*"
  timeout -k 10 "$limit" "$@" >"$stdout" 2>"$out/$name.log"
  code=$?
  case $code in
    0) status=ok ;;
    124 | 137) status=timeout ;;
    *) status=failed ;;
  esac
  printf '%s\t%s\t%s\t%s\n' "$name" "$status" "$code" "$((SECONDS - begin))" >>"$steps"
  if [ "$status" != ok ]; then
    failed=1
    echo "   $status (exit code $code); see $out/$name.log" >&2
    tail -n 3 "$out/$name.log" >&2
  fi
  return "$code"
}

step plain "$out/timing.json" "$host" --dir . --warmup "${WARMUP:-500}" --launches "${LAUNCHES:-100}"
code=$?
if [ "$code" -ne 0 ]; then
  if [ "$code" -eq 3 ]; then exit 3; fi
  exit 1
fi

if [ -z "$profiler" ]; then
  echo "rocprofv3 was not found: counters and traces are left out" >&2
  printf 'counters\tskipped\t-\t0\n' >>"$steps"
  exit 1
fi

# One group a line: a name, a colon, counters.
while IFS=: read -r group counters; do
  case $group in '' | \#*) continue ;; esac
  # The counters are words of their own.
  # shellcheck disable=SC2086
  step "counters-$group" "$out/counters-$group.out" "$profiler" --pmc $counters --output-format csv \
    --output-directory "$out/counters-$group" --output-file "$group" -- "$host" --dir . --warmup 2 --launches 5 --no-verify
done <counters.txt

step kernel-trace "$out/kernel-trace.out" "$profiler" --kernel-trace --output-format csv \
  --output-directory "$out/kernel-trace" --output-file kernels -- "$host" --dir . --warmup 20 --launches 20 --no-verify

step thread-trace "$out/thread-trace.out" "$profiler" --att --att-library-path "${ATT_LIBRARY_PATH:-$rocm/lib}" \
  --output-directory "$out/thread-trace" -- "$host" --dir . --once --no-verify

exit "$failed"
