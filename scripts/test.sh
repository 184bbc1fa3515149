#!/bin/bash
# Builds everything and runs the tests.
#   scripts/test.sh          all tests but the long ones; the runtime's also under AddressSanitizer, UBSan and ThreadSanitizer, the memory
#                            planner's under the first two
#   scripts/test.sh --fast   those for daily work: under two minutes once it is built
#   scripts/test.sh --long   the long ones too, the runtime's also under the sanitizers (a million random operations on 1, 2, 4, 8 threads)
set -euo pipefail
cd "$(dirname "$0")/.."
mode=${1:-}
case "$mode" in ""|--fast|--long) ;; *) sed -n '2,6p' "$0"; exit 2 ;; esac
scripts/install-deps.sh --tests
[ -d ../shared ] || echo "NOTE: ../shared is absent: the tests that need its data are SKIPPED"

build() {  # preset, folder
  cmake --preset "$1" >/dev/null
  cmake --build "$2" -- -k 0 | grep -vE '^\[[0-9]+/[0-9]+\] (Building|Linking|Generating)' || true
  cmake --build "$2" >/dev/null
}
run() {  # folder, ctest arguments
  ctest --test-dir "$1" -j2 --no-tests=error --output-on-failure "${@:2}" | grep -vE '^ *[0-9]+/[0-9]+ Test +#.* Passed|^ +Start '
}

build release build
left_out=(-LE long)
if [ "$mode" = --long ]; then left_out=(); fi
case "$mode" in
  --fast) run build -L fast ;;
  *) run build "${left_out[@]}" ;;
esac
if [ "$mode" != --fast ]; then
  build asan build-asan
  run build-asan "${left_out[@]}"
  build tsan build-tsan
  run build-tsan "${left_out[@]}"
fi
