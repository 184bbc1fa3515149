#!/bin/bash
# Installs what building and testing mxc need on Debian 12. Does nothing where all of it is there. `--tests` adds what only tests use.
set -euo pipefail
packages=(
  cmake ninja-build ccache g++ python3 git ca-certificates
  clang-19 lld-19 llvm-19-dev llvm-19-tools libmlir-19-dev mlir-19-tools
  libabsl-dev libcli11-dev nlohmann-json3-dev zlib1g-dev libjpeg62-turbo-dev libpng-dev libopenblas-serial-dev libzmq3-dev libgtest-dev libgmock-dev
)
if [ "${1:-}" = --tests ]; then packages+=(libclang-rt-19-dev python3-numpy util-linux procps binutils dpkg-dev file make pkg-config
  qemu-user-static gcc-aarch64-linux-gnu libc6-dev-arm64-cross gcc-riscv64-linux-gnu libc6-dev-riscv64-cross nodejs
  openmpi-bin libopenmpi-dev iproute2 nftables); fi
missing=()
for package in "${packages[@]}"; do
  dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' || missing+=("$package")
done
[ ${#missing[@]} -eq 0 ] && exit 0
sudo=
[ "$(id -u)" = 0 ] || sudo=sudo
echo "installing: ${missing[*]}"
$sudo apt-get update -qq
$sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
