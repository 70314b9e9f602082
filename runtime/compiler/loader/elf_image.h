#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>

namespace opsmith::compiler {

/// A relocatable ELF file (x86-64) mapped, relocated and made executable; never writable and
/// executable at once. Sections that are writable are refused: kernels keep no state.
class ElfImage {
 public:
  /// Throws InternalError on anything but position-independent code whose external names are
  /// memcpy and memset.
  explicit ElfImage(std::string_view object);
  ~ElfImage();
  ElfImage(const ElfImage&) = delete;
  ElfImage& operator=(const ElfImage&) = delete;

  /// Address of a global function. Throws InternalError when there is none.
  void* symbol(const std::string& name) const;

 private:
  void* memory_ = nullptr;
  size_t size_ = 0;
  std::map<std::string, void*> symbols_;
};

}  // namespace opsmith::compiler
