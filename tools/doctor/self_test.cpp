// The self-test: small kernels on every engine, then the HSA library and the HIP runtime of the system.
#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <hsa/hsa.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>

#include "runtime/hsa/devices.h"
#include "tools/command.h"
#include "tools/doctor/child.h"
#include "tools/doctor/finding.h"
#include "tools/library_folder.h"

namespace wavejit::tools::doctor {
namespace {

using Json = nlohmann::json;
namespace fs = std::filesystem;

constexpr uint8_t kKernels[] = {
#include "doctor_kernels.inc"
};
constexpr uint32_t kItems = 1024, kGroup = 256, kBins = 16;
// Together ten seconds.
constexpr std::chrono::milliseconds kEngineLimit{6000}, kHsaLimit{2000}, kHipLimit{2000};
constexpr const char* kReport = "Report it as a defect of wavejit with the output of 'wavejit doctor --json'.";

// ------------------------------------------------------------------------------------------------ kernels

struct Engine {
  const char* name;
  wavejit_engine engine;
  wavejit_isa isa;
};
constexpr Engine kEngines[] = {{"interpreter", WAVEJIT_ENGINE_INTERP, WAVEJIT_ISA_AUTO},
                               {"AVX2", WAVEJIT_ENGINE_JIT, WAVEJIT_ISA_AVX2},
                               {"AVX-512", WAVEJIT_ENGINE_JIT, WAVEJIT_ISA_AVX512}};

LaunchOptions launch_options(const Engine& engine) {
  LaunchOptions options;
  options.global[0] = kItems;
  options.local[0] = kGroup;
  options.engine = engine.engine;
  options.isa = engine.isa;
  options.timeout_ns = 2'000'000'000;
  return options;
}

template <typename T, typename Function>
Buffer<T> filled(size_t count, Function&& value) {
  Buffer<T> buffer(count);
  for (size_t i = 0; i < count; ++i) buffer[i] = value(i);
  return buffer;
}

// Compared as bytes.
template <typename T>
bool same(const Buffer<T>& a, const Buffer<T>& b) {
  return std::memcmp(a.data(), b.data(), a.bytes()) == 0;
}

// Each runs one kernel; what is wrong, or nothing.
std::string vector_add(const Module& module, const LaunchOptions& options) {
  const auto a = filled<float>(kItems, [](size_t i) { return static_cast<float>(i) * 0.1f; });
  const auto b = filled<float>(kItems, [](size_t i) { return 1.0f / static_cast<float>(i + 1); });
  const Buffer<float> out(kItems);
  Kernel kernel = module.kernel("vector_add");
  kernel.set_args(a, b, out);
  kernel.launch(options);
  return same(out, filled<float>(kItems, [&](size_t i) { return a[i] + b[i]; })) ? "" : "wrong sums";
}

std::string reverse_groups(const Module& module, const LaunchOptions& options) {
  const auto in = filled<uint32_t>(kItems, [](size_t i) { return static_cast<uint32_t>(i * 2654435761u); });
  const Buffer<uint32_t> out(kItems);
  Kernel kernel = module.kernel("reverse_groups");
  kernel.set_args(in, out);
  kernel.launch(options);
  const auto wanted =
      filled<uint32_t>(kItems, [&](size_t i) { return in[i / kGroup * kGroup + kGroup - 1 - i % kGroup]; });
  return same(out, wanted) ? "" : "wrong exchange through local memory";
}

std::string histogram(const Module& module, const LaunchOptions& options) {
  const auto in = filled<uint32_t>(kItems, [](size_t i) { return static_cast<uint32_t>(i * i + i / 7); });
  const Buffer<uint32_t> bins(kBins), wanted(kBins);
  for (const uint32_t value : in) ++wanted[value % kBins];
  Kernel kernel = module.kernel("histogram");
  kernel.set_args(in, bins);
  kernel.launch(options);
  return same(bins, wanted) ? "" : "wrong counts";
}

std::string doubles(const Module& module, const LaunchOptions& options) {
  const auto a = filled<double>(kItems, [](size_t i) { return static_cast<double>(i) * 0.37; });
  const auto b = filled<double>(kItems, [](size_t i) { return 1.0 / static_cast<double>(3 * i + 1); });
  const Buffer<double> out(kItems);
  Kernel kernel = module.kernel("doubles");
  kernel.set_args(a, b, out);
  kernel.launch(options);
  return same(out, filled<double>(kItems, [&](size_t i) { return std::fma(a[i], b[i], 1.0) / (a[i] + 3.0); }))
             ? ""
             : "wrong numbers of double precision";
}

// A write behind the end of a buffer is an error that names the address.
std::string fault(const Module& module, const LaunchOptions& options) {
  const Buffer<uint32_t> out(1024);  // one page
  Kernel kernel = module.kernel("write_at");
  kernel.set_args(out, int64_t{1024 + 5});
  try {
    kernel.launch(options);
  } catch (const Exception& e) {
    const auto wanted = reinterpret_cast<uint64_t>(out.data() + 1024 + 5);
    if (e.status() == WAVEJIT_GUEST_FAULT && e.address() == wanted) return {};
    return fmt::format("a bad address was reported as '{}'", e.what());
  }
  return "a write to a bad address was not noticed";
}

struct Case {
  const char* name;
  std::string (*run)(const Module&, const LaunchOptions&);
};
constexpr Case kCases[] = {{"vector addition", vector_add},
                           {"local memory and barriers", reverse_groups},
                           {"atomic operations", histogram},
                           {"double precision", doubles},
                           {"a fault", fault}};

Json to_json(const Finding& finding) {
  return {{"check", finding.check}, {"level", finding.level}, {"text", finding.text}, {"remedy", finding.remedy}};
}

std::string run_engines() {
  switch_cache_off();
  Json findings = Json::array();
  const Module module = Module::load_memory(kKernels, sizeof kKernels, "gfx906");
  for (const Engine& engine : kEngines) {
    if (engine.isa != WAVEJIT_ISA_AUTO && !wavejit_isa_supported(engine.isa)) continue;
    std::vector<std::string> wrong;
    for (const Case& test : kCases) {
      std::string what;
      try {
        what = test.run(module, launch_options(engine));
      } catch (const std::exception& e) {
        what = e.what();
      }
      if (!what.empty()) wrong.push_back(fmt::format("{}: {}", test.name, what));
    }
    findings.push_back(to_json(
        wrong.empty()
            ? fine("self-test.engine", fmt::format("{}: {} kernels give the results that the host computes.",
                                                   engine.name, std::size(kCases)))
            : problem("self-test.engine", fmt::format("{}: {}.", engine.name, fmt::join(wrong, "; ")), kReport)));
  }
  return findings.dump();
}

// ------------------------------------------------------------------------------------------------ libraries

template <typename Function>
Function* symbol(void* library, const char* name) {
  auto* const found = reinterpret_cast<Function*>(dlsym(library, name));
  if (!found) throw std::runtime_error(fmt::format("{} is missing", name));
  return found;
}

void* open_library(const fs::path& path) {
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) throw std::runtime_error(dlerror());
  return library;
}

std::string one_finding(const Finding& finding) {
  return Json::array({to_json(finding)}).dump();
}

std::string run_hsa(const fs::path& library) {
  constexpr const char* kCheck = "self-test.hsa";
  constexpr const char* kRemedy =
      "Build or install wavejit again. On an older system than the one it was built on, build it there.";
  try {
    void* const hsa = open_library(library);
    if (const auto status = symbol<decltype(hsa_init)>(hsa, "hsa_init")(); status != HSA_STATUS_SUCCESS)
      return one_finding(
          problem(kCheck, fmt::format("hsa_init of {} fails with {:#x}.", library.string(), static_cast<int>(status)),
                  kRemedy));
    struct State {
      decltype(hsa_agent_get_info)* info;
      size_t devices;
    } state{symbol<decltype(hsa_agent_get_info)>(hsa, "hsa_agent_get_info"), 0};
    symbol<decltype(hsa_iterate_agents)>(hsa, "hsa_iterate_agents")(
        [](hsa_agent_t agent, void* data) {
          auto* const s = static_cast<State*>(data);
          hsa_device_type_t type{};
          if (s->info(agent, HSA_AGENT_INFO_DEVICE, &type) == HSA_STATUS_SUCCESS && type == HSA_DEVICE_TYPE_GPU)
            ++s->devices;
          return HSA_STATUS_SUCCESS;
        },
        &state);
    symbol<decltype(hsa_shut_down)>(hsa, "hsa_shut_down")();
    if (state.devices != 0)
      return one_finding(
          fine(kCheck, fmt::format("The HSA library has {} device{}.", state.devices, state.devices == 1 ? "" : "s")));
    return one_finding(problem(kCheck, "The HSA library has no device.", "See the findings about devices."));
  } catch (const std::exception& e) {
    return one_finding(problem(kCheck, fmt::format("{} cannot be used: {}.", library.string(), e.what()), kRemedy));
  }
}

// The HIP runtime finds the HSA library by the name that is loaded already.
std::string run_hip(const fs::path& library, const fs::path& hip_library) {
  constexpr const char* kCheck = "self-test.hip";
  try {
    open_library(library);
    void* const hip = open_library(hip_library);
    int devices = 0;
    const int error = symbol<int(int*)>(hip, "hipGetDeviceCount")(&devices);
    if (error == 0 && devices > 0)
      return one_finding(
          fine(kCheck, fmt::format("The HIP runtime has {} device{}.", devices, devices == 1 ? "" : "s")));
    return one_finding(
        problem(kCheck, fmt::format("The HIP runtime finds no device (error {}).", error),
                "Look at HIP_VISIBLE_DEVICES, and at what 'AMD_LOG_LEVEL=3 wavejit exec -- PROGRAM' says."));
  } catch (const std::exception& e) {
    return one_finding(problem(kCheck, fmt::format("{} cannot be loaded: {}.", hip_library.string(), e.what()),
                               "Install the packages again that it and the libraries come from that it needs."));
  }
}

void add_result(const ChildEnd& end, const char* check, std::string_view what, Findings& findings) {
  const Json all = Json::parse(end.output, nullptr, false);
  if (end.well() && all.is_array()) {
    for (const Json& f : all) findings.push_back({f["check"], f["level"].get<Level>(), f["text"], f["remedy"]});
    return;
  }
  findings.push_back(problem(check, fmt::format("{} did not end: {}.", what, end.how()),
                             end.too_long ? "Try again when the machine is less busy." : kReport));
}

}  // namespace

Findings check_by_running(const SystemView& system) {
  Findings findings;
  add_result(run_forked(run_engines, kEngineLimit), "self-test.engine", "The test of the engines", findings);
  fs::path library;
  try {
    library = library_folder() / "libhsa-runtime64.so.1";
  } catch (const InputError&) {
    return findings;  // check_rocm() says so
  }
  add_result(run_forked([&] { return run_hsa(library); }, kHsaLimit), "self-test.hsa", "The test of the HSA library",
             findings);
  // Another system's libraries need not fit this one's.
  const std::vector<fs::path> hip = system.is_own() ? hip_libraries(system) : std::vector<fs::path>();
  if (!hip.empty())
    add_result(run_forked([&] { return run_hip(library, hip.front()); }, kHipLimit), "self-test.hip",
               "The test of the HIP runtime", findings);
  return findings;
}

}  // namespace wavejit::tools::doctor
