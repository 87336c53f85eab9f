// The folder of translations.
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "tools/doctor/finding.h"
#include "wavejit/wavejit.hpp"

namespace wavejit::tools::doctor {
namespace {

namespace fs = std::filesystem;

// Whether a file can be made in the folder, or in the nearest one above it that exists. The reason if not.
std::string cannot_write(fs::path folder) {
  struct stat status{};
  while (stat(folder.c_str(), &status) != 0) {
    if (errno != ENOENT || !folder.has_relative_path()) return std::strerror(errno);
    folder = folder.parent_path();
  }
  std::string name = (folder / "wavejit-doctor-XXXXXX").string();
  const int file = mkstemp(name.data());
  if (file < 0) return std::strerror(errno);
  close(file);
  unlink(name.c_str());
  return {};
}

}  // namespace

Findings check_cache() {
  const wavejit_cache_info info = cache_info();
  const std::string folder = info.directory;
  if (folder.empty())
    return {problem("cache.folder", "There is no place for translations: neither XDG_CACHE_HOME nor HOME is usable.",
                    "Set WAVEJIT_CACHE_DIR to a folder of yours, or WAVEJIT_CACHE=off.")};
  if (!info.enabled)
    return {note("cache.folder", "Translations are not kept (WAVEJIT_CACHE).",
                 "Unset WAVEJIT_CACHE, so that programs start faster the second time.")};
  struct stat status{};
  const bool exists = stat(folder.c_str(), &status) == 0;
  if (exists && S_ISDIR(status.st_mode) && status.st_uid != geteuid())
    return {problem("cache.folder",
                    fmt::format("{} belongs to user {}; translations in it are not used.", folder, status.st_uid),
                    "Set WAVEJIT_CACHE_DIR to a folder of yours.")};
  if (exists && S_ISDIR(status.st_mode) && (status.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    return {
        problem("cache.folder",
                fmt::format("Others can write to {}; translations in it are not used, as they are executed.", folder),
                fmt::format("Run 'chmod go-w {}'.", folder))};
  if (const std::string reason = cannot_write(folder); !reason.empty())
    return {problem("cache.folder", fmt::format("{} cannot be written to: {}.", folder, reason),
                    "Set WAVEJIT_CACHE_DIR to a folder of yours that can be written to.")};
  return {fine("cache.folder", exists ? fmt::format("{} has {} translations, {} of {}.", folder, info.entries,
                                                    format_bytes(info.bytes), format_bytes(info.max_bytes))
                                      : fmt::format("{} is made when it is needed.", folder))};
}

}  // namespace wavejit::tools::doctor
