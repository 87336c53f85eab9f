#include "tests/support/assembler.h"

#include <elf.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "tests/support/assembler_syntax.h"

namespace wavejit::test {
namespace {

struct TemporaryDirectory {
  std::string path = std::filesystem::temp_directory_path() / "wavejit-asm-XXXXXX";
  TemporaryDirectory() {
    if (mkdtemp(path.data()) == nullptr) path.clear();
  }
  ~TemporaryDirectory() {
    std::error_code ignored;
    if (!path.empty()) std::filesystem::remove_all(path, ignored);
  }
};

std::vector<uint8_t> read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// The contents of section `.text` of a relocatable object that the assembler has just written.
std::vector<uint8_t> text_section(const std::vector<uint8_t>& object) {
  Elf64_Ehdr header;
  std::memcpy(&header, object.data(), sizeof header);
  std::vector<Elf64_Shdr> sections(header.e_shnum);
  std::memcpy(sections.data(), object.data() + header.e_shoff, sections.size() * sizeof(Elf64_Shdr));
  const char* names = reinterpret_cast<const char*>(object.data()) + sections[header.e_shstrndx].sh_offset;
  for (const Elf64_Shdr& section : sections)
    if (std::string_view(names + section.sh_name) == ".text")
      return {object.begin() + static_cast<std::ptrdiff_t>(section.sh_offset),
              object.begin() + static_cast<std::ptrdiff_t>(section.sh_offset + section.sh_size)};
  return {};
}

Expected<std::vector<uint8_t>> assemble_by(const char* clang, unsigned llvm, isa::Target target,
                                           std::string_view source) {
  const TemporaryDirectory directory;
  if (directory.path.empty()) return make_error(ErrorCode::kIo, "cannot create a temporary directory");
  const std::string input = directory.path + "/in.s", output = directory.path + "/out.o", log = directory.path + "/log";
  std::ofstream(input) << in_syntax_of(llvm, source) << '\n';
  const std::string command = fmt::format("{} -x assembler -target amdgcn-amd-amdhsa -mcpu={} -c {} -o {} >{} 2>&1",
                                          clang, isa::to_string(target), input, output, log);
  if (std::system(command.c_str()) != 0) {
    const std::vector<uint8_t> text = read_file(log);
    return make_error(ErrorCode::kInvalidArgument, std::string(text.begin(), text.end()));
  }
  return text_section(read_file(output));
}

}  // namespace

Expected<std::vector<uint8_t>> assemble(isa::Target target, std::string_view source) {
  if (isa::family_of(target) == isa::Family::gfx940) return assemble_by_llvm19(target, source);
  return assemble_by(WAVEJIT_TEST_CLANG, WAVEJIT_TEST_LLVM, target, source);
}

Expected<std::vector<uint8_t>> assemble_by_llvm19(isa::Target target, std::string_view source) {
  return assemble_by(WAVEJIT_TEST_CLANG19, 19, target, source);
}

}  // namespace wavejit::test
