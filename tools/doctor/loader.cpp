#include "tools/doctor/loader.h"

#include <fmt/format.h>

#include <cstdlib>

#include "tools/doctor/child.h"
#include "tools/doctor/system_view.h"

namespace wavejit::tools::doctor {

LoadedLibraries libraries_of(const std::filesystem::path& library, const std::filesystem::path& first) {
  const char* before = std::getenv("LD_LIBRARY_PATH");
  const std::string path = before && *before ? fmt::format("{}:{}", first.string(), before) : first.string();
  const ChildEnd end = run_program({"/lib64/ld-linux-x86-64.so.2", library.string()},
                                   {"LD_LIBRARY_PATH=" + path, "LD_TRACE_LOADED_OBJECTS=1"}, std::chrono::seconds(5));
  LoadedLibraries result;
  // As ldd prints it: "\tlibm.so.6 => /lib/x86_64-linux-gnu/libm.so.6 (0x00007f...)", "\tlibx.so.1 => not found"
  for (const std::string& line : split(end.output, '\n')) {
    const size_t arrow = line.find(" => ");
    if (arrow == std::string::npos) continue;
    const std::string name = line.substr(1, arrow - 1), rest = line.substr(arrow + 4);
    if (rest.starts_with("not found"))
      result.missing.push_back(name);
    else
      result.found.emplace_back(name, rest.substr(0, rest.rfind(" (")));
  }
  result.listed = !result.found.empty() || !result.missing.empty();
  return result;
}

}  // namespace wavejit::tools::doctor
