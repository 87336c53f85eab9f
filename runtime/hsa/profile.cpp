#include "runtime/hsa/profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "runtime/api/profile_text.h"
#include "runtime/hsa/output_file.h"
#include "runtime/hsa/status.h"
#include "runtime/kernel/symbols.h"

namespace wavejit::hsa {
namespace {

struct Profiled {
  std::shared_ptr<runtime::Module> module;  // lives on, so that the kernel can be shown
  uint64_t dispatches = 0;
  interp::Profile profile;
};

struct AllProfiles {
  std::mutex mutex;
  std::map<const codeobject::Kernel*, Profiled> kernels;
  bool changed = false;
};

AllProfiles& all_profiles() {
  static auto* const instance = new AllProfiles;
  return *instance;
}

const std::string& profile_file() {
  static const std::string& name = *new std::string(output_file_name("WAVEJIT_PROFILE"));
  return name;
}

uint64_t instructions(const Profiled& kernel) {
  uint64_t sum = 0;
  for (const auto& [pc, at] : kernel.profile) sum += at.executed;
  return sum;
}

}  // namespace

bool profiles() {
  return !profile_file().empty();
}

void add_to_profile(const runtime::LaunchRequest& request, const interp::Profile& profile, bool failed) {
  {
    AllProfiles& all = all_profiles();
    const std::lock_guard lock(all.mutex);
    static const int at_exit = std::atexit(write_profile);
    (void)at_exit;
    Profiled& kernel = all.kernels[request.kernel];
    kernel.module = request.module;
    ++kernel.dispatches;
    interp::add(kernel.profile, profile);
    all.changed = true;
  }
  if (failed) write_profile();
}

void write_profile() {
  if (is_forked_quietly()) return;
  AllProfiles& all = all_profiles();
  const std::lock_guard lock(all.mutex);
  if (profiles() && all.kernels.empty()) say(fmt::format("No kernel ran: '{}' is not written.", profile_file()));
  if (!std::exchange(all.changed, false)) return;
  std::vector<std::pair<uint64_t, const codeobject::Kernel*>> order;  // those that execute most first
  order.reserve(all.kernels.size());
  for (const auto& [kernel, its] : all.kernels) order.emplace_back(instructions(its), kernel);
  std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  std::string text;
  for (const auto& [executed, kernel] : order) {
    const Profiled& its = all.kernels.at(kernel);
    text += fmt::format("{}: {} dispatch{}\n", runtime::demangled(kernel->name), its.dispatches,
                        its.dispatches == 1 ? "" : "es");
    const auto listing = runtime::profile_text(*its.module, *kernel, its.profile);
    text += (listing ? *listing : listing.error().message) + "\n";
  }
  write_output_file(profile_file(), text, "the profile");
}

}  // namespace wavejit::hsa
