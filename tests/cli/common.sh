# Sourced by the tests of the command: a folder of their own and checks that say what they saw.
opsmith="$1"
source_folder="$2"
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
export XDG_CACHE_HOME="${XDG_CACHE_HOME:-$folder/cache}"
cd "$folder"
fashion_mnist="$source_folder/models/fashion_mnist/fashion_mnist.onnx"
images=/usr/share/datasets/fashion-mnist/t10k-images-idx3-ubyte.gz
failures=0

# expect CODE TEXT ARGUMENTS...: runs opsmith; its exit code must be CODE and what it said on stderr
# (stdout for code 0) must contain TEXT.
expect() {
  local code=$1 text=$2 seen=0
  shift 2
  "$opsmith" "$@" >out.txt 2>err.txt </dev/null || seen=$?
  local said=err.txt
  [[ $code -eq 0 ]] && said=out.txt
  if [[ $seen -ne $code ]] || ! grep -qF -- "$text" "$said"; then
    echo "FAILED: opsmith $*"
    echo "  expected exit code $code and '$text'; got $seen and:"
    sed 's/^/    /' out.txt err.txt
    failures=$((failures + 1))
  else
    echo "ok: opsmith $* -> $code"
  fi
}

# check WHAT COMMAND...: a condition that must hold.
check() {
  local what=$1
  shift
  if "$@"; then
    echo "ok: $what"
  else
    echo "FAILED: $what"
    failures=$((failures + 1))
  fi
}

absent() { [[ ! -e $1 ]]; }

finish() {
  if [[ $failures -gt 0 ]]; then
    echo "$failures checks failed"
    exit 1
  fi
  echo "all checks passed"
}
