// `wavejit exec`: runs a HIP or HSA program of the system with wavejit's HSA runtime in the place of ROCm's.
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "runtime/api/c_api_internal.h"
#include "runtime/hsa/board_file.h"
#include "runtime/hsa/devices.h"
#include "runtime/hsa/kfd/driver_tree.h"
#include "runtime/shadow/options.h"
#include "runtime/translate/switches.h"
#include "tools/command.h"
#include "tools/library_folder.h"

namespace wavejit::tools {
namespace {

namespace fs = std::filesystem;

struct ExecOptions {
  std::string target, board, engine, on_fault, report, profile, save_code, shadow, disabled_passes;
  bool shadows = false;
  unsigned threads = 0;
  double timeout = 0;
  uint64_t schedule = 0;
  std::vector<std::string> command;
};

// Empty if all of the list are processors that the library has devices of.
std::string check_targets(const std::string& list) {
  const auto boards = hsa::boards_of_list(list);
  return boards ? std::string() : boards.error();
}

std::string check_disabled(const std::string& list) {
  const auto names = runtime::check_switches(runtime::split(list.c_str()));
  return names ? std::string() : names.error().message;
}

std::string check_shadow(const std::string& text) {
  const auto options = runtime::shadow::parse(text);
  return options ? std::string() : options.error().message;
}

void prepend(const char* variable, const std::string& what, char separator) {
  const char* before = std::getenv(variable);
  setenv(variable, before && *before ? fmt::format("{}{}{}", what, separator, before).c_str() : what.c_str(), 1);
}

// Writes the driver's files for the devices that the program will have. Without a place for them programs run as well,
// but for tools that look for the driver.
void prepare_driver_tree() {
  const auto boards = hsa::configured_boards();
  if (!boards) throw InputError(boards.error());
  const std::vector<hsa::TreeEntry> tree = hsa::driver_tree(*boards, hsa::HostFacts::read());
  wavejit_cache_info cache{};
  cache.size = sizeof cache;
  std::vector<fs::path> places;
  if (wavejit_cache_get_info(&cache) == WAVEJIT_OK && cache.directory && *cache.directory)
    places.push_back(fs::path(cache.directory) / "driver");
  std::error_code error;
  places.push_back(fs::temp_directory_path(error) / fmt::format("wavejit-{}", geteuid()));
  std::string problem;
  for (const fs::path& place : places) {
    try {
      setenv(hsa::kTreeVariable, fs::absolute(hsa::write_tree(place, tree)).c_str(), 1);
      return;
    } catch (const fs::filesystem_error& e) {
      problem = e.what();
    }
  }
  unsetenv(hsa::kTreeVariable);
  fmt::print(stderr, "wavejit: There is no place for the driver's files: {}.\n", problem);
}

// The file as programs are to write it; throws InputError where they could not. %p stands for numbers to come.
std::string output_path(const std::string& name, const char* option) {
  const fs::path path = fs::absolute(name);
  const fs::path folder = path.parent_path();
  const auto refuse = [&](const std::string& why) {
    throw InputError(fmt::format("{} '{}' cannot be written: {}.", option, name, why));
  };
  if (fs::is_directory(path)) refuse("it is a directory");
  if (!fs::is_directory(folder)) refuse(fmt::format("there is no directory '{}'", folder.string()));
  const bool there = fs::exists(path);
  if (access(there ? path.c_str() : folder.c_str(), there ? W_OK : W_OK | X_OK) != 0) refuse(std::strerror(errno));
  return path.string();
}

void run(const ExecOptions& options) {
  const fs::path folder = library_folder();
  prepend("LD_LIBRARY_PATH", folder.string(), ':');
  prepend("LD_PRELOAD", (folder / "libwavejit-kfd.so").string(), ':');
  const auto set = [](const char* variable, const std::string& value) { setenv(variable, value.c_str(), 1); };
  if (!options.target.empty()) {
    set("WAVEJIT_TARGET", options.target);
    unsetenv("WAVEJIT_BOARD");
  }
  // Programs may change their folder.
  if (!options.board.empty()) {
    if (const auto boards = hsa::read_boards(options.board); !boards) throw InputError(boards.error().message);
    set("WAVEJIT_BOARD", fs::absolute(options.board).string());
    unsetenv("WAVEJIT_TARGET");
  }
  prepare_driver_tree();
  if (!options.engine.empty()) set("WAVEJIT_ENGINE", options.engine);
  // Programs may change their folder, and their children have reports of their own only by name.
  if (!options.report.empty()) set("WAVEJIT_REPORT", output_path(options.report, "--report"));
  if (!options.profile.empty()) set("WAVEJIT_PROFILE", output_path(options.profile, "--profile"));
  if (!options.save_code.empty()) set("WAVEJIT_SAVE_CODE", fs::absolute(options.save_code).string());
  if (options.threads != 0) set("WAVEJIT_THREADS", std::to_string(options.threads));
  if (options.schedule != 0) set("WAVEJIT_SCHEDULE", std::to_string(options.schedule));
  if (!options.disabled_passes.empty()) set("WAVEJIT_DISABLE_PASSES", options.disabled_passes);
  if (options.shadows) set("WAVEJIT_SHADOW", options.shadow.empty() ? "1" : options.shadow);
  if (!options.on_fault.empty()) set("WAVEJIT_ON_FAULT", options.on_fault);
  if (options.timeout != 0) set("WAVEJIT_TIMEOUT", fmt::format("{}", options.timeout));
  // From this many KiB on HIP copies the program's own memory instead of copying it to a buffer of its own first: what
  // that takes a GPU's driver some time for costs nothing here.
  setenv("GPU_PINNED_MIN_XFER_SIZE", "8", 0);
  std::vector<char*> arguments;
  arguments.reserve(options.command.size() + 1);
  for (const std::string& a : options.command) arguments.push_back(const_cast<char*>(a.c_str()));
  arguments.push_back(nullptr);
  execvp(arguments[0], arguments.data());
  throw InputError(fmt::format("Cannot run '{}': {}.", options.command[0], std::strerror(errno)));
}

}  // namespace

void add_exec(CLI::App& app) {
  auto options = std::make_shared<ExecOptions>();
  CLI::App* command = app.add_subcommand("exec", "Run a HIP or HSA program of this system on the CPU");
  CLI::Option* board =
      command->add_option("--board", options->board,
                          "JSON file with the devices' properties ('wavejit boards PROCESSOR --json' prints one)");
  command
      ->add_option("--target", options->target,
                   fmt::format("Processors of the devices it finds, comma-separated (default: {}): {}",
                               hsa::kDefaultProcessor, hsa::board_names()))
      ->check(check_targets)
      ->excludes(board);
  command->add_option("--engine", options->engine, "auto, interp, avx2 or avx512")
      ->check(CLI::IsMember({"auto", "interp", "jit", "avx2", "avx512"}));
  command->add_option("--threads", options->threads, "Host threads of a kernel (default: all CPUs)")
      ->check(check_not_negative);
  command
      ->add_option("--schedule", options->schedule,
                   "Seed of the order in which work-groups and waves have their turns (default: 0, the usual one)")
      ->check(check_not_negative);
  command->add_option("--timeout", options->timeout, "Seconds after which a kernel is stopped with an error")
      ->check(check_not_negative);
  command
      ->add_option(
          "--on-fault", options->on_fault,
          "What a kernel does that accesses memory it may not access: abort (default) ends the process, as on a "
          "GPU; error leaves it to the error that the program's runtime reports")
      ->check(CLI::IsMember({"abort", "error"}));
  command->add_option("--report", options->report,
                      "File for what its kernels executed, exact or not, as JSON; %p becomes the process's number");
  command->add_option("--profile", options->profile,
                      "File for what each instruction of its kernels did, which are interpreted for it; %p becomes the "
                      "process's number");
  command->add_option("--save-code", options->save_code,
                      "Directory for the code objects that it loads, those compiled at run time included");
  command->add_option("--disable", options->disabled_passes, kDisableHelp)->check(check_disabled);
  add_no_profile(*command, options->disabled_passes);
  CLI::Option* shadow =
      command
          ->add_option("--shadow", options->shadow,
                       "Run dispatches on copies of the memory in both engines too, and compare what these write. "
                       "Comma-separated: every:N (each N-th), limit:SECONDS (of an engine for a dispatch, default 10), "
                       "jobs:N (dispatches compared at the same time, default half as many as CPUs, at most 8), "
                       "nans (their payloads count), abort (at the first difference), kernel:REGEX (last)")
          ->expected(0, 1)
          ->check(check_shadow);
  command->add_option("command", options->command, "The program and its arguments, behind --")->required();
  command->positionals_at_end();
  command->callback([options, shadow] {
    options->shadows = shadow->count() != 0;
    run(*options);
  });
}

}  // namespace wavejit::tools
