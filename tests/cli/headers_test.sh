#!/usr/bin/env bash
# Every header compiles alone, with nothing included before it.
#   headers_test.sh OPSMITH SOURCE_DIR
set -euo pipefail
cd "$2"
compile() {
  printf '#include "%s"\n' "$1" | ${CXX:-c++} -std=c++20 -fsyntax-only -Wall -Wextra -Wundef \
    -Werror -I. -isystem /usr/lib/llvm-19/include -DONNX_ML=1 -DONNX_NAMESPACE=onnx -x c++ - ||
    { echo "$1 does not stand alone"; return 1; }
}
export -f compile
mapfile -t headers < <(find support graph importer exporter runtime substitute search cli models \
  -name '*.h' | sort)
[[ ${#headers[@]} -gt 20 ]] || { echo "found only ${#headers[@]} headers"; exit 1; }
printf '%s\n' "${headers[@]}" | xargs -P "$(nproc)" -I{} bash -c 'compile {}'
echo "${#headers[@]} headers stand alone"
