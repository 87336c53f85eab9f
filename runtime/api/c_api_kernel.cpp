// The C API: kernels, launches, dumps, coverage.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "ir/pass.h"
#include "runtime/api/c_api_internal.h"
#include "runtime/api/inspect.h"
#include "runtime/api/sampled_text.h"
#include "runtime/launch/launch.h"
#include "runtime/shadow/shadow.h"
#include "runtime/threads/thread_pool.h"
#include "runtime/translate/kept_profile.h"
#include "runtime/translate/switches.h"

using wavejit::Error;
using wavejit::ErrorCode;
using wavejit::Expected;
using wavejit::codeobject::ArgKind;
using wavejit::codeobject::KernelArg;
using wavejit::runtime::guarded;
using wavejit::runtime::invalid;
using wavejit::runtime::read_options;
using wavejit::runtime::report;
using wavejit::runtime::write_info;
namespace codeobject = wavejit::codeobject;
namespace runtime = wavejit::runtime;

namespace {

const char* address_space_name(codeobject::AddressSpace space) {
  using enum codeobject::AddressSpace;
  switch (space) {
    case private_:
      return "private";
    case global:
      return "global";
    case constant:
      return "constant";
    case local:
      return "local";
    case generic:
      return "generic";
    case region:
      return "region";
    case none:
      break;
  }
  return "";
}

wavejit_arg_kind kind_of(const KernelArg& arg) {
  if (codeobject::is_hidden(arg.kind)) return WAVEJIT_ARG_HIDDEN;
  switch (arg.kind) {
    case ArgKind::by_value:
      return WAVEJIT_ARG_VALUE;
    case ArgKind::global_buffer:
      return WAVEJIT_ARG_POINTER;
    case ArgKind::dynamic_shared_pointer:
      return WAVEJIT_ARG_LOCAL;
    default:
      return WAVEJIT_ARG_OTHER;
  }
}

wavejit_status make_kernel(const wavejit_module* module, const codeobject::Kernel& kernel, wavejit_kernel** out) {
  auto handle = std::make_unique<wavejit_kernel>();
  handle->module = module->module;
  handle->kernel = &kernel;
  for (const KernelArg& arg : kernel.args)
    (codeobject::is_hidden(arg.kind) ? handle->hidden : handle->args).push_back(&arg);
  for (const auto* list : {&handle->args, &handle->hidden})
    for (const KernelArg* arg : *list) {
      handle->kind_names.emplace_back(to_string(arg->kind));
      handle->space_names.emplace_back(address_space_name(arg->address_space));
    }
  handle->values.resize(handle->args.size());
  *out = handle.release();
  return WAVEJIT_OK;
}

std::string arg_label(const wavejit_kernel& kernel, uint32_t index) {
  const KernelArg& arg = *kernel.args[index];
  return arg.name.empty() ? fmt::format("Argument {}", index) : fmt::format("Argument {} ('{}')", index, arg.name);
}

wavejit_status bad_argument(const wavejit_kernel& kernel, std::string message) {
  return report({.code = ErrorCode::kInvalidArgument, .message = std::move(message), .kernel = kernel.kernel->name});
}

// nullptr, with the error reported, when there is no such argument.
wavejit_kernel::Value* value_at(wavejit_kernel* kernel, uint32_t index) {
  if (!kernel) {
    (void)invalid("NULL kernel.");
    return nullptr;
  }
  if (index < kernel->values.size()) return &kernel->values[index];
  (void)bad_argument(*kernel,
                     kernel->kernel->has_metadata || !kernel->args.empty()
                         ? fmt::format("Kernel '{}' has {} arguments; there is no argument {}.", kernel->kernel->name,
                                       kernel->args.size(), index)
                         : fmt::format("The arguments of kernel '{}' are unknown, because it has no metadata; set "
                                       "its kernarg segment as a whole.",
                                       kernel->kernel->name));
  return nullptr;
}

}  // namespace

wavejit_status wavejit_kernel_create(const wavejit_module* module, const char* name,
                                     wavejit_kernel** kernel) WAVEJIT_NOEXCEPT {
  return guarded([&] {
    if (!module || !name || !kernel) return invalid("wavejit_kernel_create: NULL argument.");
    const auto found = module->module->object().find_kernel(name);
    if (!found) return report(found.error());
    return make_kernel(module, **found, kernel);
  });
}

wavejit_status wavejit_kernel_create_at(const wavejit_module* module, size_t index,
                                        wavejit_kernel** kernel) WAVEJIT_NOEXCEPT {
  return guarded([&] {
    if (!module || !kernel) return invalid("wavejit_kernel_create_at: NULL argument.");
    const codeobject::CodeObject& object = module->module->object();
    const size_t count = object.kernel_names().size();
    if (index >= count)
      return report({.code = ErrorCode::kNotFound,
                     .message = fmt::format("The module has {} kernels; there is no kernel {}.", count, index)});
    const auto found = object.kernel(index);
    if (!found) return report(found.error());
    return make_kernel(module, **found, kernel);
  });
}

void wavejit_kernel_destroy(wavejit_kernel* kernel) WAVEJIT_NOEXCEPT {
  delete kernel;
}

wavejit_status wavejit_kernel_get_info(const wavejit_kernel* kernel, wavejit_kernel_info* info) WAVEJIT_NOEXCEPT {
  return guarded([&] {
    if (!kernel) return invalid("wavejit_kernel_get_info: NULL kernel.");
    const codeobject::Kernel& k = *kernel->kernel;
    wavejit_kernel_info value{};
    value.name = k.name.c_str();
    value.symbol = k.symbol.c_str();
    value.arg_count = static_cast<uint32_t>(kernel->args.size());
    value.hidden_arg_count = static_cast<uint32_t>(kernel->hidden.size());
    value.kernarg_size = k.descriptor.kernarg_size;
    value.lds_size = k.descriptor.group_segment_size;
    value.scratch_size = k.descriptor.private_segment_size;
    value.sgpr_count = k.used_sgpr_count ? k.used_sgpr_count : k.descriptor.sgpr_count;
    value.vgpr_count = k.used_vgpr_count ? k.used_vgpr_count : k.descriptor.vgpr_count;
    value.agpr_count = k.used_agpr_count;
    for (unsigned i = 0; i < 3; ++i) value.required_workgroup_size[i] = k.required_workgroup_size[i];
    value.max_workgroup_size = k.max_flat_workgroup_size;
    value.wavefront_size = k.wavefront_size;
    value.code_size = k.code_size;
    value.sgpr_spill_count = k.sgpr_spill_count;
    value.vgpr_spill_count = k.vgpr_spill_count;
    value.entry = k.descriptor.entry;
    return write_info(info, value);
  });
}

wavejit_status wavejit_kernel_arg(const wavejit_kernel* kernel, uint32_t index,
                                  wavejit_arg_info* info) WAVEJIT_NOEXCEPT {
  return guarded([&] {
    if (!kernel) return invalid("wavejit_kernel_arg: NULL kernel.");
    const size_t total = kernel->args.size() + kernel->hidden.size();
    if (index >= total)
      return bad_argument(*kernel,
                          fmt::format("Kernel '{}' has {} arguments, hidden ones included; there is no argument {}.",
                                      kernel->kernel->name, total, index));
    const KernelArg& arg =
        *(index < kernel->args.size() ? kernel->args[index] : kernel->hidden[index - kernel->args.size()]);
    wavejit_arg_info value{};
    value.name = arg.name.c_str();
    value.type_name = arg.type_name.c_str();
    value.kind_name = kernel->kind_names[index].c_str();
    value.address_space = kernel->space_names[index].c_str();
    value.offset = arg.offset;
    value.bytes = arg.size;
    value.kind = kind_of(arg);
    return write_info(info, value);
  });
}

wavejit_status wavejit_kernel_set_arg(wavejit_kernel* kernel, uint32_t index, const void* data,
                                      size_t bytes) WAVEJIT_NOEXCEPT {
  return guarded([&] {
    wavejit_kernel::Value* value = value_at(kernel, index);
    if (!value) return WAVEJIT_INVALID_ARGUMENT;
    const KernelArg& arg = *kernel->args[index];
    if (arg.kind == ArgKind::dynamic_shared_pointer)
      return bad_argument(*kernel, fmt::format("{} of kernel '{}' is a local pointer; it takes a size in bytes.",
                                               arg_label(*kernel, index), kernel->kernel->name));
    if (!data) return invalid("wavejit_kernel_set_arg: NULL data.");
    if (bytes != arg.size)
      return bad_argument(*kernel, fmt::format("{} of kernel '{}' has {} bytes, not {}.", arg_label(*kernel, index),
                                               kernel->kernel->name, arg.size, bytes));
    const auto* begin = static_cast<const uint8_t*>(data);
    value->bytes.assign(begin, begin + bytes);
    value->is_set = true;
    kernel->kernarg.reset();
    return WAVEJIT_OK;
  });
}

wavejit_status wavejit_kernel_set_arg_pointer(wavejit_kernel* kernel, uint32_t index,
                                              const void* pointer) WAVEJIT_NOEXCEPT {
  return guarded([&] {
    wavejit_kernel::Value* value = value_at(kernel, index);
    if (!value) return WAVEJIT_INVALID_ARGUMENT;
    const KernelArg& arg = *kernel->args[index];
    // Old metadata calls HIP's pointers by_value; the size is what counts.
    if (arg.kind == ArgKind::dynamic_shared_pointer || arg.size != sizeof pointer)
      return bad_argument(
          *kernel, fmt::format("{} of kernel '{}' is not a pointer: it is {} with {} bytes.", arg_label(*kernel, index),
                               kernel->kernel->name, kernel->kind_names[index], arg.size));
    return wavejit_kernel_set_arg(kernel, index, static_cast<const void*>(&pointer), sizeof pointer);
  });
}

wavejit_status wavejit_kernel_set_arg_local(wavejit_kernel* kernel, uint32_t index,
                                            uint32_t lds_bytes) WAVEJIT_NOEXCEPT {
  return guarded([&] {
    wavejit_kernel::Value* value = value_at(kernel, index);
    if (!value) return WAVEJIT_INVALID_ARGUMENT;
    if (kernel->args[index]->kind != ArgKind::dynamic_shared_pointer)
      return bad_argument(*kernel, fmt::format("{} of kernel '{}' is not a local pointer.", arg_label(*kernel, index),
                                               kernel->kernel->name));
    value->lds_bytes = lds_bytes;
    value->is_set = true;
    kernel->kernarg.reset();
    return WAVEJIT_OK;
  });
}

wavejit_status wavejit_kernel_set_kernarg(wavejit_kernel* kernel, const void* data, size_t bytes) WAVEJIT_NOEXCEPT {
  return guarded([&] {
    if (!kernel) return invalid("wavejit_kernel_set_kernarg: NULL kernel.");
    uint32_t explicit_end = 0;
    for (const KernelArg* arg : kernel->args) explicit_end = std::max(explicit_end, arg->offset + arg->size);
    const uint32_t size = kernel->kernel->descriptor.kernarg_size;
    if (bytes < explicit_end || (!data && bytes))
      return bad_argument(*kernel, fmt::format("The kernarg segment of kernel '{}' needs at least {} bytes, not {}.",
                                               kernel->kernel->name, explicit_end, bytes));
    if (kernel->kernel->has_metadata && bytes > size)
      return bad_argument(*kernel, fmt::format("The kernarg segment of kernel '{}' has {} bytes, not {}.",
                                               kernel->kernel->name, size, bytes));
    const auto* begin = static_cast<const uint8_t*>(data);
    kernel->kernarg.emplace(begin, begin + bytes);
    return WAVEJIT_OK;
  });
}

// ------------------------------------------------------------------------------------------------ launches

namespace {

// The kernarg segment that the kernel reads; aligned, and with room behind it for wide scalar loads.
class KernargBuffer {
 public:
  explicit KernargBuffer(size_t bytes)
      : bytes_(bytes), data_(static_cast<uint8_t*>(std::aligned_alloc(64, (bytes + 64 + 63) / 64 * 64))) {
    if (!data_) throw std::bad_alloc();
    std::memset(data_.get(), 0, (bytes + 64 + 63) / 64 * 64);
  }
  [[nodiscard]] std::span<uint8_t> span() const { return {data_.get(), bytes_}; }

 private:
  struct Free {
    void operator()(uint8_t* p) const { std::free(p); }
  };
  size_t bytes_;
  std::unique_ptr<uint8_t, Free> data_;
};

runtime::Shape make_shape(const codeobject::Kernel& kernel, const wavejit_launch_options& options) {
  runtime::Shape shape;
  for (unsigned i = 0; i < 3; ++i) {
    shape.grid[i] = i && options.global[i] == 0 ? 1 : options.global[i];
    shape.workgroup[i] = i && options.local[i] == 0 ? 1 : options.local[i];
    shape.global_offset[i] = options.global_offset[i];
  }
  if (options.local[0] == 0 && options.local[1] == 0 && options.local[2] == 0) {
    if (kernel.required_workgroup_size[0])
      shape.workgroup = kernel.required_workgroup_size;
    else
      shape.workgroup = {std::clamp(std::min(shape.grid[0], kernel.max_flat_workgroup_size), 1u, 256u), 1, 1};
  }
  return shape;
}

// Lays out LDS behind the static part and writes the explicit arguments. Returns the LDS bytes of a work-group.
Expected<uint32_t> place_args(const wavejit_kernel& kernel, uint32_t dynamic_lds, std::span<uint8_t> kernarg) {
  const auto bad = [&](std::string message) {
    return tl::unexpected<Error>(
        Error{.code = ErrorCode::kInvalidArgument, .message = std::move(message), .kernel = kernel.kernel->name});
  };
  uint64_t lds = kernel.kernel->descriptor.group_segment_size;
  if (kernel.kernarg) {
    if (!kernel.kernarg->empty()) std::memcpy(kernarg.data(), kernel.kernarg->data(), kernel.kernarg->size());
  } else {
    for (uint32_t i = 0; i < kernel.args.size(); ++i) {
      const KernelArg& arg = *kernel.args[i];
      const wavejit_kernel::Value& value = kernel.values[i];
      if (kind_of(arg) == WAVEJIT_ARG_OTHER)
        return tl::unexpected<Error>(
            Error{.code = ErrorCode::kUnsupported,
                  .message = fmt::format("{} of kernel '{}' is of kind {}, which wavejit does not "
                                         "support.",
                                         arg_label(kernel, i), kernel.kernel->name, kernel.kind_names[i]),
                  .kernel = kernel.kernel->name});
      if (!value.is_set)
        return bad(fmt::format("{} of kernel '{}' has not been set.", arg_label(kernel, i), kernel.kernel->name));
      if (uint64_t{arg.offset} + arg.size > kernarg.size())
        return bad(fmt::format("{} of kernel '{}' lies outside of the kernarg segment.", arg_label(kernel, i),
                               kernel.kernel->name));
      if (arg.kind == ArgKind::dynamic_shared_pointer) {
        const uint64_t align = std::max<uint64_t>(arg.pointee_align, 16);
        lds = (lds + align - 1) / align * align;
        const uint64_t offset = lds;
        std::memcpy(kernarg.data() + arg.offset, &offset, std::min<size_t>(arg.size, sizeof offset));
        lds += value.lds_bytes;
      } else {
        std::memcpy(kernarg.data() + arg.offset, value.bytes.data(), value.bytes.size());
      }
    }
  }
  lds += dynamic_lds;
  return static_cast<uint32_t>(std::min<uint64_t>(lds, UINT32_MAX));
}

Expected<void> run_launch(const wavejit_kernel& kernel, const wavejit_launch_options& options,
                          wavejit_launch_stats& stats) {
  runtime::LaunchRequest request;
  request.module = kernel.module;
  request.kernel = kernel.kernel;
  request.shape = make_shape(*kernel.kernel, options);
  if (Expected<void> ok = runtime::check_shape(*kernel.kernel, request.shape); !ok) return ok;

  const size_t segment =
      std::max<size_t>(kernel.kernel->descriptor.kernarg_size, kernel.kernarg ? kernel.kernarg->size() : 0);
  const KernargBuffer kernarg(segment);
  const Expected<uint32_t> lds = place_args(kernel, options.dynamic_lds, kernarg.span());
  if (!lds) return tl::unexpected<Error>(lds.error());
  request.lds_bytes = *lds;
  const uint32_t first_hidden = kernel.kernarg ? static_cast<uint32_t>(kernel.kernarg->size()) : 0;
  runtime::fill_hidden_args(*kernel.kernel, request.shape, *lds - kernel.kernel->descriptor.group_segment_size,
                            reinterpret_cast<uint64_t>(&runtime::DispatchState::queue()), first_hidden, kernarg.span());
  request.kernarg = reinterpret_cast<uint64_t>(kernarg.span().data());

  if (options.isa != WAVEJIT_ISA_AUTO)
    if (const auto tier = runtime::tier_for(options.isa); !tier && tier.error().code == ErrorCode::kInvalidArgument)
      return tl::unexpected<Error>(tier.error());  // AUTO would take the interpreter
  stats.engine = options.engine;
  if (options.profile && options.engine == WAVEJIT_ENGINE_JIT)
    return wavejit::make_error(ErrorCode::kInvalidArgument, "Only the interpreter makes profiles.");
  if (options.profile)
    stats.engine = WAVEJIT_ENGINE_INTERP;
  else if (options.engine == WAVEJIT_ENGINE_AUTO)
    stats.engine = wavejit_isa_supported(options.isa) ? WAVEJIT_ENGINE_JIT : WAVEJIT_ENGINE_INTERP;
  if (stats.engine == WAVEJIT_ENGINE_JIT) {
    const auto tier = runtime::tier_for(options.isa);
    if (!tier) return tl::unexpected<Error>(tier.error());
    const bool tiered = options.engine == WAVEJIT_ENGINE_AUTO && !options.report;
    request.engine = tiered ? runtime::Engine::tiered : runtime::Engine::jit;
    request.tier = *tier;
    stats.isa = *tier == wavejit::backend::Tier::avx512 ? WAVEJIT_ISA_AVX512 : WAVEJIT_ISA_AVX2;
  } else if (stats.engine != WAVEJIT_ENGINE_INTERP) {
    return wavejit::make_error(ErrorCode::kInvalidArgument,
                               fmt::format("{} is not a wavejit_engine.", static_cast<int>(options.engine)));
  }
  Expected<std::vector<std::string>> disabled = runtime::check_switches(runtime::split(options.disabled_passes));
  if (!disabled) return tl::unexpected<Error>(disabled.error());
  request.disabled_passes = std::move(*disabled);
  request.count_instructions = options.count_instructions != 0;
  request.threads = options.threads ? options.threads : runtime::available_cpus();
  request.timeout_ns = options.timeout_ns;
  request.schedule = options.schedule;
  if (options.device) request.device = &options.device->device;
  if (options.progress)
    request.progress = [&](uint64_t done, uint64_t total) { options.progress(options.progress_user, done, total); };

  std::optional<runtime::OpcodeCounts> executed;
  if (options.report) request.executed = &executed.emplace();
  wavejit::interp::Profile profile;
  if (options.profile) request.profile = &profile;

  if (runtime::shadow::Shadow* shadow = runtime::shadow::of_process()) shadow->begin(request);
  runtime::LaunchStats result;
  Expected<void> ok = runtime::launch(request, result);
  if (executed) {
    const std::lock_guard lock(options.report->mutex);
    for (unsigned i = 0; i < executed->size(); ++i) options.report->counts[i] += (*executed)[i];
  }
  if (options.profile) {
    const std::lock_guard lock(options.profile->mutex);
    wavejit_profile::OfKernel& its = options.profile->kernels[request.kernel];
    its.module = request.module;
    wavejit::interp::add(its.counts, profile);
    its.rows.clear();
  }
  stats.wall_ns = result.wall_ns;
  stats.translate_ns = result.translate_ns;
  stats.guest_instructions = result.guest_instructions;
  stats.workgroups = result.workgroups;
  stats.waves = result.waves;
  stats.work_items = result.work_items;
  stats.host_instructions = result.host_instructions;
  stats.translations = result.translations;
  stats.threads = result.threads;
  stats.interpreted_workgroups = result.interpreted_workgroups;
  stats.moved_waves = result.moved_waves;
  stats.fallbacks = result.fallbacks;
  stats.cached_translations = result.cached_translations;
  stats.cache_ns = result.cache_ns;
  return ok;
}

}  // namespace

wavejit_device* wavejit_device_create(uint32_t waves) WAVEJIT_NOEXCEPT {
  return new (std::nothrow) wavejit_device(waves != 0 ? waves : runtime::kDeviceWaves);
}
void wavejit_device_destroy(wavejit_device* device) WAVEJIT_NOEXCEPT {
  delete device;
}

wavejit_status wavejit_launch(const wavejit_kernel* kernel, const wavejit_launch_options* options,
                              wavejit_launch_stats* stats) WAVEJIT_NOEXCEPT {
  return guarded([&] {
    if (!kernel || !options) return invalid("wavejit_launch: NULL argument.");
    if (options->size < offsetof(wavejit_launch_options, local))
      return invalid("The `size` of the launch options is not set.");
    wavejit_launch_stats result{};
    Expected<void> ok = run_launch(*kernel, read_options(options), result);
    if (stats)
      if (const wavejit_status status = write_info(stats, result); status != WAVEJIT_OK) return status;
    if (ok) return WAVEJIT_OK;
    if (ok.error().kernel.empty()) ok.error().kernel = kernel->kernel->name;
    return report(std::move(ok.error()));
  });
}

// ------------------------------------------------------------------------------------------------ looking inside

wavejit_status wavejit_kernel_dump(const wavejit_kernel* kernel, const wavejit_dump_options* options,
                                   wavejit_write_fn write, void* user) WAVEJIT_NOEXCEPT {
  return guarded([&] {
    if (!kernel || !write) return invalid("wavejit_kernel_dump: NULL argument.");
    const wavejit_dump_options opts = read_options(options);
    Expected<std::vector<std::string>> disabled = runtime::check_switches(runtime::split(opts.disabled_passes));
    if (!disabled) return report(disabled.error());
    runtime::DumpOptions dump{.disabled_passes = std::move(*disabled)};
    const auto& local = opts.local;
    if (local[0] || local[1] || local[2]) dump.workgroup = {local[0], local[1] ? local[1] : 1, local[2] ? local[2] : 1};
    if (opts.moved_at != 0) dump.moved_at = opts.moved_at + kernel->module->object().load_bias();
    Expected<runtime::SampledCode> kept;
    if (opts.profile != 0) {
      kept = runtime::kept_profile_of(*kernel->module, *kernel->kernel);
      if (!kept) return report(kept.error());
      dump.profile = std::make_shared<const wavejit::ir::Profile>(runtime::profile_of(*kept));
    }
    Expected<std::string> text = std::string();
    switch (opts.kind) {
      case WAVEJIT_DUMP_GCN:
        text = opts.profile != 0 ? runtime::sampled_text(*kernel->module, *kernel->kernel, *kept, dump)
                                 : runtime::dump_gcn(*kernel->module, *kernel->kernel);
        break;
      case WAVEJIT_DUMP_IR:
        text = runtime::dump_ir(*kernel->module, *kernel->kernel, opts.stage ? opts.stage : "", dump);
        break;
      case WAVEJIT_DUMP_PASS_STATS:
        text = runtime::dump_pass_stats(*kernel->module, *kernel->kernel, dump);
        break;
      case WAVEJIT_DUMP_LIR:
      case WAVEJIT_DUMP_X86: {
        const auto tier = runtime::tier_for(opts.isa);
        if (!tier) return report(tier.error());
        text = (opts.kind == WAVEJIT_DUMP_LIR ? runtime::dump_lir : runtime::dump_x86)(*kernel->module, *kernel->kernel,
                                                                                       *tier, dump);
        break;
      }
      default:
        return invalid(fmt::format("{} is not a wavejit_dump_kind.", static_cast<int>(opts.kind)));
    }
    if (!text) return report(std::move(text.error()));
    write(user, text->data(), text->size());
    return WAVEJIT_OK;
  });
}

const char* wavejit_pass_name(size_t index) WAVEJIT_NOEXCEPT {
  const auto passes = wavejit::ir::pipeline();
  return index < passes.size() ? passes[index].name.data() : nullptr;
}
const char* wavejit_pass_meaning(size_t index) WAVEJIT_NOEXCEPT {
  const auto passes = wavejit::ir::pipeline();
  return index < passes.size() ? passes[index].meaning.data() : nullptr;
}

const char* wavejit_optimisation_name(size_t index) WAVEJIT_NOEXCEPT {
  const auto switches = runtime::switches();
  return index < switches.size() ? switches[index].name.data() : nullptr;
}
const char* wavejit_optimisation_meaning(size_t index) WAVEJIT_NOEXCEPT {
  const auto switches = runtime::switches();
  return index < switches.size() ? switches[index].meaning.data() : nullptr;
}

wavejit_status wavejit_kernel_coverage(const wavejit_kernel* kernel, wavejit_isa isa,
                                       wavejit_coverage* coverage) WAVEJIT_NOEXCEPT {
  return guarded([&] {
    if (!kernel || !coverage) return invalid("wavejit_kernel_coverage: NULL argument.");
    const auto tier = runtime::tier_for(isa);
    if (!tier) return report(tier.error());
    thread_local runtime::Coverage result;
    thread_local std::vector<wavejit_coverage_issue> issues;
    result = runtime::coverage(*kernel->module, *kernel->kernel, *tier);
    issues.clear();
    for (const runtime::CoverageIssue& issue : result.issues) {
      wavejit_coverage_issue out{};
      out.size = sizeof out;
      out.stage = issue.stage.c_str();
      out.what = issue.what.c_str();
      out.detail = issue.detail.c_str();
      out.pc = issue.pc;
      out.count = issue.count;
      issues.push_back(out);
    }
    wavejit_coverage value{};
    value.instructions = result.instructions;
    value.illegal = result.illegal;
    value.interp_unsupported = result.interp_unsupported;
    value.lift_unsupported = result.lift_unsupported;
    value.compiled = result.compiled;
    value.issue_count = static_cast<uint32_t>(issues.size());
    value.issues = issues.data();
    value.translate_ns = result.translate_ns;
    value.host_instructions = result.host_instructions;
    value.host_bytes = result.host_bytes;
    return write_info(coverage, value);
  });
}
