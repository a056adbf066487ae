#!/bin/sh
# Checks the executor and the client's computing process on a CUDA GPU, and prints a summary.
#
#   tests/gpu/run.sh            a throw-away environment with cupy is made for it
#   PYTHON=.venv/bin/python tests/gpu/run.sh --here
#                               with this interpreter as it is (it must have cupy)
#
# Nothing is installed outside the throw-away environment, which is removed at the end.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
python=${PYTHON:-python3}
cd "$root"

if [ "${1:-}" != "--here" ]; then
    place=$(mktemp -d)
    trap 'rm -rf "$place"' EXIT INT TERM
    "$python" -m venv "$place/env"
    python="$place/env/bin/python"
    # The driver decides which cupy fits: CUDA 13 needs driver 580 or later.
    driver=$(nvidia-smi --query-gpu=driver_version --format=csv,noheader 2>/dev/null | head -n 1)
    extra=gpu
    if [ "${driver%%.*}" -ge 580 ] 2>/dev/null; then extra=gpu13; fi
    echo "installing the client with [$extra] into a throw-away environment" >&2
    "$python" -m pip --quiet --disable-pip-version-check install \
        "./wire[signing,http]" ./opgraph "./client[$extra]"
fi

export PYTHONPATH="$root/opgraph/src:$root/wire/src:$root/client/src${PYTHONPATH:+:$PYTHONPATH}"
"$python" tests/gpu/check.py
