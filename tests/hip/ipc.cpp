// Memory of one process in another: the parent gives handles to children, which are processes of their own.
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <string>

#include "check.h"

__global__ void add(int* p, int value) {
  p[threadIdx.x] += value;
}

// What the child does with the handle, given as text.
int attach(const char* text) {
  hipIpcMemHandle_t handle;
  for (size_t i = 0; i < sizeof handle; ++i) {
    const char digits[] = {text[2 * i], text[2 * i + 1], 0};
    reinterpret_cast<unsigned char*>(&handle)[i] = static_cast<unsigned char>(std::strtoul(digits, nullptr, 16));
  }
  int* memory = nullptr;
  HIP(hipIpcOpenMemHandle(reinterpret_cast<void**>(&memory), handle, hipIpcMemLazyEnablePeerAccess));
  add<<<1, 64>>>(memory, 5);
  HIP(hipDeviceSynchronize());
  int last = 0;
  HIP(hipMemcpy(&last, memory + 999, sizeof last, hipMemcpyDeviceToHost));
  CHECK(last == 999);
  HIP(hipIpcCloseMemHandle(memory));
  return 0;
}

int main(int argc, char** argv) {
  if (argc == 2) return attach(argv[1]);
  int* memory = nullptr;
  HIP(hipMalloc(&memory, 1000 * sizeof(int)));
  int values[1000];
  for (int i = 0; i < 1000; ++i) values[i] = i;
  HIP(hipMemcpy(memory, values, sizeof values, hipMemcpyHostToDevice));
  hipIpcMemHandle_t handle;
  HIP(hipIpcGetMemHandle(&handle, memory));
  std::string text;
  for (size_t i = 0; i < sizeof handle; ++i) {
    char digits[3];
    std::snprintf(digits, sizeof digits, "%02x", reinterpret_cast<unsigned char*>(&handle)[i]);
    text += digits;
  }
  for (int round = 1; round <= 2; ++round) {
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
      execl("/proc/self/exe", argv[0], text.c_str(), nullptr);
      _exit(127);
    }
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(status == 0);
    HIP(hipMemcpy(values, memory, sizeof values, hipMemcpyDeviceToHost));
    for (int i = 0; i < 64; ++i) CHECK(values[i] == i + 5 * round);
  }
  HIP(hipFree(memory));
}
