// Shadow mode as the environment wants it.
#include <fcntl.h>
#include <fmt/format.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

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

void append_report(const Counters& counters) {
  const char* name = std::getenv("WAVEJIT_SHADOW_REPORT");
  if (!name || !*name) return;
  const uint64_t skipped = counters.dispatches - counters.compared() - counters.of(Verdict::order_dependent);
  const std::string line = fmt::format(
      "{{\"dispatches\": {}, \"compared\": {}, \"other_nans\": {}, \"different\": {}, \"order_dependent\": {}, "
      "\"skipped\": {}, "
      "\"left_out\": {}, \"waits\": {}, \"too_long\": {}, \"error\": {}, \"untranslated\": {}, \"failed\": {}, "
      "\"bytes\": {}}}\n",
      counters.dispatches, counters.compared(), counters.of(Verdict::other_nans), counters.of(Verdict::different),
      counters.of(Verdict::order_dependent), skipped, counters.of(Verdict::left_out), counters.of(Verdict::waits),
      counters.of(Verdict::too_long), counters.of(Verdict::error), counters.of(Verdict::untranslated),
      counters.of(Verdict::failed), counters.bytes);
  const int file = open(name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  const bool written = file >= 0 && write(file, line.data(), line.size()) == static_cast<ssize_t>(line.size());
  if (file >= 0) close(file);
  if (!written) say(fmt::format("Cannot write to '{}'.", name));
}

void at_exit() {
  Shadow* shadow = g_shadow.load();
  if (!shadow) return;
  shadow->finish();
  const Counters counters = shadow->counters();
  if (counters.dispatches == 0) return;
  say(fmt::format("shadow: {}", summary(counters)));
  append_report(counters);
}

void read_options() {
  const char* text = std::getenv("WAVEJIT_SHADOW");
  if (!text || !*text || std::string_view(text) == "0") return;
  const Expected<Options> options = parse(text);
  if (!options) return say(fmt::format("WAVEJIT_SHADOW: {}", options.error().message));
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
  if (known) return known;
  auto created = std::make_unique<Shadow>(*g_options, say);
  if (g_shadow.compare_exchange_strong(known, created.get(), std::memory_order_acq_rel)) known = created.release();
  return known;
}

}  // namespace wavejit::runtime::shadow
