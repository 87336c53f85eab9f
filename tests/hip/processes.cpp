// Processes that use HIP side by side: forked before HIP is used, and started anew by a process that uses it.
#include <vector>

#include "child.h"

__global__ void sum(const int* in, long long* out, int n) {
  long long s = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x) s += in[i];
  atomicAdd(reinterpret_cast<unsigned long long*>(out), static_cast<unsigned long long>(s));
}

bool work(int seed) {
  const int n = 20000;
  std::vector<int> host(n);
  long long expected = 0;
  for (int i = 0; i < n; ++i) expected += host[i] = (i * seed) % 1000;
  int* in;
  long long *out, result = 0;
  HIP(hipMalloc(&in, n * sizeof(int)));
  HIP(hipMalloc(&out, sizeof *out));
  HIP(hipMemset(out, 0, sizeof *out));
  HIP(hipMemcpy(in, host.data(), n * sizeof(int), hipMemcpyHostToDevice));
  sum<<<1, 256>>>(in, out, n);
  HIP(hipMemcpy(&result, out, sizeof result, hipMemcpyDeviceToHost));
  HIP(hipFree(in));
  HIP(hipFree(out));
  return result == expected;
}

int main(int argc, char** argv) {
  if (argc == 2) return work(std::atoi(argv[1])) ? 0 : 1;
  // Four at a time, forked by a process that has not used HIP yet.
  pid_t children[4];
  for (int c = 0; c < 4; ++c) {
    children[c] = fork();
    CHECK(children[c] >= 0);
    if (children[c] == 0) _exit(work(c + 3) ? 0 : 1);
  }
  CHECK(work(2));
  for (const pid_t child : children) {
    int status = -1;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
  }
  // Two that this process, which uses HIP now, executes anew; they find wavejit's library through the environment.
  for (int c = 0; c < 2; ++c) {
    children[c] = fork();
    CHECK(children[c] >= 0);
    if (children[c] == 0) {
      execl(argv[0], argv[0], c == 0 ? "11" : "12", static_cast<char*>(nullptr));
      _exit(127);
    }
  }
  CHECK(work(7));
  for (int c = 0; c < 2; ++c) {
    int status = -1;
    CHECK(waitpid(children[c], &status, 0) == children[c] && status == 0);
  }
  CHECK(work(8));  // children that end leave this one alone
}
