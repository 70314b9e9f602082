// Runs a fuzz target on files and on every file of folders: seeds as tests, without libFuzzer.

#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "support/file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

int main(int count, char** arguments) {
  namespace fs = std::filesystem;
  std::vector<std::string> files;
  for (int i = 1; i < count; ++i) {
    if (!fs::is_directory(arguments[i])) {
      files.emplace_back(arguments[i]);
      continue;
    }
    for (const auto& entry : fs::recursive_directory_iterator(arguments[i])) {
      if (entry.is_regular_file()) files.push_back(entry.path().string());
    }
  }
  for (const std::string& file : files) {
    const std::string bytes = opsmith::read_file(file);
    LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
  }
  std::printf("%zu inputs\n", files.size());
  return files.empty() ? 1 : 0;
}
