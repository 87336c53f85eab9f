// Compares the library's tables with those of ROCm's public header. Nothing here runs. Older headers have the beginning of the newest one's
// tables, and nothing is compared; with WAVEJIT_COMPARES_TABLES that is an error (scripts/suites/ci.py compiles it so with ROCm 7.2's).
#include <cstddef>

#include "runtime/hsa/api_table.h"

#if __has_include(<hsa/hsa_api_trace_version.h>)
#define AMD_INTERNAL_BUILD
#include <hsa/hsa_api_trace.h>
#endif

#if defined HSA_AMD_EXT_API_TABLE_STEP_VERSION && HSA_AMD_EXT_API_TABLE_STEP_VERSION == 8
namespace {
#define SAME(public_table, table, name) \
  static_assert(offsetof(public_table, name##_fn) == offsetof(wavejit::hsa::table, name##_fn));
#define WAVEJIT_HSA_CORE(name) SAME(CoreApiTable, CoreTable, name)
#define WAVEJIT_HSA_AMD(name) SAME(AmdExtTable, AmdTable, name)
#define WAVEJIT_HSA_AMD_TABLE_ONLY(name) SAME(AmdExtTable, AmdTable, name)
#define WAVEJIT_HSA_FINALIZER(name) SAME(FinalizerExtTable, FinalizerTable, name)
#define WAVEJIT_HSA_IMAGE(name) SAME(ImageExtTable, ImageTable, name)
#define WAVEJIT_HSA_PC_SAMPLING(name) SAME(PcSamplingExtTable, PcSamplingTable, name)
#define WAVEJIT_HSA_TOOLS(name) SAME(ToolsApiTable, ToolsTable, name)
#include "runtime/hsa/api_functions.def"
static_assert(sizeof(CoreApiTable) == sizeof(wavejit::hsa::CoreTable));
static_assert(sizeof(AmdExtTable) == sizeof(wavejit::hsa::AmdTable));
static_assert(sizeof(FinalizerExtTable) == sizeof(wavejit::hsa::FinalizerTable));
static_assert(sizeof(ImageExtTable) == sizeof(wavejit::hsa::ImageTable));
static_assert(sizeof(PcSamplingExtTable) == sizeof(wavejit::hsa::PcSamplingTable));
static_assert(sizeof(ToolsApiTable) == sizeof(wavejit::hsa::ToolsTable));
static_assert(sizeof(HsaApiTable) == sizeof(wavejit::hsa::ApiTable));
static_assert(offsetof(HsaApiTable, pc_sampling_ext_) == offsetof(wavejit::hsa::ApiTable, pc_sampling_ext_));
}  // namespace
#elif defined WAVEJIT_COMPARES_TABLES
#error "hsa_api_trace.h is not of the version that the library's tables are of"
#endif
