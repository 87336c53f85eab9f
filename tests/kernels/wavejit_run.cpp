#include "wavejit_run.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>

namespace wavejit::kernels {
namespace {

// What these programs find out is about translation, and must not depend on what earlier runs have left. Programs that
// are about the cache configure it themselves.
[[maybe_unused]] const int g_no_cache = setenv("WAVEJIT_CACHE", "off", 0);

std::string last_error() {
  const wavejit_error* error = wavejit_last_error();
  return error != nullptr ? wavejit_error_message(error) : "no error message";
}

// The descriptor of an image at `address`, as a device has it in memory: Vega and GCN3 ISA manuals, "Image Resource
// Descriptor".
std::array<uint32_t, 8> image_descriptor(const Image& image, uint64_t address, const std::string& target) {
  struct {
    uint32_t data, number, selects;
  } format{};
  constexpr uint32_t kRgba = 4 | 5 << 3 | 6 << 6 | 7 << 9, kRed = 4 | 1 << 9;
  switch (image.format) {
    case ImageFormat::kRgbaUnorm8:
      format = {10, 0, kRgba};
      break;
    case ImageFormat::kRgbaUint8:
      format = {10, 4, kRgba};
      break;
    case ImageFormat::kRgbaF32:
      format = {14, 7, kRgba};
      break;
    case ImageFormat::kRF32:
      format = {4, 7, kRed};
      break;
    case ImageFormat::kNone:
      break;
  }
  const bool gfx9 = target.starts_with("gfx9");
  return {static_cast<uint32_t>(address >> 8),
          static_cast<uint32_t>(address >> 40 & 0xff) | format.data << 20 | format.number << 26,
          (image.width - 1) | (image.height - 1) << 14, format.selects | (gfx9 ? 0u : 8u) << 20 | 9u << 28,
          (image.width - 1) << 13};
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
    const bool is_image = buffer.image.format != ImageFormat::kNone;
    // Images begin at multiples of 256, and buffers end at the end of a page.
    const size_t bytes = is_image ? (buffer.bytes.size() + 255) / 256 * 256 : buffer.bytes.size();
    if (failed(wavejit_buffer_alloc(bytes, &pointer), buffer.name.c_str())) return nullptr;
    run->memory_.push_back(pointer);
    void* descriptor = nullptr;
    if (is_image) {
      const auto words = image_descriptor(buffer.image, reinterpret_cast<uint64_t>(pointer), target);
      if (failed(wavejit_buffer_alloc(sizeof words, &descriptor), buffer.name.c_str())) return nullptr;
      std::memcpy(descriptor, words.data(), sizeof words);
    }
    run->descriptors_.push_back(descriptor);
  }
  for (const Launch& launch : kernel_case.launches) {
    wavejit_kernel* kernel = nullptr;
    if (failed(wavejit_kernel_create(run->module_, launch.kernel.c_str(), &kernel), launch.kernel.c_str()))
      return nullptr;
    run->kernels_.push_back(kernel);
    const auto is_image = [](const Arg& arg) { return arg.kind == Arg::Kind::kImage; };
    if (std::any_of(launch.args.begin(), launch.args.end(), is_image)) {
      const std::vector<uint8_t> kernarg = run->kernarg_of(launch, kernel);
      if (failed(wavejit_kernel_set_kernarg(kernel, kernarg.data(), kernarg.size()), "setting the arguments"))
        return nullptr;
      continue;
    }
    for (uint32_t i = 0; i < launch.args.size(); ++i) {
      const Arg& arg = launch.args[i];
      wavejit_status status = WAVEJIT_OK;
      switch (arg.kind) {
        case Arg::Kind::kBuffer:
          status = wavejit_kernel_set_arg_pointer(kernel, i, static_cast<char*>(run->memory_[arg.buffer]) + arg.offset);
          break;
        case Arg::Kind::kImage:
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

std::vector<uint8_t> WavejitRun::kernarg_of(const Launch& launch, const wavejit_kernel* kernel) const {
  std::vector<uint8_t> kernarg;
  for (uint32_t i = 0; i < launch.args.size(); ++i) {
    const Arg& arg = launch.args[i];
    wavejit_arg_info info{};
    info.size = sizeof info;
    if (wavejit_kernel_arg(kernel, i, &info) != WAVEJIT_OK) return {};
    std::vector<uint8_t> value = arg.scalar;
    if (arg.kind != Arg::Kind::kScalar) {
      const void* pointer = arg.kind == Arg::Kind::kImage ? descriptors_[arg.buffer]
                                                          : static_cast<char*>(memory_[arg.buffer]) + arg.offset;
      value.resize(sizeof pointer);
      std::memcpy(value.data(), &pointer, sizeof pointer);
    }
    kernarg.resize(std::max<size_t>(kernarg.size(), size_t{info.offset} + info.bytes));
    std::copy_n(value.begin(), std::min<size_t>(value.size(), info.bytes), kernarg.begin() + info.offset);
  }
  return kernarg;
}

WavejitRun::~WavejitRun() {
  for (wavejit_kernel* kernel : kernels_) wavejit_kernel_destroy(kernel);
  wavejit_module_destroy(module_);
  for (void* pointer : memory_) wavejit_buffer_free(pointer);
  for (void* pointer : descriptors_)
    if (pointer != nullptr) wavejit_buffer_free(pointer);
}

void WavejitRun::reset() {
  for (size_t i = 0; i < memory_.size(); ++i) {
    const std::vector<uint8_t>& bytes = kernel_case_.buffers[i].bytes;
    std::copy(bytes.begin(), bytes.end(), static_cast<uint8_t*>(memory_[i]));
  }
}

wavejit_status WavejitRun::launch(const EngineChoice& engine, uint32_t threads, uint64_t timeout_ns, std::string* why,
                                  bool count) {
  wall_ns_ = interpreted_workgroups_ = 0;
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
    interpreted_workgroups_ += stats.interpreted_workgroups;
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
