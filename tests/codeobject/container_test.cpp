#include <zlib.h>
#include <zstd.h>

#include <cstdio>
#include <fstream>

#include "support.h"

namespace wavejit::codeobject::test {
namespace {

std::vector<std::string> targets(const Container& container) {
  std::vector<std::string> out;
  for (const ContainerEntry& entry : container.entries()) out.push_back(entry.target.to_string());
  return out;
}
Error open_error(const Bytes& bytes) {
  auto container = Container::parse(bytes);
  EXPECT_FALSE(container.has_value());
  return container ? Error{} : container.error();
}

// Writes an offload bundle; `pairs` are entry ids and contents.
Bytes make_bundle(const std::vector<std::pair<std::string, Bytes>>& pairs, uint64_t align = 1) {
  Bytes out;
  const auto append = [&](const void* data, size_t size) {
    const auto* bytes = static_cast<const uint8_t*>(data);
    out.insert(out.end(), bytes, bytes + size);
  };
  const auto number = [&](uint64_t value) { append(&value, 8); };
  uint64_t offset = 32;
  for (const auto& [id, data] : pairs) offset += 24 + id.size();
  append("__CLANG_OFFLOAD_BUNDLE__", 24);
  number(pairs.size());
  std::vector<uint64_t> offsets;
  for (const auto& [id, data] : pairs) {
    offset = (offset + align - 1) / align * align;
    number(offset);
    number(data.size());
    number(id.size());
    append(id.data(), id.size());
    offsets.push_back(offset);
    offset += data.size();
  }
  for (size_t i = 0; i < pairs.size(); ++i) {
    out.resize(offsets[i]);
    append(pairs[i].second.data(), pairs[i].second.size());
  }
  return out;
}

TEST(Container, RawElf) {
  const auto container = Container::open(fixture_path("v4_gfx908.co"));
  ASSERT_TRUE(container.has_value()) << container.error().message;
  EXPECT_EQ((*container)->kind(), "ELF code object");
  ASSERT_EQ((*container)->entries().size(), 1u);
  EXPECT_EQ((*container)->entries()[0].target.to_string(), "gfx908:sramecc+:xnack-");
  EXPECT_EQ((*container)->entries()[0].triple, "amdgcn-amd-amdhsa--gfx908:sramecc+:xnack-");
  EXPECT_EQ((*container)->entries()[0].bytes.size(), fixture("v4_gfx908.co").size());
  auto relocatable = Container::open(fixture_path("relocatable.o"));
  ASSERT_FALSE(relocatable.has_value());
  EXPECT_MESSAGE(relocatable.error(), "ld.lld -shared");
}

class BundleFixture : public testing::TestWithParam<std::pair<const char*, const char*>> {};

TEST_P(BundleFixture, HasTheSameObjectsInEveryForm) {
  const auto [file, kind] = GetParam();
  for (const bool from_memory : {false, true}) {
    const auto container = from_memory ? Container::parse(fixture(file)) : Container::open(fixture_path(file));
    ASSERT_TRUE(container.has_value()) << container.error().message;
    EXPECT_EQ((*container)->kind(), kind);
    EXPECT_EQ(targets(**container), (std::vector<std::string>{"gfx803", "gfx908:sramecc+:xnack-", "gfx90a"}));
    const char* images[] = {"v2_gfx803.co", "v4_gfx908.co", "v5_gfx90a.co"};
    for (size_t i = 0; i < 3; ++i) {
      const auto entry = (*container)->entries()[i].bytes;
      EXPECT_EQ(Bytes(entry.begin(), entry.end()), fixture(images[i])) << i;
      const auto object = CodeObject::load(entry);
      ASSERT_TRUE(object.has_value()) << object.error().message;
      EXPECT_EQ((*object)->kernel_names().size(), 2u);
    }
  }
}
INSTANTIATE_TEST_SUITE_P(Prebuilt, BundleFixture,
                         testing::Values(std::pair{"bundle.hipfb", "offload bundle"},
                                         std::pair{"bundle_v1.ccob", "compressed offload bundle"},
                                         std::pair{"bundle_v2.ccob", "compressed offload bundle"},
                                         std::pair{"bundle_v3.ccob", "compressed offload bundle"}));

TEST(Container, HostLibrary) {
  const auto container = Container::open(fixture_path("libhost.so"));
  ASSERT_TRUE(container.has_value()) << container.error().message;
  EXPECT_EQ((*container)->kind(), "HIP fat binary");
  EXPECT_EQ(targets(**container), (std::vector<std::string>{"gfx906", "gfx90a:xnack-"}));
  for (const ContainerEntry& entry : (*container)->entries()) {
    const auto object = CodeObject::load(entry.bytes);
    ASSERT_TRUE(object.has_value()) << object.error().message;
    EXPECT_EQ((*object)->target().to_string(), entry.target.to_string());
    ASSERT_TRUE((*object)->find_kernel("_Z13add_incrementPii").has_value());
    ASSERT_TRUE((*object)->find_variable("increment").has_value());
    EXPECT_EQ(load_at<int>((*(*object)->find_variable("increment"))->address), 7);
  }
}

TEST(Container, ManyBundlesWithPaddingBetween) {
  const Bytes object = fixture("v4_gfx908.co");
  Bytes all;
  for (const char* id : {"hip-amdgcn-amd-amdhsa-gfx908", "hipv4-amdgcn-amd-amdhsa--gfx908",
                         "openmp-amdgcn-amd-amdhsa--gfx908", "hipv4-amdgcn-amd-amdhsa-unknown-gfx908:xnack-"}) {
    const Bytes bundle = make_bundle({{"host-x86_64-unknown-linux", {}}, {id, object}});
    all.insert(all.end(), bundle.begin(), bundle.end());
    all.resize((all.size() + 4095) / 4096 * 4096);
  }
  const Bytes compressed = fixture("bundle_v1.ccob");  // V1 does not state its size: the stream's end is found
  all.insert(all.end(), compressed.begin(), compressed.end());
  const Bytes tail = make_bundle({{"hip-amdgcn-amd-amdhsa--gfx1999", object}}, 256);
  all.insert(all.end(), tail.begin(), tail.end());
  const auto container = Container::parse(all);
  ASSERT_TRUE(container.has_value()) << container.error().message;
  EXPECT_EQ(targets(**container), (std::vector<std::string>{"gfx908", "gfx908", "gfx908", "gfx908:xnack-", "gfx803",
                                                            "gfx908:sramecc+:xnack-", "gfx90a", "gfx1999"}));
  EXPECT_EQ((*container)->entries().back().bundle_index, 5u);
}

TEST(Container, SelectsTheBestMatchFirst) {
  const Bytes object = fixture("v4_gfx908.co");
  const auto container = Container::parse(make_bundle({{"hip-amdgcn-amd-amdhsa--gfx9-generic", object},
                                                       {"hip-amdgcn-amd-amdhsa--gfx906", object},
                                                       {"hip-amdgcn-amd-amdhsa--gfx906:xnack-", object},
                                                       {"hip-amdgcn-amd-amdhsa--gfx906:xnack+", object},
                                                       {"hip-amdgcn-amd-amdhsa--gfx906:sramecc+:xnack-", object},
                                                       {"hip-amdgcn-amd-amdhsa--gfx803", object}}));
  ASSERT_TRUE(container.has_value()) << container.error().message;
  const auto selected = [&](const char* device) {
    std::vector<std::string> out;
    const auto found = (*container)->select(*parse_target_id(device));
    if (!found) return std::vector<std::string>{found.error().message};
    for (const ContainerEntry* entry : *found) out.push_back(entry->target.to_string());
    return out;
  };
  EXPECT_EQ(selected("gfx906:sramecc+:xnack-"),
            (std::vector<std::string>{"gfx906:sramecc+:xnack-", "gfx906:xnack-", "gfx906", "gfx9-generic"}));
  EXPECT_EQ(selected("gfx906:sramecc-:xnack+"), (std::vector<std::string>{"gfx906:xnack+", "gfx906", "gfx9-generic"}));
  EXPECT_EQ(selected("gfx900:xnack-"), (std::vector<std::string>{"gfx9-generic"}));
  EXPECT_EQ(selected("gfx803"), (std::vector<std::string>{"gfx803"}));
  const auto none = (*container)->select(*parse_target_id("gfx90a:xnack-"));
  ASSERT_FALSE(none.has_value());
  EXPECT_EQ(none.error().code, ErrorCode::kTargetMismatch);
  EXPECT_MESSAGE(none.error(), "gfx9-generic, gfx906, gfx906:xnack-, gfx906:xnack+, gfx906:sramecc+:xnack-, gfx803");
}

TEST(Container, EntriesThatAreNotCodeObjects) {
  const Bytes bitcode = {'B', 'C', 0xc0, 0xde, 1, 2, 3, 4};
  const Error error = open_error(make_bundle({{"host-x86_64-unknown-linux", {1, 2, 3}},
                                              {"hip-amdgcn-amd-amdhsa--gfx906", bitcode},
                                              {"hip-spirv64-amd-amdhsa--amdgcnspirv", {3, 2, 0x23, 7}},
                                              {"hip-amdgcn-amd-amdhsa--gfx803", {}}}));
  EXPECT_EQ(error.code, ErrorCode::kBadCodeObject);
  EXPECT_MESSAGE(error, "hip-amdgcn-amd-amdhsa--gfx906 (LLVM bitcode)");
  EXPECT_MESSAGE(error, "gfx803 (empty)");
  EXPECT_MESSAGE(error, "spirv64");
}

TEST(Container, OtherFiles) {
  EXPECT_EQ(open_error({}).code, ErrorCode::kBadCodeObject);
  EXPECT_MESSAGE(open_error({'h', 'e', 'l', 'l', 'o', 1, 2, 3}), "\"hello\\x01\\x02\\x03\"");
  EXPECT_EQ(open_error({'!', '<', 'a', 'r', 'c', 'h', '>', '\n'}).code, ErrorCode::kUnsupported);
  EXPECT_EQ(open_error({'B', 'C', 0xc0, 0xde}).code, ErrorCode::kUnsupported);
  EXPECT_MESSAGE(open_error(read_file("/proc/self/exe")), "no .hip_fatbin section");
  EXPECT_EQ(Container::open("/nonexistent/file").error().code, ErrorCode::kNotFound);
  EXPECT_EQ(Container::open("/tmp").error().code, ErrorCode::kIo);
}

// A compressed bundle with any header.
Bytes compressed(uint16_t version, uint16_t method, uint64_t plain_size, const Bytes& data,
                 int64_t file_size_error = 0) {
  Bytes out = {'C', 'C', 'O', 'B'};
  const auto number = [&](uint64_t value, unsigned size) {
    for (unsigned i = 0; i < size; ++i) out.push_back(static_cast<uint8_t>(value >> (8 * i)));
  };
  const unsigned width = version >= 3 ? 8 : 4;
  number(version, 2);
  number(method, 2);
  if (version >= 2) number(8 + 2 * width + 8 + data.size() + file_size_error, width);
  number(plain_size, width);
  number(0, 8);
  out.insert(out.end(), data.begin(), data.end());
  return out;
}
Bytes zstd_of(const Bytes& plain) {
  Bytes out(ZSTD_compressBound(plain.size()));
  out.resize(ZSTD_compress(out.data(), out.size(), plain.data(), plain.size(), 3));
  return out;
}
Bytes zlib_of(const Bytes& plain) {
  uLongf size = compressBound(plain.size());
  Bytes out(size);
  EXPECT_EQ(compress(out.data(), &size, plain.data(), plain.size()), Z_OK);
  out.resize(size);
  return out;
}

TEST(Container, CompressedFormsAndTheirErrors) {
  const Bytes plain = fixture("bundle.hipfb");
  const Bytes deflated = zlib_of(plain), zstd = zstd_of(plain);
  for (const uint16_t version : {1, 2, 3}) {
    for (const uint16_t method : {0, 1}) {
      const Bytes& data = method == 0 ? deflated : zstd;
      SCOPED_TRACE(testing::Message() << "version " << version << " method " << method);
      const auto good = Container::parse(compressed(version, method, plain.size(), data));
      ASSERT_TRUE(good.has_value()) << good.error().message;
      EXPECT_EQ((*good)->entries().size(), 3u);
      EXPECT_MESSAGE(open_error(compressed(version, method, plain.size() - 1, data)), "longer than stated");
      EXPECT_MESSAGE(open_error(compressed(version, method, plain.size() + 1, data)), "instead of the stated");
      EXPECT_MESSAGE(open_error(compressed(version, method, 0, data)), "not plausible");
      EXPECT_FALSE(Container::parse(compressed(version, method, 0xffffffff, data)).has_value());
      if (method == 0) {  // zlib's checksum finds any damage; LLVM writes zstd frames without one
        Bytes damaged = data;
        damaged[damaged.size() / 2] ^= 0x55;
        EXPECT_MESSAGE(open_error(compressed(version, method, plain.size(), damaged)), "damaged");
      }
      const Bytes cut(data.begin(), data.end() - 20);
      EXPECT_MESSAGE(open_error(compressed(version, method, plain.size(), cut)), "cut short");
      if (version > 1) {
        EXPECT_MESSAGE(open_error(compressed(version, method, plain.size(), data, 1)), "are there");
      }
    }
  }
  EXPECT_MESSAGE(open_error(compressed(4, 1, plain.size(), zstd)), "version 4");
  EXPECT_MESSAGE(open_error(compressed(2, 2, plain.size(), zstd)), "method 2");
  EXPECT_MESSAGE(open_error(compressed(3, 1, uint64_t{1} << 60, zstd)), "plausible");
  const Bytes other(1000, 'x');
  EXPECT_MESSAGE(open_error(compressed(2, 1, other.size(), zstd_of(other))), "does not contain an offload bundle");
}

TEST(Container, DecompressionBombsAreRefused) {
  // 64 MiB of zeros after a bundle header compress to a few KiB.
  Bytes bomb = make_bundle({{"hip-amdgcn-amd-amdhsa--gfx906", Bytes(64u << 20)}});
  EXPECT_MESSAGE(open_error(compressed(2, 1, bomb.size(), zstd_of(bomb))), "plausible");
  // Many small ones add up.
  bomb = make_bundle({{"hip-amdgcn-amd-amdhsa--gfx906", Bytes(1000000)}});
  const Bytes one = compressed(2, 1, bomb.size(), zstd_of(bomb));
  Bytes many;
  for (unsigned i = 0; i < 2000; ++i) many.insert(many.end(), one.begin(), one.end());
  EXPECT_MESSAGE(open_error(many), "plausible");
}

TEST(Container, BundleHeaderErrors) {
  const Bytes good = make_bundle({{"hip-amdgcn-amd-amdhsa--gfx908", fixture("v4_gfx908.co")}});
  Bytes bytes = good;
  poke<uint64_t>(bytes, 24, ~uint64_t{0});
  EXPECT_MESSAGE(open_error(bytes), "entries");
  bytes = good;
  poke<uint64_t>(bytes, 32, ~uint64_t{0} - 10);  // offset
  EXPECT_MESSAGE(open_error(bytes), "beyond the end");
  bytes = good;
  poke<uint64_t>(bytes, 40, ~uint64_t{0});  // size
  EXPECT_MESSAGE(open_error(bytes), "beyond the end");
  bytes = good;
  poke<uint64_t>(bytes, 48, ~uint64_t{0});  // id length
  EXPECT_MESSAGE(open_error(bytes), "id of");
  bytes = good;
  bytes.insert(bytes.end(), {0, 0, 0, 'x'});
  EXPECT_MESSAGE(open_error(bytes), "Expected an offload bundle at offset");
  EXPECT_MESSAGE(open_error(make_bundle({{"hip-amdgcn-amd-amdhsa--gfx906:fast+", fixture("v4_gfx908.co")}})), "fast+");
}

TEST(Container, HugeFilesAreMappedNotRead) {
  // A sparse 2 GiB host library: opening it must not cost reads or memory in proportion.
  Bytes host = fixture("libhost.so");
  const auto header = peek<Elf64_Ehdr>(host, 0);
  const std::string path = testing::TempDir() + "wavejit_huge_" + std::to_string(getpid()) + ".so";
  const uint64_t tables = header.e_shnum * sizeof(Elf64_Shdr);
  const uint64_t new_offset = uint64_t{2} << 30;
  Bytes sections(host.begin() + static_cast<ptrdiff_t>(header.e_shoff),
                 host.begin() + static_cast<ptrdiff_t>(header.e_shoff + tables));
  poke<uint64_t>(host, offsetof(Elf64_Ehdr, e_shoff), new_offset);
  {
    std::ofstream file(path, std::ios::binary);
    file.write(reinterpret_cast<const char*>(host.data()), static_cast<std::streamsize>(host.size()));
    file.seekp(static_cast<std::streamoff>(new_offset));
    file.write(reinterpret_cast<const char*>(sections.data()), static_cast<std::streamsize>(sections.size()));
    ASSERT_TRUE(file.good());
  }
  const UsedResources before;
  const auto container = Container::open(path);
  const UsedResources after;
  std::remove(path.c_str());
  ASSERT_TRUE(container.has_value()) << container.error().message;
  EXPECT_EQ((*container)->entries().size(), 2u);
  EXPECT_LT(after.memory - before.memory, 64u << 20);
  EXPECT_LT(after.read - before.read, 64u << 20);
}

}  // namespace
}  // namespace wavejit::codeobject::test
