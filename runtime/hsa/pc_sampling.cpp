// What a GPU's counters and samplers would measure: samples of the program counter (hsa_ven_amd_pcs_*) and streaming
// performance counters (hsa_amd_spm_*). The engine has neither: every function says so, and devices have no
// configuration to sample with.
#include "runtime/hsa/agent.h"
#include "runtime/hsa/newer_api.h"
#include "runtime/hsa/status.h"

using namespace wavejit::hsa;

namespace {

hsa_status_t absent(const char* function, hsa_agent_t handle) {
  return entry([&] {
    const Agent* agent = agent_of(handle);
    if (!agent || !agent->is_gpu()) return HSA_STATUS_ERROR_INVALID_AGENT;
    return not_implemented(function, HSA_STATUS_ERROR);
  });
}
// Nothing makes a sampler, so no handle is one.
hsa_status_t invalid_sampler() {
  return entry([] { return HSA_STATUS_ERROR_INVALID_ARGUMENT; });
}

}  // namespace

WAVEJIT_HSA_API hsa_status_t hsa_ven_amd_pcs_iterate_configuration(hsa_agent_t agent,
                                                                   hsa_ven_amd_pcs_iterate_configuration_callback_t,
                                                                   void*) {
  return absent("hsa_ven_amd_pcs_iterate_configuration", agent);
}
WAVEJIT_HSA_API hsa_status_t hsa_ven_amd_pcs_create(hsa_agent_t agent, hsa_ven_amd_pcs_method_kind_t,
                                                    hsa_ven_amd_pcs_units_t, size_t, size_t, size_t,
                                                    hsa_ven_amd_pcs_data_ready_callback_t, void*, hsa_ven_amd_pcs_t*) {
  return absent("hsa_ven_amd_pcs_create", agent);
}
WAVEJIT_HSA_API hsa_status_t hsa_ven_amd_pcs_create_from_id(uint32_t, hsa_agent_t agent, hsa_ven_amd_pcs_method_kind_t,
                                                            hsa_ven_amd_pcs_units_t, size_t, size_t, size_t,
                                                            hsa_ven_amd_pcs_data_ready_callback_t, void*,
                                                            hsa_ven_amd_pcs_t*) {
  return absent("hsa_ven_amd_pcs_create_from_id", agent);
}
WAVEJIT_HSA_API hsa_status_t hsa_ven_amd_pcs_destroy(hsa_ven_amd_pcs_t) {
  return invalid_sampler();
}
WAVEJIT_HSA_API hsa_status_t hsa_ven_amd_pcs_start(hsa_ven_amd_pcs_t) {
  return invalid_sampler();
}
WAVEJIT_HSA_API hsa_status_t hsa_ven_amd_pcs_stop(hsa_ven_amd_pcs_t) {
  return invalid_sampler();
}
WAVEJIT_HSA_API hsa_status_t hsa_ven_amd_pcs_flush(hsa_ven_amd_pcs_t) {
  return invalid_sampler();
}

WAVEJIT_HSA_API hsa_status_t hsa_amd_spm_acquire(hsa_agent_t agent) {
  return absent("hsa_amd_spm_acquire", agent);
}
WAVEJIT_HSA_API hsa_status_t hsa_amd_spm_release(hsa_agent_t agent) {
  return absent("hsa_amd_spm_release", agent);
}
WAVEJIT_HSA_API hsa_status_t hsa_amd_spm_set_dest_buffer(hsa_agent_t agent, size_t, uint32_t*, uint32_t*, void*,
                                                         bool*) {
  return absent("hsa_amd_spm_set_dest_buffer", agent);
}
