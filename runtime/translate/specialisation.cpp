#include "runtime/translate/specialisation.h"

#include <algorithm>
#include <cstring>

#include "runtime/memory/arena.h"

namespace wavejit::runtime {
namespace {

using codeobject::ArgKind;
using codeobject::Kernel;
using codeobject::KernelArg;

// The value that a hidden argument has in launches worth specialising for.
std::optional<uint64_t> usual_value(const KernelArg& arg, const std::array<uint32_t, 3>& workgroup) {
  switch (arg.kind) {
    case ArgKind::hidden_group_size_x:
    case ArgKind::hidden_group_size_y:
    case ArgKind::hidden_group_size_z:
      return workgroup[static_cast<unsigned>(arg.kind) - static_cast<unsigned>(ArgKind::hidden_group_size_x)];
    case ArgKind::hidden_global_offset_x:
    case ArgKind::hidden_global_offset_y:
    case ArgKind::hidden_global_offset_z:
    case ArgKind::hidden_remainder_x:
    case ArgKind::hidden_remainder_y:
    case ArgKind::hidden_remainder_z:
      return 0;
    case ArgKind::hidden_private_base:
      return kPrivateApertureHi;
    case ArgKind::hidden_shared_base:
      return kSharedApertureHi;
    default:
      return std::nullopt;
  }
}

}  // namespace

Specialisation specialisation_of(const Kernel& kernel, const Shape& shape, uint32_t lds_bytes, uint64_t kernarg) {
  Specialisation result{.kernel = &kernel, .workgroup = shape.workgroup};
  result.lds_size = (lds_bytes + kLdsGranularity - 1) / kLdsGranularity * kLdsGranularity;
  for (size_t i = 0; i < std::min<size_t>(kernel.args.size(), 64); ++i) {
    const KernelArg& arg = kernel.args[i];
    const std::optional<uint64_t> usual = usual_value(arg, shape.workgroup);
    if (!usual || arg.size > sizeof *usual || uint64_t{arg.offset} + arg.size > kernel.descriptor.kernarg_size)
      continue;
    // Whoever launches may have filled in the segment as it likes, hidden arguments included.
    if (kernarg && std::memcmp(reinterpret_cast<const void*>(kernarg + arg.offset), &*usual, arg.size) != 0) continue;
    result.known_args |= uint64_t{1} << i;
  }
  for (const KernelArg& arg : kernel.args) {
    if (arg.kind != ArgKind::dynamic_shared_pointer || kernarg == 0) continue;
    uint64_t value = 0;
    if (arg.size > sizeof value || uint64_t{arg.offset} + arg.size > kernel.descriptor.kernarg_size) continue;
    std::memcpy(&value, reinterpret_cast<const void*>(kernarg + arg.offset), arg.size);
    result.local_pointers.push_back(value);
  }
  return result;
}

uint64_t last_wave_exec(const std::array<uint32_t, 3>& workgroup) {
  const uint32_t lanes = workgroup[0] * workgroup[1] * workgroup[2] % kWaveSize;
  return lanes == 0 ? ~uint64_t{0} : (uint64_t{1} << lanes) - 1;
}

bool has_scratch_srd_behind_calls(const codeobject::KernelDescriptor& descriptor) {
  return descriptor.private_segment_size != 0 && sgpr_layout(descriptor).private_segment_buffer == 0;
}

void specialise(lift::LiftOptions& options, const Specialisation& specialisation, isa::Target target) {
  const Kernel& kernel = *specialisation.kernel;
  const SgprLayout layout = sgpr_layout(kernel.descriptor);
  options.is_kernel_entry = true;
  // The private segment buffer, where a kernel has it, is in the first user SGPRs.
  options.scratch_srd_sgpr = layout.private_segment_buffer;
  options.scratch_srd_behind_calls = has_scratch_srd_behind_calls(kernel.descriptor);
  options.lds_size = specialisation.lds_size;
  if (!specialisation.workgroup) return;
  lift::DispatchShape& shape = options.shape.emplace();
  shape.workgroup = *specialisation.workgroup;
  shape.id_dimensions = std::min(kernel.descriptor.enable_vgpr_workitem_id + 1u, 3u);
  shape.packed_ids = has_packed_ids(target);
  std::copy(std::begin(layout.group_id), std::end(layout.group_id), shape.group_id_sgpr.begin());
  shape.dispatch_packet_sgpr = layout.dispatch_ptr;
  shape.kernarg_sgpr = layout.kernarg_ptr;
  shape.last_wave = specialisation.last_wave;
  size_t pointer = 0;
  for (const KernelArg& arg : kernel.args) {
    if (arg.kind != ArgKind::dynamic_shared_pointer || pointer == specialisation.local_pointers.size()) continue;
    shape.kernarg.push_back({arg.offset, arg.size, specialisation.local_pointers[pointer++]});
  }
  for (size_t i = 0; i < std::min<size_t>(kernel.args.size(), 64); ++i) {
    if (!(specialisation.known_args >> i & 1)) continue;
    const KernelArg& arg = kernel.args[i];
    shape.kernarg.push_back({arg.offset, arg.size, *usual_value(arg, shape.workgroup)});
  }
}

}  // namespace wavejit::runtime
