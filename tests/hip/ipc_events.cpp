// Events of one process in another: the parent records them, children wait for them; and memory that is mapped from a
// file, which HIP registers for that.
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <string>

#include "check.h"

__global__ void when_told(volatile int* go, int* out) {
  while (*go == 0) {
  }
  out[threadIdx.x] = 100 + threadIdx.x;
}
__global__ void add(int* p, int value) {
  p[threadIdx.x] += value;
}

template <typename Handle>
std::string to_text(const Handle& handle) {
  std::string text;
  for (size_t i = 0; i < sizeof handle; ++i) {
    char digits[3];
    std::snprintf(digits, sizeof digits, "%02x", reinterpret_cast<const unsigned char*>(&handle)[i]);
    text += digits;
  }
  return text;
}
template <typename Handle>
Handle from_text(const char* text) {
  Handle handle;
  for (size_t i = 0; i < sizeof handle; ++i) {
    const char digits[] = {text[2 * i], text[2 * i + 1], 0};
    reinterpret_cast<unsigned char*>(&handle)[i] = static_cast<unsigned char>(std::strtoul(digits, nullptr, 16));
  }
  return handle;
}

constexpr int kTell = 99;  // the child's descriptor for telling the parent that it is there

// From HIP 5.6 on, hipEventRecord tells other processes nothing: IPCEvent::recordCommand (hip_event_ipc.cpp) writes into
// the memory that they share only if `unrecorded_` is set, which starts as false. To them the event has always happened.
constexpr bool kIsRecorded = HIP_VERSION < 50600000;

// `how`: with hipEventSynchronize, or a stream that waits.
int child(const char* how, const char* event_text, const char* memory_text) {
  hipEvent_t event;
  HIP(hipIpcOpenEventHandle(&event, from_text<hipIpcEventHandle_t>(event_text)));
  int* memory = nullptr;
  HIP(hipIpcOpenMemHandle(reinterpret_cast<void**>(&memory), from_text<hipIpcMemHandle_t>(memory_text),
                          hipIpcMemLazyEnablePeerAccess));
  CHECK(hipEventQuery(event) == (kIsRecorded ? hipErrorNotReady : hipSuccess));
  (void)hipGetLastError();
  CHECK(write(kTell, "w", 1) == 1);  // the parent may let the kernel go
  char ended = 0;
  if (!kIsRecorded) CHECK(read(kTell, &ended, 1) == 1 && ended == 'e');
  if (std::strcmp(how, "stream") == 0) {
    hipStream_t stream;
    HIP(hipStreamCreate(&stream));
    HIP(hipStreamWaitEvent(stream, event, 0));
    add<<<1, 64, 0, stream>>>(memory, 1000);
    HIP(hipStreamSynchronize(stream));
    HIP(hipStreamDestroy(stream));
  } else {
    HIP(hipEventSynchronize(event));
    add<<<1, 64>>>(memory, 1000);
    HIP(hipDeviceSynchronize());
  }
  HIP(hipEventQuery(event));
  HIP(hipIpcCloseMemHandle(memory));
  HIP(hipEventDestroy(event));
  return 0;
}

void two_processes(const char* program, const char* how) {
  int *memory = nullptr, *go = nullptr;
  HIP(hipMalloc(&memory, 64 * sizeof(int)));
  HIP(hipMemset(memory, 0, 64 * sizeof(int)));
  HIP(hipHostMalloc(&go, sizeof(int)));
  *go = 0;
  hipEvent_t event;
  HIP(hipEventCreateWithFlags(&event, hipEventDisableTiming | hipEventInterprocess));
  hipIpcEventHandle_t event_handle;
  HIP(hipIpcGetEventHandle(&event_handle, event));
  hipIpcMemHandle_t memory_handle;
  HIP(hipIpcGetMemHandle(&memory_handle, memory));
  when_told<<<1, 64>>>(go, memory);
  HIP(hipEventRecord(event, nullptr));

  const std::string event_text = to_text(event_handle), memory_text = to_text(memory_handle);
  int ends[2];
  CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
  const pid_t other = fork();
  CHECK(other >= 0);
  if (other == 0) {
    CHECK(dup2(ends[1], kTell) == kTell);
    close(ends[0]);
    close(ends[1]);
    execl("/proc/self/exe", program, how, event_text.c_str(), memory_text.c_str(), nullptr);
    _exit(127);
  }
  close(ends[1]);
  char told = 0;
  CHECK(read(ends[0], &told, 1) == 1 && told == 'w');
  usleep(20'000);
  __atomic_store_n(go, 1, __ATOMIC_RELEASE);
  if (!kIsRecorded) {
    HIP(hipDeviceSynchronize());
    CHECK(write(ends[0], "e", 1) == 1);
  }
  int status = 0;
  CHECK(waitpid(other, &status, 0) == other);
  CHECK(status == 0);
  close(ends[0]);
  int values[64];
  HIP(hipMemcpy(values, memory, sizeof values, hipMemcpyDeviceToHost));
  for (int i = 0; i < 64; ++i) CHECK(values[i] == 1100 + i);
  HIP(hipEventSynchronize(event));
  HIP(hipEventDestroy(event));
  HIP(hipFree(memory));
  HIP(hipHostFree(go));
  // HIP leaves the files that it has made: /hip_eventXXXXXX, which the handle names, and /tmp/eventXXXXXX.
  const char* name = reinterpret_cast<const char*>(&event_handle);
  shm_unlink(name);
  unlink(("/tmp/" + std::string(name).substr(5)).c_str());
}

void mapped_file() {
  char name[] = "/tmp/wavejit-ipc-XXXXXX";
  const int file = mkstemp(name);
  CHECK(file >= 0);
  unlink(name);
  constexpr size_t kBytes = 3 * 4096;
  CHECK(ftruncate(file, kBytes) == 0);
  auto* host = static_cast<int*>(mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0));
  CHECK(host != MAP_FAILED);
  for (int round = 1; round <= 2; ++round) {
    host[1500] = 7;
    HIP(hipHostRegister(host + 1024, 4096 + 512, hipHostRegisterMapped));
    int* device = nullptr;
    HIP(hipHostGetDevicePointer(reinterpret_cast<void**>(&device), host + 1024, 0));
    CHECK(device != host + 1024);
    add<<<1, 64>>>(device + 476, 5);
    HIP(hipDeviceSynchronize());
    CHECK(host[1500] == 12 && host[1501] == 5 * round && device[476] == 12);
    HIP(hipHostUnregister(host + 1024));
    int stored = 0;
    CHECK(pread(file, &stored, sizeof stored, 1500 * sizeof stored) == sizeof stored && stored == 12);
  }
  munmap(host, kBytes);
  close(file);
}

int main(int argc, char** argv) {
  if (argc == 4) return child(argv[1], argv[2], argv[3]);
  two_processes(argv[0], "synchronize");
  two_processes(argv[0], "stream");
  mapped_file();
}
