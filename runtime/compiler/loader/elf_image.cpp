#include "runtime/compiler/loader/elf_image.h"

#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <vector>

#include "support/error.h"

namespace opsmith::compiler {
namespace {

/// Typed views into the file; every access is checked against its size.
class ElfFile {
 public:
  explicit ElfFile(std::string_view bytes) : bytes_(bytes), header_(read<Elf64_Ehdr>(0)) {
    require(std::memcmp(header_.e_ident, ELFMAG, SELFMAG) == 0 &&
                header_.e_ident[EI_CLASS] == ELFCLASS64 && header_.e_type == ET_REL &&
                header_.e_machine == EM_X86_64,
            "compiled object is no relocatable x86-64 ELF file");
    for (size_t i = 0; i < header_.e_shnum; ++i) {
      sections_.push_back(read<Elf64_Shdr>(header_.e_shoff + i * sizeof(Elf64_Shdr)));
    }
  }

  template <typename T>
  T read(size_t offset) const {
    T value;
    std::memcpy(&value, range(offset, sizeof(T)).data(), sizeof(T));
    return value;
  }
  std::string_view range(size_t offset, size_t size) const {
    require(offset <= bytes_.size() && size <= bytes_.size() - offset,
            "compiled object ends too early");
    return bytes_.substr(offset, size);
  }
  const std::vector<Elf64_Shdr>& sections() const { return sections_; }
  const Elf64_Shdr& section(size_t index) const {
    require(index < sections_.size(), "compiled object names a section that is not there");
    return sections_[index];
  }
  std::string text(const Elf64_Shdr& table, size_t offset) const {
    const std::string_view whole = range(table.sh_offset, table.sh_size);
    require(offset < whole.size(), "compiled object has a name outside its string table");
    return std::string(whole.substr(offset, whole.find('\0', offset) - offset));
  }
  std::string section_name(const Elf64_Shdr& header) const {
    return text(section(header_.e_shstrndx), header.sh_name);
  }

 private:
  std::string_view bytes_;
  Elf64_Ehdr header_;
  std::vector<Elf64_Shdr> sections_;
};

bool is_loaded(const ElfFile& file, const Elf64_Shdr& section) {
  return (section.sh_flags & SHF_ALLOC) != 0 && section.sh_size != 0 &&
         file.section_name(section) != ".eh_frame";
}

size_t align(size_t value, size_t alignment) {
  return alignment < 2 ? value : (value + alignment - 1) / alignment * alignment;
}

/// `jmp *0(%rip)` and the address: reaches a function of the C library from anywhere.
constexpr size_t kStubSize = 16;
constexpr std::array<unsigned char, 6> kJump = {0xff, 0x25, 0, 0, 0, 0};

void write_stub(char* at, const void* function) {
  std::memcpy(at, kJump.data(), kJump.size());
  std::memcpy(at + kJump.size(), &function, sizeof(function));
}

/// Bytes that a relocation writes.
size_t width_of(uint32_t type) {
  switch (type) {
    case R_X86_64_64:
    case R_X86_64_PC64:
      return 8;
    case R_X86_64_PC32:
    case R_X86_64_PLT32:
      return 4;
    default:
      throw InternalError("compiled object has a relocation of type " + std::to_string(type));
  }
}

/// Writes `value`, the address of a symbol plus an addend, as the relocation wants it.
void write_value(char* at, uint32_t type, uint64_t value) {
  if (type != R_X86_64_64) value -= reinterpret_cast<uint64_t>(at);
  const size_t width = width_of(type);
  const auto relative = static_cast<int64_t>(value);
  require(width == 8 || static_cast<int32_t>(relative) == relative,
          "compiled object needs a jump that does not reach");
  std::memcpy(at, &value, width);  // little-endian: the lower half comes first
}

}  // namespace

ElfImage::ElfImage(std::string_view object) {
  const ElfFile file(object);
  // Lay the sections out behind two stubs.
  std::vector<size_t> place(file.sections().size(), 0);
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  size_t end = 2 * kStubSize;
  for (size_t i = 0; i < place.size(); ++i) {
    const Elf64_Shdr& section = file.section(i);
    if (!is_loaded(file, section)) continue;
    require((section.sh_flags & SHF_WRITE) == 0,
            "compiled object has writable section " + file.section_name(section));
    require(section.sh_type != SHT_NOBITS && section.sh_addralign <= page,
            "compiled object has an odd section " + file.section_name(section));
    file.range(section.sh_offset, section.sh_size);  // no larger than the file
    end = align(end, section.sh_addralign);
    place[i] = end;
    end += section.sh_size;
  }
  size_ = align(end, page);
  memory_ = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory_ == MAP_FAILED) throw UserError("no memory for a compiled kernel");
  auto* const base = static_cast<char*>(memory_);
  try {
    write_stub(base, reinterpret_cast<const void*>(&std::memcpy));
    write_stub(base + kStubSize, reinterpret_cast<const void*>(&std::memset));
    for (size_t i = 0; i < place.size(); ++i) {
      const Elf64_Shdr& section = file.section(i);
      if (place[i] == 0) continue;
      const std::string_view bytes = file.range(section.sh_offset, section.sh_size);
      std::memcpy(base + place[i], bytes.data(), bytes.size());
    }
    std::vector<const char*> addresses;
    for (const Elf64_Shdr& section : file.sections()) {
      if (section.sh_type != SHT_SYMTAB) continue;
      const Elf64_Shdr& names = file.section(section.sh_link);
      for (size_t at = 0; at + sizeof(Elf64_Sym) <= section.sh_size; at += sizeof(Elf64_Sym)) {
        const auto symbol = file.read<Elf64_Sym>(section.sh_offset + at);
        const std::string name = file.text(names, symbol.st_name);
        const char* address = nullptr;
        if (symbol.st_shndx == SHN_UNDEF && !name.empty()) {
          require(name == "memcpy" || name == "memset",
                  "compiled object calls the external function '" + name + "'");
          address = base + (name == "memcpy" ? 0 : kStubSize);
        } else if (symbol.st_shndx != SHN_UNDEF && symbol.st_shndx < place.size() &&
                   place[symbol.st_shndx] != 0) {
          require(symbol.st_value <= file.section(symbol.st_shndx).sh_size,
                  "compiled object has a symbol outside its section");
          address = base + place[symbol.st_shndx] + symbol.st_value;
          if (ELF64_ST_BIND(symbol.st_info) == STB_GLOBAL &&
              ELF64_ST_TYPE(symbol.st_info) == STT_FUNC) {
            symbols_[name] = const_cast<char*>(address);
          }
        }
        addresses.push_back(address);
      }
    }
    for (const Elf64_Shdr& section : file.sections()) {
      if (section.sh_type != SHT_RELA && section.sh_type != SHT_REL) continue;
      const size_t target = section.sh_info;
      if (target >= place.size() || place[target] == 0) continue;
      require(section.sh_type == SHT_RELA, "compiled object has relocations without addends");
      const size_t target_size = file.section(target).sh_size;
      for (size_t at = 0; at + sizeof(Elf64_Rela) <= section.sh_size; at += sizeof(Elf64_Rela)) {
        const auto relocation = file.read<Elf64_Rela>(section.sh_offset + at);
        const size_t index = ELF64_R_SYM(relocation.r_info);
        const auto type = static_cast<uint32_t>(ELF64_R_TYPE(relocation.r_info));
        const size_t width = width_of(type);
        require(index < addresses.size() && addresses[index] != nullptr &&
                    relocation.r_offset <= target_size &&
                    width <= target_size - relocation.r_offset,
                "compiled object has a relocation that leads nowhere");
        write_value(base + place[target] + relocation.r_offset, type,
                    reinterpret_cast<uint64_t>(addresses[index]) +
                        static_cast<uint64_t>(relocation.r_addend));
      }
    }
    require(mprotect(memory_, size_, PROT_READ | PROT_EXEC) == 0,
            "a compiled kernel could not be made executable");
  } catch (...) {
    munmap(memory_, size_);
    throw;
  }
}

ElfImage::~ElfImage() { munmap(memory_, size_); }

void* ElfImage::symbol(const std::string& name) const {
  const auto found = symbols_.find(name);
  require(found != symbols_.end(), "compiled object has no function '" + name + "'");
  return found->second;
}

}  // namespace opsmith::compiler
