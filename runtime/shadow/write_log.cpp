#include "runtime/shadow/write_log.h"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>

#include "runtime/memory/fault.h"
#include "runtime/memory/pages.h"

namespace wavejit::runtime::shadow {
namespace {

constexpr size_t kMaxLog = 1 << 20;
constexpr size_t kMaxPieces = 30'000;  // with their contents: each may split a mapping in three
// Without contents, what one fault lets through: at first 16 pages, so that few signals are taken, and more after many faults, so that the
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

Expected<WriteLog*> WriteLog::start(std::vector<Interval> pages, Keeps keeps) {
  if (!handles_signals())
    return make_error(ErrorCode::kUnsupported, "Writes cannot be watched: WAVEJIT_SIGNALS is off.");
  auto* log = new WriteLog(std::move(pages), keeps);
  const auto map = [](size_t bytes) -> void* {
    void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return memory == MAP_FAILED ? nullptr : memory;
  };
  log->log_ = static_cast<Interval*>(map(kMaxLog * sizeof(Interval)));
  if (keeps == Keeps::contents) log->before_ = static_cast<uint8_t*>(map(kMaxPieces * kPiece));
  if (!log->log_ || (keeps == Keeps::contents && !log->before_))
    return make_error(ErrorCode::kOutOfMemory, "There is no memory for the list of writes.");
  g_log.store(log, std::memory_order_release);
  set_write_watch(&WriteLog::on_write);
  for (const Interval& interval : log->pages_)
    if (!protect(interval, PROT_READ)) return make_error(ErrorCode::kOutOfMemory, "Memory cannot be protected.");
  return log;
}

bool WriteLog::on_write(uint64_t address) {
  WriteLog* log = g_log.load(std::memory_order_acquire);
  return log && log->let_through(address);
}

uint64_t WriteLog::bytes_let_through() const {
  if (keeps_ == Keeps::contents) return kPiece;
  return kFirstChunk << std::min<size_t>(count_ / kFaultsPerChunk, kMostDoublings);
}

bool WriteLog::let_through(uint64_t address) {
  const auto after = std::upper_bound(pages_.begin(), pages_.end(), address,
                                      [](uint64_t a, const Interval& interval) { return a < interval.begin; });
  if (after == pages_.begin()) return false;
  const Interval& interval = *std::prev(after);
  if (address >= interval.end) return false;
  const uint64_t bytes = bytes_let_through(), begin = address / bytes * bytes;
  const Interval part{std::max(begin, interval.begin), std::min(begin + bytes, interval.end)};
  if (keeps_ == Keeps::contents && count_ < kMaxPieces && !overflowed_) {
    copy_pages(before_ + count_ * kPiece, reinterpret_cast<const void*>(part.begin), part.end - part.begin);
    if (protect(part, PROT_READ | PROT_WRITE)) {
      log_[count_++] = part;
      return true;
    }
  }
  if (keeps_ == Keeps::contents) {
    overflowed_ = true;
    return protect(interval, PROT_READ | PROT_WRITE);
  }
  if (count_ == kMaxLog) return false;
  const bool whole = !protect(part, PROT_READ | PROT_WRITE);
  if (whole && !protect(interval, PROT_READ | PROT_WRITE)) return false;
  log_[count_++] = whole ? interval : part;
  return true;
}

std::vector<Interval> WriteLog::written() const {
  return merged(std::vector<Interval>(log_, log_ + count_));
}

}  // namespace wavejit::runtime::shadow
