// Signals that processes share: each is alone on a page of a file in memory, mapped by every process that has it.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <mutex>
#include <new>
#include <unordered_map>
#include <vector>

#include "runtime/hsa/signal.h"
#include "runtime/hsa/signal_pages.h"

namespace wavejit::hsa {
namespace {

static_assert(sizeof(Signal) <= kSignalPage);

class SharedSignals {
 public:
  static SharedSignals& get() {
    static auto* const instance = new SharedSignals;
    return *instance;
  }

  // Maps a file's page; nullptr if that is not possible, and the file is closed.
  Signal* map(int file) {
    const std::lock_guard lock(mutex_);
    void* place = nullptr;
    if (!free_.empty()) {
      place = free_.back();
      free_.pop_back();
    }
    void* page = mmap(place, kSignalPage, PROT_READ | PROT_WRITE, MAP_SHARED | (place ? MAP_FIXED : 0), file, 0);
    if (page == MAP_FAILED) {
      if (place) free_.push_back(place);
      close(file);
      return nullptr;
    }
    auto* signal = static_cast<Signal*>(page);
    files_[signal] = file;
    add_signal_page(reinterpret_cast<uint64_t>(page));
    return signal;
  }

  // Other memory takes the page's place, so that who still looks for waiters finds none; it is no signal any more. As
  // with other signals, the address stays, for the next one.
  bool unmap(Signal* signal) {
    const std::lock_guard lock(mutex_);
    const auto it = files_.find(signal);
    if (it == files_.end()) return false;
    close(it->second);
    files_.erase(it);
    if (mmap(signal, kSignalPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED)
      free_.push_back(signal);
    return true;
  }

  int file_of(const Signal* signal) {
    const std::lock_guard lock(mutex_);
    const auto it = files_.find(signal);
    return it == files_.end() ? -1 : it->second;
  }

 private:
  std::mutex mutex_;
  std::unordered_map<const Signal*, int> files_;
  std::vector<void*> free_;
};

}  // namespace

Signal* create_shared_signal(int64_t initial) {
  const int file = memfd_create("wavejit-signal", MFD_CLOEXEC);
  if (file < 0) return nullptr;
  if (ftruncate(file, kSignalPage) != 0) {
    close(file);
    return nullptr;
  }
  Signal* page = SharedSignals::get().map(file);
  if (!page) return nullptr;
  auto* signal = new (page) Signal;
  signal->is_shared = true;
  signal->event_id = 0;
  signal->start(initial);
  return signal;
}

Signal* attach_shared_signal(int pid, int file) {
  const int own = open(fmt::format("/proc/{}/fd/{}", pid, file).c_str(), O_RDWR | O_CLOEXEC);
  if (own < 0) return nullptr;
  struct stat info{};
  if (fstat(own, &info) != 0 || info.st_size != kSignalPage) {
    close(own);
    return nullptr;
  }
  Signal* signal = SharedSignals::get().map(own);
  if (signal && (!signal->is_live() || !signal->is_shared)) {
    (void)SharedSignals::get().unmap(signal);
    return nullptr;
  }
  return signal;
}

bool detach_shared_signal(Signal* signal) {
  return SharedSignals::get().unmap(signal);
}
int file_of_shared(const Signal* signal) {
  return SharedSignals::get().file_of(signal);
}

}  // namespace wavejit::hsa
