// A graph made node by node: kernels, copies, fills and host functions with dependencies; parameters changed
// afterwards.
#include "check.h"

__global__ void scale(int* data, int factor, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) data[i] *= factor;
}
__global__ void add(int* to, const int* from, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) to[i] += from[i];
}

int calls = 0;
void called(void* by) {
  calls += *static_cast<int*>(by);
}

int main() {
  int n = 3000;
  const size_t bytes = n * sizeof(int);
  int *a, *b, *in, *out;
  HIP(hipMalloc(&a, bytes));
  HIP(hipMalloc(&b, bytes));
  HIP(hipHostMalloc(&in, bytes));
  HIP(hipHostMalloc(&out, bytes));
  for (int i = 0; i < n; ++i) in[i] = i;

  //  copy a ── scale a ─┐
  //  fill b ────────────┴─ add a to b ── copy back ── host
  hipGraph_t graph;
  HIP(hipGraphCreate(&graph, 0));
  hipGraphNode_t copy, fill, times, plus, back, host;
  HIP(hipGraphAddMemcpyNode1D(&copy, graph, nullptr, 0, a, in, bytes, hipMemcpyHostToDevice));
  hipMemsetParams set = {};
  set.dst = b;
  set.value = 7;
  set.elementSize = sizeof(int);
  set.width = n;
  set.height = 1;
  HIP(hipGraphAddMemsetNode(&fill, graph, nullptr, 0, &set));
  int factor = 3;
  void* scale_arguments[] = {&a, &factor, &n};
  hipKernelNodeParams kernel = {};
  kernel.func = reinterpret_cast<void*>(scale);
  kernel.gridDim = dim3((n + 255) / 256);
  kernel.blockDim = dim3(256);
  kernel.kernelParams = scale_arguments;
  HIP(hipGraphAddKernelNode(&times, graph, &copy, 1, &kernel));
  void* add_arguments[] = {&b, &a, &n};
  hipKernelNodeParams sum = kernel;
  sum.func = reinterpret_cast<void*>(add);
  sum.kernelParams = add_arguments;
  const hipGraphNode_t both[] = {times, fill};
  HIP(hipGraphAddKernelNode(&plus, graph, both, 2, &sum));
  HIP(hipGraphAddMemcpyNode1D(&back, graph, &plus, 1, out, b, bytes, hipMemcpyDeviceToHost));
  int one = 1;
  hipHostNodeParams function = {};
  function.fn = called;
  function.userData = &one;
  HIP(hipGraphAddHostNode(&host, graph, &back, 1, &function));
  size_t nodes = 0, roots = 0;
  HIP(hipGraphGetNodes(graph, nullptr, &nodes));
  HIP(hipGraphGetRootNodes(graph, nullptr, &roots));
  CHECK(nodes == 6 && roots == 2);

  hipGraphExec_t exec;
  HIP(hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
  hipStream_t stream;
  HIP(hipStreamCreate(&stream));
  for (int round = 0; round < 4; ++round) {
    for (int i = 0; i < n; ++i) out[i] = -1;
    HIP(hipGraphLaunch(exec, stream));
    HIP(hipStreamSynchronize(stream));
    for (int i = 0; i < n; ++i) CHECK(out[i] == 3 * i + 7);
    CHECK(calls == round + 1);
  }
  factor = 10;
  HIP(hipGraphExecKernelNodeSetParams(exec, times, &kernel));
  HIP(hipGraphLaunch(exec, stream));
  HIP(hipStreamSynchronize(stream));
  for (int i = 0; i < n; ++i) CHECK(out[i] == 10 * i + 7);

  hipGraph_t clone;
  HIP(hipGraphClone(&clone, graph));
  HIP(hipGraphExecDestroy(exec));
  HIP(hipGraphDestroy(graph));
  HIP(hipGraphInstantiate(&exec, clone, nullptr, nullptr, 0));
  HIP(hipGraphLaunch(exec, stream));
  HIP(hipStreamSynchronize(stream));
  CHECK(calls == 6);
  HIP(hipGraphExecDestroy(exec));
  HIP(hipGraphDestroy(clone));
  HIP(hipStreamDestroy(stream));
}
