#include "runtime/shadow/write_log.h"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>

#include "runtime/memory/fault.h"

namespace wavejit::runtime::shadow {
namespace {

constexpr size_t kMaxLog = 1 << 20;
// What one fault lets through: at first 16 pages, so that few signals are taken, and more after many faults, so that the
// mappings that it splits stay few (Linux allows 65,530 of them).
constexpr uint64_t kFirstChunk = 64 << 10;
constexpr size_t kFaultsPerChunk = 2048;
constexpr unsigned kMostDoublings = 12;

std::atomic<WriteLog*> g_log{nullptr};

bool protect(const Interval& pages, int protection) {
  return mprotect(reinterpret_cast<void*>(pages.begin), pages.end - pages.begin, protection) == 0;
}

}  // namespace

std::vector<Interval> merged(std::vector<Interval> intervals) {
  std::sort(intervals.begin(), intervals.end(), [](const Interval& a, const Interval& b) { return a.begin < b.begin; });
  std::vector<Interval> all;
  for (const Interval& interval : intervals) {
    if (interval.begin >= interval.end) continue;
    if (!all.empty() && interval.begin <= all.back().end)
      all.back().end = std::max(all.back().end, interval.end);
    else
      all.push_back(interval);
  }
  return all;
}

Expected<WriteLog*> WriteLog::start(std::vector<Interval> pages) {
  auto* log = new WriteLog(std::move(pages));  // the process ends soon
  void* memory = mmap(nullptr, kMaxLog * sizeof(Interval), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return make_error(ErrorCode::kOutOfMemory, "There is no memory for the list of writes.");
  log->log_ = static_cast<Interval*>(memory);
  g_log.store(log, std::memory_order_release);
  set_write_watch(&WriteLog::on_write);
  for (const Interval& interval : log->pages_)
    if (!protect(interval, PROT_READ)) {
      (void)log->stop();
      return make_error(ErrorCode::kOutOfMemory, "Memory cannot be protected.");
    }
  return log;
}

bool WriteLog::on_write(uint64_t address) {
  WriteLog* log = g_log.load(std::memory_order_acquire);
  return log && log->let_through(address);
}

bool WriteLog::let_through(uint64_t address) {
  const auto after = std::upper_bound(pages_.begin(), pages_.end(), address,
                                      [](uint64_t a, const Interval& interval) { return a < interval.begin; });
  if (after == pages_.begin()) return false;
  const Interval& interval = *std::prev(after);
  if (address >= interval.end || count_ == kMaxLog) return false;
  const uint64_t chunk = kFirstChunk << std::min<size_t>(count_ / kFaultsPerChunk, kMostDoublings);
  const uint64_t begin = address / chunk * chunk;
  Interval part{std::max(begin, interval.begin), std::min(begin + chunk, interval.end)};
  if (!protect(part, PROT_READ | PROT_WRITE)) {
    part = interval;
    if (!protect(part, PROT_READ | PROT_WRITE)) return false;
  }
  log_[count_++] = part;
  return true;
}

std::vector<Interval> WriteLog::stop() {
  for (const Interval& interval : pages_) (void)protect(interval, PROT_READ | PROT_WRITE);
  g_log.store(nullptr, std::memory_order_release);
  return merged(std::vector<Interval>(log_, log_ + count_));
}

}  // namespace wavejit::runtime::shadow
