#include "frontend/codeobject/object_bytes.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <cstring>
#include <fstream>
#include <new>
#include <optional>
#include <string>
#include <utility>

#include "internal/pages.h"

namespace wavejit::codeobject {
namespace {

// A line of /proc/self/maps: "begin-end perms offset device inode path".
struct Mapping {
  uint64_t begin = 0, end = 0, offset = 0;
  bool read_only = false, shared = false;
  std::string file;  // device and inode
  std::string path;
};

std::optional<Mapping> parse_mapping(const std::string& line) {
  Mapping m;
  const char* at = line.data();
  const char* const end = at + line.size();
  const auto hex = [&](uint64_t& value, char behind) {
    const auto [stop, status] = std::from_chars(at, end, value, 16);
    at = stop + 1;
    return status == std::errc{} && stop != end && *stop == behind;
  };
  if (!hex(m.begin, '-') || !hex(m.end, ' ') || end - at < 5) return std::nullopt;
  const std::string_view rights(at, 4);
  m.read_only = rights[0] == 'r' && rights[1] == '-';
  m.shared = rights[3] == 's';
  at += 5;
  if (!hex(m.offset, ' ')) return std::nullopt;
  const std::string_view rest(at, static_cast<size_t>(end - at));
  const size_t path = rest.find('/');
  if (path == std::string_view::npos) return std::nullopt;
  m.file = rest.substr(0, rest.find_last_not_of(' ', path - 1) + 1);
  m.path = rest.substr(path);
  return m;
}

// The mapping of a file that holds all of `bytes`.
std::optional<Mapping> find_mapping(std::span<const uint8_t> bytes) {
  const auto begin = reinterpret_cast<uint64_t>(bytes.data());
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    const auto m = parse_mapping(line);
    if (m && m->begin <= begin && begin - m->begin < m->end - m->begin)
      return bytes.size() <= m->end - begin ? m : std::nullopt;
  }
  return std::nullopt;
}

// Returns true if no page of a private mapping is the process's own, because somebody wrote to it before it became
// read-only (Linux, Documentation/admin-guide/mm/pagemap.rst).
bool is_unchanged(std::span<const uint8_t> bytes) {
  constexpr uint64_t kPresent = uint64_t{1} << 63, kSwapped = uint64_t{1} << 62, kOfFile = uint64_t{1} << 61;
  const int file = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  const auto begin = reinterpret_cast<uint64_t>(bytes.data());
  uint64_t page = begin / kPage;
  const uint64_t end = (begin + bytes.size() + kPage - 1) / kPage;
  bool unchanged = true;
  std::array<uint64_t, 2048> entries{};
  while (unchanged && page < end) {
    const uint64_t count = std::min<uint64_t>(entries.size(), end - page);
    const ssize_t got = pread(file, entries.data(), count * 8, static_cast<off_t>(page * 8));
    unchanged = got == static_cast<ssize_t>(count * 8);
    for (uint64_t i = 0; unchanged && i < count; ++i)
      unchanged = (entries[i] & kSwapped) == 0 && ((entries[i] & kPresent) == 0 || (entries[i] & kOfFile) != 0);
    page += count;
  }
  close(file);
  return unchanged;
}

int open_file(const std::string& path, uint64_t least_size) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return -1;
  struct stat info{};
  if (fstat(file, &info) == 0 && S_ISREG(info.st_mode) && static_cast<uint64_t>(info.st_size) >= least_size)
    return file;
  close(file);
  return -1;
}

// A file in memory that holds `bytes`, or -1.
int copy_to_file(std::span<const uint8_t> bytes) {
  const int file = memfd_create("wavejit-code-object", MFD_CLOEXEC);
  if (file < 0) return -1;
  while (!bytes.empty()) {
    const ssize_t written = write(file, bytes.data(), bytes.size());
    if (written <= 0) {
      close(file);
      return -1;
    }
    bytes = bytes.subspan(static_cast<size_t>(written));
  }
  return file;
}

}  // namespace

ObjectBytes::ObjectBytes(ObjectBytes&& other) noexcept {
  *this = std::move(other);
}

ObjectBytes& ObjectBytes::operator=(ObjectBytes&& other) noexcept {
  if (this != &other) {
    release();
    view_ = std::exchange(other.view_, {});
    file_ = std::exchange(other.file_, -1);
    offset_in_file_ = std::exchange(other.offset_in_file_, 0);
    mapping_ = std::exchange(other.mapping_, nullptr);
    mapped_ = std::exchange(other.mapped_, 0);
    copy_ = std::move(other.copy_);
  }
  return *this;
}

ObjectBytes::~ObjectBytes() {
  release();
}

void ObjectBytes::release() {
  close_file();
  if (mapping_) munmap(mapping_, mapped_);
  mapping_ = nullptr;
}

void ObjectBytes::close_file() {
  if (file_ >= 0) close(file_);
  file_ = -1;
}

bool ObjectBytes::map_view(uint64_t bytes) {
  const uint64_t first_page = page_floor(offset_in_file_), skipped = offset_in_file_ - first_page;
  void* mapping = mmap(nullptr, skipped + bytes, PROT_READ, MAP_PRIVATE, file_, static_cast<off_t>(first_page));
  if (mapping == MAP_FAILED) return false;
  mapping_ = mapping;
  mapped_ = skipped + bytes;
  view_ = std::span(static_cast<const uint8_t*>(mapping) + skipped, bytes);
  return true;
}

Expected<ObjectBytes> ObjectBytes::hold(std::span<const uint8_t> bytes) {
  ObjectBytes held;
  if (bytes.size() >= kLarge) {
    // Whether the path still means the file that the caller has mapped is seen from the new mapping: file systems in
    // layers have other numbers for mappings than for files.
    if (const auto theirs = find_mapping(bytes);
        theirs && theirs->read_only && (theirs->shared || is_unchanged(bytes))) {
      held.offset_in_file_ = theirs->offset + (reinterpret_cast<uint64_t>(bytes.data()) - theirs->begin);
      held.file_ = open_file(theirs->path, held.offset_in_file_ + bytes.size());
      if (held.file_ >= 0 && held.map_view(bytes.size()))
        if (const auto ours = find_mapping(held.view_.span()); ours && ours->file == theirs->file) return held;
      held = {};
    }
    held.file_ = copy_to_file(bytes);
    if (held.file_ >= 0 && held.map_view(bytes.size())) return held;
    held = {};
  }
  held.copy_.reset(new (std::nothrow) uint8_t[bytes.size()]);
  if (!held.copy_)
    return make_error(ErrorCode::kOutOfMemory, fmt::format("Cannot copy a code object of {} bytes.", bytes.size()));
  if (!bytes.empty()) std::memcpy(held.copy_.get(), bytes.data(), bytes.size());
  held.view_ = std::span<const uint8_t>(held.copy_.get(), bytes.size());
  return held;
}

bool ObjectBytes::can_map(uint64_t offset, uint64_t address) const {
  return file_ >= 0 && (offset_in_file_ + offset) % kPage == address % kPage;
}

bool ObjectBytes::map_at(void* page, uint64_t offset, uint64_t bytes) const {
  return mmap(page, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE, file_,
              static_cast<off_t>(offset_in_file_ + offset)) == page;
}

}  // namespace wavejit::codeobject
