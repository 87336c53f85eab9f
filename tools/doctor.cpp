// `wavejit doctor`: what of this system helps or hinders, each problem with its remedy, and a self-test.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "tools/command.h"
#include "tools/doctor/finding.h"
#include "tools/doctor/measure.h"

namespace wavejit::tools {
namespace {

using doctor::Finding;
using doctor::Findings;
using doctor::Level;
using doctor::Measurements;
using Json = nlohmann::ordered_json;

struct DoctorOptions {
  std::string root = "/";
  bool json = false, quick = false, measure = false;
};

constexpr const char* name_of(Level level) {
  constexpr const char* kNames[] = {"ok", "note", "problem"};
  return kNames[static_cast<size_t>(level)];
}

Findings examine(const DoctorOptions& options) {
  const doctor::SystemView system(std::filesystem::absolute(options.root));
  Findings all;
  const auto add = [&](Findings more) { std::ranges::move(more, std::back_inserter(all)); };
  // First, as it forks this process, which must not have other threads yet.
  Findings results;
  if (!options.quick) results = doctor::check_by_running(system);
  add(doctor::check_cpu(system));
  add(doctor::check_limits(system));
  add(doctor::check_container(system));
  add(doctor::check_cache());
  add(doctor::check_devices(system));
  add(doctor::check_rocm(system));
  add(std::move(results));
  return all;
}

void print_findings_as_json(const Findings& findings, size_t problems, const Measurements* measured) {
  Json out;
  out["version"] = wavejit_version_string();
  out["healthy"] = problems == 0;
  out["problems"] = problems;
  out["findings"] = Json::array();
  for (const Finding& f : findings) {
    Json one = {{"check", f.check}, {"level", name_of(f.level)}, {"text", f.text}};
    if (!f.remedy.empty()) one["remedy"] = f.remedy;
    out["findings"].push_back(std::move(one));
  }
  if (measured != nullptr) out["measurements"] = doctor::as_json(*measured);
  fmt::print("{}\n", out.dump(2, ' ', false, Json::error_handler_t::replace));
}

void print_findings(const Findings& findings, size_t problems, const Measurements* measured) {
  std::string_view area;
  for (const Finding& f : findings) {
    if (const auto own = std::string_view(f.check).substr(0, f.check.find('.')); own != area) {
      area = own;
      fmt::print("{}\n", area);
    }
    fmt::print("  {:7}  {}\n", name_of(f.level), f.text);
    if (!f.remedy.empty()) fmt::print("           -> {}\n", f.remedy);
  }
  if (measured != nullptr) fmt::print("{}", doctor::as_text(*measured));
  fmt::print("\n{}\n", problems == 0   ? "No problems."
                       : problems == 1 ? "1 problem."
                                       : fmt::format("{} problems.", problems));
}

void run(const DoctorOptions& options) {
  std::error_code error;
  if (!std::filesystem::is_directory(options.root, error))
    throw InputError(fmt::format("'{}' is no folder.", options.root));
  if (options.measure && !doctor::SystemView(std::filesystem::absolute(options.root)).is_own())
    throw InputError("--measure is of this CPU, --root of another system.");
  Findings findings = examine(options);
  std::optional<Measurements> measured;
  if (options.measure) measured = doctor::measure(findings);
  const auto problems = static_cast<size_t>(std::ranges::count(findings, Level::problem, &Finding::level));
  (options.json ? print_findings_as_json : print_findings)(findings, problems, measured ? &*measured : nullptr);
  if (problems != 0) {
    fmt::print(stderr, "wavejit: doctor found {}.\n",
               problems == 1 ? "a problem" : fmt::format("{} problems", problems));
    throw CLI::RuntimeError(1);
  }
}

}  // namespace

void add_doctor(CLI::App& app) {
  auto options = std::make_shared<DoctorOptions>();
  CLI::App* command =
      app.add_subcommand("doctor", "Examine this system and run a self-test; exits with 1 if there are problems");
  command->add_option("--root", options->root, "Folder of the system to look at instead of /, such as a container's");
  command->add_flag("--quick", options->quick, "Without the self-test");
  command->add_flag("--measure", options->measure,
                    "Also measure what memory accesses of single lanes take on this CPU");
  command->add_flag("--json", options->json, "As JSON");
  command->callback([options] { run(*options); });
}

}  // namespace wavejit::tools
