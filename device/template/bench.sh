#!/usr/bin/env bash
# Runs the microbenchmarks: once plainly, then under rocprofv3 for the cycles of
# every kernel, then for its time.
#
#   ./bench.sh [RESULTS]        RESULTS is a folder, results unless given
#
# Every step leaves RESULTS/STEP.log and a line in RESULTS/steps.tsv.
# Environment: ROCM (/opt/rocm), ROCPROFV3, HOST (./host), REPEATS of each kernel
# (20), STEP_TIMEOUT in seconds (600).
# Exit code: 0 done, 1 a step failed, 2 bad usage, 3 no GPU that fits.
set -uo pipefail
cd "$(dirname "$0")" || exit 2

if [ "$#" -gt 1 ]; then
  echo "usage: ./bench.sh [RESULTS]" >&2
  exit 2
fi
out=${1:-results}
rocm=${ROCM:-/opt/rocm}
host=${HOST:-./host}
limit=${STEP_TIMEOUT:-600}
repeats=${REPEATS:-20}
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

# step NAME COMMAND...: runs a command with a time limit.
step() {
  local name=$1 begin=$SECONDS code status
  shift
  echo "== $name: $*"
  timeout -k 10 "$limit" "$@" >"$out/$name.out" 2>"$out/$name.log"
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

step plain "$host" --dir . --repeat 2 --save "$out"
code=$?
if [ "$code" -ne 0 ]; then
  if [ "$code" -eq 3 ]; then exit 3; fi
  exit 1
fi

if [ -z "$profiler" ]; then
  echo "rocprofv3 was not found: it counts the cycles" >&2
  printf 'cycles\tskipped\t-\t0\n' >>"$steps"
  exit 1
fi

step cycles "$profiler" --pmc GRBM_GUI_ACTIVE --output-format csv --output-directory "$out/cycles" --output-file cycles -- \
  "$host" --dir . --repeat "$repeats"
step times "$profiler" --kernel-trace --output-format csv --output-directory "$out/times" --output-file times -- \
  "$host" --dir . --repeat "$repeats"

exit "$failed"
