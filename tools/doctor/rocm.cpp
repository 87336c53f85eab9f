// The devices that `wavejit exec` presents, the ROCm of the system, and which library its programs load.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <set>

#include "runtime/hsa/devices.h"
#include "tools/command.h"
#include "tools/doctor/child.h"
#include "tools/doctor/finding.h"
#include "tools/doctor/loader.h"
#include "tools/library_folder.h"

namespace wavejit::tools::doctor {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kHip = "libamdhip64.so.";
// Versions of the HIP runtime that wavejit is tested with: docs/rocm.md.
constexpr unsigned kFirstHip = 5, kLastHip = 7;

// Folders in which the loader looks, and those of AMD's own packages.
std::vector<std::string> library_folders(const SystemView& system) {
  std::vector<std::string> folders = {"/usr/lib/x86_64-linux-gnu", "/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib",
                                      "/usr/local/lib"};
  for (const fs::path& release : system.entries("/opt", "rocm")) folders.push_back(system.inner_path(release) + "/lib");
  if (!system.is_own()) return folders;
  if (const char* path = std::getenv("LD_LIBRARY_PATH"))
    for (const std::string& folder : split(path, ':')) folders.push_back(folder);
  const ChildEnd known = run_program({"/sbin/ldconfig", "-p"}, {}, std::chrono::seconds(5));
  for (const std::string& line : split(known.output, '\n'))
    if (const size_t arrow = line.find(" => "); arrow != std::string::npos && line.find(kHip) != std::string::npos)
      folders.push_back(fs::path(line.substr(arrow + 4)).parent_path().string());
  return folders;
}

struct HipRuntime {
  fs::path path;        // of the name that programs need, "libamdhip64.so.5"
  unsigned major = 0;   // 5
  std::string version;  // "5.2.21153-0", of the file that it links to
};

std::vector<HipRuntime> hip_runtimes(const SystemView& system) {
  std::vector<HipRuntime> found;
  std::set<fs::path> seen;
  for (const std::string& folder : library_folders(system)) {
    for (const fs::path& path : system.entries(folder, kHip)) {
      const std::string after = path.filename().string().substr(kHip.size());
      if (after.empty() || after.find_first_not_of("0123456789") != std::string::npos) continue;
      std::error_code error;
      const fs::path real = fs::canonical(path, error);
      if (error || !seen.insert(real).second) continue;
      const std::string name = real.filename().string();
      found.push_back({path, static_cast<unsigned>(to_number(after).value_or(0)),
                       name.starts_with(kHip) ? name.substr(kHip.size()) : after});
    }
  }
  return found;
}

Finding hip_version(const SystemView& system, const HipRuntime& hip) {
  const std::string text = fmt::format("HIP {} is installed ({}).", hip.version, system.inner_path(hip.path));
  if (hip.major >= kFirstHip && hip.major <= kLastHip) return fine("rocm.hip", text);
  return note("rocm.hip", text + fmt::format(" wavejit is tested with versions {} to {}.", kFirstHip, kLastHip));
}

// Which libhsa-runtime64 the HIP runtime gets under `wavejit exec`.
void loaded_libraries(const SystemView& system, const HipRuntime& hip, const fs::path& ours, Findings& findings) {
  const std::string name = system.inner_path(hip.path);
  const LoadedLibraries libraries = libraries_of(hip.path, ours);
  if (!libraries.listed) {
    findings.push_back(problem("rocm.loaded", fmt::format("The loader cannot read {}.", name),
                               "Install the package again that it comes from (dpkg -S, rpm -qf)."));
    return;
  }
  if (!libraries.missing.empty())
    findings.push_back(
        problem("rocm.missing",
                fmt::format("{} needs {}, which the loader does not find.", name, fmt::join(libraries.missing, ", ")),
                "Install the packages that have them, or add their folder to LD_LIBRARY_PATH."));
  const auto it =
      std::ranges::find(libraries.found, "libhsa-runtime64.so.1", &std::pair<std::string, std::string>::first);
  if (it == libraries.found.end()) return;
  std::error_code error;
  if (fs::equivalent(it->second, ours / "libhsa-runtime64.so.1", error))
    findings.push_back(fine("rocm.loaded", fmt::format("Under 'wavejit exec', {} loads {}.", name, it->second)));
  else
    findings.push_back(problem(
        "rocm.loaded", fmt::format("Under 'wavejit exec', {} loads {} instead of wavejit's.", name, it->second),
        "Its DT_RPATH comes before LD_LIBRARY_PATH: make it a DT_RUNPATH ('patchelf --remove-rpath' on a copy), or set "
        "LD_PRELOAD to wavejit's libhsa-runtime64.so.1."));
}

void programs(const SystemView& system, Findings& findings) {
  struct Program {
    const char* name;
    const char* check;
    const char* remedy;
  };
  constexpr Program kPrograms[] = {
      {"hipcc", "rocm.hipcc", "To compile HIP programs: 'apt-get install hipcc libamdhip64-dev'."},
      {"rocminfo", "rocm.rocminfo", "To list devices: 'apt-get install rocminfo'."},
  };
  for (const Program& program : kPrograms) {
    std::vector<std::string> folders = {"/usr/local/bin", "/usr/bin", "/bin"};
    for (const fs::path& release : system.entries("/opt", "rocm"))
      folders.push_back(system.inner_path(release) + "/bin");
    if (const char* path = std::getenv("PATH"); path && system.is_own()) folders = split(path, ':');
    const auto has_it = [&](const std::string& folder) {
      return system.exists(fmt::format("{}/{}", folder, program.name));
    };
    const auto it = std::ranges::find_if(folders, has_it);
    findings.push_back(it != folders.end()
                           ? fine(program.check, fmt::format("{}/{} is installed.", *it, program.name))
                           : note(program.check, fmt::format("There is no {}.", program.name), program.remedy));
  }
  const auto icds = system.entries("/etc/OpenCL/vendors", "amdocl");
  findings.push_back(
      !icds.empty() ? fine("rocm.opencl", fmt::format("AMD's OpenCL is installed ({}).", system.inner_path(icds[0])))
                    : note("rocm.opencl", "AMD's OpenCL is not installed.",
                           "For OpenCL programs on Debian 13 or later: 'apt-get install rocm-opencl-icd'."));
}

}  // namespace

std::vector<fs::path> hip_libraries(const SystemView& system) {
  std::vector<fs::path> paths;
  for (const HipRuntime& hip : hip_runtimes(system)) paths.push_back(hip.path);
  return paths;
}

Findings check_devices(const SystemView& system) {
  Findings findings;
  auto boards = hsa::configured_boards();
  if (!boards) {
    findings.push_back(problem("devices.selected", boards.error(),
                               "Correct or unset the variable; 'wavejit boards' lists the processors."));
  } else if (const auto devices = hsa::select_devices(std::move(*boards), hsa::DeviceVariables::of_environment());
             !devices) {
    findings.push_back(problem("devices.selected", devices.error(), "Correct or unset the variable."));
  } else if (devices->empty()) {
    findings.push_back(problem("devices.selected", "ROCR_VISIBLE_DEVICES hides all devices.",
                               "Unset it, or name devices that exist."));
  } else {
    std::vector<std::string_view> names;
    for (const hsa::Device& device : *devices) names.push_back(device.board.processor);
    findings.push_back(fine("devices.selected", fmt::format("Programs find {}.", fmt::join(names, ", "))));
  }
  findings.push_back(
      system.exists("/dev/kfd")
          ? note("devices.driver",
                 "The kernel driver of AMD's GPUs is there (/dev/kfd). Programs under 'wavejit exec' "
                 "do not see it; others do.")
          : fine("devices.driver", "There is no kernel driver of AMD's GPUs (/dev/kfd), and none is needed."));
  return findings;
}

Findings check_rocm(const SystemView& system) {
  Findings findings;
  fs::path ours;
  try {
    ours = library_folder();
    findings.push_back(fine("rocm.library", fmt::format("'wavejit exec' puts {} first.", ours.string())));
  } catch (const InputError& e) {
    findings.push_back(
        problem("rocm.library", e.what(), "Build or install all of wavejit; the command alone runs no HIP programs."));
  }
  const std::vector<HipRuntime> runtimes = hip_runtimes(system);
  if (runtimes.empty())
    findings.push_back(note("rocm.hip", "There is no HIP runtime (libamdhip64.so).",
                            "For HIP programs: 'apt-get install libamdhip64-dev hipcc'. Code objects run without."));
  for (const HipRuntime& hip : runtimes) {
    findings.push_back(hip_version(system, hip));
    if (!ours.empty()) loaded_libraries(system, hip, ours, findings);
  }
  programs(system, findings);
  return findings;
}

}  // namespace wavejit::tools::doctor
