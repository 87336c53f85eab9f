// What the sub-commands of `wavejit` share: errors and exit codes, options, text helpers.
#pragma once

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "wavejit/wavejit.hpp"

namespace wavejit::tools {

// Exit codes of the command, documented in `wavejit --help`.
enum ExitCode : int {
  kExitOk = 0,
  kExitInternal = 1,     // a defect of wavejit
  kExitBadInput = 2,     // command line, launch file, code object, sizes, arguments, missing files and kernels,
                         // outputs that cannot be written
  kExitUnsupported = 3,  // instruction or feature that wavejit does not execute
  kExitGuestFault = 4,
  kExitTimeout = 5,
  kExitGuestTrap = 6,
  kExitOutOfMemory = 7,
};
[[nodiscard]] int exit_code(wavejit_status status);

// Something the user gave is wrong: exit code 2.
class InputError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// More memory than the machine has: exit code 7.
class MemoryError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Options for loading a code object, common to the sub-commands.
struct FileOptions {
  std::string file;
  std::string target;
  std::string kernel;
};

// Refuses what memory cannot hold. Without this the kernel's out-of-memory killer would end the process, because Linux
// hands out memory that it does not have. Every buffer is there twice: its initial contents, and what the kernel sees.
void take_memory(uint64_t bytes);

[[nodiscard]] std::vector<uint8_t> read_file(const std::string& path);
void write_file(const std::string& path, const void* data, size_t bytes);

// "1.234 ms"
[[nodiscard]] std::string format_ns(double ns);

// No translations from the disk, and none to it.
void switch_cache_off();

// Each adds its sub-command to `app`; its callback runs the command and throws on failure.
void add_info(CLI::App& app);
void add_disasm(CLI::App& app);
void add_run(CLI::App& app);
void add_bench(CLI::App& app);
void add_coverage(CLI::App& app);
void add_optimisations(CLI::App& app);
void add_cache(CLI::App& app);
void add_exec(CLI::App& app);
void add_boards(CLI::App& app);
void add_doctor(CLI::App& app);
// A check of options that are numbers.
[[nodiscard]] inline std::string check_not_negative(const std::string& text) {
  return text.starts_with('-') ? fmt::format("'{}' is negative.", text) : std::string();
}

inline constexpr const char* kDisableHelp =
    "Optimisations to do without, comma-separated, or all ('wavejit optimisations' lists them)";
inline constexpr const char* kNoProfileHelp =
    "Translate without regard to what waves did in the interpreter: --disable profiles";
// Behind the option whose list it adds to.
inline void add_no_profile(CLI::App& command, std::string& disabled) {
  command.add_flag_callback(
      "--no-profile", [&disabled] { disabled += disabled.empty() ? "profiles" : ",profiles"; }, kNoProfileHelp);
}

}  // namespace wavejit::tools
