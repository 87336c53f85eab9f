// Tables of the library's functions. Every exported function jumps through its entry, and tools put functions of their own
// there (tools.h).
//
// The layout is that of hsa_api_trace.h of ROCm 7.2: CoreApiTable, AmdExtTable and so on. It has only grown at the ends of
// the tables since ROCm 5.7; tools compare `minor_id`, the size in bytes, with what they were compiled for. The major ids
// of ROCm 5.2 are others, and its AmdExtTable has another order.
#pragma once

#include <hsa/hsa_ext_finalize.h>

#include <cstdint>

#include "runtime/hsa/newer_api.h"

namespace wavejit::hsa {

struct TableVersion {
  uint32_t major_id;
  uint32_t minor_id;  // bytes of the table
  uint32_t step_id;
  uint32_t reserved;
};

#define WAVEJIT_ENTRY(name) decltype(name)* name##_fn;

struct CoreTable {
  TableVersion version;
#define WAVEJIT_HSA_CORE(name) WAVEJIT_ENTRY(name)
#include "runtime/hsa/api_functions.def"
};

struct AmdTable {
  TableVersion version;
#define WAVEJIT_HSA_AMD(name) WAVEJIT_ENTRY(name)
#define WAVEJIT_HSA_AMD_TABLE_ONLY(name) WAVEJIT_ENTRY(name)
#include "runtime/hsa/api_functions.def"
};

struct FinalizerTable {
  TableVersion version;
#define WAVEJIT_HSA_FINALIZER(name) WAVEJIT_ENTRY(name)
#include "runtime/hsa/api_functions.def"
};

struct ImageTable {
  TableVersion version;
#define WAVEJIT_HSA_IMAGE(name) WAVEJIT_ENTRY(name)
#include "runtime/hsa/api_functions.def"
};

struct PcSamplingTable {
  TableVersion version;
#define WAVEJIT_HSA_PC_SAMPLING(name) WAVEJIT_ENTRY(name)
#include "runtime/hsa/api_functions.def"
};

// Functions of tools that the runtime calls when it gives scratch memory to queues. The library takes scratch for each
// launch and calls none of them. The argument is hsa_amd_tool_event_t, a union of pointers.
struct ToolsTable {
  TableVersion version;
#define WAVEJIT_HSA_TOOLS(name) hsa_status_t (*name##_fn)(const void* event);
#include "runtime/hsa/api_functions.def"
};

#undef WAVEJIT_ENTRY

// The members have the names of HsaApiTable.
struct ApiTable {
  TableVersion version;
  CoreTable* core_;
  AmdTable* amd_ext_;
  FinalizerTable* finalizer_ext_;
  ImageTable* image_ext_;
  ToolsTable* tools_;
  PcSamplingTable* pc_sampling_ext_;
};

// The tables that the exported functions jump through. A tool changes them in hsa_init; nothing locks them.
[[nodiscard]] ApiTable& api_table();
// Puts the library's own functions back.
void reset_api_table();

}  // namespace wavejit::hsa
