// Reading AMDGPU code objects: what is in one, and loading it into host memory so that its code can run.
//
// Facts: LLVM "User Guide for AMDGPU Backend", sections "ELF Code Object", "Kernel Descriptor", "Code Object Metadata".
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "internal/error.h"

namespace wavejit::codeobject {

enum class FeatureSetting : uint8_t { unsupported, any, off, on };

// A target id: processor plus the xnack and sramecc settings ("gfx908:sramecc+:xnack-").
struct TargetId {
  std::string processor;  // "gfx906"
  FeatureSetting xnack = FeatureSetting::any;
  FeatureSetting sramecc = FeatureSetting::any;
  uint32_t generic_version = 0;  // V6 generic processors ("gfx9-generic"), otherwise 0
  // Returns true if code for this id runs only where SRAM ECC is off.
  [[nodiscard]] bool ecc_off() const { return sramecc == FeatureSetting::off; }
  [[nodiscard]] std::string to_string() const;
};
[[nodiscard]] Expected<TargetId> parse_target_id(std::string_view text);  // accepts an "amdgcn-amd-amdhsa--" prefix
// Whether code built for `code` may run on `device` (AMDGPUUsage "Target ID": equal processor, or a generic processor
// that covers it; any matches on and off).
[[nodiscard]] bool compatible(const TargetId& code, const TargetId& device);

enum class ArgKind : uint8_t {
  by_value,
  global_buffer,
  dynamic_shared_pointer,
  sampler,
  image,
  pipe,
  queue,
  hidden_global_offset_x,
  hidden_global_offset_y,
  hidden_global_offset_z,
  hidden_block_count_x,
  hidden_block_count_y,
  hidden_block_count_z,
  hidden_group_size_x,
  hidden_group_size_y,
  hidden_group_size_z,
  hidden_remainder_x,
  hidden_remainder_y,
  hidden_remainder_z,
  hidden_grid_dims,
  hidden_none,
  hidden_printf_buffer,
  hidden_hostcall_buffer,
  hidden_default_queue,
  hidden_completion_action,
  hidden_multigrid_sync_arg,
  hidden_heap_v1,
  hidden_dynamic_lds_size,
  hidden_private_base,
  hidden_shared_base,
  hidden_queue_ptr,
};
[[nodiscard]] std::string_view to_string(ArgKind kind);
[[nodiscard]] inline bool is_hidden(ArgKind kind) {
  return kind >= ArgKind::hidden_global_offset_x;
}

enum class AddressSpace : uint8_t { none, private_, global, constant, local, generic, region };

struct KernelArg {
  std::string name, type_name;
  uint32_t offset = 0;  // bytes into the kernarg segment
  uint32_t size = 0;    // bytes
  uint32_t align = 0;   // bytes; for dynamic_shared_pointer the pointee alignment in pointee_align
  uint32_t pointee_align = 0;
  ArgKind kind = ArgKind::by_value;
  AddressSpace address_space = AddressSpace::none;
};

// Everything a dispatch needs to set up the initial state, unified over amd_kernel_code_t (V2) and kernel descriptors
// (V3+).
struct KernelDescriptor {
  uint32_t group_segment_size = 0;           // static LDS, bytes
  uint32_t private_segment_size = 0;         // scratch per work-item, bytes
  uint32_t kernarg_size = 0;                 // bytes
  uint64_t entry = 0;                        // loaded address of the first instruction (host address)
  uint32_t rsrc1 = 0, rsrc2 = 0, rsrc3 = 0;  // COMPUTE_PGM_RSRC1/2/3 as stored
  // Enabled initial registers, in the order they are laid out.
  bool enable_private_segment_buffer = false, enable_dispatch_ptr = false, enable_queue_ptr = false,
       enable_kernarg_segment_ptr = false, enable_dispatch_id = false, enable_flat_scratch_init = false,
       enable_private_segment_size = false, enable_grid_workgroup_count_x = false,
       enable_grid_workgroup_count_y = false, enable_grid_workgroup_count_z = false;
  bool enable_workgroup_id_x = false, enable_workgroup_id_y = false, enable_workgroup_id_z = false,
       enable_workgroup_info = false, enable_private_segment_wave_offset = false;
  uint8_t enable_vgpr_workitem_id = 0;  // 0: x, 1: x y, 2: x y z
  uint32_t user_sgpr_count = 0;
  // Dwords of the kernel arguments in SGPRs (GFX90A, GFX940), 0 elsewhere.
  uint32_t kernarg_preload_length = 0, kernarg_preload_offset = 0;
  // Allocated, as the granulated fields say. GFX908: as many AGPRs as VGPRs. GFX90A on: vgpr_count is the whole unified
  // allocation, v0..v(accum_offset-1) and then agpr_count AGPRs.
  uint32_t vgpr_count = 0, sgpr_count = 0, agpr_count = 0;
  uint32_t accum_offset = 0;  // GFX90A on: first VGPR used as AccVGPR; 0 elsewhere
  bool uses_dynamic_stack = false;
  uint32_t mode = 0;  // initial MODE register: FP_MODE, DX10_CLAMP, IEEE, FP16_OVFL in their MODE positions
};

struct Kernel {
  std::string name;     // source-level/metadata .name
  std::string symbol;   // descriptor symbol ("name.kd"), or the code symbol for V2
  uint64_t object = 0;  // loaded address of the descriptor (V2: of amd_kernel_code_t), as in dispatch packets
  std::vector<KernelArg> args;
  KernelDescriptor descriptor;
  std::array<uint32_t, 3> required_workgroup_size{};  // zeros when none
  uint32_t max_flat_workgroup_size = 0;               // 1024, the hardware's limit, when the object does not say
  uint32_t wavefront_size = 64;
  uint32_t sgpr_spill_count = 0, vgpr_spill_count = 0;
  uint32_t code_size = 0;  // bytes of the kernel's code
  // False for kernels known only by their descriptor (hand-written assembly): args are unknown then.
  bool has_metadata = false;
  uint32_t kernarg_align = 16;                                             // bytes
  uint32_t used_sgpr_count = 0, used_vgpr_count = 0, used_agpr_count = 0;  // as the metadata says; 0 when it does not
};

// What is known of a kernel that has not been decoded.
struct KernelName {
  std::string_view name, symbol;  // as in Kernel; of the code object's memory
  uint64_t object = 0;            // likewise
};

struct Variable {
  std::string_view name;  // of the code object's memory, with a NUL behind it
  uint64_t address = 0;   // loaded host address
  uint64_t size = 0;
  bool constant = false;  // in a segment that the file declares as read-only
  bool writable = false;  // by kernels and by the host; false only for data on pages of code
};

struct FunctionSymbol {
  std::string_view name;  // of the code object's memory
  uint64_t address = 0;   // loaded host address
  uint64_t size = 0;
};

// The loaded address of a symbol that a code object only declares; nothing if there is none.
using SymbolResolver = std::function<std::optional<uint64_t>(std::string_view name)>;

// A code object loaded into host memory, relocated; immutable apart from the memory of variables. Any thread may use it.
// The memory stays at the same address for the object's life. Guest code is mapped read-only: it is data to the host.
//
// Loading costs what the symbol tables and the names in the metadata cost. A kernel's metadata is decoded when the
// kernel is first asked for, and of a large file only those pages are read that somebody uses (object_bytes.h).
class CodeObject {
 public:
  // `bytes` is one ELF image (not a container; see containers.h), and need not stay. Without `resolver` all symbols but
  // weak ones have to be defined. Fails for whatever is malformed but the metadata's fields of single kernels.
  [[nodiscard]] static Expected<std::shared_ptr<const CodeObject>> load(std::span<const uint8_t> bytes,
                                                                        const SymbolResolver& resolver = {});
  virtual ~CodeObject() = default;

  [[nodiscard]] virtual const TargetId& target() const = 0;
  [[nodiscard]] virtual unsigned version() const = 0;  // 2..6
  // All kernels: those that the metadata describes in its order, then those that have a descriptor alone.
  [[nodiscard]] virtual std::span<const KernelName> kernel_names() const = 0;
  // The kernel with this index of kernel_names(), the same object each time. The error names the kernel.
  [[nodiscard]] virtual Expected<const Kernel*> kernel(size_t index) const = 0;
  // The same kernel's descriptor as it is in the code object: the metadata may say more of some sizes.
  [[nodiscard]] virtual KernelDescriptor descriptor(size_t index) const = 0;
  // The index of the kernel with this address of its descriptor (KernelName::object).
  [[nodiscard]] virtual std::optional<size_t> kernel_at(uint64_t object) const = 0;
  [[nodiscard]] virtual std::span<const Variable> variables() const = 0;
  [[nodiscard]] virtual std::span<const FunctionSymbol> functions() const = 0;
  // The function or kernel that starts last among those that start at or before a loaded address.
  [[nodiscard]] virtual std::optional<FunctionSymbol> function_at(uint64_t address) const = 0;
  // Executable segments at their loaded host addresses.
  [[nodiscard]] virtual std::span<const std::span<const uint8_t>> code() const = 0;
  [[nodiscard]] virtual uint64_t load_bias() const = 0;  // loaded address minus ELF virtual address
  // The addresses [first, second) that hold the object, if the same object is going to have them in other processes,
  // too; else nothing.
  [[nodiscard]] virtual std::pair<uint64_t, uint64_t> lasting_addresses() const = 0;
  // "file:line" of the code at a loaded address, if the object has debug information that says so. Slow.
  [[nodiscard]] virtual std::optional<std::string> source_line(uint64_t address) const = 0;
  // By metadata name or symbol, with or without ".kd"; the error suggests the nearest name, or is that of kernel().
  [[nodiscard]] virtual Expected<const Kernel*> find_kernel(std::string_view name) const = 0;
  [[nodiscard]] virtual Expected<const Variable*> find_variable(std::string_view name) const = 0;
};

// Decodes all kernels. The error is that of the first malformed one.
[[nodiscard]] Expected<std::vector<const Kernel*>> decode_kernels(const CodeObject& object);

}  // namespace wavejit::codeobject
