#!/usr/bin/env bash
# Installs the Debian packages that opsmith is built from and tested with. Idempotent: when all
# are there it asks dpkg once and is done. Needs root or sudo. docs/dependencies.md says why each.
#   scripts/install-dependencies.sh [PACKAGE...]    these too
set -euo pipefail

packages=(
  # build
  g++ cmake ninja-build ccache git ca-certificates
  # libraries
  libonnx-dev libprotobuf-dev protobuf-compiler libeigen3-dev libspdlog-dev libfmt-dev
  libcli11-dev nlohmann-json3-dev libsqlite3-dev zlib1g-dev llvm-19-dev libre2-dev
  # tests, benchmarks and data
  libgtest-dev libgmock-dev libbenchmark-dev libonnx-testdata dataset-fashion-mnist clang-format
  python3 python3-numpy
  "$@"
)

missing=()
installed=$(dpkg-query -W -f='${Package} ${db:Status-Status}\n' "${packages[@]}" 2>/dev/null |
  awk '$2 == "installed" { print $1 }' || true)
for package in "${packages[@]}"; do
  grep -qxF "$package" <<<"$installed" || missing+=("$package")
done
if [[ ${#missing[@]} -eq 0 ]]; then
  exit 0
fi

if ! command -v apt-get >/dev/null; then
  echo "opsmith: these packages are missing and there is no apt-get to install them:" \
    "${missing[*]}. Install their equivalents (docs/dependencies.md) and run cmake yourself." >&2
  exit 1
fi
as_root=()
if [[ $EUID -ne 0 ]]; then
  if ! command -v sudo >/dev/null; then
    echo "opsmith: run this as root, or install sudo; missing packages: ${missing[*]}" >&2
    exit 1
  fi
  as_root=(sudo)
fi

# `sudo env` rather than `sudo VAR=...`: the latter needs a permission that is often not given.
apt() {
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 \
    -o Acquire::Retries=3 "$@"
}
echo "opsmith: installing ${missing[*]}" >&2
for attempt in 1 2; do
  if apt update -qq >&2 && apt install -y -qq --no-install-recommends "${missing[@]}" >&2; then
    exit 0
  fi
  echo "opsmith: installing failed (attempt $attempt)" >&2
done
echo "opsmith: could not install ${missing[*]}; see apt's messages above" >&2
exit 1
