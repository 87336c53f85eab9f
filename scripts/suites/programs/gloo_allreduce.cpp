// Gloo's collectives on memory of two devices, one thread a rank, compared with the host's sums.
#include <gloo/hip_allreduce_halving_doubling.h>
#include <gloo/hip_allreduce_ring.h>
#include <gloo/hip_allreduce_ring_chunked.h>
#include <gloo/hip_broadcast_one_to_all.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/hash_store.h>
#include <gloo/transport/tcp/device.h>

#include <atomic>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

constexpr int kRanks = 2, kCount = 10'000;

static float value_of(int rank, int i) {
  return static_cast<float>((i * 7 + rank * 13) % 101);
}

// What each rank has at `i` afterwards.
static float wanted(const std::string& operation, int i) {
  return operation == "broadcast" ? value_of(0, i) : value_of(0, i) + value_of(1, i);
}

static bool run(const std::string& operation, int rank, const std::shared_ptr<gloo::rendezvous::Store>& store) {
  gloo::transport::tcp::attr attributes("127.0.0.1");
  std::shared_ptr<gloo::transport::Device> device = gloo::transport::tcp::CreateDevice(attributes);
  auto context = std::make_shared<gloo::rendezvous::Context>(rank, kRanks);
  context->connectFullMesh(store, device);

  float* data = nullptr;
  std::vector<float> host(kCount);
  for (int i = 0; i < kCount; ++i) host[i] = value_of(rank, i);
  if (hipSetDevice(rank) != hipSuccess ||
      hipMalloc(reinterpret_cast<void**>(&data), kCount * sizeof(float)) != hipSuccess)
    return false;
  (void)hipMemcpy(data, host.data(), kCount * sizeof(float), hipMemcpyHostToDevice);
  const std::vector<float*> pointers{data};
  if (operation == "ring") gloo::HipAllreduceRing<float>(context, pointers, kCount).run();
  if (operation == "ring_chunked") gloo::HipAllreduceRingChunked<float>(context, pointers, kCount).run();
  if (operation == "halving_doubling") gloo::HipAllreduceHalvingDoubling<float>(context, pointers, kCount).run();
  if (operation == "broadcast") gloo::HipBroadcastOneToAll<float>(context, pointers, kCount).run();
  (void)hipDeviceSynchronize();
  (void)hipMemcpy(host.data(), data, kCount * sizeof(float), hipMemcpyDeviceToHost);
  for (int i = 0; i < kCount; ++i) {
    if (host[i] == wanted(operation, i)) continue;
    std::printf("%s: rank %d has %g at %d, not %g\n", operation.c_str(), rank, host[i], i, wanted(operation, i));
    return false;
  }
  return true;
}

int main(int, char** arguments) {
  auto store = std::make_shared<gloo::rendezvous::HashStore>();
  std::atomic<int> right = 0;
  std::vector<std::thread> threads;
  for (int rank = 0; rank < kRanks; ++rank)
    threads.emplace_back([&, rank] { right += run(arguments[1], rank, store); });
  for (std::thread& t : threads) t.join();
  std::printf("%d of %d ranks are right\n", right.load(), kRanks);
  return right == kRanks ? 0 : 1;
}
