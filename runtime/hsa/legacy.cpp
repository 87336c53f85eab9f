// Functions that programs link to but do not call: queries of HSA 1.0's code objects, which executables and readers replaced in
// 1.1, and the finalizer of HSAIL programs, which ROCm has never had.
#include <hsa/hsa_ext_amd.h>
#include <hsa/hsa_ext_finalize.h>

#include "runtime/hsa/status.h"

using namespace wavejit::hsa;

#define WAVEJIT_NOT_IMPLEMENTED(function, status, ...)                 \
  WAVEJIT_HSA_API hsa_status_t function(__VA_ARGS__) {                 \
    return entry([] { return not_implemented(#function, (status)); }); \
  }

WAVEJIT_NOT_IMPLEMENTED(hsa_code_object_serialize, HSA_STATUS_ERROR_INVALID_CODE_OBJECT, hsa_code_object_t,
                        hsa_status_t (*)(size_t, hsa_callback_data_t, void**), hsa_callback_data_t, const char*, void**,
                        size_t*)
WAVEJIT_NOT_IMPLEMENTED(hsa_code_object_get_info, HSA_STATUS_ERROR_INVALID_CODE_OBJECT, hsa_code_object_t,
                        hsa_code_object_info_t, void*)
WAVEJIT_NOT_IMPLEMENTED(hsa_code_object_get_symbol, HSA_STATUS_ERROR_INVALID_CODE_OBJECT, hsa_code_object_t,
                        const char*, hsa_code_symbol_t*)
WAVEJIT_NOT_IMPLEMENTED(hsa_code_object_get_symbol_from_name, HSA_STATUS_ERROR_INVALID_CODE_OBJECT, hsa_code_object_t,
                        const char*, const char*, hsa_code_symbol_t*)
WAVEJIT_NOT_IMPLEMENTED(hsa_code_object_iterate_symbols, HSA_STATUS_ERROR_INVALID_CODE_OBJECT, hsa_code_object_t,
                        hsa_status_t (*)(hsa_code_object_t, hsa_code_symbol_t, void*), void*)
WAVEJIT_NOT_IMPLEMENTED(hsa_code_symbol_get_info, HSA_STATUS_ERROR_INVALID_CODE_SYMBOL, hsa_code_symbol_t,
                        hsa_code_symbol_info_t, void*)

namespace {
const auto kInvalidProgram = static_cast<hsa_status_t>(HSA_EXT_STATUS_ERROR_INVALID_PROGRAM);
}
WAVEJIT_NOT_IMPLEMENTED(hsa_ext_program_create, HSA_STATUS_ERROR, hsa_machine_model_t, hsa_profile_t,
                        hsa_default_float_rounding_mode_t, const char*, hsa_ext_program_t*)
WAVEJIT_NOT_IMPLEMENTED(hsa_ext_program_destroy, kInvalidProgram, hsa_ext_program_t)
WAVEJIT_NOT_IMPLEMENTED(hsa_ext_program_add_module, kInvalidProgram, hsa_ext_program_t, hsa_ext_module_t)
WAVEJIT_NOT_IMPLEMENTED(hsa_ext_program_iterate_modules, kInvalidProgram, hsa_ext_program_t,
                        hsa_status_t (*)(hsa_ext_program_t, hsa_ext_module_t, void*), void*)
WAVEJIT_NOT_IMPLEMENTED(hsa_ext_program_get_info, kInvalidProgram, hsa_ext_program_t, hsa_ext_program_info_t, void*)
WAVEJIT_NOT_IMPLEMENTED(hsa_ext_program_finalize, kInvalidProgram, hsa_ext_program_t, hsa_isa_t, int32_t,
                        hsa_ext_control_directives_t, const char*, hsa_code_object_type_t, hsa_code_object_t*)

// In no table: exported as it is.
extern "C" __attribute__((visibility("default"))) hsa_status_t
hsa_amd_image_get_info_max_dim(hsa_agent_t agent, hsa_agent_info_t attribute, void* value) {
  return hsa_agent_get_info(agent, attribute, value);
}
