#include "runtime/hsa/dispatch.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "backend-x86/compiler.h"
#include "internal/environment.h"
#include "runtime/api/c_api_internal.h"
#include "runtime/hsa/client_quirks.h"
#include "runtime/hsa/loader.h"
#include "runtime/hsa/profile.h"
#include "runtime/hsa/queue.h"
#include "runtime/hsa/report.h"
#include "runtime/hsa/status.h"
#include "runtime/launch/launch.h"
#include "runtime/shadow/shadow.h"
#include "runtime/threads/thread_pool.h"
#include "runtime/translate/switches.h"

namespace wavejit::hsa {
namespace {

// How kernels are run: environment variables, read once.
struct Settings {
  runtime::Engine engine = runtime::Engine::tiered;
  backend::Tier tier = backend::Tier::avx512;
  uint32_t threads = 1;
  uint64_t schedule = 0;
  uint64_t timeout_ns = 0;
  std::vector<std::string> disabled_passes;
};

uint64_t timeout_ns() {
  constexpr double kLongest = 1e9;  // seconds
  const std::string value(environment_text("WAVEJIT_TIMEOUT"));
  if (value.empty()) return 0;
  char* end = nullptr;
  const double seconds = std::strtod(value.c_str(), &end);
  if (*end == 0 && seconds >= 0) return static_cast<uint64_t>(std::min(seconds, kLongest) * 1e9);
  say(fmt::format("WAVEJIT_TIMEOUT: '{}' is not a number of seconds.", value));
  return 0;
}

const Settings& settings() {
  static const Settings all = [] {
    Settings s;
    s.tier = backend::host_supports(backend::Tier::avx512) ? backend::Tier::avx512 : backend::Tier::avx2;
    const std::string_view engine = environment_text("WAVEJIT_ENGINE");
    if (engine == "interp") {
      s.engine = runtime::Engine::interpreter;
    } else if (engine == "jit" || engine == "avx2" || engine == "avx512") {
      s.engine = runtime::Engine::jit;
      if (engine == "avx512" && s.tier != backend::Tier::avx512)
        say("WAVEJIT_ENGINE: this CPU has no AVX-512; kernels run on AVX2.");
      if (engine == "avx2") s.tier = backend::Tier::avx2;
    } else if (!engine.empty() && engine != "auto") {
      say(fmt::format("WAVEJIT_ENGINE: '{}' is not one of auto, interp, jit, avx2, avx512.", engine));
    }
    if (!backend::host_supports(s.tier)) s.engine = runtime::Engine::interpreter;
    s.threads = static_cast<uint32_t>(environment_number("WAVEJIT_THREADS", 0, UINT32_MAX));
    if (s.threads == 0) s.threads = runtime::available_cpus();
    s.schedule = environment_number("WAVEJIT_SCHEDULE", 0);
    s.timeout_ns = timeout_ns();
    if (Expected<std::vector<std::string>> disabled =
            runtime::check_switches(runtime::split(std::getenv("WAVEJIT_DISABLE_PASSES"))))
      s.disabled_passes = std::move(*disabled);
    else
      say(fmt::format("WAVEJIT_DISABLE_PASSES: {}", disabled.error().message));
    return s;
  }();
  return all;
}

Expected<void> bad_packet(const Queue&, uint64_t index, std::string_view why) {
  return make_error(ErrorCode::kInvalidArgument, fmt::format("Dispatch packet {}: {}", index, why));
}

// Says once in a process that a dispatch is larger than its kernel was compiled for: its registers and LDS still suffice,
// but the compiler may have assumed that the work-items are fewer. Nothing of HIP's own kernels, which nobody can change who
// reads the message.
void warn_of_shape(const codeobject::Kernel& kernel, const Error& error) {
  static std::once_flag said;
  if (is_kernel_of_hip(kernel.name)) return;
  std::call_once(said, [&] { say(fmt::format("{} It runs nevertheless.", error.message)); });
}

}  // namespace

Expected<void> run_dispatch(Queue& queue, const hsa_kernel_dispatch_packet_t& packet, uint64_t index,
                            runtime::Cancellation& cancellation) {
  const Expected<std::shared_ptr<const KernelCode>> found = kernel_of(packet.kernel_object);
  if (!found) return tl::unexpected<Error>(found.error());
  const std::shared_ptr<const KernelCode>& code = *found;
  if (!code)
    return bad_packet(queue, index,
                      fmt::format("{:#x} is not the kernel object of a loaded executable.", packet.kernel_object));
  if (code->agent != &queue.agent()) return bad_packet(queue, index, "the kernel is loaded for another agent.");
  runtime::LaunchRequest request;
  request.module = code->module;
  request.kernel = code->kernel;
  const unsigned dimensions = packet.setup & 3;
  if (dimensions == 0) return bad_packet(queue, index, "it has no dimensions.");
  const uint32_t grid[3] = {packet.grid_size_x, packet.grid_size_y, packet.grid_size_z};
  const uint16_t workgroup[3] = {packet.workgroup_size_x, packet.workgroup_size_y, packet.workgroup_size_z};
  for (unsigned i = 0; i < dimensions; ++i) {
    request.shape.grid[i] = grid[i];
    request.shape.workgroup[i] = workgroup[i];
  }
  // ROCr's packet processor knows what the packet says alone, and ROCm's own kernels rely on that: the copy kernel of
  // HIP 6.4 is launched with 512 work-items and says 256.
  request.shape_limits = runtime::ShapeLimits::hardware;
  if (const Expected<void> fits = runtime::check_shape(*request.kernel, request.shape);
      !fits && runtime::check_shape(*request.kernel, request.shape, request.shape_limits))
    warn_of_shape(*request.kernel, fits.error());
  request.kernarg = reinterpret_cast<uint64_t>(packet.kernarg_address);
  request.lds_bytes = packet.group_segment_size;
  static_assert(sizeof packet == sizeof(runtime::DispatchPacket));
  runtime::DispatchPacket copy;
  std::memcpy(static_cast<void*>(&copy), &packet, sizeof copy);
  request.packet = &copy;
  request.queue = reinterpret_cast<uint64_t>(&queue.amd());
  const Settings& s = settings();
  request.engine = s.engine;
  request.tier = s.tier;
  request.threads = s.threads;
  request.device = queue.agent().shared.get();
  request.schedule = s.schedule;
  request.disabled_passes = s.disabled_passes;
  request.timeout_ns = s.timeout_ns;
  request.cancellation = &cancellation;
  request.waiting = [&queue, index] { queue.begin_next(index); };
  if (runtime::shadow::Shadow* shadow = runtime::shadow::of_process()) shadow->begin(request);
  runtime::LaunchStats stats;
  if (!profiles() && !reports()) return runtime::launch(request, stats);
  interp::Profile profile;
  if (profiles()) {
    request.engine = runtime::Engine::interpreter;
    request.profile = &profile;
  }
  runtime::OpcodeCounts executed{};
  if (reports()) request.executed = &executed;
  Expected<void> result = runtime::launch(request, stats);
  if (profiles()) add_to_profile(request, profile, !result);
  if (reports()) add_to_report(request, executed, !result);
  return result;
}

}  // namespace wavejit::hsa
