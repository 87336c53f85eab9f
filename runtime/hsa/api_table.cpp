#include "runtime/hsa/api_table.h"

#include "runtime/hsa/status.h"

namespace wavejit::hsa {
namespace {

hsa_status_t ignore_event(const void*) {
  return HSA_STATUS_SUCCESS;
}

// Ids of the tables: hsa_api_trace_version.h of ROCm 7.2.
template <typename Table>
constexpr TableVersion version_of(uint32_t major, uint32_t step) {
  return {.major_id = major, .minor_id = sizeof(Table), .step_id = step, .reserved = 0};
}

constexpr CoreTable kCore = {
    version_of<CoreTable>(2, 0),
#define WAVEJIT_HSA_CORE(name) &name,
#include "runtime/hsa/api_functions.def"
};
constexpr AmdTable kAmd = {
    version_of<AmdTable>(2, 8),
#define WAVEJIT_HSA_AMD(name) &name,
#define WAVEJIT_HSA_AMD_TABLE_ONLY(name) &name,
#include "runtime/hsa/api_functions.def"
};
constexpr FinalizerTable kFinalizer = {
    version_of<FinalizerTable>(2, 0),
#define WAVEJIT_HSA_FINALIZER(name) &name,
#include "runtime/hsa/api_functions.def"
};
constexpr ImageTable kImage = {
    version_of<ImageTable>(2, 1),
#define WAVEJIT_HSA_IMAGE(name) &name,
#include "runtime/hsa/api_functions.def"
};
constexpr PcSamplingTable kPcSampling = {
    version_of<PcSamplingTable>(1, 0),
#define WAVEJIT_HSA_PC_SAMPLING(name) &name,
#include "runtime/hsa/api_functions.def"
};
constexpr ToolsTable kTools = {
    version_of<ToolsTable>(1, 0),
#define WAVEJIT_HSA_TOOLS(name) &ignore_event,
#include "runtime/hsa/api_functions.def"
};

}  // namespace

// Filled before any code runs: constructors of programs call the library, too.
extern "C" {
constinit CoreTable wavejit_core_table = kCore;
constinit AmdTable wavejit_amd_table = kAmd;
constinit FinalizerTable wavejit_finalizer_table = kFinalizer;
constinit ImageTable wavejit_image_table = kImage;
constinit PcSamplingTable wavejit_pc_sampling_table = kPcSampling;
}

ApiTable& api_table() {
  static constinit ToolsTable tools = kTools;
  static constinit ApiTable table = {version_of<ApiTable>(3, 1), &wavejit_core_table,  &wavejit_amd_table,
                                     &wavejit_finalizer_table,   &wavejit_image_table, &tools,
                                     &wavejit_pc_sampling_table};
  return table;
}

void reset_api_table() {
  const ApiTable& table = api_table();
  *table.core_ = kCore;
  *table.amd_ext_ = kAmd;
  *table.finalizer_ext_ = kFinalizer;
  *table.image_ext_ = kImage;
  *table.pc_sampling_ext_ = kPcSampling;
  *table.tools_ = kTools;
}

}  // namespace wavejit::hsa

// The exported functions: a load and a jump each, through the entry with the same number. Arguments, return address and
// result are left as they are, so nothing has to be known of a function's type.
#define WAVEJIT_NEXT_ENTRY ".set .Lwavejit_entry, .Lwavejit_entry + 8\n"
#define WAVEJIT_JUMP(name, table)                                                                \
  ".globl " #name "\n.type " #name ", @function\n.p2align 4\n" #name                             \
  ":\n.cfi_startproc\nendbr64\n"                                                                 \
  "jmp *wavejit_" #table "_table+.Lwavejit_entry(%rip)\n.cfi_endproc\n.size " #name ", .-" #name \
  "\n" WAVEJIT_NEXT_ENTRY

static_assert(sizeof(wavejit::hsa::TableVersion) == 16);
#define WAVEJIT_FIRST_ENTRY ".set .Lwavejit_entry, 16\n"

// clang-format off
asm(".pushsection .text\n"
    WAVEJIT_FIRST_ENTRY
#define WAVEJIT_HSA_CORE(name) WAVEJIT_JUMP(name, core)
#include "runtime/hsa/api_functions.def"
    WAVEJIT_FIRST_ENTRY
#define WAVEJIT_HSA_AMD(name) WAVEJIT_JUMP(name, amd)
#define WAVEJIT_HSA_AMD_TABLE_ONLY(name) WAVEJIT_NEXT_ENTRY
#include "runtime/hsa/api_functions.def"
    WAVEJIT_FIRST_ENTRY
#define WAVEJIT_HSA_FINALIZER(name) WAVEJIT_JUMP(name, finalizer)
#include "runtime/hsa/api_functions.def"
    WAVEJIT_FIRST_ENTRY
#define WAVEJIT_HSA_IMAGE(name) WAVEJIT_JUMP(name, image)
#include "runtime/hsa/api_functions.def"
    WAVEJIT_FIRST_ENTRY
#define WAVEJIT_HSA_PC_SAMPLING(name) WAVEJIT_JUMP(name, pc_sampling)
#include "runtime/hsa/api_functions.def"
#define WAVEJIT_HSA_OLD_NAME(old_name, name) ".globl " #old_name "\n.set " #old_name ", " #name "\n"
#include "runtime/hsa/api_functions.def"
    ".popsection\n");
// clang-format on
