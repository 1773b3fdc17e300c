#!/usr/bin/env bash
# The tests of the engine with other releases of torch: scripts/matrix.sh WORKERS RELEASE...
#
# Each release gets an environment of its own, build/matrix/RELEASE, which is kept. What only
# the tests of the views need is not installed there; nor are triton and torchao, which choose their torch.
# What is heard of torch.compile is printed: torch 2.6 does not say all, and tests/adapters expect what later ones say.
set -euo pipefail
cd "$(dirname "$0")/.."

workers=$1
shift
tools=(pytest pytest-xdist hypothesis inline-snapshot filelock jsonschema)
engine=(backend compiler fold graph learning levels optimize program rewrite runtime symbolic templates tensor trace)
rows=()
failed=0
for release in "$@"; do
  venv=build/matrix/$release
  if [ ! -e "$venv/ready" ]; then
    TORCH="torch==$release" bash scripts/setup.sh "$venv" digits
    "$venv/bin/python" -m pip --disable-pip-version-check install -q "${tools[@]}"
    touch "$venv/ready"
  fi
  verdict=passed
  "$venv/bin/circuit-explorer" watch --self-test || true
  "$venv/bin/python" -m pytest -q -n "$workers" "${engine[@]/#/tests/}" || verdict="FAILED: tests"
  [ "$verdict" = passed ] || failed=1
  rows+=("torch $release: $verdict")
done
printf '\n%s\n' "${rows[@]}"
exit $failed
