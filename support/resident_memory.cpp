#include "support/resident_memory.h"

#include <fstream>
#include <string>

namespace opsmith {
namespace {

// Lines of /proc/self/status read "VmRSS:     1234 kB".
int64_t status_bytes(const std::string& field) {
  std::ifstream status("/proc/self/status");
  for (std::string name; status >> name;) {
    int64_t kilobytes = 0;
    if (name == field && status >> kilobytes) return kilobytes * 1024;
    std::getline(status, name);
  }
  return 0;
}

}  // namespace

int64_t resident_bytes() { return status_bytes("VmRSS:"); }

int64_t peak_resident_bytes() { return status_bytes("VmHWM:"); }

void reset_peak_resident() { std::ofstream("/proc/self/clear_refs") << "5"; }

}  // namespace opsmith
