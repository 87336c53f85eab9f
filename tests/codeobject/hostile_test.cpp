// Damaged and hostile input: whatever the bytes, the answer is an object that is consistent or an error, quickly.
#include <cstring>
#include <random>

#include "codeobject_entries.h"
#include "support.h"

namespace wavejit::codeobject::test {
namespace {

const char* const kObjects[] = {"v2_gfx803.co", "v2_gfx906.co",  "v3_gfx900.co",       "v4_gfx908.co",
                                "v5_gfx90a.co", "relocatable.o", "v6_gfx9_generic.co", "asm_only_gfx90a.co"};
const char* const kContainers[] = {"bundle.hipfb", "bundle_v1.ccob", "bundle_v2.ccob", "bundle_v3.ccob", "libhost.so"};

TEST(Hostile, TruncatedObjectsAtEveryByte) {
  for (const char* name : kObjects) {
    const Bytes bytes = fixture(name);
    for (size_t size = 0; size < bytes.size(); ++size) {
      // A copy of its own, so that sanitizers see reads beyond the end.
      const Bytes cut(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(size));
      const auto object = CodeObject::load(cut);
      ASSERT_FALSE(object.has_value()) << name << " cut to " << size;
      ASSERT_EQ(object.error().code, ErrorCode::kBadCodeObject)
          << name << " cut to " << size << ": " << object.error().message;
      ASSERT_FALSE(object.error().message.empty());
    }
  }
}

TEST(Hostile, TruncatedContainersAtEveryByte) {
  for (const char* name : kContainers) {
    const Bytes bytes = fixture(name);
    for (size_t size = 0; size < bytes.size(); ++size) {
      const Bytes cut(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(size));
      const auto container = Container::parse(cut);
      ASSERT_FALSE(container.has_value()) << name << " cut to " << size;
      ASSERT_EQ(container.error().code, ErrorCode::kBadCodeObject)
          << name << " cut to " << size << ": " << container.error().message;
    }
  }
}

template <typename Entry>
void flip_bits(const char* name, unsigned rounds, Entry entry) {
  const Bytes original = fixture(name);
  std::mt19937 random(20240601);
  unsigned accepted = 0;
  for (unsigned round = 0; round < rounds; ++round) {
    Bytes bytes = original;
    const unsigned flips = 1 + random() % 4;
    for (unsigned i = 0; i < flips; ++i) bytes[random() % bytes.size()] ^= static_cast<uint8_t>(1u << (random() % 8));
    accepted += entry(bytes) ? 1 : 0;
  }
  // Most bits are code or padding, so some damaged files load: otherwise the test would only see the first check.
  EXPECT_LT(accepted, rounds) << name;
  if (std::string_view(name) != "relocatable.o" && !std::string_view(name).ends_with(".ccob")) {
    EXPECT_GT(accepted, 0u) << name;
  }
}

TEST(Hostile, FlippedBitsInObjects) {
  for (const char* name : kObjects) flip_bits(name, 1000, fuzz::fuzz_code_object);
}
TEST(Hostile, FlippedBitsInContainers) {
  for (const char* name : kContainers) flip_bits(name, 500, fuzz::fuzz_container);
}

// Sets the fields of the headers to values that break arithmetic.
TEST(Hostile, ExtremeHeaderFields) {
  for (const char* name : {"v4_gfx908.co", "asm_only_gfx90a.co"}) {
    const Bytes original = fixture(name);
    const auto header = peek<Elf64_Ehdr>(original, 0);
    std::vector<uint64_t> places;
    const uint64_t segments_end = header.e_phoff + header.e_phnum * sizeof(Elf64_Phdr);
    for (uint64_t at = 16; at < segments_end; at += at < sizeof(header) ? 2 : 4) places.push_back(at);
    const uint64_t sections_end = header.e_shoff + header.e_shnum * sizeof(Elf64_Shdr);
    for (uint64_t at = header.e_shoff; at + 4 <= sections_end; at += 4) places.push_back(at);
    for (const uint64_t at : places) {
      for (const uint64_t value :
           {~uint64_t{0}, uint64_t{1} << 63, uint64_t{1} << 32, uint64_t{0}, ~uint64_t{4095}, uint64_t{1} << 34}) {
        for (const size_t size : {2, 8}) {
          Bytes bytes = original;
          std::memcpy(bytes.data() + at, &value, std::min<size_t>(size, bytes.size() - at));
          fuzz::fuzz_code_object(bytes);
        }
      }
    }
  }
}

TEST(Hostile, HugeBssCostsNothing) {
  Bytes bytes = fixture("v4_gfx908.co");
  const auto header = peek<Elf64_Ehdr>(bytes, 0);
  uint64_t last = 0;
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    const uint64_t at = header.e_phoff + i * sizeof(Elf64_Phdr);
    if (peek<Elf64_Phdr>(bytes, at).p_type == PT_LOAD) last = at;
  }
  const UsedResources before;
  poke<uint64_t>(bytes, last + offsetof(Elf64_Phdr, p_memsz), uint64_t{8} << 30);
  fuzz::fuzz_code_object(bytes);
  EXPECT_LT(UsedResources().memory - before.memory, 256u << 20);
  poke<uint64_t>(bytes, last + offsetof(Elf64_Phdr, p_memsz), uint64_t{1} << 40);
  EXPECT_MESSAGE(load_error(bytes), "larger than the 16 GiB");
}

TEST(Hostile, DescriptorsThatPointElsewhere) {
  const Bytes original = fixture("v4_gfx908.co");
  const auto object = load_fixture("v4_gfx908.co");
  ASSERT_NE(object, nullptr);
  const auto symbols = peek<Elf64_Shdr>(original, section_header(original, SHT_DYNSYM));
  const auto strings =
      peek<Elf64_Shdr>(original, peek<Elf64_Ehdr>(original, 0).e_shoff + symbols.sh_link * sizeof(Elf64_Shdr));
  uint64_t symbol_at = 0, descriptor_at = 0;
  for (uint64_t at = symbols.sh_offset; at < symbols.sh_offset + symbols.sh_size; at += sizeof(Elf64_Sym)) {
    const auto symbol = peek<Elf64_Sym>(original, at);
    const std::string name(reinterpret_cast<const char*>(original.data() + strings.sh_offset + symbol.st_name));
    if (name == "vector_add.kd") {
      symbol_at = at;
      descriptor_at = file_offset(original, symbol.st_value);
    }
  }
  ASSERT_NE(descriptor_at, 0u);
  for (const int64_t entry : {int64_t{0}, int64_t{1} << 62, INT64_MIN, int64_t{-1}, int64_t{0x1000000}}) {
    Bytes bytes = original;
    poke<int64_t>(bytes, descriptor_at + 16, entry);
    EXPECT_MESSAGE(load_error(bytes), "not in executable code");
  }
  Bytes bytes = original;
  poke<uint32_t>(bytes, descriptor_at + 8, 0x7fffffff);  // kernarg size
  EXPECT_MESSAGE(load_error(bytes), "kernarg segment of 2147483647 bytes");
  bytes = original;
  poke<uint64_t>(bytes, symbol_at + offsetof(Elf64_Sym, st_value), ~uint64_t{0} - 32);
  const auto moved = CodeObject::load(bytes);  // .symtab still has the right one; either answer is consistent
  if (!moved) {
    EXPECT_MESSAGE(moved.error(), "vector_add.kd");
  }
  bytes = original;
  poke<uint16_t>(bytes, descriptor_at + 56, peek<uint16_t>(bytes, descriptor_at + 56) | 1u << 10);  // wave32
  EXPECT_MESSAGE(load_error(bytes), "ENABLE_WAVEFRONT_SIZE32");
}

// Inputs that fuzzing found or that keep its coverage.
TEST(Hostile, FuzzCorpusReplays) {
  const std::pair<const char*, bool (*)(std::span<const uint8_t>)> entries[] = {
      {"container", fuzz::fuzz_container}, {"code_object", fuzz::fuzz_code_object}, {"metadata", fuzz::fuzz_metadata}};
  for (const auto& [name, entry] : entries) {
    unsigned count = 0, accepted = 0;
    for (const auto& file : std::filesystem::directory_iterator(std::string(WAVEJIT_FUZZ_CORPUS "/") + name)) {
      SCOPED_TRACE(file.path());
      accepted += entry(read_file(file.path())) ? 1 : 0;
      ++count;
    }
    EXPECT_GE(count, 20u) << name;
    EXPECT_GE(accepted, 1u) << name;
  }
}

}  // namespace
}  // namespace wavejit::codeobject::test
