// Helpers of the code object tests: fixtures, byte editing.
#pragma once

#include <elf.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "frontend/codeobject/code_object.h"
#include "frontend/codeobject/containers.h"

namespace wavejit::codeobject::test {

using Bytes = std::vector<uint8_t>;

inline Bytes read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file.good()) << path;
  return Bytes(std::istreambuf_iterator<char>(file), {});
}
inline std::string fixture_path(const std::string& name) {
  return std::string(WAVEJIT_FIXTURES "/") + name;
}
inline Bytes fixture(const std::string& name) {
  return read_file(fixture_path(name));
}

inline std::shared_ptr<const CodeObject> load_fixture(const std::string& name) {
  auto object = CodeObject::load(fixture(name));
  EXPECT_TRUE(object.has_value()) << name << ": " << (object ? "" : object.error().message);
  return object ? *object : nullptr;
}

inline const Kernel& kernel_at(const CodeObject& object, size_t index) {
  const auto kernel = object.kernel(index);
  EXPECT_TRUE(kernel.has_value()) << kernel.error().message;
  return **kernel;
}

template <typename T>
T peek(const Bytes& bytes, uint64_t offset) {
  T value{};
  EXPECT_LE(offset + sizeof(T), bytes.size());
  std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}
template <typename T>
void poke(Bytes& bytes, uint64_t offset, T value) {
  ASSERT_LE(offset + sizeof(T), bytes.size());
  std::memcpy(bytes.data() + offset, &value, sizeof(T));
}
template <typename T>
T load_at(uint64_t host_address) {
  T value;
  std::memcpy(&value, reinterpret_cast<const void*>(host_address), sizeof(T));
  return value;
}

// Offset in the file of the program header of type `type`; fails the test when there is none.
inline uint64_t segment_header(const Bytes& elf, uint32_t type) {
  const auto header = peek<Elf64_Ehdr>(elf, 0);
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    const uint64_t at = header.e_phoff + i * sizeof(Elf64_Phdr);
    if (peek<Elf64_Phdr>(elf, at).p_type == type) return at;
  }
  ADD_FAILURE() << "no segment of type " << type;
  return 0;
}
// Offset in the file of the section header of type `type`.
inline uint64_t section_header(const Bytes& elf, uint32_t type) {
  const auto header = peek<Elf64_Ehdr>(elf, 0);
  for (unsigned i = 0; i < header.e_shnum; ++i) {
    const uint64_t at = header.e_shoff + i * sizeof(Elf64_Shdr);
    if (peek<Elf64_Shdr>(elf, at).sh_type == type) return at;
  }
  ADD_FAILURE() << "no section of type " << type;
  return 0;
}
// File offset of a virtual address that a PT_LOAD segment maps.
inline uint64_t file_offset(const Bytes& elf, uint64_t vaddr) {
  const auto header = peek<Elf64_Ehdr>(elf, 0);
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    const auto segment = peek<Elf64_Phdr>(elf, header.e_phoff + i * sizeof(Elf64_Phdr));
    if (segment.p_type == PT_LOAD && vaddr >= segment.p_vaddr && vaddr < segment.p_vaddr + segment.p_filesz) {
      return vaddr - segment.p_vaddr + segment.p_offset;
    }
  }
  ADD_FAILURE() << "address " << vaddr << " is not in the file";
  return 0;
}

inline Error load_error(const Bytes& bytes) {
  auto object = CodeObject::load(bytes);
  EXPECT_FALSE(object.has_value());
  return object ? Error{} : object.error();
}

// What the process has used so far, in bytes: the most resident memory, and what it has read with system calls.
struct UsedResources {
  uint64_t memory = 0, read = 0;
  UsedResources() {
    rusage usage{};
    EXPECT_EQ(getrusage(RUSAGE_SELF, &usage), 0);
    memory = static_cast<uint64_t>(usage.ru_maxrss) << 10;
    std::string name;
    EXPECT_TRUE(std::ifstream("/proc/self/io") >> name >> read);
    EXPECT_EQ(name, "rchar:");
  }
};

#define EXPECT_MESSAGE(error, part) EXPECT_NE((error).message.find(part), std::string::npos) << (error).message

}  // namespace wavejit::codeobject::test
