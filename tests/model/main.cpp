// wavejit_model: every engine against the model.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>

#include "tests/model/directed.h"
#include "tests/model/runner.h"

namespace {

using namespace wavejit;

int report(std::string_view what, const model::RunSummary& s, std::chrono::steady_clock::time_point start) {
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  fmt::print("{}: {} opcodes, {} forms, {} values of the model, {} comparisons, {} failures, {:.0f} s\n", what,
             s.opcodes, s.forms, s.lanes, s.comparisons, s.failures, seconds.count());
  return s.failures != 0 ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Compares the engines with an independent model of arithmetic instructions"};
  model::RunOptions options;
  std::vector<std::string> targets{"gfx906"};
  std::string part = "all";
  app.add_option("--targets", targets, "processors")->delimiter(',');
  app.add_option("--engines", options.engines, "engines, as failures name them")->delimiter(',');
  app.add_option("--lanes", options.lanes, "values for each opcode and class of modifiers")->take_last();
  app.add_flag("--each-mode", options.each_mode, "so many for each MODE of a class, not for all together");
  app.add_option("--seed", options.seed)->take_last();
  app.add_option("--only", options.only, "opcodes, a regular expression");
  app.add_option("--class", options.only_class, "classes of modifiers, a regular expression");
  app.add_option("--part", part, "vector, scalar, matrix (all of them: all), sweep, or exceptions")
      ->check(CLI::IsMember({"vector", "scalar", "matrix", "sweep", "exceptions", "all"}));
  app.add_option("--log2", options.log2_values, "sweep: 2^N inputs of one 32- or 64-bit source")->take_last();
  app.add_option("--log2-hard", options.log2_hard, "sweep: 2^N sets of two or more sources for each MODE")->take_last();
  app.add_flag("--all-modes", options.all_modes,
               "sweep, exceptions: 256 combinations of rounding and denormals, not 16");
  app.add_option("--modes", options.modes, "exceptions: combinations for each form, in turns");
  app.add_option("--shard", options.shard, "sweep, exceptions: which of --shards parts of the opcodes");
  app.add_option("--shards", options.shards)->check(CLI::PositiveNumber);
  app.add_option("--piece", options.piece, "sweep: which of --pieces parts of the inputs of one source, for long runs");
  app.add_option("--pieces", options.pieces)->check(CLI::PositiveNumber);
  app.add_flag("--distances", options.distances, "sweep: print how far approximations are from the true value");
  app.add_flag("--verbose", options.verbose);
  std::string directed;
  app.add_option("--directed", directed, "write files of tests/isa for the opcodes of --only to this folder instead");
  std::string exceptions;
  app.add_option("--directed-exceptions", exceptions, "the same for what they leave in TRAPSTS");
  bool complete = false;
  app.add_flag("--complete", complete, "list arithmetic instructions without a model instead");
  CLI11_PARSE(app, argc, argv);
  if (options.shard >= options.shards || options.piece >= options.pieces) {
    fmt::print(stderr, "--shard and --piece count from 0 to one less than --shards and --pieces\n");
    return 2;
  }
  if (complete) return model::check_completeness();
  if (!directed.empty()) {
    fmt::print("{} files\n", model::write_directed(directed, options.only));
    return 0;
  }
  if (!exceptions.empty()) {
    fmt::print("{} files\n", model::write_exceptions(exceptions, options.only));
    return 0;
  }
  for (const std::string& name : targets) {
    const auto target = isa::parse_target(name);
    if (!target) {
      fmt::print(stderr, "no such processor: {}\n", name);
      return 2;
    }
    options.targets.push_back(*target);
  }
  fmt::print("seed {}\n", options.seed);
  int failed = 0;
  unsigned opcodes = 0;
  const auto run = [&](std::string_view name, model::RunSummary (*function)(const model::RunOptions&)) {
    const auto start = std::chrono::steady_clock::now();
    if (part != "all" && part != name) return;
    const model::RunSummary summary = function(options);
    opcodes += summary.opcodes;
    failed |= report(name, summary, start);
  };
  run("vector", model::run_vector);
  run("scalar", model::run_scalar);
  run("matrix", model::run_matrix);
  if (part != "all") run("sweep", model::run_sweep);
  if (part != "all") run("exceptions", model::run_exceptions);
  if (opcodes == 0 && options.shards == 1) {
    fmt::print(stderr, "no opcode of these processors is meant by --only {}\n", options.only);
    return 2;
  }
  return failed;
}
