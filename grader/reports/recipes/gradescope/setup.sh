#!/usr/bin/env bash
# Gradescope runs this once, as root, while it builds the image.
set -euo pipefail

root=${AUTOGRADER_ROOT:-/autograder}

export DEBIAN_FRONTEND=noninteractive
apt-get update
apt-get install -y --no-install-recommends python3 python3-venv

if ! python3 -c 'import sys; sys.exit(sys.version_info < (3, 10))'; then
    echo "Python 3.10 or newer is needed: choose a newer base image for the autograder" >&2
    exit 1
fi

# a package index of your own, if the zip has one
if [ -f "$root/source/pip.conf" ]; then
    export PIP_CONFIG_FILE=$root/source/pip.conf
fi
python3 -m venv "$root/venv"
"$root/venv/bin/python" -m pip install --quiet \
    -c "$root/source/kit/.ci/constraints.txt" -e "$root/source/kit"
