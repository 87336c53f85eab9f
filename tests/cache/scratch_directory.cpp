#include "scratch_directory.h"

#include <cstdlib>
#include <fstream>
#include <iterator>

#include "internal/check.h"
#include "runtime/translate/disk_cache.h"

namespace wavejit::test {

namespace fs = std::filesystem;

ScratchDirectory::ScratchDirectory() {
  std::string name = (fs::temp_directory_path() / "wavejit-cache-XXXXXX").string();
  WAVEJIT_CHECK(mkdtemp(name.data()) != nullptr);
  path_ = name;
}

ScratchDirectory::~ScratchDirectory() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

Bytes bytes_of(const std::string& text) {
  return {text.begin(), text.end()};
}

Bytes contents(unsigned seed, size_t size) {
  Bytes bytes(size);
  for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<uint8_t>((i * 31 + seed * 7) ^ (i >> 8));
  return bytes;
}

Bytes read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write_file(const fs::path& path, const Bytes& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc)
      .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

std::map<std::string, Bytes> entries_of(const fs::path& directory) {
  std::map<std::string, Bytes> entries;
  std::error_code error;
  for (const auto& file : fs::directory_iterator(directory, error))
    if (const std::string name = file.path().filename().string(); name.ends_with(runtime::DiskCache::kSuffix))
      entries[name] = read_file(file.path());
  return entries;
}

std::vector<std::string> strays_of(const fs::path& directory) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& file : fs::directory_iterator(directory, error))
    if (const std::string name = file.path().filename().string();
        !name.ends_with(runtime::DiskCache::kSuffix) && name != ".blocks-used")
      names.push_back(name);
  return names;
}

}  // namespace wavejit::test
