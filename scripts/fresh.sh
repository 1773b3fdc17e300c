#!/usr/bin/env bash
# Installs the wheel of dist/ where nothing else is, first without extras and then with [digits,ui], and uses it: scripts/fresh.sh
#
# The environments are outside the checkout, in FRESH (default: the user's cache). They are kept under a stamp of everything
# that decides what is installed, and the wheel is installed each time. On CI, where each clone has another path,
# they are removed at the end.
set -euo pipefail
checkout=$(cd "$(dirname "$0")/.." && pwd)
python=${PYTHON:-python3}
hash() { "$python" -c 'import hashlib, sys; print(hashlib.sha256(sys.stdin.buffer.read()).hexdigest()[:16])'; }

home=${FRESH:-${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/circuit-explorer/fresh}/$(printf '%s' "$checkout" | hash)
stamp=$({ cat "$checkout/pyproject.toml" "$checkout/scripts/setup.sh"; "$python" -VV; echo "${TORCH:-}"; } | hash)
folder=$home/$stamp
[ -z "${CI:-}" ] || trap 'rm -rf "$home"' EXIT
if [ ! -e "$folder/ready" ]; then
  rm -rf "$home"
  mkdir -p "$folder"
fi

# shellcheck source=scripts/setup.sh
source "$checkout/scripts/setup.sh" "$folder/lean" ""
check_python
create_environment
install_torch
"$venv/bin/python" "$checkout/scripts/fresh.py" "$folder" "$checkout"/dist/*.whl
