// Where the bytes of loaded code objects are: copies of small ones, the same file as the caller's for large ones.
#include "frontend/codeobject/object_bytes.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>

#include "support.h"

namespace wavejit::codeobject::test {
namespace {

constexpr const char* kObject = "v4_gfx908.co";

// A code object with as much behind it as makes it large, in a file at `skipped` bytes from its start.
class LargeObject : public testing::Test {
 protected:
  void SetUp() override {
    bytes_ = fixture(kObject);
    bytes_.resize(ObjectBytes::kLarge + 12345, 0xa5);
    write_file(bytes_);
  }
  void TearDown() override {
    if (mapping_) munmap(mapping_, mapped_);
    std::remove(path_.c_str());
  }

  void write_file(const Bytes& bytes, uint64_t skipped = 0) {
    std::ofstream file(path_, std::ios::binary | std::ios::trunc);
    file << std::string(skipped, 'x');
    file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  }
  std::span<const uint8_t> map(int protection, int flags, uint64_t skipped = 0) {
    const int file = open(path_.c_str(), O_RDWR);
    mapped_ = skipped + bytes_.size();
    mapping_ = mmap(nullptr, mapped_, protection, flags, file, 0);
    close(file);
    EXPECT_NE(mapping_, MAP_FAILED);
    return {static_cast<const uint8_t*>(mapping_) + skipped, bytes_.size()};
  }
  void unmap() {
    munmap(mapping_, mapped_);
    mapping_ = nullptr;
  }

  // Whether the mapping at an address is of the file.
  [[nodiscard]] bool is_of_file(const void* address) const {
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);) {
      const auto begin = std::stoull(line, nullptr, 16),
                 end = std::stoull(line.substr(line.find('-') + 1), nullptr, 16);
      const auto at = reinterpret_cast<uint64_t>(address);
      if (begin <= at && at < end) return line.find(path_) != std::string::npos;
    }
    return false;
  }

  // Holds `given`; the view must be `bytes_`, also when the caller's bytes are gone.
  void expect_held(std::span<const uint8_t> given, bool from_file) {
    const auto held = ObjectBytes::hold(given);
    ASSERT_TRUE(held.has_value());
    const ByteView view = held->view();
    EXPECT_EQ(is_of_file(view.data()), from_file);
    unmap();
    ASSERT_EQ(view.size(), bytes_.size());
    EXPECT_TRUE(std::equal(bytes_.begin(), bytes_.end(), view.data()));
  }

  std::string path_ = testing::TempDir() + "large_object." + std::to_string(getpid());
  Bytes bytes_;
  void* mapping_ = nullptr;
  size_t mapped_ = 0;
};

TEST_F(LargeObject, OfAFileIsMappedOnceMore) {
  expect_held(map(PROT_READ, MAP_PRIVATE), true);
  expect_held(map(PROT_READ, MAP_SHARED), true);
  write_file(bytes_, 777);
  expect_held(map(PROT_READ, MAP_PRIVATE, 777), true);
}

TEST_F(LargeObject, InWritableMemoryIsCopied) {
  for (const int flags : {MAP_PRIVATE, MAP_SHARED}) {
    const auto given = map(PROT_READ | PROT_WRITE, flags);
    const auto held = ObjectBytes::hold(given);
    ASSERT_TRUE(held.has_value());
    static_cast<uint8_t*>(mapping_)[5000] ^= 1;
    EXPECT_EQ(held->view().data()[5000], bytes_[5000]);
    EXPECT_FALSE(is_of_file(held->view().data()));
    unmap();
    write_file(bytes_);
  }
}

TEST_F(LargeObject, WrittenBeforeItBecameReadOnlyIsCopied) {
  map(PROT_READ | PROT_WRITE, MAP_PRIVATE);
  bytes_[bytes_.size() - 3] ^= 0xff;
  static_cast<uint8_t*>(mapping_)[bytes_.size() - 3] ^= 0xff;
  ASSERT_EQ(mprotect(mapping_, mapped_, PROT_READ), 0);
  expect_held({static_cast<const uint8_t*>(mapping_), mapped_}, false);
}

TEST_F(LargeObject, OfAFileThatIsAnotherNowIsCopied) {
  const auto given = map(PROT_READ, MAP_PRIVATE);
  std::remove(path_.c_str());
  write_file(Bytes(bytes_.size(), 1));
  expect_held(given, false);
  write_file(bytes_);
  const auto again = map(PROT_READ, MAP_PRIVATE);
  std::remove(path_.c_str());
  expect_held(again, false);
}

TEST_F(LargeObject, OfNoFileIsCopied) {
  mapped_ = bytes_.size();
  mapping_ = mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(mapping_, MAP_FAILED);
  std::copy(bytes_.begin(), bytes_.end(), static_cast<uint8_t*>(mapping_));
  expect_held({static_cast<const uint8_t*>(mapping_), mapped_}, false);
}

// However it got there, the loaded object is the same, and its variables are its own.
TEST_F(LargeObject, LoadsLikeASmallOne) {
  const auto small = load_fixture(kObject);
  const auto check = [&](std::span<const uint8_t> given) {
    const auto loaded = CodeObject::load(given);
    ASSERT_TRUE(loaded.has_value()) << loaded.error().message;
    unmap();
    const CodeObject& object = **loaded;
    ASSERT_EQ(object.kernel_names().size(), small->kernel_names().size());
    for (size_t i = 0; i < small->kernel_names().size(); ++i) {
      const Kernel &kernel = kernel_at(object, i), &expected = kernel_at(*small, i);
      EXPECT_EQ(kernel.name, expected.name);
      EXPECT_EQ(kernel.args.size(), expected.args.size());
      EXPECT_EQ(kernel.code_size, expected.code_size);
      EXPECT_EQ(kernel.descriptor.entry - object.load_bias(), expected.descriptor.entry - small->load_bias());
    }
    ASSERT_EQ(object.code().size(), small->code().size());
    EXPECT_TRUE(std::ranges::equal(object.code()[0], small->code()[0]));
    for (const Variable& variable : object.variables()) {
      if (!variable.writable) continue;
      auto* bytes = reinterpret_cast<uint8_t*>(variable.address);
      for (uint64_t i = 0; i < variable.size; ++i) bytes[i] = static_cast<uint8_t>(bytes[i] + 1);
    }
    EXPECT_EQ(read_file(path_), bytes_);
  };
  check(map(PROT_READ, MAP_PRIVATE));
  check(map(PROT_READ, MAP_SHARED));
  check(map(PROT_READ | PROT_WRITE, MAP_PRIVATE));
  write_file(bytes_, 777);  // its pages are not the file's
  const auto shifted = map(PROT_READ, MAP_PRIVATE, 777);
  const auto loaded = CodeObject::load(shifted);
  ASSERT_TRUE(loaded.has_value()) << loaded.error().message;
  EXPECT_TRUE(std::ranges::equal((*loaded)->code()[0], small->code()[0]));
}

TEST(ObjectBytes, SmallOnesAreCopied) {
  Bytes bytes = fixture(kObject);
  const auto held = ObjectBytes::hold(bytes);
  ASSERT_TRUE(held.has_value());
  const uint8_t before = bytes[100];
  bytes[100] ^= 1;
  EXPECT_EQ(held->view().data()[100], before);
  EXPECT_FALSE(held->can_map(0, 0));
}

}  // namespace
}  // namespace wavejit::codeobject::test
