#!/bin/bash
# From nothing to a trained network: installs what is needed, builds mxc, compiles a small convolutional net, trains it on the
# handwritten digits of examples/data and lets it read a few that it has not seen. Results go to out/.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/install-deps.sh
echo "building mxc: about ten minutes on two cores"
cmake --preset release >/dev/null
cmake --build build --target mxc_user | grep -vE '^\[[0-9]+/[0-9]+\] (Building|Linking|Generating)' || true
mkdir -p out
data="csv:examples/data/digits.csv.gz?label=64&scale=16&holdout=0.2"
show() { printf '\n$'; printf ' %q' "$@"; printf '\n'; "$@"; }
show build/bin/mxc compile examples/digits/digits.cpp -o out/digits
show out/digits train --data "$data" --epochs 30 --schedule cosine --save out/digits.safetensors
show out/digits predict --data "$data" --load out/digits.safetensors --count 4
