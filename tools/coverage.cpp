// `wavejit coverage`: decodes, lifts and compiles every kernel of files and counts what is unsupported.
#include "tools/coverage.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "tools/runner.h"

namespace wavejit::tools {
namespace {

using Json = nlohmann::ordered_json;

struct CoverageState {
  std::vector<std::string> files, targets;
  std::string isa = "auto", log;
  uint64_t every = 1;
  bool json = false, strict = false, csv = false, markdown = false;
};

struct Total {
  uint64_t kernels = 0, compiled = 0, instructions = 0, illegal = 0, interp = 0, lift = 0, host = 0, ns = 0;
};
struct TotalField {
  const char* name;
  uint64_t Total::* field;
};
constexpr TotalField kTotalFields[] = {{"kernels", &Total::kernels},           {"compiled", &Total::compiled},
                                       {"instructions", &Total::instructions}, {"illegal", &Total::illegal},
                                       {"interp_unsupported", &Total::interp}, {"lift_unsupported", &Total::lift},
                                       {"host_instructions", &Total::host},    {"translate_ns", &Total::ns}};
Json total_json(const Total& total) {
  Json json;
  for (const TotalField& f : kTotalFields) json[f.name] = total.*f.field;
  return json;
}

struct Issue {
  uint64_t count = 0, kernels = 0;
  std::string example, kernel;
};

// Of one code object, or of all.
struct CoverageFindings {
  std::map<std::string, Total> by_target;
  std::map<std::pair<std::string, std::string>, Issue> issues;  // by stage and what is unsupported

  void add(const CoverageFindings& other) {
    for (const auto& [target, total] : other.by_target)
      for (const TotalField& f : kTotalFields) by_target[target].*f.field += total.*f.field;
    for (const auto& [key, issue] : other.issues) {
      Issue& sum = issues[key];
      if (sum.count == 0) sum = {.example = issue.example, .kernel = issue.kernel};
      sum.count += issue.count;
      sum.kernels += issue.kernels;
    }
  }
  [[nodiscard]] Total total() const {
    Total sum;
    for (const auto& [target, one] : by_target)
      for (const TotalField& f : kTotalFields) sum.*f.field += one.*f.field;
    return sum;
  }
  [[nodiscard]] Json issues_json() const {
    Json out = Json::array();
    for (const auto& [key, issue] : issues)
      out.push_back(Json{{"stage", key.first},
                         {"what", key.second},
                         {"count", issue.count},
                         {"kernels", issue.kernels},
                         {"example", issue.example},
                         {"kernel", issue.kernel}});
    return out;
  }
};

// One line of JSON for each code object that has been looked at; a run that was broken off goes on behind the last.
class Log {
 public:
  explicit Log(const std::string& path) : path_(path) {
    if (path.empty()) return;
    std::ifstream in(path);
    std::string line;
    for (unsigned number = 1; std::getline(in, line); ++number) {
      const Json json = Json::parse(line, nullptr, false);
      if (json.is_discarded() && in.eof()) break;  // the line that was being written when the run was broken off
      try {
        done_.insert(json.at("code_object"));
        CoverageFindings findings;
        Total& total = findings.by_target[json.at("target")];
        for (const TotalField& f : kTotalFields) total.*f.field = json.at("totals").at(f.name);
        for (const Json& i : json.at("issues"))
          findings.issues[{i.at("stage"), i.at("what")}] = {
              .count = i.at("count"), .kernels = i.at("kernels"), .example = i.at("example"), .kernel = i.at("kernel")};
        sum_.add(findings);
      } catch (const nlohmann::json::exception&) {
        throw InputError(fmt::format("Line {} of '{}' is not of a coverage log.", number, path));
      }
      kept_ += line + "\n";
    }
    in.close();
    write_file(path, kept_.data(), kept_.size());
    out_.open(path, std::ios::app);
    if (!out_) throw InputError(fmt::format("'{}' cannot be written.", path));
  }
  [[nodiscard]] bool has(const std::string& code_object) const { return done_.contains(code_object); }
  [[nodiscard]] const CoverageFindings& earlier() const { return sum_; }
  void add(const std::string& code_object, const CoverageFindings& findings) {
    if (path_.empty()) return;
    for (const auto& [target, total] : findings.by_target) {
      const Json line{{"code_object", code_object},
                      {"target", target},
                      {"totals", total_json(total)},
                      {"issues", findings.issues_json()}};
      out_ << to_text(line) << "\n" << std::flush;
    }
  }

 private:
  std::string path_, kept_;
  std::set<std::string> done_;
  CoverageFindings sum_;
  std::ofstream out_;
};

class Sweep {
 public:
  explicit Sweep(const CoverageState& state) : state_(state), isa_(parse_isa(state.isa)), log_(state.log) {
    all_ = log_.earlier();
    kernels_ = all_.total().kernels;
  }

  void run() {
    for (const std::string& file : state_.files) {
      const Container container = Container::open(file);
      for (size_t i = 0; i < container.size(); ++i) {
        const wavejit_entry_info entry = container.entry(i);
        if (!wanted(entry.target)) continue;
        const std::string name = fmt::format("{}#{}:{}", file, i, entry.target);
        if (log_.has(name)) continue;
        std::optional<Module> module;
        try {
          module.emplace(container.load(i));
        } catch (const Exception& e) {
          if (e.status() != WAVEJIT_TARGET_MISMATCH) throw;
          fmt::print(stderr, "wavejit: skipping {} of {}: {}\n", entry.target, file, e.what());
          continue;
        }
        const CoverageFindings findings = look_at(*module);
        all_.add(findings);
        log_.add(name, findings);
      }
    }
  }
  [[nodiscard]] const CoverageFindings& findings() const { return all_; }

 private:
  [[nodiscard]] bool wanted(const std::string& target) const {
    if (state_.targets.empty()) return true;
    for (const std::string& start : state_.targets)
      if (target.starts_with(start)) return true;
    return false;
  }

  CoverageFindings look_at(const Module& module) {
    CoverageFindings findings;
    Total& total = findings.by_target[module.target()];
    const size_t kernels = wavejit_module_kernel_count(module.handle());
    for (size_t k = 0; k < kernels; ++k) {
      if (seen_++ % state_.every != 0) continue;
      const Kernel kernel = module.kernel(k);
      const wavejit_coverage result = kernel.coverage(isa_);
      ++total.kernels;
      total.compiled += result.compiled;
      total.instructions += result.instructions;
      total.illegal += result.illegal;
      total.interp += result.interp_unsupported;
      total.lift += result.lift_unsupported;
      total.host += result.host_instructions;
      total.ns += result.translate_ns;
      for (uint32_t n = 0; n < result.issue_count; ++n) {
        const wavejit_coverage_issue& issue = result.issues[n];
        Issue& sum = findings.issues[{issue.stage, issue.what}];
        if (sum.count == 0) {
          sum.example = issue.detail;
          sum.kernel = wavejit_module_kernel_name(module.handle(), k);
        }
        sum.count += issue.count;
        ++sum.kernels;
      }
      if (++kernels_ % 500 == 0) show_progress();
    }
    return findings;
  }

  void show_progress() const {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start_;
    fmt::print(stderr, "wavejit: {} kernels, {} s, {} MiB resident at most\n", kernels_,
               static_cast<uint64_t>(time.count()), usage.ru_maxrss / 1024);
  }

  const CoverageState& state_;
  const wavejit_isa isa_;
  Log log_;
  CoverageFindings all_;
  uint64_t kernels_ = 0, seen_ = 0;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

int coverage(const CoverageState& state) {
  Sweep sweep(state);
  sweep.run();
  const CoverageFindings& all = sweep.findings();
  const Total total = all.total();
  if (total.kernels == 0) throw InputError("There are no kernels to look at.");
  if (state.json) {
    Json out = total_json(total);
    for (const auto& [target, t] : all.by_target) out["targets"][target] = total_json(t);
    out["issues"] = all.issues_json();
    fmt::print("{}\n", to_text(out, 2));
  } else {
    fmt::print("{:<24} {:>8} {:>9} {:>13} {:>8} {:>8} {:>8} {:>10} {:>10}\n", "target", "kernels", "compiled",
               "instructions", "illegal", "interp-", "lift-", "x86/GCN", "translate");
    std::map<std::string, Total> rows = all.by_target;
    rows["total"] = total;
    for (const auto& [target, t] : rows)
      fmt::print("{:<24} {:>8} {:>9} {:>13} {:>8} {:>8} {:>8} {:>10.1f} {:>10}\n", target, t.kernels, t.compiled,
                 t.instructions, t.illegal, t.interp, t.lift,
                 t.instructions ? static_cast<double>(t.host) / static_cast<double>(t.instructions) : 0.0,
                 format_ns(static_cast<double>(t.ns)));
    for (const auto& [key, issue] : all.issues)
      fmt::print("unsupported ({}): {} x{} in {} kernels, e.g. {} in {}\n", key.first, key.second, issue.count,
                 issue.kernels, issue.example, issue.kernel);
  }
  return all.issues.empty() || !state.strict ? kExitOk : kExitUnsupported;
}

int table(const CoverageState& state) {
  if (state.targets.size() > 1) throw InputError("Without files, give one --target or none.");
  const TableFormat format = state.json       ? TableFormat::json
                             : state.csv      ? TableFormat::csv
                             : state.markdown ? TableFormat::markdown
                                              : TableFormat::text;
  return print_coverage_table(state.targets.empty() ? "" : state.targets[0], format, state.strict);
}

}  // namespace

void add_coverage(CLI::App& app) {
  CLI::App* command = app.add_subcommand(
      "coverage",
      "Without files: every instruction, the processors that have it and how faithful each engine is.\n"
      "With files: decode, lift and compile every kernel, and count what is unsupported");
  auto state = std::make_shared<CoverageState>();
  CLI::Option* files = command->add_option("files", state->files, "Code objects, bundles or host binaries");
  command->add_option("--target", state->targets,
                      "Without files: a processor. With files: only code objects whose target id starts like this (or "
                      "like one of several)");
  command->add_option("--isa", state->isa, "Compile for avx2, avx512 or auto (default)")->needs(files);
  command
      ->add_option("--log", state->log,
                   "Keep what has been found in this file, a line for each code object; what is there already is not "
                   "done again")
      ->needs(files);
  command->add_option("--every", state->every, "Only each N-th kernel")->check(CLI::PositiveNumber)->needs(files);
  command->add_flag("--strict", state->strict, "Exit with 3 if anything is unsupported (but for graphics)");
  CLI::Option* json = command->add_flag("--json", state->json, "As JSON");
  CLI::Option* csv = command->add_flag("--csv", state->csv, "The table as comma-separated values")->excludes(files);
  command->add_flag("--markdown", state->markdown, "The table as Markdown")
      ->excludes(files)
      ->excludes(json)
      ->excludes(csv);
  csv->excludes(json);
  command->callback([state] {
    if (const int code = state->files.empty() ? table(*state) : coverage(*state); code != kExitOk)
      throw CLI::RuntimeError(code);
  });
}

}  // namespace wavejit::tools
