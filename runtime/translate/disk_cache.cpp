#include "runtime/translate/disk_cache.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string_view>
#include <vector>

#include "internal/hash.h"
#include "internal/pages.h"

namespace wavejit::runtime {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kTemporary = ".unfinished-";
// As long as all entries together, in blocks: entries are counted by appending to it, which is atomic.
constexpr std::string_view kUsage = ".blocks-used";
constexpr uint64_t kBlock = 4096;
constexpr uint64_t kMaxEntryBytes = uint64_t{64} << 20;
constexpr size_t kNameDigits = 32;
constexpr time_t kTemporaryLifetime = 3600;  // a process that is still writing after that has died
constexpr time_t kUseGranularity = 3600;     // how exactly is known when an entry was last used

struct Header {
  std::array<char, 8> magic{'w', 'a', 'v', 'e', 'j', 'i', 't', '\1'};
  Hash128 checksum{};  // of the rest of the file
  uint64_t identity_bytes = 0, contents_bytes = 0;
};
static_assert(sizeof(Header) == 40 && sizeof(Header) % 8 == 0);
constexpr size_t kChecked = offsetof(Header, identity_bytes);

class File {
 public:
  File(const fs::path& path, int flags) : fd_(open(path.c_str(), flags | O_CLOEXEC | O_NOCTTY, 0600)) {}
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() {
    if (fd_ >= 0) close(fd_);
  }
  [[nodiscard]] bool is_open() const { return fd_ >= 0; }
  [[nodiscard]] int fd() const { return fd_; }
  [[nodiscard]] bool read_all(std::span<uint8_t> to) const {
    while (!to.empty()) {
      const ssize_t n = ::read(fd_, to.data(), to.size());
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return false;
      to = to.subspan(static_cast<size_t>(n));
    }
    return true;
  }
  [[nodiscard]] bool write_all(std::span<const uint8_t> from) const {
    while (!from.empty()) {
      const ssize_t n = ::write(fd_, from.data(), from.size());
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return false;
      from = from.subspan(static_cast<size_t>(n));
    }
    return true;
  }

 private:
  const int fd_;
};

// Nobody else can have written what is there.
bool is_ours_alone(const struct stat& status) {
  return status.st_uid == geteuid() && (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

bool is_entry(std::string_view name) {
  if (name.size() < kNameDigits || name.find_first_not_of("0123456789abcdef") != kNameDigits) return false;
  const std::string_view suffix = name.substr(kNameDigits);
  return suffix == DiskCache::kSuffix || suffix == DiskCache::kProfileSuffix;
}

// Every entry, and everything unfinished.
template <typename Visit>
void for_each_file(const fs::path& directory, Visit&& visit) {
  std::error_code error;
  for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    const bool entry = is_entry(name);
    struct stat status{};
    if (!entry && !name.starts_with(kTemporary)) continue;
    if (lstat(it->path().c_str(), &status) != 0 || S_ISDIR(status.st_mode)) continue;  // gone, or not ours
    visit(it->path(), status, entry);
  }
}

// The environment as a program that runs for its own user sees it.
std::string environment(const char* name) {
  const char* text = secure_getenv(name);
  return text == nullptr ? std::string() : text;
}

// $XDG_CACHE_HOME/wavejit or ~/.cache/wavejit. Relative paths there are to be ignored (XDG base directory
// specification). Somebody else's home, as under sudo, is left alone.
fs::path default_directory() {
  const auto usable = [](fs::path base) {
    for (struct stat status{}; base.has_relative_path(); base = base.parent_path())
      if (stat(base.c_str(), &status) == 0) return status.st_uid == geteuid();
    return geteuid() == 0;
  };
  fs::path base = environment("XDG_CACHE_HOME");
  if (!base.is_absolute()) {
    base = environment("HOME");
    if (!base.is_absolute()) return {};
    base /= ".cache";
  }
  return usable(base) ? base / "wavejit" : fs::path();
}

// "64M"; nothing when it is no size.
std::optional<uint64_t> parse_bytes(const std::string& text) {
  char* end = nullptr;
  errno = 0;
  const uint64_t number = std::strtoull(text.c_str(), &end, 10);
  if (errno != 0 || end == text.c_str() || text[0] == '-') return std::nullopt;
  unsigned shift = 0;
  switch (*end) {
    case 'k':
    case 'K':
      shift = 10;
      break;
    case 'm':
    case 'M':
      shift = 20;
      break;
    case 'g':
    case 'G':
      shift = 30;
      break;
    case '\0':
      return number;
    default:
      return std::nullopt;
  }
  if (end[1] != '\0' || number > UINT64_MAX >> shift) return std::nullopt;
  return number << shift;
}

struct OfProcess {
  std::mutex mutex;
  DiskCache::Settings settings;
  std::shared_ptr<DiskCache> cache;
  OfProcess() { set(DiskCache::settings_of_environment()); }
  void set(const DiskCache::Settings& to) {
    settings = to;
    cache = to.enabled && !to.directory.empty() ? std::make_shared<DiskCache>(to.directory, to.max_bytes) : nullptr;
  }
};
OfProcess& of_process_state() {
  static auto* state = new OfProcess;  // translations may be asked for during static destruction
  return *state;
}

}  // namespace

DiskCache::Settings DiskCache::settings_of_environment() {
  Settings settings;
  const std::string wanted = environment("WAVEJIT_CACHE");
  settings.enabled = wanted != "0" && wanted != "off" && wanted != "no" && wanted != "false";
  settings.directory = environment("WAVEJIT_CACHE_DIR");
  std::error_code error;
  settings.directory = settings.directory.empty() ? default_directory() : fs::absolute(settings.directory, error);
  if (const auto bytes = parse_bytes(environment("WAVEJIT_CACHE_BYTES")); bytes && *bytes != 0)
    settings.max_bytes = *bytes;
  return settings;
}

std::shared_ptr<DiskCache> DiskCache::of_process() {
  OfProcess& state = of_process_state();
  const std::lock_guard lock(state.mutex);
  return state.cache;
}

void DiskCache::configure(const Settings& settings) {
  OfProcess& state = of_process_state();
  const std::lock_guard lock(state.mutex);
  state.set(settings);
}

DiskCache::Settings DiskCache::settings() {
  OfProcess& state = of_process_state();
  const std::lock_guard lock(state.mutex);
  return state.settings;
}

DiskCache::DiskCache(fs::path directory, uint64_t max_bytes)
    : directory_(std::move(directory)), max_bytes_(max_bytes) {}

fs::path DiskCache::file_of(std::span<const uint8_t> identity, Kind kind) const {
  const Hash128 hash = hash128(identity);
  return directory_ /
         fmt::format("{:016x}{:016x}{}", hash[0], hash[1], kind == Kind::profile ? kProfileSuffix : kSuffix);
}

void DiskCache::failed(std::string what) {
  ++failures_;
  const std::lock_guard lock(mutex_);
  problem_ = std::move(what);
}
void DiskCache::rejected(std::string what) {
  ++rejected_;
  const std::lock_guard lock(mutex_);
  problem_ = std::move(what);
}
std::string DiskCache::problem() const {
  const std::lock_guard lock(mutex_);
  return problem_;
}

DiskCache::Counters DiskCache::counters() const {
  return {.loads = loads_,
          .misses = misses_,
          .rejected = rejected_,
          .stores = stores_,
          .failures = failures_,
          .evictions = evictions_};
}

// False as long as it is not there. Looked at until it has been found safe once: then nobody else can change that.
bool DiskCache::directory_is_safe() {
  if (known_safe_) return true;
  struct stat status{};
  if (stat(directory_.c_str(), &status) != 0) return false;
  if (!S_ISDIR(status.st_mode) || !is_ours_alone(status)) {
    rejected(fmt::format("{} is not used: it is no directory, does not belong to the user or others can write to it.",
                         directory_.string()));
    return false;
  }
  return known_safe_ = true;
}

std::optional<DiskCache::Loaded> DiskCache::load(std::span<const uint8_t> identity, Kind kind) {
  const bool counts = kind == Kind::translation;
  misses_ += counts;  // until it turns out to be none
  if (!directory_is_safe()) return std::nullopt;
  const fs::path path = file_of(identity, kind);
  // Opening a pipe must not wait for whoever writes to it.
  const File file(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  if (!file.is_open()) {
    if (errno != ENOENT) rejected(fmt::format("Opening {}: {}.", path.string(), std::strerror(errno)));
    return std::nullopt;
  }
  const auto bad = [&](const char* why) {
    rejected(fmt::format("{} is not used: {}.", path.string(), why));
    return std::nullopt;
  };
  struct stat status{};
  if (fstat(file.fd(), &status) != 0 || !S_ISREG(status.st_mode)) return bad("it is no file");
  if (!is_ours_alone(status)) return bad("it does not belong to the user, or others can write to it");
  const auto size = static_cast<uint64_t>(status.st_size);
  Header header;
  if (size < sizeof header || size > kMaxEntryBytes) return bad("its size is not that of an entry");
  Loaded loaded{.file = std::make_unique_for_overwrite<uint8_t[]>(size), .contents = {}};
  const std::span<uint8_t> bytes(loaded.file.get(), size);
  if (!file.read_all(bytes)) return bad("it cannot be read");
  std::memcpy(&header, bytes.data(), sizeof header);
  if (header.magic != Header().magic) return bad("it is no entry of this version");
  if (hash128(bytes.subspan(kChecked)) != header.checksum) return bad("it is damaged");
  const uint64_t rest = size - sizeof header;
  if (header.identity_bytes > rest || round_up(header.identity_bytes, 8) > rest ||
      header.contents_bytes != rest - round_up(header.identity_bytes, 8))
    return bad("it is damaged");
  const std::span<const uint8_t> own = bytes.subspan(sizeof header, header.identity_bytes);
  if (!std::equal(identity.begin(), identity.end(), own.begin(), own.end())) return bad("it is for something else");
  loaded.contents = bytes.last(header.contents_bytes);
  if (const time_t now = time(nullptr); now - status.st_mtim.tv_sec > kUseGranularity) futimens(file.fd(), nullptr);
  misses_ -= counts;
  loads_ += counts;
  return loaded;
}

bool DiskCache::make_directory() {
  if (directory_is_safe()) return true;
  std::string path;
  for (const fs::path& part : directory_) {
    path = (fs::path(path) / part).string();
    if (mkdir(path.c_str(), 0700) == 0 || errno == EEXIST) continue;
    struct stat status{};
    const int error = errno;  // file systems that are read-only say so even of what is there
    if (stat(path.c_str(), &status) == 0) continue;
    failed(fmt::format("Making {}: {}.", path, std::strerror(error)));
    return false;
  }
  if (directory_is_safe()) return true;
  ++failures_;
  return false;
}

bool DiskCache::store(std::span<const uint8_t> identity, std::span<const uint8_t> contents, Kind kind) {
  // The directory may have been removed since.
  for (const bool again : {false, true}) {
    if (!make_directory()) return false;
    const int error = write_entry(identity, contents, kind);
    if (error == 0) return true;
    if (again || error != ENOENT) break;
    known_safe_ = false;
  }
  return false;
}

// Returns an error number, 0 for success.
int DiskCache::write_entry(std::span<const uint8_t> identity, std::span<const uint8_t> contents, Kind kind) {
  Header header;
  header.identity_bytes = identity.size();
  header.contents_bytes = contents.size();
  const size_t begin = sizeof header + round_up(identity.size(), 8);
  const uint64_t limit = std::min(max_bytes_, kMaxEntryBytes);
  if (identity.size() > limit || contents.size() > limit || begin + contents.size() > limit) {
    failed(fmt::format("An entry of {} bytes is larger than the cache.", begin + contents.size()));
    return EFBIG;
  }
  std::vector<uint8_t> bytes(begin + contents.size());
  std::copy(identity.begin(), identity.end(), bytes.begin() + sizeof header);
  std::copy(contents.begin(), contents.end(), bytes.begin() + static_cast<ptrdiff_t>(begin));
  std::memcpy(bytes.data(), &header, sizeof header);
  header.checksum = hash128(std::span(bytes).subspan(kChecked));
  std::memcpy(bytes.data(), &header, sizeof header);

  // Process numbers are not enough where containers share a directory.
  uint64_t random = 0;
  if (getrandom(&random, sizeof random, GRND_NONBLOCK) != sizeof random)
    random = static_cast<uint64_t>(getpid()) << 32 ^ reinterpret_cast<uint64_t>(bytes.data());
  const fs::path temporary = directory_ / fmt::format("{}{}-{:016x}", kTemporary, getpid(), random);
  const fs::path path = file_of(identity, kind);
  int error = 0;
  {
    const File file(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW);
    if (!file.is_open()) {
      error = errno;
      failed(fmt::format("Making {}: {}.", temporary.string(), std::strerror(error)));
      return error;
    }
    if (!file.write_all(bytes)) error = errno;
  }
  if (error == 0 && rename(temporary.c_str(), path.c_str()) != 0) error = errno;
  if (error != 0) {
    unlink(temporary.c_str());
    failed(fmt::format("Writing {}: {}.", path.string(), std::strerror(error)));
    return error;
  }
  stores_ += kind == Kind::translation;
  account(bytes.size());
  return 0;
}

// Adds to what is used, and makes room if that is too much. What replaces an entry counts twice until then.
void DiskCache::account(uint64_t bytes) {
  const fs::path path = directory_ / kUsage;
  for (const int create : {0, O_CREAT}) {
    const File file(path, O_WRONLY | O_APPEND | O_NOFOLLOW | O_NONBLOCK | create);
    if (!file.is_open()) continue;
    const std::vector<uint8_t> blocks(round_up(bytes, kBlock) / kBlock);
    struct stat status{};
    // What is not known at all, is more than the limit.
    const bool known = create == 0 && file.write_all(blocks) && fstat(file.fd(), &status) == 0;
    if (known && static_cast<uint64_t>(status.st_size) <= max_bytes_ / kBlock) return;
    if (flock(file.fd(), LOCK_EX | LOCK_NB) != 0) return;  // another process is at it
    if (ftruncate(file.fd(), static_cast<off_t>(make_room() / kBlock)) != 0)
      failed(fmt::format("Writing {}: {}.", path.string(), std::strerror(errno)));
    return;
  }
  make_room();  // without a place to note the sum, it is found out each time
}

// Returns the bytes that are used afterwards. Other processes may remove files at the same time.
uint64_t DiskCache::make_room() {
  struct Entry {
    timespec used;
    uint64_t bytes;
    fs::path path;
  };
  std::vector<Entry> entries;
  uint64_t total = 0;
  const time_t now = time(nullptr);
  for_each_file(directory_, [&](const fs::path& path, const struct stat& status, bool entry) {
    if (!entry) {
      if (now - status.st_mtim.tv_sec > kTemporaryLifetime) unlink(path.c_str());
      return;
    }
    const uint64_t bytes = round_up(static_cast<uint64_t>(status.st_size), kBlock);
    total += bytes;
    entries.push_back({status.st_mtim, bytes, path});
  });
  if (total <= max_bytes_) return total;
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return std::pair(a.used.tv_sec, a.used.tv_nsec) < std::pair(b.used.tv_sec, b.used.tv_nsec);
  });
  // To some distance from the limit, so that not every store comes here.
  for (const Entry& entry : entries) {
    if (total <= max_bytes_ - max_bytes_ / 4) break;
    if (unlink(entry.path.c_str()) == 0) ++evictions_;
    total -= entry.bytes;
  }
  return total;
}

DiskCache::Usage DiskCache::usage() const {
  Usage usage;
  for_each_file(directory_, [&](const fs::path&, const struct stat& status, bool entry) {
    if (!entry) return;
    ++usage.entries;
    usage.bytes += round_up(static_cast<uint64_t>(status.st_size), kBlock);
  });
  return usage;
}

uint64_t DiskCache::clear() {
  uint64_t removed = 0;
  for_each_file(directory_, [&](const fs::path& path, const struct stat&, bool entry) {
    if (unlink(path.c_str()) == 0 && entry) ++removed;
  });
  unlink((directory_ / kUsage).c_str());
  return removed;
}

}  // namespace wavejit::runtime
