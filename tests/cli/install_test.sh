#!/usr/bin/env bash
# The installed package works: a project of its own finds opsmith, links it and runs a model.
#   install_test.sh OPSMITH SOURCE_DIR
set -euo pipefail
build="$(dirname "$1")"
source_folder="$2"
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT

cmake --install "$build" --prefix "$folder/prefix" >"$folder/log" || { cat "$folder/log"; exit 1; }
"$folder/prefix/bin/opsmith" --version

mkdir "$folder/consumer"
cat >"$folder/consumer/CMakeLists.txt" <<'CMAKE'
cmake_minimum_required(VERSION 3.23)
project(consumer LANGUAGES CXX)
find_package(opsmith 0.1 REQUIRED)
add_executable(consumer main.cpp)
target_link_libraries(consumer PRIVATE opsmith::opsmith)
CMAKE
cat >"$folder/consumer/main.cpp" <<'CPP'
#include <iostream>

#include "importer/importer.h"
#include "runtime/compiler/compiler.h"
#include "runtime/executor/session.h"

int main(int, char** argv) {
  const opsmith::executor::Session session(opsmith::importer::import_model(argv[1]),
                                           opsmith::compiler::make_compiler("none"));
  const auto image = opsmith::Tensor::zeros(opsmith::ElementType::Float32, {1, 1, 28, 28});
  for (const auto& [name, tensor] : session.run({{"image", image}})) {
    std::cout << name << " " << opsmith::to_string(tensor.shape()) << "\n";
  }
}
CPP
flags=()
if grep -q '^OPSMITH_SANITIZERS:BOOL=ON' "$build/CMakeCache.txt"; then
  flags=(-DCMAKE_CXX_FLAGS=-fsanitize=address,undefined)
fi
cmake -S "$folder/consumer" -B "$folder/consumer/build" -G Ninja \
  -DCMAKE_PREFIX_PATH="$folder/prefix" "${flags[@]}" >"$folder/log" 2>&1 &&
  cmake --build "$folder/consumer/build" >>"$folder/log" 2>&1 || { cat "$folder/log"; exit 1; }
answer="$("$folder/consumer/build/consumer" "$source_folder/models/fashion_mnist/fashion_mnist.onnx")"
echo "$answer"
[[ $answer == logits* ]]
