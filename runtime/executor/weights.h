#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>

#include "runtime/schedule/layout.h"
#include "support/tensor.h"

namespace opsmith::executor {

/// Constants in the layouts that kernels want, each packed once and shared by all plans of a
/// session. Row-major ones that are 64-byte aligned are used where they lie. Thread-safe.
class WeightStore {
 public:
  /// The elements of `constant` in `layout`; lives as long as the store.
  const void* packed(const Tensor& constant, const schedule::Layout& layout);

  /// What `make` computes from `constant` into storage of `count` elements, once for each `key`.
  const void* prepared(const Tensor& constant, const std::string& key, int64_t count,
                       const std::function<void(const void* source, void* result)>& make);

  /// Bytes of everything handed out.
  int64_t bytes() const;

 private:
  struct Entry {
    Tensor source;  ///< keeps the key's address taken
    Tensor storage;
  };
  using Key = std::tuple<const void*, int, Shape, std::string>;
  mutable std::mutex mutex_;
  std::map<Key, Entry> entries_;
};

}  // namespace opsmith::executor
