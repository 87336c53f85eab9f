// All of RCCL's collective operations, with numbers of elements for its protocols (LL, simple) and several channels. Results are
// compared with the host's.
//   collectives           all devices, in one process
//   mpirun collectives    one device a process, each another, compiled with -DWITH_MPI
#include <rccl/rccl.h>

#include <algorithm>
#include <cstring>
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
  void *in, *out;
  std::vector<size_t> sends, receives, offsets;  // of all-to-all with counts
};

constexpr size_t kCounts[] = {1, 777, 30'000, 400'000};
constexpr size_t kMost = 400'000;
constexpr int kMostRanks = 4;  // whose products are exact

static int ranks;  // of all processes
static std::vector<Rank> own;

// Whole numbers, small enough that sums and products of all ranks are exact in any order.
static int number_of(int rank, size_t i) {
  return static_cast<int>((i * 7 + static_cast<size_t>(rank) * 13) % 61);
}

// The operations on elements of type T, which RCCL calls `type`.
template <typename T>
struct Collectives {
  const char* name;
  ncclDataType_t type;

  static T value_of(int rank, size_t i) { return static_cast<T>(number_of(rank, i)); }

  // What is in `out` beforehand.
  static T untouched() {
    T value;
    std::memset(&value, 0xff, sizeof value);
    return value;
  }

  // What the reduction `op` makes of all ranks' elements at `i`.
  static T reduced(ncclRedOp_t op, size_t i) {
    T result = value_of(0, i);
    for (int r = 1; r < ranks; ++r) {
      const T value = value_of(r, i);
      if (op == ncclSum || op == ncclAvg) result += value;
      if (op == ncclProd) result *= value;
      if (op == ncclMax) result = std::max(result, value);
      if (op == ncclMin) result = std::min(result, value);
    }
    return op == ncclAvg ? result / static_cast<T>(ranks) : result;
  }

  // Calls `operation` for each rank of this process and compares what is in `out` with `wanted(rank, i)`, of `results` elements a rank.
  void test(const char* what, size_t inputs, size_t results, const std::function<ncclResult_t(Rank&)>& operation,
            const std::function<T(int, size_t)>& wanted, int only = -1) const {
    std::vector<T> host(inputs), got(results);
    for (Rank& r : own) {
      HIP(hipSetDevice(r.device));
      for (size_t i = 0; i < inputs; ++i) host[i] = value_of(r.number, i);
      HIP(hipMemcpy(r.in, host.data(), inputs * sizeof(T), hipMemcpyHostToDevice));
      HIP(hipMemset(r.out, 0xff, results * sizeof(T)));
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
      HIP(hipMemcpy(got.data(), r.out, results * sizeof(T), hipMemcpyDeviceToHost));
      for (size_t i = 0; i < results; ++i) {
        const T right = wanted(r.number, i);
        if (std::memcmp(&got[i], &right, sizeof right) == 0) continue;
        std::printf("%s, %s, of %zu: rank %d has %g at %zu, not %g\n", what, name, inputs, r.number, double(got[i]), i,
                    double(right));
        std::exit(1);
      }
    }
  }

  void reductions(size_t n) const {
    const struct {
      const char* name;
      ncclRedOp_t op;
      bool exact;
    } operations[] = {{"all-reduce, sum", ncclSum, true},
                      {"all-reduce, product", ncclProd, ranks <= kMostRanks},
                      {"all-reduce, maximum", ncclMax, true},
                      {"all-reduce, minimum", ncclMin, true},
                      {"all-reduce, average", ncclAvg, (ranks & (ranks - 1)) == 0}};
    const int last = ranks - 1;
    for (const auto& o : operations) {
      if (!o.exact) continue;
      test(
          o.name, n, n, [&](Rank& r) { return ncclAllReduce(r.in, r.out, n, type, o.op, r.comm, r.stream); },
          [&](int, size_t i) { return reduced(o.op, i); });
    }
    test(
        "reduce", n, n, [&](Rank& r) { return ncclReduce(r.in, r.out, n, type, ncclSum, last, r.comm, r.stream); },
        [](int, size_t i) { return reduced(ncclSum, i); }, last);
    test(
        "reduce-scatter", n * static_cast<size_t>(ranks), n,
        [&](Rank& r) { return ncclReduceScatter(r.in, r.out, n, type, ncclSum, r.comm, r.stream); },
        [&](int rank, size_t i) { return reduced(ncclSum, static_cast<size_t>(rank) * n + i); });
  }

  void moves(size_t n) const {
    const size_t total = n * static_cast<size_t>(ranks);
    const int last = ranks - 1;
    test(
        "broadcast", n, n, [&](Rank& r) { return ncclBroadcast(r.in, r.out, n, type, last, r.comm, r.stream); },
        [&](int, size_t i) { return value_of(last, i); });
    test(
        "all-gather", n, total, [&](Rank& r) { return ncclAllGather(r.in, r.out, n, type, r.comm, r.stream); },
        [&](int, size_t i) { return value_of(static_cast<int>(i / n), i % n); });
    test(
        "gather", n, total, [&](Rank& r) { return ncclGather(r.in, r.out, n, type, last, r.comm, r.stream); },
        [&](int, size_t i) { return value_of(static_cast<int>(i / n), i % n); }, last);
    test(
        "scatter", total, n, [&](Rank& r) { return ncclScatter(r.in, r.out, n, type, last, r.comm, r.stream); },
        [&](int rank, size_t i) { return value_of(last, static_cast<size_t>(rank) * n + i); });
    test(
        "all-to-all", total, total, [&](Rank& r) { return ncclAllToAll(r.in, r.out, n, type, r.comm, r.stream); },
        [&](int rank, size_t i) { return value_of(static_cast<int>(i / n), static_cast<size_t>(rank) * n + i % n); });
    counted(n);
    // Around the ring.
    test(
        "send and receive", n, n,
        [&](Rank& r) {
          const ncclResult_t sent = ncclSend(r.in, n, type, (r.number + 1) % ranks, r.comm, r.stream);
          return sent != ncclSuccess ? sent
                                     : ncclRecv(r.out, n, type, (r.number + ranks - 1) % ranks, r.comm, r.stream);
        },
        [&](int rank, size_t i) { return value_of((rank + ranks - 1) % ranks, i); });
  }

  // All-to-all with a number of elements for each pair, some of them 0; nothing else is written.
  void counted(size_t n) const {
    const size_t total = n * static_cast<size_t>(ranks);
    const auto count = [&](int from, int to) {
      return (from + 2 * to) % 3 == 2 ? 0 : n - n * static_cast<size_t>(to % 8) / 8;
    };
    for (Rank& r : own) {
      r.sends.clear(), r.receives.clear(), r.offsets.clear();
      for (int other = 0; other < ranks; ++other) {
        r.sends.push_back(count(r.number, other));
        r.receives.push_back(count(other, r.number));
        r.offsets.push_back(static_cast<size_t>(other) * n);
      }
    }
    test(
        "all-to-all with counts", total, total,
        [&](Rank& r) {
          return ncclAllToAllv(r.in, r.sends.data(), r.offsets.data(), r.out, r.receives.data(), r.offsets.data(), type,
                               r.comm, r.stream);
        },
        [&](int rank, size_t i) {
          const int from = static_cast<int>(i / n);
          return i % n < count(from, rank) ? value_of(from, static_cast<size_t>(rank) * n + i % n) : untouched();
        });
  }

  // Several kinds of operations in one launch: a kernel goes through a list of work.
  void grouped(size_t n) const {
    const int last = ranks - 1;
    const auto at = [](Rank& r, size_t i) { return static_cast<T*>(r.out) + i; };
    test(
        "a group of operations", n, 3 * n,
        [&](Rank& r) {
          ncclResult_t result = ncclAllReduce(r.in, r.out, n, type, ncclSum, r.comm, r.stream);
          if (result == ncclSuccess) result = ncclBroadcast(r.in, at(r, n), n, type, last, r.comm, r.stream);
          if (result == ncclSuccess) result = ncclAllReduce(r.in, at(r, 2 * n), n, type, ncclMax, r.comm, r.stream);
          return result;
        },
        [&](int, size_t i) {
          return i < n ? reduced(ncclSum, i) : i < 2 * n ? value_of(last, i - n) : reduced(ncclMax, i - 2 * n);
        });
  }

  void all(size_t n) const {
    reductions(n);
    moves(n);
    if (3 * n <= kMost * static_cast<size_t>(ranks)) grouped(n);
  }
};

static void add_rank(int number, int device) {
  HIP(hipSetDevice(device));
  Rank r{};
  r.number = number;
  r.device = device;
  HIP(hipStreamCreate(&r.stream));
  HIP(hipMalloc(&r.in, kMost * sizeof(double) * static_cast<size_t>(ranks)));
  HIP(hipMalloc(&r.out, kMost * sizeof(double) * static_cast<size_t>(ranks)));
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
      Collectives<float>{"f32", ncclFloat32}.all(n);
      Collectives<double>{"f64", ncclFloat64}.all(n);
      Collectives<int>{"i32", ncclInt32}.all(n);
    }
  for (Rank& r : own) NCCL(ncclCommDestroy(r.comm));
#ifdef WITH_MPI
  MPI_Finalize();
#endif
  if (rank == 0)
    std::printf("all collective operations over %d ranks, %d times four sizes of three types: right\n", ranks, rounds);
}
