#!/usr/bin/env bash
# Searches for examples that fail: scripts/fuzz.sh PYTHON MINUTES WORKERS
#
# Runs the slow cases (marker `fuzz`) once, then the random tests in rounds, each with new seeds, until the minutes are
# over or a test fails. The last round is finished. Failing examples are kept in .hypothesis/examples.
set -euo pipefail
cd "$(dirname "$0")/.."

python=$1 minutes=$2 workers=$3
end=$((SECONDS + 60 * minutes))
rounds=0

run() { "$python" -m pytest -q -n "$workers" "$@"; }

explain() {
  cat <<TEXT

A test fails; its report is above. Keep what was found as a regression test before fixing the code:
- "Falsifying example: test_x(a=1, b=2)": put @example(a=1, b=2) above the test's @given(...).
- an example drawn with st.data(), or one too large to write down: put the printed @reproduce_failure(...) above the
  test to debug it, and write a test of its own for the smallest failing case.
- a failing seed, test_x[1234]: put it into the test's @seeded(..., also=(1234,)).
- any other test: FUZZ_SEED=${FUZZ_SEED:-} runs it again with the same random numbers.
The next \`make fuzz\` tries the failing examples first; they are in .hypothesis/examples.
TEXT
  exit 1
}

echo "== The slow cases"
run -m fuzz || explain
while [ $SECONDS -lt $end ]; do
  rounds=$((rounds + 1))
  FUZZ_SEED=$((RANDOM * 32768 + RANDOM))
  export FUZZ_SEED
  echo "== Round $rounds, FUZZ_SEED=$FUZZ_SEED, $(((end - SECONDS) / 60)) minutes left"
  run -m "hypothesis or seeded" || explain
done
echo "== $rounds rounds in $((SECONDS / 60)) minutes, and nothing fails"
