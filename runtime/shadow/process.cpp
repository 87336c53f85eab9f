// Shadow mode as the environment wants it.
#include <fcntl.h>
#include <fmt/format.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "runtime/memory/fault.h"
#include "runtime/shadow/shadow.h"

namespace wavejit::runtime::shadow {
namespace {

void say(std::string_view text) {
  std::fprintf(stderr, "wavejit: %.*s\n", static_cast<int>(text.size()), text.data());
}

// Null where nothing is wanted.
const Options* g_options = nullptr;
// Never destroyed: threads that dispatch may outlive static destruction. Processes that the program forks begin anew.
std::atomic<Shadow*> g_shadow{nullptr};

// A line to the file that WAVEJIT_SHADOW_REPORT names, which several processes may share.
void append_to_report(std::string line) {
  const char* name = std::getenv("WAVEJIT_SHADOW_REPORT");
  if (!name || !*name) return;
  line += '\n';
  const int file = open(name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  const bool written = file >= 0 && write(file, line.data(), line.size()) == static_cast<ssize_t>(line.size());
  if (file >= 0) close(file);
  if (!written) say(fmt::format("Cannot write to '{}'.", name));
}

std::string quoted(std::string_view text) {
  std::string json = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\')
      json += {'\\', c};
    else if (static_cast<unsigned char>(c) < ' ')
      json += fmt::format("\\u{:04x}", c);
    else
      json += c;
  }
  return json + '"';
}

void say_difference(std::string_view text) {
  say(text);
  append_to_report(fmt::format("{{\"difference\": {}}}", quoted(text)));
}

void report_counters(const Counters& counters) {
  append_to_report(fmt::format(
      "{{\"dispatches\": {}, \"compared\": {}, \"other_nans\": {}, \"different\": {}, \"order_dependent\": {}, "
      "\"skipped\": {}, \"left_out\": {}, \"waits\": {}, \"too_long\": {}, \"error\": {}, \"untranslated\": {}, "
      "\"failed\": {}, \"bytes\": {}}}",
      counters.dispatches, counters.compared(), counters.of(Verdict::other_nans), counters.of(Verdict::different),
      counters.of(Verdict::order_dependent), counters.skipped(), counters.of(Verdict::left_out),
      counters.of(Verdict::waits), counters.of(Verdict::too_long), counters.of(Verdict::error),
      counters.of(Verdict::untranslated), counters.of(Verdict::failed), counters.bytes));
}

// What has not been reported yet. A line holds what has been counted since the one before, so that little is lost if the
// process is killed.
class Reporter {
 public:
  void report(Shadow& shadow, bool at_end) {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    const Clock::time_point now = Clock::now();
    if (!lock || (!at_end && now < next_)) return;
    next_ = now + kInterval;
    if (getpid() != process_) {  // a child of fork() counts anew
      process_ = getpid();
      reported_ = {};
    }
    const Counters counters = shadow.counters();
    if (counters.dispatches != reported_.dispatches) report_counters(counters.since(reported_));
    reported_ = counters;
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::seconds kInterval{2};
  std::mutex mutex_;
  pid_t process_ = getpid();
  Clock::time_point next_ = Clock::now() + kInterval;
  Counters reported_;
};

Reporter& reporter() {
  static Reporter& instance = *new Reporter;
  return instance;
}

void at_exit() {
  Shadow* shadow = g_shadow.load();
  if (!shadow) return;
  shadow->finish();
  reporter().report(*shadow, true);
  const Counters counters = shadow->counters();
  if (counters.dispatches == 0) return;
  say(fmt::format("shadow: {}", summary(counters)));
}

void read_options() {
  const char* text = std::getenv("WAVEJIT_SHADOW");
  if (!text || !*text || std::string_view(text) == "0") return;
  const Expected<Options> options = parse(text);
  if (!options) return say(fmt::format("WAVEJIT_SHADOW: {}", options.error().message));
  if (!handles_signals()) return say("Shadow mode protects pages of copies: with WAVEJIT_SIGNALS=off it is off, too.");
  g_options = new Options(*options);
  // Nothing is to be allocated while a process forks (runtime/hsa/alias.cpp).
  pthread_atfork(nullptr, nullptr, [] { g_shadow.store(nullptr); });
  std::atexit(at_exit);
  Module::call_before_unloading([] {
    if (Shadow* shadow = g_shadow.load(std::memory_order_acquire)) shadow->finish();
  });
}

}  // namespace

Shadow* of_process() {
  static std::once_flag once;
  std::call_once(once, read_options);
  if (!g_options) return nullptr;
  Shadow* known = g_shadow.load(std::memory_order_acquire);
  if (known) return reporter().report(*known, false), known;
  auto created = std::make_unique<Shadow>(*g_options, say_difference);
  if (g_shadow.compare_exchange_strong(known, created.get(), std::memory_order_acq_rel)) known = created.release();
  return known;
}

}  // namespace wavejit::runtime::shadow
