// A directory of the test's own.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace wavejit::test {

class ScratchDirectory {
 public:
  ScratchDirectory();
  ~ScratchDirectory();
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

using Bytes = std::vector<uint8_t>;
[[nodiscard]] Bytes bytes_of(const std::string& text);
// `size` bytes that differ from seed to seed.
[[nodiscard]] Bytes contents(unsigned seed, size_t size);
[[nodiscard]] Bytes read_file(const std::filesystem::path& path);
void write_file(const std::filesystem::path& path, const Bytes& bytes);
// The entries of a cache by their file names.
[[nodiscard]] std::map<std::string, Bytes> entries_of(const std::filesystem::path& directory);
// The files a cache has in a directory that are not entries, but for its sum.
[[nodiscard]] std::vector<std::string> strays_of(const std::filesystem::path& directory);

}  // namespace wavejit::test
