#include <link.h>

#include <cctype>
#include <cstring>
#include <span>
#include <stdexcept>
#include <string_view>

#include "assembler_oracle.h"

namespace wavejit::isa::test {
namespace {

// Read-only data of libLLVM, in which the assembler is. LLVM 19, the oracle of GFX940, is in "libLLVM.so.19.1".
std::vector<std::span<const char>> llvm_segments() {
  std::vector<std::span<const char>> segments;
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* out) {
        if (std::strstr(info->dlpi_name, "libLLVM-") == nullptr) return 0;
        for (const ElfW(Phdr) & header : std::span(info->dlpi_phdr, info->dlpi_phnum))
          if (header.p_type == PT_LOAD && (header.p_flags & PF_W) == 0)
            static_cast<std::vector<std::span<const char>>*>(out)->emplace_back(
                reinterpret_cast<const char*>(info->dlpi_addr + header.p_vaddr), header.p_filesz);
        return 1;
      },
      &segments);
  return segments;
}

// The names from `at` on, each behind a byte with its length, as far as they are names; `at` moves behind them.
std::vector<std::string> names_from(std::span<const char> data, size_t& at) {
  constexpr size_t kShortest = 3, kLongest = 45;
  std::vector<std::string> names;
  while (at < data.size()) {
    const auto length = static_cast<unsigned char>(data[at]);
    if (length < kShortest || length > kLongest || at + 1 + length > data.size()) break;
    const std::string_view name(&data[at + 1], length);
    bool is_name = true;
    for (const char c : name) is_name &= std::islower(c) != 0 || std::isdigit(c) != 0 || c == '_' || c == '.';
    if (!is_name) break;
    names.emplace_back(name);
    at += 1 + length;
  }
  return names;
}

}  // namespace

// TableGen's AsmMatcherEmitter writes the mnemonics one after the other ("MnemonicTable"), each with its length in
// front, in alphabetical order. It is found by one of them; where it begins, by which start gives the most names.
std::vector<std::string> assembler_mnemonics() {
  constexpr std::string_view kOneOfThem = "\x09v_add_f32";
  constexpr size_t kMostBefore = 100'000;
  for (const std::span<const char> segment : llvm_segments()) {
    const size_t found = std::string_view(segment.data(), segment.size()).find(kOneOfThem);
    if (found == std::string_view::npos) continue;
    std::vector<std::string> best;
    for (size_t start = found > kMostBefore ? found - kMostBefore : 0; start <= found; ++start) {
      size_t end = start;
      std::vector<std::string> names = names_from(segment, end);
      if (end > found && names.size() > best.size()) best = std::move(names);
    }
    return best;
  }
  throw std::runtime_error("the assembler's table of mnemonics is not where it is in LLVM 15 and 17");
}

}  // namespace wavejit::isa::test
