#!/bin/sh
# Everything that wants a CUDA GPU: the client's checks, the operators' tests on cupy, memory, and
# times against PyTorch. Prints what each step gave; ends with 1 where one failed.
#
#   tests/gpu/run.sh            a throw-away environment with cupy is made for it
#   PYTHON=.venv/bin/python tests/gpu/run.sh --here
#                               with this interpreter as it is (cupy and pytest; torch for times)
#   tests/gpu/run.sh --list     only say what would run; needs no GPU and installs nothing
#
# Nothing is installed outside the throw-away environment, which is removed at the end. TORCH names
# the build of PyTorch to install (default: torch; TORCH= for none).
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
python=${PYTHON:-python3}
mode=${1:-}
cd "$root"

if [ "$mode" != "--here" ] && [ "$mode" != "--list" ]; then
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
        "./wire[signing,http]" ./opgraph "./client[$extra]" pytest hypothesis ${TORCH-torch}
fi

export PYTHONPATH="$root:$root/opgraph/src:$root/wire/src:$root/client/src${PYTHONPATH:+:$PYTHONPATH}"
failed=0

# Run one step, or with --list only name it.
step() {
    name=$1
    shift
    echo "== $name"
    if [ "$mode" = "--list" ]; then
        echo "   $*"
        return 0
    fi
    "$@" || { echo "FAILED: $name"; failed=1; }
}

step "the client's checks" "$python" tests/gpu/check.py
step "operators on cupy" "$python" -m pytest -q -p no:cacheprovider opgraph/tests -k cupy
# Without the conftest.py of the root, which prepares the site for whatever is in tests/.
step "memory and bits" "$python" -m pytest -q -p no:cacheprovider --noconftest \
    tests/gpu/test_device.py
step "times against PyTorch" "$python" -m tests.gpu.timing
if [ "$mode" = "--list" ]; then "$python" -m tests.gpu.timing --list; fi
exit $failed
