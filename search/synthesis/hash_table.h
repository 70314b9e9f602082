#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace opsmith::synthesis {

/// Values by 64-bit hash in one array with linear probing: what a search looks up at every step
/// lies in one cache line. Equal hashes may stand for different values, which `matches` tells
/// apart. Nothing is ever removed.
template <typename Value>
class HashTable {
 public:
  HashTable() : slots_(64) {}

  /// The value of that hash for which matches(value) holds, nullptr without one. Valid until the
  /// next insertion.
  template <typename Matches>
  Value* find(uint64_t hash, const Matches& matches) {
    for (size_t i = first_slot(hash); slots_[i].used; i = (i + 1) & (slots_.size() - 1))
      if (slots_[i].hash == hash && matches(slots_[i].value)) return &slots_[i].value;
    return nullptr;
  }

  Value* insert(uint64_t hash, const Value& value) {
    if (2 * ++count_ > slots_.size()) grow();
    return place(hash, value);
  }

 private:
  struct Slot {
    uint64_t hash = 0;
    Value value{};
    bool used = false;
  };

  size_t first_slot(uint64_t hash) const {
    return static_cast<size_t>(hash ^ hash >> 32) & (slots_.size() - 1);
  }

  Value* place(uint64_t hash, const Value& value) {
    size_t i = first_slot(hash);
    while (slots_[i].used) i = (i + 1) & (slots_.size() - 1);
    slots_[i] = {hash, value, true};
    return &slots_[i].value;
  }

  void grow() {
    std::vector<Slot> before(2 * slots_.size());
    before.swap(slots_);
    for (const Slot& slot : before)
      if (slot.used) place(slot.hash, slot.value);
  }

  std::vector<Slot> slots_;
  size_t count_ = 0;
};

}  // namespace opsmith::synthesis
