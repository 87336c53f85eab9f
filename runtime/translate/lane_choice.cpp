#include "runtime/translate/lane_choice.h"

#include <cstdio>
#include <string>

#include "internal/environment.h"

namespace wavejit::runtime {

LaneChoice lane_choice() {
  static const LaneChoice choice = [] {
    constexpr const char* kName = "WAVEJIT_LANE_LOOPS";
    const std::string_view text = environment_text(kName);
    if (text == "always") return LaneChoice::always;
    if (text == "never") return LaneChoice::never;
    if (!text.empty() && text != "auto")
      std::fprintf(stderr, "wavejit: %s: '%s' is neither 'auto' nor 'always' nor 'never'.\n", kName,
                   std::string(text).c_str());
    return LaneChoice::timed;
  }();
  return choice;
}

}  // namespace wavejit::runtime
