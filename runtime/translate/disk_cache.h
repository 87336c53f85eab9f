// Translations, and the profiles that they were chosen by, kept in files for the next process that runs the same code.
// Thread-safe, and safe with any number of
// processes in one directory.
//
// The file name of an entry is a hash of its identity: everything that determines its contents. The identity is stored
// with the entry and compared, and a checksum covers everything. Files are written under another name and renamed when
// complete. Damaged files count as missing and are replaced. Entries hold code that is executed, so the cache uses no
// directory or file that belongs to another user or that others can write to. Errors of the file system are never
// errors of the caller: without the cache everything works, only slower.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>

namespace wavejit::runtime {

class DiskCache {
 public:
  static constexpr uint64_t kDefaultBytes = uint64_t{256} << 20;
  enum class Kind : uint8_t { translation, profile };
  static constexpr std::string_view kSuffix = ".translation", kProfileSuffix = ".profile";

  // Settings of the environment (docs/translation-cache.md); configure() overrides them.
  struct Settings {
    bool enabled = true;
    std::filesystem::path directory;  // empty: there is nowhere to put it
    uint64_t max_bytes = kDefaultBytes;
  };
  [[nodiscard]] static Settings settings_of_environment();
  // The one of this process; null when there is none.
  [[nodiscard]] static std::shared_ptr<DiskCache> of_process();
  // From now on. Switched off, or without a directory, there is none.
  static void configure(const Settings& settings);
  [[nodiscard]] static Settings settings();

  // The directory is made when something is stored. Files beyond `max_bytes` together are removed, those first that
  // have not been used for the longest time.
  DiskCache(std::filesystem::path directory, uint64_t max_bytes);

  struct Loaded {
    std::unique_ptr<uint8_t[]> file;
    std::span<const uint8_t> contents;  // part of `file`, at a multiple of 8
  };
  [[nodiscard]] std::optional<Loaded> load(std::span<const uint8_t> identity, Kind kind = Kind::translation);
  // Whether the entry is there now.
  bool store(std::span<const uint8_t> identity, std::span<const uint8_t> contents, Kind kind = Kind::translation);

  [[nodiscard]] const std::filesystem::path& directory() const { return directory_; }
  [[nodiscard]] std::filesystem::path file_of(std::span<const uint8_t> identity, Kind kind = Kind::translation) const;

  struct Usage {
    uint64_t entries = 0, bytes = 0;  // as files take them on disk: whole blocks
  };
  [[nodiscard]] Usage usage() const;
  // Removes all entries; what else is in the directory stays. Returns how many there were.
  uint64_t clear();

  // Since it was made, in this process. Loads, misses and stores are those of translations.
  struct Counters {
    uint64_t loads = 0;     // entries found
    uint64_t misses = 0;    // asked for and not there, or not usable
    uint64_t rejected = 0;  // of the misses: files that were there
    uint64_t stores = 0;
    uint64_t failures = 0;  // stores that did not work
    uint64_t evictions = 0;
  };
  [[nodiscard]] Counters counters() const;
  // Reason of the last failure or rejection; empty if there was none.
  [[nodiscard]] std::string problem() const;

 private:
  [[nodiscard]] bool directory_is_safe();
  [[nodiscard]] bool make_directory();
  int write_entry(std::span<const uint8_t> identity, std::span<const uint8_t> contents, Kind kind);
  void account(uint64_t bytes);
  uint64_t make_room();
  void failed(std::string what);
  void rejected(std::string what);

  const std::filesystem::path directory_;
  const uint64_t max_bytes_;
  std::atomic<bool> known_safe_ = false;
  std::atomic<uint64_t> loads_ = 0, misses_ = 0, rejected_ = 0, stores_ = 0, failures_ = 0, evictions_ = 0;
  mutable std::mutex mutex_;
  std::string problem_;
};

}  // namespace wavejit::runtime
