// What goes wrong on the device: HIP 5.2 ends the process when a queue reports an error, so each case is a process.
#include "child.h"

__global__ void write_at(int* p, long index) {
  p[index] = 1;
}
__global__ void stop() {
  __builtin_trap();
}
__global__ void endless(volatile int* p) {
  while (*p == 0) {
  }
}
__global__ void add_at_byte(char* p, long byte) {
  atomicAdd(reinterpret_cast<int*>(p + byte), 1);
}

// What `body` has written in a child that must not end well.
template <typename Body>
ChildResult fault_of(Body&& body) {
  ChildResult result = run_child(body);
  CHECK(!result.ended_well());
  return result;
}

int main() {
  const ChildResult outside = fault_of([] {
    int* p;
    HIP(hipMalloc(&p, 4096));
    write_at<<<1, 1>>>(p, 1024 + 16);
    if (hipDeviceSynchronize() != hipSuccess) _exit(1);
  });
  CHECK(outside.has("'write_at(int*, long)' wrote") && outside.has("faults.cpp:5)"));
  CHECK(outside.has("lane 0; the address is 64 bytes past the end of buffer 'device memory' (4096 bytes"));

  const ChildResult misaligned = fault_of([] {
    char* p;
    HIP(hipMalloc(&p, 4096));
    add_at_byte<<<1, 1>>>(p, 102);
    if (hipDeviceSynchronize() != hipSuccess) _exit(1);
  });
  CHECK(misaligned.has("'add_at_byte(char*, long)' did an atomic operation, which needs alignment, at address"));
  CHECK(misaligned.has("amd_hip_atomic.h:") && misaligned.has("at byte 102 of buffer 'device memory'"));

  const ChildResult trap = fault_of([] {
    stop<<<1, 64>>>();
    if (hipDeviceSynchronize() != hipSuccess) _exit(1);
  });
  CHECK(trap.has("stop"));

  setenv("WAVEJIT_TIMEOUT", "0.5", 1);
  const ChildResult time = fault_of([] {
    int* p;
    HIP(hipHostMalloc(&p, sizeof(int)));
    *p = 0;
    endless<<<1, 64>>>(p);
    if (hipDeviceSynchronize() != hipSuccess) _exit(1);
  });
  CHECK(time.has("endless"));
}
