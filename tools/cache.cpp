// `wavejit cache`: translations on disk.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "tools/command.h"

namespace wavejit::tools {
namespace {

std::string format_bytes(uint64_t bytes) {
  constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB"};
  auto value = static_cast<double>(bytes);
  size_t unit = 0;
  for (; value >= 1024 && unit + 1 < std::size(kUnits); ++unit) value /= 1024;
  return unit == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.1f} {}", value, kUnits[unit]);
}

void show(bool json) {
  const wavejit_cache_info info = cache_info();
  if (json) {
    nlohmann::ordered_json out;
    out["enabled"] = info.enabled != 0;
    out["directory"] = info.directory;
    out["entries"] = info.entries;
    out["bytes"] = info.bytes;
    out["max_bytes"] = info.max_bytes;
    fmt::print("{}\n", out.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
    return;
  }
  fmt::print("directory  {}\n", *info.directory ? info.directory : "none: neither XDG_CACHE_HOME nor HOME is usable");
  fmt::print("enabled    {}\n", info.enabled ? "yes" : "no");
  fmt::print("entries    {}\n", info.entries);
  fmt::print("size       {} of {}\n", format_bytes(info.bytes), format_bytes(info.max_bytes));
}

}  // namespace

void switch_cache_off() {
  CacheOptions options;
  options.mode = WAVEJIT_CACHE_OFF;
  configure_cache(options);
}

void add_cache(CLI::App& app) {
  CLI::App* command = app.add_subcommand("cache", "Show or clear the translations that are kept on disk");
  struct State {
    bool json = false, clear = false;
    std::string directory;
  };
  auto state = std::make_shared<State>();
  command->add_option("--dir", state->directory, "Of this directory (default: WAVEJIT_CACHE_DIR, or the user's)");
  command->add_flag("--clear", state->clear, "Remove all entries");
  command->add_flag("--json", state->json, "As JSON");
  command->callback([state] {
    if (!state->directory.empty()) {
      CacheOptions options;
      options.directory = state->directory.c_str();
      configure_cache(options);
    }
    if (state->clear) {
      const uint64_t removed = clear_cache();
      if (!state->json) fmt::print("{} entries removed\n", removed);
    }
    if (state->json || !state->clear) show(state->json);
  });
}

}  // namespace wavejit::tools
