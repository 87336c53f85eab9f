#include "runtime/hsa/alias.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "runtime/fault.h"

namespace wavejit::hsa {
namespace {

constexpr uint64_t kPage = 4096;

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

// Whether all of it is private, anonymous memory that may be read and written.
bool is_own_memory(const Range& range) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> maps(std::fopen("/proc/self/maps", "re"), std::fclose);
  if (!maps) return false;
  uint64_t known = range.begin;
  char line[4352];
  while (known < range.end && std::fgets(line, sizeof line, maps.get())) {
    uint64_t begin = 0, end = 0, inode = 0;
    char access[5] = {};
    if (std::sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %*x %*x:%*x %" SCNu64, &begin, &end, access, &inode) != 4)
      return false;
    if (end <= known) continue;
    if (begin > known || inode != 0 || access[0] != 'r' || access[1] != 'w' || access[3] != 'p') return false;
    known = end;
  }
  return known >= range.end;
}

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
    const std::vector<Range> others = shared();
    const std::vector<Range> own = without(pages, others);
    if (!std::all_of(own.begin(), own.end(), is_own_memory) || !open_file(pages.end)) return nullptr;
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
    aliases_[reinterpret_cast<uint64_t>(alias)] = pages;
    return static_cast<uint8_t*>(alias) + (host - pages.begin);
  }

  void remove(uint64_t alias) {
    const std::lock_guard lock(mutex_);
    const auto it = aliases_.find(alias / kPage * kPage);
    if (it == aliases_.end()) return;
    const Range pages = it->second;
    munmap(reinterpret_cast<void*>(it->first), pages.end - pages.begin);
    aliases_.erase(it);
    for (const Range& range : without(pages, shared())) (void)move(range, false);
  }

 private:
  // What a thread may have of its stack next to the frame that asks.
  static constexpr uint64_t kStack = 256 << 10;

  Aliases() {
    pthread_atfork([] { get().mutex_.lock(); }, [] { get().mutex_.unlock(); }, [] { get().in_child(); });
  }

  std::vector<Range> shared() const {
    std::vector<Range> all;
    for (const auto& [alias, pages] : aliases_) all.push_back(pages);
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

  // The child's pages become its own: as in any other fork(), what it writes is not seen by the parent.
  void in_child() {
    for (const auto& [alias, pages] : aliases_) {
      const size_t bytes = pages.end - pages.begin;
      void* const place = reinterpret_cast<void*>(pages.begin);
      void* copy = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      if (copy == MAP_FAILED) continue;
      std::memcpy(copy, place, bytes);
      if (mremap(copy, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, place) == MAP_FAILED) munmap(copy, bytes);
    }
    aliases_.clear();
    mutex_.unlock();
  }

  std::mutex mutex_;
  std::map<uint64_t, Range> aliases_;  // by first page of the alias
  int file_ = -1;
  uint64_t size_ = 0;
};

}  // namespace

bool replace_pages(void* place, size_t bytes, void* memory) {
  // The heap may be among the pages: nothing is to be allocated here.
  const runtime::PageMove page_move;
  if (mprotect(place, bytes, PROT_READ) != 0) return false;
  std::memcpy(memory, place, bytes);
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
