#include "runtime/shadow/comparison.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "internal/pages.h"
#include "runtime/kernel/symbols.h"
#include "runtime/memory/memory_registry.h"
#include "runtime/shadow/culprit.h"
#include "runtime/shadow/engine_run.h"
#include "runtime/shadow/memory.h"
#include "runtime/shadow/quick.h"
#include "runtime/translate/switches.h"

namespace wavejit::runtime::shadow {
namespace {

using Outcome = EngineRun::Outcome;

// Runs of the interpreter with drawn orders that have to agree before a difference is one of the engines.
constexpr uint64_t kSeeds = 3;
// What the search for the culprit may take, among the optimisations and in the code, each in seconds or in limits of a
// run; and how many limits a run may take in which waves change between the engines.
constexpr double kSearchSeconds = 60, kSearchLimits = 12, kMixedLimits = 4;

struct Difference {
  uint64_t first = 0;  // address
  uint64_t bytes = 0;  // that differ
  uint64_t pages = 0;  // that have some
  uint64_t nans = 0;   // bytes of NaNs with other payloads or signs; not among the others
};

template <typename T>
T value_at(const uint8_t* place) {
  T value;
  std::memcpy(&value, place, sizeof value);
  return value;
}

// Quiet NaNs of f16 or bf16, f32 and f64.
bool is_nan(uint16_t v) {
  return (v & 0x7e00) == 0x7e00 || (v & 0x7fc0) == 0x7fc0;
}
bool is_nan(uint32_t v) {
  return (v & 0x7fc00000) == 0x7fc00000;
}
bool is_nan(uint64_t v) {
  return (v & 0x7ff8000000000000) == 0x7ff8000000000000;
}
// Whether the byte belongs to an aligned value that is a NaN on both sides.
template <typename T>
bool are_nans(const uint8_t* left, const uint8_t* right, uint64_t offset) {
  const uint64_t at = offset / sizeof(T) * sizeof(T);
  return is_nan(value_at<T>(left + at)) && is_nan(value_at<T>(right + at));
}
bool in_nans(const uint8_t* left, const uint8_t* right, uint64_t offset) {
  return are_nans<uint32_t>(left, right, offset) || are_nans<uint16_t>(left, right, offset) ||
         are_nans<uint64_t>(left, right, offset);
}

// What one run left as the other one did not. Nothing if they agree in all bytes that kernels and host share.
std::optional<Difference> difference(const EngineRun& a, const EngineRun& b, const WatchedMemory& memory) {
  std::vector<Interval> either(a.written().begin(), a.written().end());
  either.insert(either.end(), b.written().begin(), b.written().end());
  Difference found;
  auto range = memory.bytes.begin();
  for (const Interval& interval : merged(std::move(either)))
    for (uint64_t page = interval.begin; page != interval.end; page += kPage) {
      const uint8_t* const left = a.page(page);
      const uint8_t* const right = b.page(page);
      if (std::memcmp(left, right, kPage) == 0) continue;
      while (range != memory.bytes.end() && range->end <= page) ++range;
      const uint64_t before = found.bytes;
      for (auto it = range; it != memory.bytes.end() && it->begin < page + kPage; ++it)
        for (uint64_t at = std::max(page, it->begin); at != std::min(page + kPage, it->end); ++at) {
          if (left[at - page] == right[at - page]) continue;
          if (in_nans(left, right, at - page))
            ++found.nans;
          else if (found.bytes++ == 0)
            found.first = at;
        }
      found.pages += found.bytes != before;
    }
  if (found.bytes == 0 && found.nans == 0) return std::nullopt;
  return found;
}

class Comparison {
 public:
  Comparison(const LaunchRequest& request, const Options& options, const AfterRun& after_run, Report& report)
      : request_(request), options_(options), after_run_(after_run), report_(report) {}

  Verdict run() {
    memory_ = watched_memory();
    const bool own = make_own(memory_);
    report_.ready.store(true, std::memory_order_release);
    if (!own) return Verdict::failed;
    const std::optional<Verdict> quick =
        compare_quickly(interpreted(0), translated(request_.tier, request_.disabled_passes), memory_, options_.limit_s,
                        after_run_, report_);
    if (quick) return *quick;
    const EngineRun expected(interpreted(0), memory_.pages, options_.limit_s, after_run_, parent_);
    report_.interpreter_ns = expected.ns();
    if (const std::optional<Verdict> verdict = why_not(expected)) return *verdict;
    const EngineRun got(translated(request_.tier, request_.disabled_passes), memory_.pages, options_.limit_s,
                        after_run_, parent_);
    if (got.outcome() == Outcome::error && is_untranslated(got.error())) return Verdict::untranslated;
    if (got.outcome() != Outcome::died)
      if (const std::optional<Verdict> verdict = why_not(got)) return *verdict;
    report_.bytes = bytes_of(expected) + bytes_of(got);
    const bool same_end = is_same_end(expected, got);
    // Where an error ends a launch other waves may have come further in one engine than in the other.
    if (same_end && expected.outcome() == Outcome::error) return Verdict::error;
    const std::optional<Difference> differs = difference(expected, got, memory_);
    if (same_end && is_same(differs)) return differs ? Verdict::other_nans : Verdict::equal;
    if (depends_on_order(expected)) return Verdict::order_dependent;
    text_ =
        fmt::format("Kernel '{}' ({}, {}): interpreter and JIT ({}) do not agree.", demangled(request_.kernel->name),
                    request_.module->target_id(), shape(), name_of(request_.tier));
    if (same_end)
      describe(*differs, expected, got);
    else
      text_ += fmt::format("\n  Interpreter: {}\n  JIT: {}", how_it_ended(expected), how_it_ended(got));
    give_text();
    search_switches(expected);
    give_text();
    search_code(expected);
    give_text();
    return Verdict::different;
  }

 private:
  [[nodiscard]] LaunchRequest interpreted(uint64_t schedule) const {
    LaunchRequest request = request_;
    request.engine = Engine::interpreter;
    request.schedule = schedule;
    return request;
  }
  [[nodiscard]] LaunchRequest translated(backend::Tier tier, std::vector<std::string> disabled) const {
    LaunchRequest request = request_;
    request.engine = Engine::jit;
    request.tier = tier;
    request.disabled_passes = std::move(disabled);
    request.schedule = 0;
    return request;
  }

  // Of a run that says nothing about the engines.
  static std::optional<Verdict> why_not(const EngineRun& run) {
    switch (run.outcome()) {
      case Outcome::waits:
        return Verdict::waits;
      case Outcome::too_long:
        return Verdict::too_long;
      case Outcome::died:
      case Outcome::failed:
        return Verdict::failed;
      case Outcome::ended:
      case Outcome::error:
        break;
    }
    return std::nullopt;
  }
  static bool is_untranslated(ErrorCode code) {
    return code == ErrorCode::kInternal || code == ErrorCode::kOutOfMemory || code == ErrorCode::kUnsupported;
  }
  static bool is_same_end(const EngineRun& a, const EngineRun& b) {
    return a.outcome() == b.outcome() && a.error() == b.error();
  }
  static uint64_t bytes_of(const EngineRun& run) {
    uint64_t bytes = 0;
    for (const Interval& interval : run.written()) bytes += interval.end - interval.begin;
    return bytes;
  }
  static const char* name_of(backend::Tier tier) { return tier == backend::Tier::avx512 ? "avx512" : "avx2"; }

  // Whether a run ended as the interpreter's first one did, and wrote the same.
  bool agrees(const EngineRun& expected, const LaunchRequest& request) const {
    return agrees(expected, EngineRun(request, memory_.pages, options_.limit_s, after_run_, parent_));
  }
  [[nodiscard]] bool agrees(const EngineRun& expected, const EngineRun& run) const {
    return is_same_end(expected, run) &&
           (run.outcome() == Outcome::error || is_same(difference(expected, run, memory_)));
  }

  [[nodiscard]] bool is_same(const std::optional<Difference>& differs) const {
    return !differs || (differs->bytes == 0 && !options_.strict_nans);
  }

  // The usual order once more, too: kernels may read clocks.
  bool depends_on_order(const EngineRun& expected) const {
    for (uint64_t seed = 0; seed <= kSeeds; ++seed)
      if (!agrees(expected, interpreted(seed))) return true;
    return false;
  }

  [[nodiscard]] std::string shape() const {
    const auto& grid = request_.shape.grid;
    const auto& group = request_.shape.workgroup;
    return fmt::format("grid {}x{}x{}, work-groups of {}x{}x{}", grid[0], grid[1], grid[2], group[0], group[1],
                       group[2]);
  }

  static std::string how_it_ended(const EngineRun& run) {
    return run.outcome() == Outcome::ended ? std::string("ended without an error.") : run.message();
  }

  // The allocation or variable.
  [[nodiscard]] std::string place(uint64_t address) const {
    for (const codeobject::Variable& variable : request_.module->object().variables())
      if (address - variable.address < variable.size)
        return fmt::format("at byte {} of variable '{}' ({} bytes at {:#x})", address - variable.address,
                           demangled(variable.name), variable.size, variable.address);
    return describe_address(address);
  }

  void describe(const Difference& found, const EngineRun& expected, const EngineRun& got) {
    if (found.bytes == 0) {
      text_ += fmt::format("\n  {} bytes of NaNs differ.", found.nans);
      return;
    }
    const uint64_t page = found.first / kPage * kPage, offset = found.first % kPage, word = offset / 4 * 4;
    const uint8_t* const pages[] = {reinterpret_cast<const uint8_t*>(page), expected.page(page), got.page(page)};
    uint32_t words[3];
    for (unsigned i = 0; i < 3; ++i) words[i] = value_at<uint32_t>(pages[i] + word);
    text_ += fmt::format(
        "\n  The first byte that differs is {:#x}, {}: {:#04x} before, interpreter {:#04x}, JIT {:#04x}.\n"
        "  The 32 bits there: {:#010x} before, interpreter {:#010x} ({:g}), JIT {:#010x} ({:g}).\n"
        "  {} bytes differ, in {} pages.",
        found.first, place(found.first), pages[0][offset], pages[1][offset], pages[2][offset], words[0], words[1],
        std::bit_cast<float>(words[1]), words[2], std::bit_cast<float>(words[2]), found.bytes, found.pages);
  }

  using Clock = std::chrono::steady_clock;
  [[nodiscard]] Clock::time_point end_of_search() const {
    const auto seconds = std::min(kSearchSeconds, kSearchLimits * options_.limit_s);
    return Clock::now() + std::chrono::nanoseconds(static_cast<int64_t>(seconds * 1e9));
  }

  // Which instruction's translation makes the difference.
  void search_code(const EngineRun& expected) {
    const Clock::time_point end = end_of_search();
    const auto try_part = [&](const lift::CodeRange& part) {
      if (Clock::now() > end) return Agreement::unknown;
      LaunchRequest request = translated(request_.tier, request_.disabled_passes);
      request.translated_part = part;
      const EngineRun run(request, memory_.pages, kMixedLimits * options_.limit_s, after_run_, parent_);
      if ((run.outcome() == Outcome::error && is_untranslated(run.error())) ||
          (run.outcome() != Outcome::died && why_not(run)))
        return Agreement::unknown;
      return agrees(expected, run) ? Agreement::same : Agreement::different;
    };
    text_ += "\n  " + wavejit::runtime::shadow::describe(find_culprit(all_code(request_.module->object()), try_part),
                                                         *request_.module);
  }

  // Which optimisations the difference needs.
  void search_switches(const EngineRun& expected) {
    const Clock::time_point end = end_of_search();
    const auto is_right = [&](std::vector<std::string> disabled) {
      return agrees(expected, translated(request_.tier, std::move(disabled)));
    };
    if (request_.tier != backend::Tier::avx2)
      text_ +=
          fmt::format("\n  JIT (avx2): {}.", agrees(expected, translated(backend::Tier::avx2, request_.disabled_passes))
                                                 ? "agrees with the interpreter"
                                                 : "does not agree either");
    std::vector<std::string> all;
    for (const Switch& s : switches()) all.emplace_back(s.name);
    std::sort(all.begin(), all.end());
    if (!is_right(all)) {
      text_ += "\n  It is the same without all optimisations.";
      return;
    }
    std::vector<std::string> alone;
    for (const std::string& name : all) {
      if (Clock::now() > end) break;
      std::vector<std::string> disabled = request_.disabled_passes;
      if (std::find(disabled.begin(), disabled.end(), name) != disabled.end()) continue;
      disabled.push_back(name);
      std::sort(disabled.begin(), disabled.end());
      if (is_right(std::move(disabled))) alone.push_back(name);
    }
    if (!alone.empty()) {
      text_ += fmt::format("\n  They agree when one of these optimisations is off: {}.", fmt::join(alone, ", "));
      return;
    }
    // None alone: as few as possible that have to be off together.
    std::vector<std::string> together = all;
    for (const std::string& name : all) {
      if (Clock::now() > end) break;
      std::vector<std::string> fewer = together;
      std::erase(fewer, name);
      if (is_right(fewer)) together = std::move(fewer);
    }
    text_ += fmt::format("\n  They agree when all of these optimisations are off: {}.", fmt::join(together, ", "));
  }

  void give_text() {
    const size_t length = std::min(text_.size(), sizeof report_.text - 1);
    std::memcpy(report_.text, text_.data(), length);
    report_.text[length] = 0;
  }

  const LaunchRequest& request_;
  const Options& options_;
  const AfterRun& after_run_;
  Report& report_;
  const pid_t parent_ = getppid();
  WatchedMemory memory_;
  std::string text_;
};

}  // namespace

void compare(const LaunchRequest& request, const Options& options, const AfterRun& after_run, Report& report) {
  const rlimit no_core{};  // what ends a copy is reported
  setrlimit(RLIMIT_CORE, &no_core);
  const Verdict verdict = Comparison(request, options, after_run, report).run();
  report.verdict.store(verdict, std::memory_order_release);
}

}  // namespace wavejit::runtime::shadow
