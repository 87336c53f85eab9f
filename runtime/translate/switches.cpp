#include "runtime/translate/switches.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/pass.h"
#include "runtime/translate/names.h"

namespace wavejit::runtime {
namespace {

constexpr Switch kOwn[] = {
    {kDispatchShape, "kernels specialised on the work-group size and the hidden arguments that follow from it"},
    {kLdsSize, "kernels specialised on the size of the LDS"},
    {kFullExec, "code of its own for waves whose EXEC is all ones"},
    {kLastWaves, "code of its own for the last waves of work-groups that are no multiple of 64"},
    {kRunThrough, "one wave state for all waves of code that neither stops nor reads what is set up for each"},
    {kProfiles, "choices by what waves did in the interpreter before the translation"},
    {kScratchDescriptors, "buffer accesses through the private segment's descriptor as scratch accesses"},
};

std::vector<Switch> make_list() {
  std::vector<Switch> list;
  const auto add = [&](std::string_view name, std::string_view meaning) {
    const bool known = std::any_of(list.begin(), list.end(), [&](const Switch& s) { return s.name == name; });
    if (!known) list.push_back({name, meaning});
  };
  for (const ir::Pass& pass : ir::pipeline()) add(pass.name, pass.meaning);
  for (const backend::OptimisationInfo& info : backend::optimisations()) add(info.name, info.meaning);
  for (const Switch& own : kOwn) add(own.name, own.meaning);
  return list;
}

}  // namespace

std::span<const Switch> switches() {
  // Never destroyed: threads that translate may outlive static destruction.
  static const std::vector<Switch>& list = *new std::vector<Switch>(make_list());
  return list;
}

Expected<std::vector<std::string>> check_switches(std::vector<std::string> names) {
  if (names.empty()) return names;
  std::vector<std::string_view> known;
  for (const Switch& s : switches()) known.push_back(s.name);
  bool all = false;
  for (const std::string& name : names) {
    all |= name == "all";
    if (name != "all" && std::find(known.begin(), known.end(), name) == known.end())
      return make_error(ErrorCode::kInvalidArgument,
                        fmt::format("There is no optimisation '{}'.{}", name, did_you_mean(name, known)));
  }
  if (all) names.assign(known.begin(), known.end());
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

bool is_on(const std::vector<std::string>& disabled, std::string_view name) {
  return std::find(disabled.begin(), disabled.end(), name) == disabled.end();
}

backend::OptimisationSet backend_optimisations(const std::vector<std::string>& disabled) {
  backend::OptimisationSet set;
  if (disabled.empty()) return set;
  for (const backend::OptimisationInfo& info : backend::optimisations())
    if (!is_on(disabled, info.name)) set.remove(info.optimisation);
  return set;
}

}  // namespace wavejit::runtime
