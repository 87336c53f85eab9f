#include "runtime/hsa/alias.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "internal/pages.h"
#include "runtime/memory/fault.h"
#include "runtime/memory/pages.h"

namespace wavejit::hsa {
namespace {

struct Range {
  uint64_t begin = 0, end = 0;
};

// What is in `range` and in none of `others`, in ascending order.
std::vector<Range> without(Range range, std::vector<Range> others) {
  std::sort(others.begin(), others.end(), [](const Range& a, const Range& b) { return a.begin < b.begin; });
  std::vector<Range> left;
  for (const Range& other : others) {
    if (other.end <= range.begin || other.begin >= range.end) continue;
    if (other.begin > range.begin) left.push_back({range.begin, other.begin});
    range.begin = other.end;
    if (range.begin >= range.end) return left;
  }
  left.push_back(range);
  return left;
}

enum class Kind { own, shared, other };

// Whether all of it is private, anonymous memory that may be read and written, or of a shared mapping.
Kind kind_of(const Range& range) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> maps(std::fopen("/proc/self/maps", "re"), std::fclose);
  if (!maps) return Kind::other;
  uint64_t known = range.begin;
  Kind kind = Kind::other;
  char line[4352];
  while (known < range.end && std::fgets(line, sizeof line, maps.get())) {
    uint64_t begin = 0, end = 0, inode = 0;
    char access[5] = {};
    if (std::sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %*x %*x:%*x %" SCNu64, &begin, &end, access, &inode) != 4)
      return Kind::other;
    if (end <= known) continue;
    if (begin > known || access[0] != 'r' || access[1] != 'w') return Kind::other;
    const Kind part = access[3] == 's' ? Kind::shared : inode == 0 ? Kind::own : Kind::other;
    if (known != range.begin && part != kind) return Kind::other;
    kind = part;
    known = end;
  }
  return known >= range.end ? kind : Kind::other;
}

using runtime::copy_pages;

class Aliases {
 public:
  static Aliases& get() {
    static auto* const instance = new Aliases;
    return *instance;
  }

  void* add(uint64_t host, size_t bytes) {
    const Range pages{host / kPage * kPage, (host + bytes + kPage - 1) / kPage * kPage};
    const auto stack = reinterpret_cast<uint64_t>(__builtin_frame_address(0));
    if (pages.begin - kStack < stack && stack < pages.end + kStack) return nullptr;
    const std::lock_guard lock(mutex_);
    if (host + bytes + kPage - 1 < host) return nullptr;
    const std::vector<Range> own = without(pages, moved());
    const bool is_new = own.size() == 1 && own[0].begin == pages.begin && own[0].end == pages.end;
    if (is_new && kind_of(pages) == Kind::shared) return add_mapping(pages, host);
    if (!std::all_of(own.begin(), own.end(), [](const Range& r) { return kind_of(r) == Kind::own; }) ||
        !open_file(pages.end))
      return nullptr;
    for (size_t i = 0; i < own.size(); ++i) {
      if (move(own[i], true)) continue;
      while (i-- > 0) (void)move(own[i], false);
      return nullptr;
    }
    void* alias = mmap(nullptr, pages.end - pages.begin, PROT_READ | PROT_WRITE, MAP_SHARED, file_,
                       static_cast<off_t>(pages.begin));
    if (alias == MAP_FAILED) {
      for (const Range& range : own) (void)move(range, false);
      return nullptr;
    }
    aliases_[reinterpret_cast<uint64_t>(alias)] = {pages, true};
    return static_cast<uint8_t*>(alias) + (host - pages.begin);
  }

  void remove(uint64_t alias) {
    const std::lock_guard lock(mutex_);
    const auto it = aliases_.find(alias / kPage * kPage);
    if (it == aliases_.end()) return;
    const auto [pages, is_moved] = it->second;
    munmap(reinterpret_cast<void*>(it->first), pages.end - pages.begin);
    aliases_.erase(it);
    if (!is_moved) return;
    for (const Range& range : without(pages, moved())) (void)move(range, false);
  }

 private:
  // What a thread may have of its stack next to the frame that asks.
  static constexpr uint64_t kStack = 256 << 10;

  Aliases() {
    pthread_atfork([] { get().before_fork(); }, [] { get().in_parent(); }, [] { get().in_child(); });
  }

  // What has two addresses.
  struct Aliased {
    Range pages;
    bool is_moved;  // into the file
  };

  // The pages of what the program has mapped as shared need not move: mremap() maps them once more (a size of 0).
  void* add_mapping(const Range& pages, uint64_t host) {
    void* alias = mremap(reinterpret_cast<void*>(pages.begin), 0, pages.end - pages.begin, MREMAP_MAYMOVE);
    if (alias == MAP_FAILED) return nullptr;
    aliases_[reinterpret_cast<uint64_t>(alias)] = {pages, false};
    return static_cast<uint8_t*>(alias) + (host - pages.begin);
  }

  std::vector<Range> moved() const {
    std::vector<Range> all;
    for (const auto& [alias, aliased] : aliases_)
      if (aliased.is_moved) all.push_back(aliased.pages);
    return all;
  }

  // A page is in the file at the offset that is its address: a file of holes.
  bool open_file(uint64_t size) {
    if (file_ < 0) file_ = memfd_create("wavejit-locked", MFD_CLOEXEC);
    if (file_ < 0) return false;
    if (size <= size_) return true;
    if (ftruncate(file_, static_cast<off_t>(size)) != 0) return false;
    size_ = size;
    return true;
  }

  // Puts other memory with the same contents in the place of a range: of the file, or private again.
  bool move(const Range& range, bool to_file) {
    const size_t bytes = range.end - range.begin;
    void* const place = reinterpret_cast<void*>(range.begin);
    void* const memory =
        to_file ? mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file_, static_cast<off_t>(range.begin))
                : mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return false;
    const bool moved = replace_pages(place, bytes, memory);
    if (!moved) munmap(memory, bytes);
    if (moved && !to_file)
      (void)fallocate(file_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(range.begin),
                      static_cast<off_t>(bytes));
    return moved;
  }

  // Moved pages are of a file that parent and child share until the child has copies. The parent waits for these: the end of
  // the pipe that only the child holds is closed when they are made, or when the child ends or is never made.
  void before_fork() {
    mutex_.lock();
    copied_[0] = copied_[1] = -1;
    const auto is_moved = [](const auto& entry) { return entry.second.is_moved; };
    if (std::any_of(aliases_.begin(), aliases_.end(), is_moved) && pipe2(copied_, O_CLOEXEC) != 0)
      copied_[0] = copied_[1] = -1;
  }
  void in_parent() {
    close_end(1);
    char none = 0;
    while (copied_[0] >= 0 && read(copied_[0], &none, 1) < 0 && errno == EINTR) {
    }
    close_end(0);
    mutex_.unlock();
  }

  // The child's pages become its own: as in any other fork(), what it writes is not seen by the parent. The heap may be among
  // the pages, and until it is copied it is the parent's: nothing is to be allocated or freed before. Ranges may overlap; what is
  // copied twice is the child's own the second time.
  void in_child() {
    for (const auto& [alias, aliased] : aliases_) {
      if (!aliased.is_moved) continue;
      const size_t bytes = aliased.pages.end - aliased.pages.begin;
      void* const place = reinterpret_cast<void*>(aliased.pages.begin);
      void* copy = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      if (copy == MAP_FAILED) continue;
      copy_pages(copy, place, bytes);
      if (mremap(copy, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, place) == MAP_FAILED) munmap(copy, bytes);
    }
    close_end(0);
    close_end(1);
    aliases_.clear();
    mutex_.unlock();
  }
  void close_end(unsigned end) {
    if (copied_[end] >= 0) close(copied_[end]);
    copied_[end] = -1;
  }

  std::mutex mutex_;
  std::map<uint64_t, Aliased> aliases_;  // by first page of the alias
  int file_ = -1;
  int copied_[2] = {-1, -1};  // a pipe during a fork
  uint64_t size_ = 0;
};

}  // namespace

bool replace_pages(void* place, size_t bytes, void* memory) {
  if (!runtime::handles_signals()) return false;
  // The heap may be among the pages: nothing is to be allocated here.
  const runtime::PageMove page_move;
  if (mprotect(place, bytes, PROT_READ) != 0) return false;
  copy_pages(memory, place, bytes);
  if (mremap(memory, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, place) != MAP_FAILED) return true;
  mprotect(place, bytes, PROT_READ | PROT_WRITE);
  return false;
}

void* add_alias(void* host, size_t bytes) {
  return Aliases::get().add(reinterpret_cast<uint64_t>(host), bytes);
}
void remove_alias(void* alias) {
  Aliases::get().remove(reinterpret_cast<uint64_t>(alias));
}

}  // namespace wavejit::hsa
