#include "runtime/shadow/quick.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <utility>
#include <vector>

#include "runtime/memory/fault.h"
#include "runtime/memory/pages.h"
#include "runtime/shadow/engine_run.h"
#include "runtime/shadow/write_log.h"

namespace wavejit::runtime::shadow {
namespace {

Report* g_report = nullptr;  // for on_alarm()

[[noreturn]] void give_up(Report& report, Verdict verdict) {
  report.verdict.store(verdict, std::memory_order_release);
  _exit(0);
}

void on_alarm(int) {
  give_up(*g_report, Verdict::too_long);
}

// Ends the process in `seconds`; 0: not any more.
void set_alarm(double seconds) {
  const double whole = std::floor(seconds);
  itimerval timer{};
  timer.it_value.tv_sec = static_cast<time_t>(whole);
  timer.it_value.tv_usec = static_cast<suseconds_t>((seconds - whole) * 1e6);
  if (seconds > 0 && timer.it_value.tv_sec == 0 && timer.it_value.tv_usec == 0) timer.it_value.tv_usec = 1;
  setitimer(ITIMER_REAL, &timer, nullptr);
}

void let_alarm_in(Report& report) {
  g_report = &report;
  struct sigaction action{};
  action.sa_handler = on_alarm;
  sigaction(SIGALRM, &action, nullptr);
  sigset_t alarm;
  sigemptyset(&alarm);
  sigaddset(&alarm, SIGALRM);
  pthread_sigmask(SIG_UNBLOCK, &alarm, nullptr);
}

// Calls visit(address, bytes) for what of the interval is in the memory, in ascending order.
template <typename Visit>
void visit_bytes(const WatchedMemory& memory, const Interval& interval, const Visit& visit) {
  auto range = std::upper_bound(memory.bytes.begin(), memory.bytes.end(), interval.begin,
                                [](uint64_t address, const Interval& bytes) { return address < bytes.end; });
  for (; range != memory.bytes.end() && range->begin < interval.end; ++range) {
    const uint64_t begin = std::max(range->begin, interval.begin), end = std::min(range->end, interval.end);
    if (begin < end) visit(begin, end - begin);
  }
}

// What the first engine has left in the pieces.
class Kept {
 public:
  Kept() = default;
  ~Kept() {
    if (bytes_) munmap(bytes_, size_);
  }
  Kept(const Kept&) = delete;
  Kept& operator=(const Kept&) = delete;

  [[nodiscard]] bool take(const WriteLog& log) {
    size_ = log.pieces() * WriteLog::kPiece;
    if (size_ == 0) return true;
    void* memory = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) return false;
    bytes_ = static_cast<uint8_t*>(memory);
    for (size_t i = 0; i < log.pieces(); ++i) {
      const Interval& pages = log.piece(i).pages;
      copy_pages(bytes_ + i * WriteLog::kPiece, reinterpret_cast<const void*>(pages.begin), pages.end - pages.begin);
    }
    return true;
  }
  [[nodiscard]] size_t pieces() const { return size_ / WriteLog::kPiece; }
  [[nodiscard]] const uint8_t* piece(size_t index) const { return bytes_ + index * WriteLog::kPiece; }

 private:
  uint8_t* bytes_ = nullptr;
  size_t size_ = 0;
};

// Puts back what was there. Other things than the memory, the engines' own on the same pages, stay as they are.
void restore(const WriteLog& log, const WatchedMemory& memory) {
  for (size_t i = 0; i < log.pieces(); ++i) {
    const WriteLog::Piece piece = log.piece(i);
    visit_bytes(memory, piece.pages, [&](uint64_t address, uint64_t bytes) {
      std::memcpy(reinterpret_cast<void*>(address), piece.before + (address - piece.pages.begin), bytes);
    });
  }
}

// Whether the memory holds now what the first engine has left.
bool is_same(const WriteLog& log, const Kept& first, const WatchedMemory& memory) {
  bool same = true;
  for (size_t i = 0; i < log.pieces() && same; ++i) {
    const WriteLog::Piece piece = log.piece(i);
    const uint8_t* const expected = i < first.pieces() ? first.piece(i) : piece.before;
    visit_bytes(memory, piece.pages, [&](uint64_t address, uint64_t bytes) {
      same &= std::memcmp(reinterpret_cast<const void*>(address), expected + (address - piece.pages.begin), bytes) == 0;
    });
  }
  return same;
}

}  // namespace

std::optional<Verdict> compare_quickly(const LaunchRequest& interpreted, const LaunchRequest& translated,
                                       const WatchedMemory& memory, double limit_s, const AfterRun& after_run,
                                       Report& report) {
  using Clock = std::chrono::steady_clock;
  let_alarm_in(report);
  const GuestThread guest;
  const Expected<WriteLog*> log = WriteLog::start(memory.pages, WriteLog::Keeps::contents);
  if (!log) return Verdict::failed;
  const auto run = [&](const LaunchRequest& request, const char* engine) {
    report.running = engine;
    set_alarm(limit_s);
    LaunchStats stats;
    Expected<void> result = launch(alone(request, [&] { give_up(report, Verdict::waits); }), stats);
    if (after_run) after_run(request);
    set_alarm(0);
    report.running = nullptr;
    return result;
  };
  const Clock::time_point start = Clock::now();
  report.interpreter_ns = static_cast<uint64_t>(limit_s * 1e9);
  const Expected<void> expected = run(interpreted, "interpreter");
  report.interpreter_ns = static_cast<uint64_t>(std::chrono::nanoseconds(Clock::now() - start).count());
  Kept first;
  if ((*log)->overflowed()) give_up(report, Verdict::too_long);
  if (!first.take(**log)) return Verdict::failed;
  restore(**log, memory);
  const Expected<void> got = run(translated, "JIT");
  if ((*log)->overflowed()) give_up(report, Verdict::too_long);
  report.bytes = ((*log)->pieces() + first.pieces()) * WriteLog::kPiece;
  const bool same = expected.has_value() && got.has_value() && is_same(**log, first, memory);
  restore(**log, memory);
  return same ? std::optional(Verdict::equal) : std::nullopt;
}

}  // namespace wavejit::runtime::shadow
