#include "runtime/shadow/engine_run.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "runtime/memory/fault.h"

namespace wavejit::runtime::shadow {
namespace {

using Clock = std::chrono::steady_clock;

// Begins the file that the child leaves. Behind it: the message, the intervals, their contents.
struct Header {
  EngineRun::Outcome outcome = EngineRun::Outcome::failed;
  ErrorCode error = ErrorCode::kOk;
  uint64_t ns = 0;
  uint64_t message_bytes = 0;
  uint64_t intervals = 0;
};

bool write_all(int file, const void* data, size_t bytes) {
  const auto* at = static_cast<const uint8_t*>(data);
  while (bytes != 0) {
    const ssize_t written = write(file, at, bytes);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    at += written;
    bytes -= static_cast<size_t>(written);
  }
  return true;
}

void leave_result(int file, Header header, std::string_view message, std::span<const Interval> written) {
  header.message_bytes = message.size();
  header.intervals = written.size();
  bool complete = write_all(file, &header, sizeof header) && write_all(file, message.data(), message.size()) &&
                  write_all(file, written.data(), written.size_bytes());
  for (size_t i = 0; complete && i < written.size(); ++i)
    complete = write_all(file, reinterpret_cast<const void*>(written[i].begin), written[i].end - written[i].begin);
  _exit(complete ? 0 : 1);
}

[[noreturn]] void run_in_child(LaunchRequest request, const std::vector<Interval>& pages, const AfterRun& after_run,
                               int file) {
  const Clock::time_point start = Clock::now();
  const auto elapsed = [&] { return static_cast<uint64_t>(std::chrono::nanoseconds(Clock::now() - start).count()); };
  request = alone(std::move(request),
                  [&] { leave_result(file, {.outcome = EngineRun::Outcome::waits, .ns = elapsed()}, {}, {}); });
  const GuestThread guest;
  const Expected<WriteLog*> log = WriteLog::start(pages);
  if (!log) _exit(1);
  LaunchStats stats;
  const Expected<void> result = launch(request, stats);
  if (after_run) after_run(request);
  const std::vector<Interval> written = (*log)->written();
  const uint64_t ns = elapsed();
  if (result)
    leave_result(file, {.outcome = EngineRun::Outcome::ended, .ns = ns}, {}, written);
  else
    leave_result(file, {.outcome = EngineRun::Outcome::error, .error = result.error().code, .ns = ns},
                 result.error().message, written);
  _exit(1);
}

// Waits until nobody holds the other end of the pipe any more. False: the time is up, or the parent process has ended.
bool wait_for_end(int pipe_end, double limit_s, pid_t parent) {
  const Clock::time_point end = Clock::now() + std::chrono::nanoseconds(static_cast<int64_t>(limit_s * 1e9));
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now()).count() + 1;
    pollfd entry{.fd = pipe_end, .events = POLLIN, .revents = 0};
    const int ready = poll(&entry, 1, static_cast<int>(std::clamp<int64_t>(left, 0, 200)));
    if (ready > 0) return true;
    if (Clock::now() >= end || getppid() != parent) return false;
  }
}

}  // namespace

LaunchRequest alone(LaunchRequest request, std::function<void()> gives_up) {
  request.threads = 1;
  request.cancellation = nullptr;
  request.timeout_ns = 0;
  request.progress = nullptr;
  request.executed = nullptr;
  request.waiting = [start = Clock::now(), gives_up = std::move(gives_up)] {
    if (Clock::now() - start > kPatience) gives_up();
  };
  return request;
}

EngineRun::EngineRun(const LaunchRequest& request, const std::vector<Interval>& pages, double limit_s,
                     const AfterRun& after_run, pid_t parent) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return;
  const int file = memfd_create("wavejit-shadow", MFD_CLOEXEC);
  const pid_t self = getpid();
  const pid_t child = file >= 0 ? fork() : -1;
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    close(ends[0]);
    if (getppid() == self) run_in_child(request, pages, after_run, file);
    _exit(1);
  }
  close(ends[1]);
  if (child > 0) {
    const bool in_time = wait_for_end(ends[0], limit_s, parent);
    if (!in_time) kill(child, SIGKILL);
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    if (!in_time) {
      outcome_ = Outcome::too_long;
      ns_ = static_cast<uint64_t>(limit_s * 1e9);
    } else if (WIFSIGNALED(status)) {
      outcome_ = Outcome::died;
      message_ = fmt::format("it was ended by signal {}.", WTERMSIG(status));
    } else if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
      read(file);
    }
  }
  close(ends[0]);
  if (file >= 0) close(file);
}

EngineRun::~EngineRun() {
  if (mapping_) munmap(mapping_, mapped_);
}

void EngineRun::read(int file) {
  struct stat info{};
  if (fstat(file, &info) != 0 || static_cast<size_t>(info.st_size) < sizeof(Header)) return;
  mapped_ = static_cast<size_t>(info.st_size);
  void* mapping = mmap(nullptr, mapped_, PROT_READ, MAP_PRIVATE, file, 0);
  if (mapping == MAP_FAILED) return;
  mapping_ = mapping;
  const auto* at = static_cast<const uint8_t*>(mapping);
  Header header;
  std::memcpy(&header, at, sizeof header);
  at += sizeof header;
  message_.assign(reinterpret_cast<const char*>(at), header.message_bytes);
  at += header.message_bytes;
  written_.resize(header.intervals);
  if (header.intervals != 0) std::memcpy(written_.data(), at, header.intervals * sizeof(Interval));
  at += header.intervals * sizeof(Interval);
  for (const Interval& interval : written_) {
    contents_.push_back(at);
    at += interval.end - interval.begin;
  }
  outcome_ = header.outcome;
  error_ = header.error;
  ns_ = header.ns;
}

const uint8_t* EngineRun::page(uint64_t address) const {
  const auto after = std::upper_bound(written_.begin(), written_.end(), address,
                                      [](uint64_t a, const Interval& interval) { return a < interval.begin; });
  if (after != written_.begin() && address < std::prev(after)->end)
    return contents_[static_cast<size_t>(std::prev(after) - written_.begin())] + (address - std::prev(after)->begin);
  return reinterpret_cast<const uint8_t*>(address);
}

}  // namespace wavejit::runtime::shadow
