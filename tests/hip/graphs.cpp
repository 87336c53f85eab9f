// A graph captured from a stream, launched several times.
#include "check.h"

__global__ void step(int* data, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) data[i] = data[i] * 3 + 1;
}

int main() {
  const int n = 4096;
  int *device, *host;
  HIP(hipMalloc(&device, n * sizeof(int)));
  HIP(hipHostMalloc(&host, n * sizeof(int)));
  for (int i = 0; i < n; ++i) host[i] = i;
  hipStream_t stream;
  HIP(hipStreamCreate(&stream));
  HIP(hipMemcpy(device, host, n * sizeof(int), hipMemcpyHostToDevice));
  HIP(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
  step<<<n / 256, 256, 0, stream>>>(device, n);
  step<<<n / 256, 256, 0, stream>>>(device, n);
  HIP(hipMemcpyAsync(host, device, n * sizeof(int), hipMemcpyDeviceToHost, stream));
  hipGraph_t graph;
  HIP(hipStreamEndCapture(stream, &graph));
  hipGraphExec_t exec;
  HIP(hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
  for (int r = 0; r < 3; ++r) HIP(hipGraphLaunch(exec, stream));
  HIP(hipStreamSynchronize(stream));
  for (int i = 0; i < n; ++i) {
    int v = i;
    for (int r = 0; r < 6; ++r) v = v * 3 + 1;
    CHECK(host[i] == v);
  }
  HIP(hipGraphExecDestroy(exec));
  HIP(hipGraphDestroy(graph));
}
