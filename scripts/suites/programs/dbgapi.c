/* AMD's debugger library, as far as it goes without a process: versions, architectures, and the disassembler. */
#include <amd-dbgapi/amd-dbgapi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void* allocate(size_t size) {
  return malloc(size);
}
static void deallocate(void* data) {
  free(data);
}
static amd_dbgapi_status_t get_info(amd_dbgapi_client_process_id_t process, amd_dbgapi_client_process_info_t query,
                                    size_t size, void* value) {
  (void)process, (void)query, (void)size, (void)value;
  return AMD_DBGAPI_STATUS_ERROR_NOT_AVAILABLE;
}
static amd_dbgapi_status_t insert(amd_dbgapi_client_process_id_t process, amd_dbgapi_global_address_t address,
                                  amd_dbgapi_breakpoint_id_t breakpoint) {
  (void)process, (void)address, (void)breakpoint;
  return AMD_DBGAPI_STATUS_SUCCESS;
}
static amd_dbgapi_status_t delete(amd_dbgapi_client_process_id_t process, amd_dbgapi_breakpoint_id_t breakpoint) {
  (void)process, (void)breakpoint;
  return AMD_DBGAPI_STATUS_SUCCESS;
}
static amd_dbgapi_status_t transfer(amd_dbgapi_client_process_id_t process, amd_dbgapi_global_address_t address,
                                    amd_dbgapi_size_t* size, void* read, const void* write) {
  (void)process, (void)address, (void)size, (void)read, (void)write;
  return AMD_DBGAPI_STATUS_ERROR_MEMORY_ACCESS;
}
static void log_message(amd_dbgapi_log_level_t level, const char* message) {
  (void)level;
  puts(message);
}

int main(void) {
  static amd_dbgapi_callbacks_t callbacks;
  callbacks.allocate_memory = allocate;
  callbacks.deallocate_memory = deallocate;
  callbacks.client_process_get_info = get_info;
  callbacks.insert_breakpoint = insert;
  callbacks.remove_breakpoint = delete;
  callbacks.xfer_global_memory = transfer;
  callbacks.log_message = log_message;
  amd_dbgapi_status_t status = amd_dbgapi_initialize(&callbacks);
  if (status != AMD_DBGAPI_STATUS_SUCCESS) return printf("amd_dbgapi_initialize: %d\n", status), 1;
  const struct {
    uint32_t mach; /* EF_AMDGPU_MACH */
    const char* name;
  } processors[] = {{0x2c, "gfx900"}, {0x2f, "gfx906"}, {0x30, "gfx908"}, {0x3f, "gfx90a"}};
  const uint32_t s_endpgm = 0xbf810000;
  int right = 0;
  for (int i = 0; i < 4; ++i) {
    amd_dbgapi_architecture_id_t architecture;
    char *name = NULL, *text = NULL;
    amd_dbgapi_size_t size = sizeof s_endpgm;
    if (amd_dbgapi_get_architecture(processors[i].mach, &architecture) != AMD_DBGAPI_STATUS_SUCCESS) continue;
    if (amd_dbgapi_architecture_get_info(architecture, AMD_DBGAPI_ARCHITECTURE_INFO_NAME, sizeof name, &name) !=
        AMD_DBGAPI_STATUS_SUCCESS)
      continue;
    status = amd_dbgapi_disassemble_instruction(architecture, 0, &size, &s_endpgm, &text, NULL, NULL);
    printf("%s: %s\n", name, status == AMD_DBGAPI_STATUS_SUCCESS ? text : "not disassembled");
    right += strstr(name, processors[i].name) && status == AMD_DBGAPI_STATUS_SUCCESS && strstr(text, "s_endpgm") &&
             size == 4;
  }
  return amd_dbgapi_finalize() == AMD_DBGAPI_STATUS_SUCCESS && right == 4 ? 0 : 1;
}
