#include "runtime/executor/weights.h"

#include <cstdint>

#include "support/file.h"

namespace opsmith::executor {
namespace {

/// Constants above this are let go of once packed: those of large models view a mapped file, which
/// would stay resident beside the packed copy.
constexpr size_t kLargeConstant = size_t{1} << 20;

}  // namespace

const void* WeightStore::packed(const Tensor& constant, const schedule::Layout& layout) {
  std::lock_guard lock(mutex_);
  Key key{constant.raw(), static_cast<int>(constant.type()), constant.shape(), to_string(layout)};
  auto found = entries_.find(key);
  if (found != entries_.end()) return found->second.storage.raw();
  Entry entry{constant, {}};
  if (!layout.is_row_major()) {
    entry.storage = Tensor(constant.type(), {layout.storage_count(constant.shape())});
    schedule::convert_layout(constant.raw(), schedule::Layout::row_major(constant.shape().size()),
                             entry.storage.raw(), layout, constant.shape(), constant.type());
    if (constant.bytes() >= kLargeConstant) page_out(constant.raw(), constant.bytes());
  } else if (reinterpret_cast<uintptr_t>(constant.raw()) % 64 == 0) {
    entry.storage = constant;
  } else {
    entry.storage = constant.clone();
  }
  return entries_.emplace(std::move(key), std::move(entry)).first->second.storage.raw();
}

const void* WeightStore::prepared(
    const Tensor& constant, const std::string& key, int64_t count,
    const std::function<void(const void* source, void* result)>& make) {
  std::lock_guard lock(mutex_);
  Key full{constant.raw(), static_cast<int>(constant.type()), constant.shape(), key};
  auto found = entries_.find(full);
  if (found != entries_.end()) return found->second.storage.raw();
  Entry entry{constant, Tensor(constant.type(), {count})};
  make(constant.raw(), entry.storage.raw());
  return entries_.emplace(std::move(full), std::move(entry)).first->second.storage.raw();
}

int64_t WeightStore::bytes() const {
  std::lock_guard lock(mutex_);
  int64_t sum = 0;
  for (const auto& [key, entry] : entries_) sum += static_cast<int64_t>(entry.storage.bytes());
  return sum;
}

}  // namespace opsmith::executor
