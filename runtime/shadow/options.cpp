#include "runtime/shadow/options.h"

#include <fmt/format.h>

#include <charconv>

namespace wavejit::runtime::shadow {
namespace {

// Each is a process with up to 480 MiB of pages.
constexpr uint64_t kMostJobs = 64;

template <typename T>
bool parse_number(std::string_view text, T& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

Expected<Options> parse(std::string_view text) {
  Options options;
  const auto bad = [](std::string message) { return make_error(ErrorCode::kInvalidArgument, std::move(message)); };
  if (text == "1") return options;
  while (!text.empty()) {
    constexpr std::string_view kKernel = "kernel:", kEvery = "every:", kLimit = "limit:", kJobs = "jobs:";
    if (text.starts_with(kKernel)) {
      for (const std::string_view behind : {",every:", ",limit:", ",jobs:", ",nans", ",abort"})
        if (text.find(behind) != std::string_view::npos)
          return bad(fmt::format(
              "'{}' stands behind kernel:, which takes all that follows as its expression; it has to be last.",
              behind.substr(1)));
      try {
        options.kernel.emplace(std::string(text.substr(kKernel.size())));
      } catch (const std::regex_error& e) {
        return bad(fmt::format("'{}' is not a regular expression: {}.", text.substr(kKernel.size()), e.what()));
      }
      return options;
    }
    const size_t comma = std::min(text.find(','), text.size());
    const std::string_view part = text.substr(0, comma);
    text.remove_prefix(std::min(comma + 1, text.size()));
    if (part.starts_with(kEvery)) {
      if (!parse_number(part.substr(kEvery.size()), options.every) || options.every == 0)
        return bad(fmt::format("'{}': not a number of dispatches.", part));
    } else if (part.starts_with(kLimit)) {
      if (!parse_number(part.substr(kLimit.size()), options.limit_s) || !(options.limit_s > 0) || options.limit_s > 1e6)
        return bad(fmt::format("'{}': not a number of seconds.", part));
    } else if (part.starts_with(kJobs)) {
      if (!parse_number(part.substr(kJobs.size()), options.jobs) || options.jobs == 0 || options.jobs > kMostJobs)
        return bad(fmt::format("'{}': not a number from 1 to {}.", part, kMostJobs));
    } else if (part == "nans") {
      options.strict_nans = true;
    } else if (part == "abort") {
      options.abort = true;
    } else {
      return bad(fmt::format("'{}' is none of every:N, limit:SECONDS, jobs:N, nans, abort and kernel:REGEX.", part));
    }
  }
  return options;
}

}  // namespace wavejit::runtime::shadow
