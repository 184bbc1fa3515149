// Addresses are filled in by the relocations of the sections ".rela.dyn" and, of calls, ".rela.plt": their symbols that the object does not
// define are made weak where they stand, in ".dynsym".
#include "frontend/stage/open_symbols.h"

#include <elf.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <vector>

namespace mxc::frontend {

namespace {

// Records of one type in the bytes of a file; none where they do not lie inside.
template <class Record>
class Records {
 public:
  Records(std::vector<char>& file, uint64_t offset, uint64_t bytes) : file_(file), offset_(offset) {
    bool inside = offset <= file.size() && bytes <= file.size() - offset;
    count_ = inside ? bytes / sizeof(Record) : 0;
  }
  uint64_t size() const { return count_; }
  Record read(uint64_t i) const {
    Record record;
    std::memcpy(&record, file_.data() + offset_ + i * sizeof record, sizeof record);
    return record;
  }
  void write(uint64_t i, const Record& record) { std::memcpy(file_.data() + offset_ + i * sizeof record, &record, sizeof record); }

 private:
  std::vector<char>& file_;
  uint64_t offset_, count_;
};

// Whether a symbol became weak.
bool weaken(std::vector<char>& file) {
  Records<Elf64_Ehdr> headers(file, 0, sizeof(Elf64_Ehdr));
  if (headers.size() == 0) return false;
  Elf64_Ehdr header = headers.read(0);
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64) return false;
  Records<Elf64_Shdr> sections(file, header.e_shoff, uint64_t{header.e_shnum} * sizeof(Elf64_Shdr));
  bool any = false;
  for (uint64_t i = 0; i < sections.size(); ++i) {
    Elf64_Shdr relocations = sections.read(i);
    if (relocations.sh_type != SHT_RELA || relocations.sh_link >= sections.size()) continue;
    Elf64_Shdr table = sections.read(relocations.sh_link);
    Records<Elf64_Sym> symbols(file, table.sh_offset, table.sh_size);
    Records<Elf64_Rela> entries(file, relocations.sh_offset, relocations.sh_size);
    for (uint64_t k = 0; k < entries.size(); ++k) {
      uint64_t number = ELF64_R_SYM(entries.read(k).r_info);
      if (number == 0 || number >= symbols.size()) continue;
      Elf64_Sym symbol = symbols.read(number);
      if (symbol.st_shndx != SHN_UNDEF || ELF64_ST_BIND(symbol.st_info) != STB_GLOBAL) continue;
      symbol.st_info = ELF64_ST_INFO(STB_WEAK, ELF64_ST_TYPE(symbol.st_info));
      symbols.write(number, symbol);
      any = true;
    }
  }
  return any;
}

}  // namespace

void weakenOpenSymbols(const std::string& object) {
  std::ifstream in(object, std::ios::binary);
  std::vector<char> file{std::istreambuf_iterator<char>(in), {}};
  if (!weaken(file)) return;
  std::ofstream(object, std::ios::binary).write(file.data(), static_cast<std::streamsize>(file.size()));
}

}  // namespace mxc::frontend
