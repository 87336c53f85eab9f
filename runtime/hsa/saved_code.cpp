#include "runtime/hsa/saved_code.h"

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

#include "internal/hash.h"
#include "runtime/hsa/status.h"

namespace wavejit::hsa {
namespace {

namespace fs = std::filesystem;

const fs::path& directory() {
  static const fs::path& path = *new fs::path([] {
    const char* value = std::getenv("WAVEJIT_SAVE_CODE");
    return fs::path(value ? value : "");
  }());
  return path;
}

// File names: "gfx90a:sramecc+" has a colon, which not every file system takes.
std::string file_name(std::span<const uint8_t> image, std::string_view target) {
  std::string name = fmt::format("{}-{:016x}.co", target, XXH3_64bits(image.data(), image.size()));
  for (char& c : name)
    if (c == ':') c = '_';
  return name;
}

}  // namespace

void save_code(std::span<const uint8_t> image, std::string_view target) {
  if (directory().empty()) return;
  std::error_code error;
  fs::create_directories(directory(), error);
  const fs::path path = directory() / file_name(image, target);
  if (fs::exists(path, error)) return;
  // Whole under its name, as other processes may load the same.
  static std::atomic<unsigned> drafts{0};
  const fs::path draft = directory() / fmt::format(".{}.{}", getpid(), drafts++);
  {
    std::ofstream file(draft, std::ios::binary);
    file.write(reinterpret_cast<const char*>(image.data()), static_cast<std::streamsize>(image.size()));
    file.close();
    if (file) fs::rename(draft, path, error);
    if (file && !error) return;
  }
  fs::remove(draft, error);
  static std::atomic<bool> said{false};
  if (!said.exchange(true)) say(fmt::format("Code objects cannot be saved to '{}'.", directory().string()));
}

}  // namespace wavejit::hsa
