// The `wavejit` command.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <new>

#include "tools/command.h"

namespace wavejit::tools {

int exit_code(wavejit_status status) {
  switch (status) {
    case WAVEJIT_OK:
      return kExitOk;
    case WAVEJIT_INVALID_ARGUMENT:
    case WAVEJIT_BAD_CODE_OBJECT:
    case WAVEJIT_NOT_FOUND:
    case WAVEJIT_TARGET_MISMATCH:
    case WAVEJIT_IO:
      return kExitBadInput;
    case WAVEJIT_UNSUPPORTED:
    case WAVEJIT_ILLEGAL_INSTRUCTION:
      return kExitUnsupported;
    case WAVEJIT_GUEST_FAULT:
      return kExitGuestFault;
    case WAVEJIT_TIMEOUT:
      return kExitTimeout;
    case WAVEJIT_GUEST_TRAP:
      return kExitGuestTrap;
    case WAVEJIT_OUT_OF_MEMORY:
      return kExitOutOfMemory;
    case WAVEJIT_INTERNAL:
      break;
  }
  return kExitInternal;
}

void take_memory(uint64_t bytes) {
  static uint64_t taken = 0;
  const uint64_t have = static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  if (bytes > have / 2 || (taken += 2 * bytes) > have)
    throw MemoryError(fmt::format("The buffers need more than the {} bytes of memory that this machine has.", have));
}

std::vector<uint8_t> read_file(const std::string& path) {
  std::FILE* file = std::fopen(path.c_str(), "rb");
  if (!file) throw InputError(fmt::format("Cannot open '{}': {}.", path, std::strerror(errno)));
  std::vector<uint8_t> bytes;
  uint8_t buffer[65536];
  size_t got;
  while ((got = std::fread(buffer, 1, sizeof buffer, file)) > 0) {
    try {
      take_memory(got);
    } catch (...) {
      std::fclose(file);
      throw;
    }
    bytes.insert(bytes.end(), buffer, buffer + got);
  }
  const bool failed = std::ferror(file);
  std::fclose(file);
  if (failed) throw InputError(fmt::format("Cannot read '{}'.", path));
  return bytes;
}

void write_file(const std::string& path, const void* data, size_t bytes) {
  std::FILE* file = std::fopen(path.c_str(), "wb");
  if (!file) throw InputError(fmt::format("Cannot create '{}': {}.", path, std::strerror(errno)));
  const bool written = std::fwrite(data, 1, bytes, file) == bytes;
  if (std::fclose(file) != 0 || !written) throw InputError(fmt::format("Cannot write '{}'.", path));
}

std::string format_ns(double ns) {
  if (ns < 1e3) return fmt::format("{:.0f} ns", ns);
  if (ns < 1e6) return fmt::format("{:.3g} us", ns / 1e3);
  if (ns < 1e9) return fmt::format("{:.4g} ms", ns / 1e6);
  return fmt::format("{:.4g} s", ns / 1e9);
}

}  // namespace wavejit::tools

int main(int argc, char** argv) {
  using namespace wavejit::tools;
  CLI::App app{fmt::format("wavejit {}: runs AMD GCN machine code on x86-64 CPUs", wavejit_version_string()),
               "wavejit"};
  app.set_version_flag("--version", std::string("wavejit ") + wavejit_version_string());
  app.require_subcommand(1);
  app.footer(
      "Exit codes:\n"
      "  0  success\n"
      "  1  internal error of wavejit; for doctor: problems\n"
      "  2  bad input: command line, launch file, code object, sizes, arguments, missing file or kernel,\n"
      "     output that cannot be written\n"
      "  3  unsupported instruction or feature\n"
      "  4  the kernel accessed memory it may not\n"
      "  5  time limit exceeded\n"
      "  6  the kernel trapped (abort, failed assertion)\n"
      "  7  out of memory");
  add_info(app);
  add_disasm(app);
  add_run(app);
  add_bench(app);
  add_coverage(app);
  add_optimisations(app);
  add_cache(app);
  add_exec(app);
  add_boards(app);
  add_doctor(app);
  const auto output_failed = [] { return std::fflush(stdout) != 0 || std::ferror(stdout) != 0; };
  const auto report_output = [] {
    fmt::print(stderr, "wavejit: Cannot write the standard output.\n");
    return kExitBadInput;
  };
  try {
    app.parse(argc, argv);
    return output_failed() ? report_output() : kExitOk;
  } catch (const CLI::Success& e) {  // --help, --version
    return app.exit(e);
  } catch (const CLI::RuntimeError& e) {  // a command that ended with a code of its own
    std::fflush(stdout);
    return e.get_exit_code();
  } catch (const CLI::ParseError& e) {
    app.exit(e);
    return kExitBadInput;
  } catch (const wavejit::Exception& e) {
    std::fflush(stdout);
    fmt::print(stderr, "wavejit: {}: {}\n", wavejit_status_string(e.status()), e.what());
    return exit_code(e.status());
  } catch (const InputError& e) {
    std::fflush(stdout);
    fmt::print(stderr, "wavejit: bad input: {}\n", e.what());
    return kExitBadInput;
  } catch (const MemoryError& e) {
    fmt::print(stderr, "wavejit: out of memory: {}\n", e.what());
    return kExitOutOfMemory;
  } catch (const std::bad_alloc&) {
    fmt::print(stderr, "wavejit: out of memory\n");
    return kExitOutOfMemory;
  } catch (const std::exception& e) {
    if (output_failed()) return report_output();
    fmt::print(stderr, "wavejit: internal error: {}\n", e.what());
    return kExitInternal;
  }
}
