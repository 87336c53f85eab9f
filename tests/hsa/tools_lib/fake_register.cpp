// A librocprofiler-register that keeps what it is given, and answers what the test wants.
#include <cstdint>

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {
struct Registration {
  unsigned calls;
  const char* name;
  uint32_t version, import_version;
  void* table;
  uint64_t count;
  int answer = 1;  // ROCP_REG_NO_TOOLS
} registration;
}  // namespace

EXPORT int rocprofiler_register_library_api_table(const char* name, uint32_t (*import)(), uint32_t version,
                                                  void** tables, uint64_t count, uint64_t* id) {
  ++registration.calls;
  registration.name = name;
  registration.version = version;
  registration.import_version = import();
  registration.table = tables[0];
  registration.count = count;
  *id = 1;
  return registration.answer;
}
EXPORT void* registration_of() {
  return &registration;
}
