#include "wavejit_run.h"

#include <algorithm>
#include <cstdlib>

namespace wavejit::kernels {
namespace {

// What these programs find out is about translation, and must not depend on what earlier runs have left. Programs that
// are about the cache configure it themselves.
[[maybe_unused]] const int g_no_cache = setenv("WAVEJIT_CACHE", "off", 0);

std::string last_error() {
  const wavejit_error* error = wavejit_last_error();
  return error != nullptr ? wavejit_error_message(error) : "no error message";
}

}  // namespace

std::string code_object_path(const std::string& kernel_dir, const KernelCase& kernel_case, const std::string& variant,
                             const std::string& level) {
  const std::string folder = kernel_case.language == Language::kHip ? "hip" : variant;
  return kernel_dir + "/" + folder + "/" + level + "/" + kernel_case.object + ".co";
}

std::unique_ptr<WavejitRun> WavejitRun::create(const KernelCase& kernel_case, const std::string& path,
                                               const std::string& target, std::string* why) {
  std::unique_ptr<WavejitRun> run(new WavejitRun);
  run->kernel_case_ = kernel_case;
  auto failed = [&](wavejit_status status, const char* what) {
    if (status == WAVEJIT_OK) return false;
    *why = std::string(what) + ": " + wavejit_status_string(status) + ": " + last_error();
    return true;
  };

  wavejit_load_options options{};
  options.size = sizeof options;
  options.target = target.c_str();
  if (failed(wavejit_module_load_file(path.c_str(), &options, &run->module_), path.c_str())) return nullptr;
  for (const Buffer& buffer : kernel_case.buffers) {
    void* pointer = nullptr;
    if (failed(wavejit_buffer_alloc(buffer.bytes.size(), &pointer), buffer.name.c_str())) return nullptr;
    run->memory_.push_back(pointer);
  }
  for (const Launch& launch : kernel_case.launches) {
    wavejit_kernel* kernel = nullptr;
    if (failed(wavejit_kernel_create(run->module_, launch.kernel.c_str(), &kernel), launch.kernel.c_str()))
      return nullptr;
    run->kernels_.push_back(kernel);
    for (uint32_t i = 0; i < launch.args.size(); ++i) {
      const Arg& arg = launch.args[i];
      wavejit_status status = WAVEJIT_OK;
      switch (arg.kind) {
        case Arg::Kind::kBuffer:
          status = wavejit_kernel_set_arg_pointer(kernel, i, static_cast<char*>(run->memory_[arg.buffer]) + arg.offset);
          break;
        case Arg::Kind::kScalar:
          status = wavejit_kernel_set_arg(kernel, i, arg.scalar.data(), arg.scalar.size());
          break;
        case Arg::Kind::kLocal:
          status = wavejit_kernel_set_arg_local(kernel, i, arg.local_bytes);
          break;
      }
      if (failed(status, "setting an argument")) return nullptr;
    }
  }
  run->reset();
  return run;
}

WavejitRun::~WavejitRun() {
  for (wavejit_kernel* kernel : kernels_) wavejit_kernel_destroy(kernel);
  wavejit_module_destroy(module_);
  for (void* pointer : memory_) wavejit_buffer_free(pointer);
}

void WavejitRun::reset() {
  for (size_t i = 0; i < memory_.size(); ++i) {
    const std::vector<uint8_t>& bytes = kernel_case_.buffers[i].bytes;
    std::copy(bytes.begin(), bytes.end(), static_cast<uint8_t*>(memory_[i]));
  }
}

wavejit_status WavejitRun::launch(const EngineChoice& engine, uint32_t threads, uint64_t timeout_ns, std::string* why,
                                  bool count) {
  wall_ns_ = 0;
  instructions_.clear();
  for (size_t i = 0; i < kernels_.size(); ++i) {
    const Launch& launch = kernel_case_.launches[i];
    wavejit_launch_options options = wavejit_launch_options_default();
    std::copy(launch.global.begin(), launch.global.end(), options.global);
    std::copy(launch.local.begin(), launch.local.end(), options.local);
    options.dynamic_lds = launch.dynamic_lds;
    options.engine = engine.engine;
    options.isa = engine.isa;
    options.threads = threads;
    options.timeout_ns = timeout_ns;
    options.schedule = schedule_;
    options.count_instructions = count ? 1 : 0;
    options.disabled_passes = std::getenv("WAVEJIT_DISABLE_PASSES");
    wavejit_launch_stats stats = wavejit_launch_stats_default();
    wavejit_status status = wavejit_launch(kernels_[i], &options, &stats);
    translate_ns_ += stats.translate_ns;
    cache_ns_ += stats.cache_ns;
    translations_ += stats.translations;
    cached_translations_ += stats.cached_translations;
    host_instructions_ += stats.host_instructions;
    wall_ns_ += stats.wall_ns;
    instructions_.push_back(stats.guest_instructions);
    if (status != WAVEJIT_OK) {
      *why = last_error();
      return status;
    }
    const bool is_auto = engine.engine == WAVEJIT_ENGINE_AUTO;
    if (!is_auto && (stats.engine != engine.engine || stats.isa != engine.isa)) {
      *why = std::string("asked for ") + engine.name + ", but the launch ran on " +
             wavejit_engine_string(stats.engine) + " " + wavejit_isa_string(stats.isa);
      return WAVEJIT_INTERNAL;
    }
  }
  return WAVEJIT_OK;
}

uint64_t WavejitRun::guest_code() const {
  uint64_t instructions = 0;
  for (size_t i = 0; i < kernels_.size(); ++i) {
    const auto same = [&](const Launch& launch) { return launch.kernel == kernel_case_.launches[i].kernel; };
    const auto& launches = kernel_case_.launches;
    if (std::any_of(launches.begin(), launches.begin() + static_cast<ptrdiff_t>(i), same)) continue;
    wavejit_coverage coverage{};
    coverage.size = sizeof coverage;
    if (wavejit_kernel_coverage(kernels_[i], WAVEJIT_ISA_AVX2, &coverage) == WAVEJIT_OK)
      instructions += coverage.instructions;
  }
  return instructions;
}

std::string WavejitRun::dump(size_t launch, wavejit_dump_kind kind, wavejit_isa isa) const {
  wavejit_dump_options options{};
  options.size = sizeof options;
  options.kind = kind;
  options.isa = isa;
  options.disabled_passes = std::getenv("WAVEJIT_DISABLE_PASSES");
  std::copy(kernel_case_.launches[launch].local.begin(), kernel_case_.launches[launch].local.end(), options.local);
  std::string text;
  const auto append = [](void* user, const char* piece, size_t length) {
    static_cast<std::string*>(user)->append(piece, length);
  };
  if (wavejit_kernel_dump(kernels_[launch], &options, append, &text) != WAVEJIT_OK) return {};
  return text;
}

std::vector<Buffer> WavejitRun::read() const {
  std::vector<Buffer> buffers = kernel_case_.buffers;
  for (size_t i = 0; i < buffers.size(); ++i) {
    const uint8_t* bytes = static_cast<const uint8_t*>(memory_[i]);
    buffers[i].bytes.assign(bytes, bytes + buffers[i].bytes.size());
  }
  return buffers;
}

}  // namespace wavejit::kernels
