#include "runtime/hsa/tools.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/hsa/api_table.h"
#include "runtime/hsa/status.h"

// librocprofiler-register knows a library by the name and version that this gives
// (rocprofiler-register.h, ROCPROFILER_REGISTER_DEFINE_IMPORT): 10000 major + 100 minor + patch of libhsa-runtime64.
extern "C" __attribute__((visibility("default"))) uint32_t rocprofiler_register_import_hsa();
uint32_t rocprofiler_register_import_hsa() {
  constexpr uint32_t kMajor = 1, kMinor = 18, kPatch = 0;  // libhsa-runtime64 of ROCm 7.2
  return 10000 * kMajor + 100 * kMinor + kPatch;
}

namespace wavejit::hsa {
namespace {

struct Tool {
  void* library = nullptr;
  std::string name;
  uint32_t order = 0;
};

// Those whose OnLoad() has agreed.
std::vector<Tool>& loaded_tools() {
  static auto* const tools = new std::vector<Tool>;
  return *tools;
}

template <typename Function>
Function function_of(void* library, const char* name) {
  return reinterpret_cast<Function>(dlsym(library, name));
}

std::string_view variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

// HSA_TOOLS_LIB: names with spaces between them. A name in double quotes may hold spaces; a backslash keeps the character
// behind it as it is.
std::vector<std::string> split_names(std::string_view text) {
  std::vector<std::string> names;
  std::string name;
  bool quoted = false;
  const auto end_name = [&] {
    if (!name.empty()) names.push_back(std::move(name));
    name.clear();
  };
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 1 < text.size()) {
      name += text[++i];
    } else if (text[i] == '"') {
      if (quoted) end_name();
      quoted = !quoted;
    } else if (text[i] == ' ' && !quoted) {
      end_name();
    } else {
      name += text[i];
    }
  }
  end_name();
  return names;
}

// Libraries of the process that say they are tools: by a number that orders them behind those of the variable.
void find_loaded(uint32_t first_order, std::vector<Tool>& tools) {
  auto* const process = static_cast<link_map*>(dlopen(nullptr, RTLD_LAZY));
  for (const link_map* map = process; map; map = map->l_next) {
    if (!map->l_name || !*map->l_name) continue;
    void* library = dlopen(map->l_name, RTLD_LAZY | RTLD_NOLOAD);
    if (!library) continue;
    const auto* priority = static_cast<const uint32_t*>(dlsym(library, "HSA_AMD_TOOL_PRIORITY"));
    Dl_info info{};
    // dlsym() looks into the libraries that this one needs, too.
    const bool is_own = priority && dladdr(priority, &info) != 0 && info.dli_fbase &&
                        reinterpret_cast<ElfW(Addr)>(info.dli_fbase) == map->l_addr;
    if (is_own)
      tools.push_back({library, map->l_name, first_order + *priority});
    else
      dlclose(library);
  }
  if (process) dlclose(process);
}

// Returns true if a tool got the tables from librocprofiler-register.
bool give_to_register() {
  if (variable("HSA_TOOLS_DISABLE_REGISTER") == "1") return false;
  void* library = dlopen("librocprofiler-register.so.0", RTLD_LAZY | RTLD_LOCAL);
  if (!library) return false;
  using Import = uint32_t (*)();
  // rocprofiler-register.h. The last argument gets a number for the registration.
  using Register =
      int (*)(const char* name, Import import, uint32_t version, void** tables, uint64_t count, uint64_t* id);
  const auto register_tables = function_of<Register>(library, "rocprofiler_register_library_api_table");
  if (!register_tables) return false;
  void* table = &api_table();
  uint64_t id = 0;
  constexpr int kSuccess = 0, kNoTools = 1;
  const int status =
      register_tables("hsa", &rocprofiler_register_import_hsa, rocprofiler_register_import_hsa(), &table, 1, &id);
  if (status != kSuccess && status != kNoTools)
    say(fmt::format("librocprofiler-register does not take the HSA library: error {}.", status));
  return status == kSuccess;
}

// HSA_TOOLS_ROCPROFILER_V1_TOOLS: also tools of HSA_TOOLS_LIB when there are others.
bool wants_both() {
  std::string value(variable("HSA_TOOLS_ROCPROFILER_V1_TOOLS"));
  std::transform(value.begin(), value.end(), value.begin(), [](unsigned char c) { return std::tolower(c); });
  if (value.empty()) return std::getenv("HSA_TOOLS_ROCPROFILER_V1_TOOLS") != nullptr;
  const bool is_zero = value.find_first_not_of('0') == std::string::npos;
  return !is_zero && value != "off" && value != "false" && value != "no" && value != "n" && value != "f";
}

}  // namespace

void load_tools() {
  if (give_to_register() && !wants_both()) return;
  std::vector<std::string> failed;
  std::vector<Tool> tools;
  const std::vector<std::string> names = split_names(variable("HSA_TOOLS_LIB"));
  for (const std::string& name : names) {
    if (void* library = dlopen(name.c_str(), RTLD_LAZY)) {
      tools.push_back({library, name, static_cast<uint32_t>(tools.size())});
    } else {
      say(fmt::format("The tool '{}' cannot be loaded: {}.", name, dlerror()));
      failed.push_back(name);
    }
  }
  find_loaded(static_cast<uint32_t>(names.size()), tools);
  std::stable_sort(tools.begin(), tools.end(), [](const Tool& a, const Tool& b) { return a.order < b.order; });
  std::vector<void*> seen;
  for (Tool& tool : tools) {
    if (std::find(seen.begin(), seen.end(), tool.library) != seen.end()) continue;
    seen.push_back(tool.library);
    using OnLoad = bool (*)(ApiTable* table, uint64_t version, uint64_t failed_count, const char* const* failed_names);
    const auto on_load = function_of<OnLoad>(tool.library, "OnLoad");
    std::vector<const char*> failed_names;
    for (const std::string& name : failed) failed_names.push_back(name.c_str());
    ApiTable& table = api_table();
    if (on_load && on_load(&table, table.version.major_id, failed_names.size(), failed_names.data())) {
      loaded_tools().push_back(std::move(tool));
      continue;
    }
    say(fmt::format("The tool '{}' {}.", tool.name, on_load ? "does not want to be loaded" : "has no OnLoad()"));
    failed.push_back(tool.name);
  }
}

void unload_tools() {
  std::vector<Tool>& tools = loaded_tools();
  for (auto tool = tools.rbegin(); tool != tools.rend(); ++tool)
    if (const auto on_unload = function_of<void (*)()>(tool->library, "OnUnload")) on_unload();
  tools.clear();
  reset_api_table();
}

}  // namespace wavejit::hsa
