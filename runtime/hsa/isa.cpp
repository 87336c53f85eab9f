// Instruction set architectures: one for each GPU agent, whose handle is that of the agent.
#include <cstring>

#include "runtime/hsa/agent.h"
#include "runtime/hsa/status.h"

using namespace wavejit::hsa;

WAVEJIT_HSA_API hsa_status_t hsa_agent_iterate_isas(hsa_agent_t handle, hsa_status_t (*callback)(hsa_isa_t, void*),
                                                    void* data) {
  return entry([&] {
    const Agent* agent = agent_of(handle);
    if (!agent) return HSA_STATUS_ERROR_INVALID_AGENT;
    if (!callback) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    return agent->is_gpu() ? callback({handle.handle}, data) : HSA_STATUS_SUCCESS;
  });
}

WAVEJIT_HSA_API hsa_status_t hsa_isa_from_name(const char* name, hsa_isa_t* isa) {
  return entry([&] {
    if (!name || !isa) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    const auto wanted = wavejit::codeobject::parse_target_id(name);
    if (!wanted) return HSA_STATUS_ERROR_INVALID_ISA_NAME;
    for (const auto& agent : agents()) {
      if (!agent->is_gpu() || !compatible(*wanted, agent->target_id)) continue;
      *isa = {agent->handle().handle};
      return HSA_STATUS_SUCCESS;
    }
    return HSA_STATUS_ERROR_INVALID_ISA_NAME;
  });
}

WAVEJIT_HSA_API hsa_status_t hsa_isa_get_info_alt(hsa_isa_t handle, hsa_isa_info_t attribute, void* value) {
  return entry([&] {
    const Agent* agent = gpu_of_isa(handle);
    if (!agent) return HSA_STATUS_ERROR_INVALID_ISA;
    if (!value) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    switch (static_cast<uint32_t>(attribute)) {
      case HSA_ISA_INFO_NAME_LENGTH:
        return give(value, static_cast<uint32_t>(agent->isa_name.size() + 1));
      case HSA_ISA_INFO_NAME:
        std::memcpy(value, agent->isa_name.c_str(), agent->isa_name.size() + 1);
        return HSA_STATUS_SUCCESS;
      case HSA_ISA_INFO_CALL_CONVENTION_COUNT:
        return give(value, uint32_t{1});
      case HSA_ISA_INFO_CALL_CONVENTION_INFO_WAVEFRONT_SIZE:
        return give(value, uint32_t{64});
      case HSA_ISA_INFO_CALL_CONVENTION_INFO_WAVEFRONTS_PER_COMPUTE_UNIT:
        return give(value, agent->board->waves_per_cu());
      case HSA_ISA_INFO_MACHINE_MODELS:
        return give(value, std::array<bool, 2>{false, true});
      case HSA_ISA_INFO_PROFILES:
        return give(value, std::array<bool, 2>{true, false});
      case HSA_ISA_INFO_DEFAULT_FLOAT_ROUNDING_MODES:
      case HSA_ISA_INFO_BASE_PROFILE_DEFAULT_FLOAT_ROUNDING_MODES:
        return give(value, std::array<bool, 3>{false, false, true});
      case HSA_ISA_INFO_FAST_F16_OPERATION:
        return give(value, true);
      case HSA_ISA_INFO_WORKGROUP_MAX_DIM:
        return give(value, std::array<uint16_t, 3>{1024, 1024, 1024});
      case HSA_ISA_INFO_WORKGROUP_MAX_SIZE:
        return give(value, uint32_t{1024});
      case HSA_ISA_INFO_GRID_MAX_DIM:
        return give(value, hsa_dim3_t{UINT32_MAX, UINT32_MAX, UINT32_MAX});
      case HSA_ISA_INFO_GRID_MAX_SIZE:
        return give(value, uint64_t{UINT64_MAX});
      case HSA_ISA_INFO_FBARRIER_MAX_SIZE:
        return give(value, uint32_t{32});
      default:
        return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    }
  });
}
WAVEJIT_HSA_API hsa_status_t hsa_isa_get_info(hsa_isa_t isa, hsa_isa_info_t attribute, uint32_t index, void* value) {
  return index == 0 ? hsa_isa_get_info_alt(isa, attribute, value) : HSA_STATUS_ERROR_INVALID_INDEX;
}
WAVEJIT_HSA_API hsa_status_t hsa_isa_get_exception_policies(hsa_isa_t isa, hsa_profile_t, uint16_t* mask) {
  return entry([&] {
    if (!gpu_of_isa(isa)) return HSA_STATUS_ERROR_INVALID_ISA;
    if (!mask) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    *mask = 0;
    return HSA_STATUS_SUCCESS;
  });
}
WAVEJIT_HSA_API hsa_status_t hsa_isa_get_round_method(hsa_isa_t isa, hsa_fp_type_t, hsa_flush_mode_t,
                                                      hsa_round_method_t* method) {
  return entry([&] {
    if (!gpu_of_isa(isa)) return HSA_STATUS_ERROR_INVALID_ISA;
    if (!method) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    *method = HSA_ROUND_METHOD_SINGLE;
    return HSA_STATUS_SUCCESS;
  });
}
WAVEJIT_HSA_API hsa_status_t hsa_isa_compatible(hsa_isa_t code, hsa_isa_t agent, bool* result) {
  return entry([&] {
    const Agent *a = gpu_of_isa(code), *b = gpu_of_isa(agent);
    if (!a || !b) return HSA_STATUS_ERROR_INVALID_ISA;
    if (!result) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    *result = compatible(a->target_id, b->target_id);
    return HSA_STATUS_SUCCESS;
  });
}

// A wavefront handle is the ISA's.
WAVEJIT_HSA_API hsa_status_t hsa_isa_iterate_wavefronts(hsa_isa_t isa, hsa_status_t (*callback)(hsa_wavefront_t, void*),
                                                        void* data) {
  return entry([&] {
    if (!gpu_of_isa(isa)) return HSA_STATUS_ERROR_INVALID_ISA;
    return callback ? callback({isa.handle}, data) : HSA_STATUS_ERROR_INVALID_ARGUMENT;
  });
}
WAVEJIT_HSA_API hsa_status_t hsa_wavefront_get_info(hsa_wavefront_t wavefront, hsa_wavefront_info_t attribute,
                                                    void* value) {
  return entry([&] {
    if (!gpu_of_isa({wavefront.handle})) return HSA_STATUS_ERROR_INVALID_WAVEFRONT;
    if (!value || attribute != HSA_WAVEFRONT_INFO_SIZE) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    return give(value, uint32_t{64});
  });
}
