#include "runtime/schedule/target.h"

#include <cpuid.h>
#include <unistd.h>

#include <cstring>
#include <fstream>

#include "support/error.h"

namespace opsmith::schedule {
namespace {

struct Processor {
  std::string vendor;
  unsigned family = 0;
  unsigned model = 0;
};

Processor identify() {
  Processor processor;
  unsigned eax = 0;
  unsigned ebx = 0;
  unsigned ecx = 0;
  unsigned edx = 0;
  if (__get_cpuid(0, &eax, &ebx, &ecx, &edx) != 0) {
    char name[12];
    std::memcpy(name, &ebx, 4);
    std::memcpy(name + 4, &edx, 4);
    std::memcpy(name + 8, &ecx, 4);
    processor.vendor.assign(name, 12);
  }
  if (__get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0) {
    processor.family = (eax >> 8) & 0xf;
    processor.model = (eax >> 4) & 0xf;
    if (processor.family == 0xf) processor.family += (eax >> 20) & 0xff;
    if (processor.family >= 6) processor.model += ((eax >> 16) & 0xf) << 4;
  }
  return processor;
}

bool has_avx2() {
  return __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0;
}

bool has_avx512() {
  return has_avx2() && __builtin_cpu_supports("avx512f") != 0 &&
         __builtin_cpu_supports("avx512bw") != 0 && __builtin_cpu_supports("avx512dq") != 0 &&
         __builtin_cpu_supports("avx512vl") != 0;
}

/// LLVM's name of the nearest processor whose instructions this machine has: it decides only how
/// instructions are ordered and which of them are used.
std::string cpu_name(const Processor& processor, bool avx512) {
  if (processor.vendor == "AuthenticAMD" && processor.family >= 0x19) {
    return avx512 ? "znver4" : "znver3";
  }
  return avx512 ? "x86-64-v4" : "x86-64-v3";
}

std::vector<int64_t> detect_caches() {
  std::vector<int64_t> caches = {32 << 10, 512 << 10, 8 << 20};
  const std::string folder = "/sys/devices/system/cpu/cpu0/cache/index";
  for (int index = 0; index < 8; ++index) {
    const std::string entry = folder + std::to_string(index);
    std::ifstream level_file(entry + "/level");
    std::ifstream type_file(entry + "/type");
    std::ifstream size_file(entry + "/size");
    size_t level = 0;
    int64_t size = 0;
    std::string type;
    char unit = 'K';
    if (!(level_file >> level) || !(type_file >> type) || !(size_file >> size >> unit)) continue;
    if (type == "Instruction" || level < 1 || level > caches.size() || size <= 0) continue;
    caches[level - 1] = size << (unit == 'M' ? 20 : 10);
  }
  return caches;
}

}  // namespace

std::string Target::key() const {
  std::string text = machine + ' ' + instruction_set() + ' ';
  for (size_t i = 0; i < cache_bytes.size(); ++i) {
    text += (i == 0 ? "" : "/") + std::to_string(cache_bytes[i] >> 10) + 'K';
  }
  return text + ' ' + std::to_string(threads);
}

std::string Target::instruction_set() const { return masked_memory ? "avx512" : "avx2"; }

Target detect_target(const std::string& name, int threads) {
  if (name != "native" && name != "avx2" && name != "avx512") {
    throw UserError("unknown target '" + name + "'; known are native, avx2 and avx512");
  }
  if (!has_avx2()) {
    throw UserError("this processor has no AVX2 and FMA, which compiled kernels need");
  }
  if (name == "avx512" && !has_avx512()) {
    throw UserError("target 'avx512': this processor has no AVX-512 (F, BW, DQ, VL); use native");
  }
  const bool avx512 = name != "avx2" && has_avx512();
  static const Processor processor = identify();
  static const std::vector<int64_t> caches = detect_caches();
  Target target;
  target.cpu = cpu_name(processor, avx512);
  target.features =
      avx512 ? "+avx512f,+avx512bw,+avx512dq,+avx512vl,+fma,+f16c" : "+avx2,+fma,+f16c,-avx512f";
  target.machine = processor.vendor + '/' + std::to_string(processor.family) + '/' +
                   std::to_string(processor.model);
  target.vector_bytes = avx512 ? 64 : 32;
  target.vector_registers = avx512 ? 32 : 16;
  target.masked_memory = avx512;
  target.cache_bytes = caches;
  target.threads = threads;
  return target;
}

}  // namespace opsmith::schedule
