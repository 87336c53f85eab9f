// All of RCCL's collective operations, with numbers of elements for its protocols (LL, simple) and several channels. Results are
// compared with the host's.
//   collectives           all devices, in one process
//   mpirun collectives    one device a process, each another, compiled with -DWITH_MPI
#include <rccl/rccl.h>

#include <functional>
#include <vector>

#include "check.h"
#ifdef WITH_MPI
#include <mpi.h>
#endif

#define NCCL(call)                                                                                \
  do {                                                                                            \
    const ncclResult_t nccl_result = (call);                                                      \
    if (nccl_result != ncclSuccess) {                                                             \
      std::printf("%s:%d: %s: %s\n", __FILE__, __LINE__, #call, ncclGetErrorString(nccl_result)); \
      std::exit(1);                                                                               \
    }                                                                                             \
  } while (0)

// A rank of this process.
struct Rank {
  int number, device;
  ncclComm_t comm;
  hipStream_t stream;
  float *in, *out;
};

constexpr size_t kCounts[] = {1, 777, 30'000, 400'000};
constexpr size_t kMost = 400'000;

static int ranks;  // of all processes
static std::vector<Rank> own;

// Whole numbers, so that sums are exact in any order.
static float value_of(int rank, size_t i) {
  return static_cast<float>((i * 7 + static_cast<size_t>(rank) * 13) % 101);
}

// Calls `operation` for each rank of this process and compares what is in `out` with `wanted(rank, i)`, of `results` elements a rank.
static void test(const char* name, size_t inputs, size_t results, const std::function<ncclResult_t(Rank&)>& operation,
                 const std::function<float(int, size_t)>& wanted, int only = -1) {
  std::vector<float> host(inputs), got(results);
  for (Rank& r : own) {
    HIP(hipSetDevice(r.device));
    for (size_t i = 0; i < inputs; ++i) host[i] = value_of(r.number, i);
    HIP(hipMemcpy(r.in, host.data(), inputs * sizeof(float), hipMemcpyHostToDevice));
    HIP(hipMemset(r.out, 0xff, results * sizeof(float)));
  }
  HIP(hipDeviceSynchronize());
  NCCL(ncclGroupStart());
  for (Rank& r : own) NCCL(operation(r));
  NCCL(ncclGroupEnd());
  for (Rank& r : own) {
    HIP(hipSetDevice(r.device));
    HIP(hipStreamSynchronize(r.stream));
    ncclResult_t error{};
    NCCL(ncclCommGetAsyncError(r.comm, &error));
    NCCL(error);
    if (only >= 0 && r.number != only) continue;
    HIP(hipMemcpy(got.data(), r.out, results * sizeof(float), hipMemcpyDeviceToHost));
    for (size_t i = 0; i < results; ++i) {
      const float right = wanted(r.number, i);
      if (got[i] == right) continue;
      std::printf("%s of %zu: rank %d has %g at %zu, not %g\n", name, inputs, r.number, got[i], i, right);
      std::exit(1);
    }
  }
}

static float sum(size_t i) {
  float s = 0;
  for (int r = 0; r < ranks; ++r) s += value_of(r, i);
  return s;
}
static float most(size_t i) {
  float m = 0;
  for (int r = 0; r < ranks; ++r) m = m < value_of(r, i) ? value_of(r, i) : m;
  return m;
}

static void all(size_t n) {
  const auto all_ranks = static_cast<size_t>(ranks);
  const int last = ranks - 1;
  test(
      "all-reduce", n, n, [&](Rank& r) { return ncclAllReduce(r.in, r.out, n, ncclFloat, ncclSum, r.comm, r.stream); },
      [](int, size_t i) { return sum(i); });
  test(
      "all-reduce, maximum", n, n,
      [&](Rank& r) { return ncclAllReduce(r.in, r.out, n, ncclFloat, ncclMax, r.comm, r.stream); },
      [](int, size_t i) { return most(i); });
  test(
      "broadcast", n, n, [&](Rank& r) { return ncclBroadcast(r.in, r.out, n, ncclFloat, last, r.comm, r.stream); },
      [&](int, size_t i) { return value_of(last, i); });
  test(
      "reduce", n, n, [&](Rank& r) { return ncclReduce(r.in, r.out, n, ncclFloat, ncclSum, last, r.comm, r.stream); },
      [](int, size_t i) { return sum(i); }, last);
  test(
      "all-gather", n, n * all_ranks,
      [&](Rank& r) { return ncclAllGather(r.in, r.out, n, ncclFloat, r.comm, r.stream); },
      [&](int, size_t i) { return value_of(static_cast<int>(i / n), i % n); });
  test(
      "reduce-scatter", n * all_ranks, n,
      [&](Rank& r) { return ncclReduceScatter(r.in, r.out, n, ncclFloat, ncclSum, r.comm, r.stream); },
      [&](int rank, size_t i) { return sum(static_cast<size_t>(rank) * n + i); });
  test(
      "all-to-all", n * all_ranks, n * all_ranks,
      [&](Rank& r) { return ncclAllToAll(r.in, r.out, n, ncclFloat, r.comm, r.stream); },
      [&](int rank, size_t i) { return value_of(static_cast<int>(i / n), static_cast<size_t>(rank) * n + i % n); });
  // Around the ring.
  test(
      "send and receive", n, n,
      [&](Rank& r) {
        const ncclResult_t sent = ncclSend(r.in, n, ncclFloat, (r.number + 1) % ranks, r.comm, r.stream);
        return sent != ncclSuccess ? sent
                                   : ncclRecv(r.out, n, ncclFloat, (r.number + ranks - 1) % ranks, r.comm, r.stream);
      },
      [&](int rank, size_t i) { return value_of((rank + ranks - 1) % ranks, i); });
}

// Several kinds of operations in one launch: a kernel goes through a list of work.
static void grouped(size_t n) {
  const int last = ranks - 1;
  test(
      "a group of operations", n, 3 * n,
      [&](Rank& r) {
        ncclResult_t result = ncclAllReduce(r.in, r.out, n, ncclFloat, ncclSum, r.comm, r.stream);
        if (result == ncclSuccess) result = ncclBroadcast(r.in, r.out + n, n, ncclFloat, last, r.comm, r.stream);
        if (result == ncclSuccess) result = ncclAllReduce(r.in, r.out + 2 * n, n, ncclFloat, ncclMax, r.comm, r.stream);
        return result;
      },
      [&](int, size_t i) { return i < n       ? sum(i)
                                  : i < 2 * n ? value_of(last, i - n)
                                              : most(i - 2 * n); });
}

static void add_rank(int number, int device) {
  HIP(hipSetDevice(device));
  Rank r{};
  r.number = number;
  r.device = device;
  HIP(hipStreamCreate(&r.stream));
  HIP(hipMalloc(&r.in, kMost * sizeof(float) * static_cast<size_t>(ranks)));
  HIP(hipMalloc(&r.out, kMost * sizeof(float) * static_cast<size_t>(ranks)));
  own.push_back(r);
}

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 1;
#ifdef WITH_MPI
  int rank = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  ncclUniqueId id;
  if (rank == 0) NCCL(ncclGetUniqueId(&id));
  MPI_Bcast(&id, sizeof id, MPI_BYTE, 0, MPI_COMM_WORLD);
  int devices = 0;
  HIP(hipGetDeviceCount(&devices));
  add_rank(rank, rank % devices);  // RCCL refuses a device that two ranks of a machine have
  NCCL(ncclCommInitRank(&own[0].comm, ranks, id, rank));
#else
  int rank = 0;
  HIP(hipGetDeviceCount(&ranks));
  std::vector<ncclComm_t> comms(static_cast<size_t>(ranks));
  for (int device = 0; device < ranks; ++device) add_rank(device, device);
  NCCL(ncclCommInitAll(comms.data(), ranks, nullptr));
  for (Rank& r : own) r.comm = comms[static_cast<size_t>(r.number)];
#endif
  for (int round = 0; round < rounds; ++round)
    for (const size_t n : kCounts) {
      all(n);
      if (3 * n <= kMost * static_cast<size_t>(ranks)) grouped(n);
    }
  for (Rank& r : own) NCCL(ncclCommDestroy(r.comm));
#ifdef WITH_MPI
  MPI_Finalize();
#endif
  if (rank == 0) std::printf("all collective operations over %d ranks, %d times four sizes: right\n", ranks, rounds);
}
