// A launch as described by the command line or a launch file, and carrying it out repeatedly.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tools/arguments.h"
#include "tools/command.h"

namespace wavejit::tools {

struct Output {
  uint32_t arg = 0;
  std::string file;
};

struct Plan {
  FileOptions file;
  std::vector<uint32_t> global, local;  // up to three; an empty `local` leaves the choice to the library
  uint32_t dynamic_lds = 0;
  std::vector<Argument> args;
  std::vector<Output> outputs;
  uint32_t repeat = 1, warmup = 0;
  std::string engine = "auto", isa = "auto";
  uint32_t threads = 0;
  uint64_t schedule = 0;
  double timeout_s = 0;
  std::string disabled_passes;
};

// Reads a launch file; throws InputError. Paths in it are relative to its directory.
[[nodiscard]] Plan read_launch_file(const std::string& path);

// "X", "X,Y" or "X,Y,Z"; throws InputError naming the option.
[[nodiscard]] std::vector<uint32_t> parse_size(const std::string& text, const char* option);

// Names of engines and tiers; throw InputError for others.
[[nodiscard]] wavejit_engine parse_engine(const std::string& name);
[[nodiscard]] wavejit_isa parse_isa(const std::string& name);

struct Timing {
  std::vector<uint64_t> wall_ns;  // of the measured launches, sorted
  uint64_t translate_ns = 0;      // over all launches, warm-up included
  uint64_t host_instructions = 0;
  uint64_t cache_ns = 0;
  uint32_t translations = 0, cached_translations = 0;
  std::optional<uint64_t> instructions;  // executed by waves in one launch, if counted
  LaunchStats last;
  [[nodiscard]] double median() const;
};

class Runner {
 public:
  explicit Runner(const Plan& plan);

  // Warm-up and measured launches; before each, buffers get their initial contents.
  [[nodiscard]] Timing run(wavejit_engine engine, wavejit_isa isa);
  // Fills in `timing.instructions`, for which the JIT makes one more launch: buffers change.
  void count(Timing& timing);

  // What another launch, on the same engine, executes: buffers change.
  [[nodiscard]] Report report(const Timing& timing);

  // What each instruction does in another launch, in the interpreter, until it ends or fails: buffers change.
  struct ProfiledLaunch {
    Profile profile;
    std::exception_ptr failure;  // an Exception, or null
  };
  [[nodiscard]] ProfiledLaunch profile();

  // Contents of the buffer of argument `index` after the last launch; throws InputError when it is none.
  [[nodiscard]] const uint8_t* buffer(uint32_t index) const;
  // Copies of all buffers, to compare engines.
  [[nodiscard]] std::vector<std::vector<uint8_t>> contents() const;
  void save_outputs() const;
  [[nodiscard]] const Module& module() const { return module_; }
  [[nodiscard]] const Kernel& kernel() const { return kernel_; }

 private:
  void bind_args();
  void restore();
  [[nodiscard]] LaunchStats launch(LaunchOptions options);
  [[nodiscard]] LaunchOptions options(wavejit_engine engine, wavejit_isa isa) const;

  const Plan& plan_;
  Module module_;
  Kernel kernel_;
  std::vector<std::unique_ptr<Buffer<uint8_t>>> buffers_;  // per argument, null for those that have none
};

// Options shared by `run` and `bench`. parse() finishes what CLI11 stored into `plan`.
class PlanOptions {
 public:
  void add(CLI::App& command);
  [[nodiscard]] Plan parse() const;

 private:
  Plan given_;
  std::string launch_, global_, local_;
  std::vector<std::string> args_;
  CLI::App* command_ = nullptr;
};

}  // namespace wavejit::tools
