#include "runtime/compiler/loader/elf_image.h"

#include <elf.h>

#include <cstring>
#include <functional>

#include "support/error.h"
#include "tests/runtime/compiler/compiled.h"

// Compiled objects that are cut off or made to harm: refused, never followed outside their bytes.

namespace opsmith::compiler::testing {
namespace {

/// A kernel with constants to relocate against (tanh has polynomials) and a call of memset.
const KernelObject& kernel() {
  static const KernelObject made = [] {
    schedule::KernelSpecification specification;
    specification.program = expression::parse(
        "program s(x: f32[64];) -> y, z\n  y: f32[i: 64] = tanh(x[i])\n"
        "  z: f32[9000] over (i: 64) at [i * 2] = x[i]");
    specification.target = schedule::detect_target();
    return compile(specification);
  }();
  return made;
}

/// The object with a change made to each entry of a table: of sections, symbols or relocations.
template <typename Entry>
using Change = std::function<bool(Entry&)>;  // true: this one was changed

template <typename Entry>
bool change_first(std::string& object, size_t begin, size_t count, const Change<Entry>& change) {
  for (size_t i = 0; i < count; ++i) {
    Entry entry;
    std::memcpy(&entry, object.data() + begin + i * sizeof entry, sizeof entry);
    if (!change(entry)) continue;
    std::memcpy(object.data() + begin + i * sizeof entry, &entry, sizeof entry);
    return true;
  }
  return false;
}

std::string with_section(const Change<Elf64_Shdr>& change) {
  std::string object = kernel().object;
  Elf64_Ehdr header;
  std::memcpy(&header, object.data(), sizeof header);
  EXPECT_TRUE(change_first<Elf64_Shdr>(object, header.e_shoff, header.e_shnum, change));
  return object;
}

/// Changes the first fitting entry of the sections of `type` that concern code and its constants.
template <typename Entry>
std::string with_entry(uint32_t type, const Change<Entry>& change) {
  std::string object = kernel().object;
  Elf64_Ehdr header;
  std::memcpy(&header, object.data(), sizeof header);
  bool changed = false;
  for (size_t i = 0; i < header.e_shnum && !changed; ++i) {
    Elf64_Shdr section;
    std::memcpy(&section, object.data() + header.e_shoff + i * sizeof section, sizeof section);
    if (section.sh_type != type) continue;
    if (type == SHT_RELA) {  // of these alone is sh_info a section: the one they change
      Elf64_Shdr target;
      std::memcpy(&target, object.data() + header.e_shoff + section.sh_info * sizeof section,
                  sizeof target);
      if ((target.sh_flags & SHF_EXECINSTR) == 0) continue;
    }
    changed =
        change_first<Entry>(object, section.sh_offset, section.sh_size / sizeof(Entry), change);
  }
  EXPECT_TRUE(changed);
  return object;
}

void expect_refused(const std::string& object, const std::string& what) {
  EXPECT_THROW(ElfImage{object}, InternalError) << what;
}

bool is_code(const Elf64_Shdr& section) { return (section.sh_flags & SHF_EXECINSTR) != 0; }

TEST(ElfImage, HasTheFunctionsOfItsObjectAndNoOther) {
  const ElfImage image(kernel().object);
  for (const auto& phase : kernel().phases) EXPECT_NE(image.symbol(phase.symbol), nullptr);
  EXPECT_THROW(image.symbol("missing"), InternalError);
  EXPECT_THROW(image.symbol(""), InternalError);
  EXPECT_THROW(image.symbol("memset"), InternalError) << "called, not contained";
}

TEST(ElfImage, EveryTruncationIsRefused) {
  const std::string& object = kernel().object;
  for (size_t size = 0; size < object.size(); size += size < 200 ? 1 : 17) {
    expect_refused(object.substr(0, size), std::to_string(size) + " bytes");
  }
}

TEST(ElfImage, OtherKindsOfFileAreRefused) {
  const auto with_header = [](const std::function<void(Elf64_Ehdr&)>& change) {
    std::string object = kernel().object;
    Elf64_Ehdr header;
    std::memcpy(&header, object.data(), sizeof header);
    change(header);
    std::memcpy(object.data(), &header, sizeof header);
    return object;
  };
  expect_refused(with_header([](Elf64_Ehdr& h) { h.e_ident[1] = 'X'; }), "magic");
  expect_refused(with_header([](Elf64_Ehdr& h) { h.e_ident[EI_CLASS] = ELFCLASS32; }), "32 bits");
  expect_refused(with_header([](Elf64_Ehdr& h) { h.e_type = ET_DYN; }), "shared library");
  expect_refused(with_header([](Elf64_Ehdr& h) { h.e_machine = EM_AARCH64; }), "machine");
  expect_refused(with_header([](Elf64_Ehdr& h) { h.e_shoff = ~uint64_t{0} - 7; }), "table");
  expect_refused(with_header([](Elf64_Ehdr& h) { h.e_shnum = 0xffff; }), "section count");
  expect_refused(with_header([](Elf64_Ehdr& h) { h.e_shstrndx = 0xfff0; }), "names");
}

TEST(ElfImage, HostileSectionsAreRefused) {
  const auto code = [](const std::function<void(Elf64_Shdr&)>& change) {
    return with_section([&](Elf64_Shdr& section) {
      if (!is_code(section) || section.sh_size == 0) return false;
      change(section);
      return true;
    });
  };
  expect_refused(code([](Elf64_Shdr& s) { s.sh_flags |= SHF_WRITE; }), "writable");
  expect_refused(code([](Elf64_Shdr& s) { s.sh_offset = ~uint64_t{0} - 3; }), "offset");
  expect_refused(code([](Elf64_Shdr& s) { s.sh_size = uint64_t{1} << 40; }), "size");
  expect_refused(code([](Elf64_Shdr& s) { s.sh_size = ~uint64_t{0} - 31; }), "size that wraps");
  expect_refused(code([](Elf64_Shdr& s) { s.sh_addralign = uint64_t{1} << 63; }), "alignment");
  expect_refused(code([](Elf64_Shdr& s) {
                   s.sh_type = SHT_NOBITS;
                   s.sh_size = ~uint64_t{0} - 31;
                 }),
                 "size without bytes that wraps");
  expect_refused(code([](Elf64_Shdr& s) { s.sh_name = 0xffffffff; }), "name");
}

TEST(ElfImage, HostileSymbolsAreRefused) {
  const auto global = [](const std::function<void(Elf64_Sym&)>& change) {
    return with_entry<Elf64_Sym>(SHT_SYMTAB, [&](Elf64_Sym& symbol) {
      if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC) return false;
      change(symbol);
      return true;
    });
  };
  expect_refused(global([](Elf64_Sym& s) { s.st_value = uint64_t{1} << 40; }), "far away");
  expect_refused(global([](Elf64_Sym& s) { s.st_value = ~uint64_t{0} - 4095; }), "before");
  expect_refused(global([](Elf64_Sym& s) { s.st_name = 0xffffffff; }), "name");
  expect_refused(global([](Elf64_Sym& s) { s.st_shndx = SHN_UNDEF; }), "not there");
}

TEST(ElfImage, HostileRelocationsAreRefused) {
  size_t code_size = 0;
  with_section([&](Elf64_Shdr& section) {
    if (!is_code(section) || section.sh_size == 0) return false;
    code_size = section.sh_size;
    return true;
  });
  const auto relocation = [](const std::function<void(Elf64_Rela&)>& change) {
    return with_entry<Elf64_Rela>(SHT_RELA, [&](Elf64_Rela& entry) {
      change(entry);
      return true;
    });
  };
  const auto at = [&](uint64_t offset) {
    return relocation([&](Elf64_Rela& r) { r.r_offset = offset; });
  };
  expect_refused(at(code_size), "at the end");
  expect_refused(at(code_size - 3), "across the end");
  expect_refused(at(~uint64_t{0} - 3), "before the beginning");
  const auto of_type = [&](uint32_t type, uint64_t offset) {
    return relocation([&](Elf64_Rela& r) {
      r.r_info = ELF64_R_INFO(ELF64_R_SYM(r.r_info), type);
      r.r_offset = offset;
    });
  };
  expect_refused(of_type(R_X86_64_64, code_size - 4), "eight bytes across the end");
  expect_refused(of_type(R_X86_64_GOTPCREL, 0), "through a table");
  expect_refused(of_type(R_X86_64_32, 0), "absolute");
  expect_refused(
      relocation([](Elf64_Rela& r) { r.r_info = ELF64_R_INFO(0xffffff, ELF64_R_TYPE(r.r_info)); }),
      "symbol that is not there");
  expect_refused(
      relocation([](Elf64_Rela& r) { r.r_info = ELF64_R_INFO(0, ELF64_R_TYPE(r.r_info)); }),
      "symbol without an address");
  expect_refused(relocation([](Elf64_Rela& r) { r.r_addend = int64_t{1} << 40; }), "too far");
  EXPECT_NO_THROW(
      ElfImage{relocation([](Elf64_Rela& r) { r.r_offset = 0; })});  // the changes do arrive
}

TEST(ElfImage, RandomDamageNeverHarms) {
  Random random(17);
  const std::string& object = kernel().object;
  for (int i = 0; i < 3000; ++i) {
    std::string damaged = object;
    for (int64_t flips = random.integer(1, 3); flips > 0; --flips) {
      const auto place =
          static_cast<size_t>(random.integer(0, static_cast<int64_t>(object.size()) - 1));
      damaged[place] = static_cast<char>(random.next());
    }
    try {
      const ElfImage image(damaged);
    } catch (const InternalError&) {
    }
  }
}

}  // namespace
}  // namespace opsmith::compiler::testing
