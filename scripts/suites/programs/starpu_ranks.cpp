// StarPU over MPI, with tasks that have HIP implementations only: what ranks send each other was last written on a device.
#include <hip/hip_runtime.h>
#include <mpi.h>
#include <starpu_mpi.h>

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

constexpr int kBlocks = 6, kRounds = 5;
constexpr int kCount = 5'000;  // elements of a block

// y += factor * x
__global__ void multiply_add(std::uint32_t* y, const std::uint32_t* x, std::uint32_t factor, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) y[i] += factor * x[i];
}

__global__ void clear(std::uint32_t* y, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) y[i] = 0;
}

static std::uint32_t* data_of(void* buffer) {
  return reinterpret_cast<std::uint32_t*>(STARPU_VECTOR_GET_PTR(buffer));
}

static void multiply_add_task(void* buffers[], void* arguments) {
  std::uint32_t factor = 1;
  if (arguments) starpu_codelet_unpack_args(arguments, &factor);
  const int n = static_cast<int>(STARPU_VECTOR_GET_NX(buffers[0]));
  multiply_add<<<(n + 255) / 256, 256, 0, starpu_hip_get_local_stream()>>>(data_of(buffers[0]), data_of(buffers[1]),
                                                                           factor, n);
}

static void clear_task(void* buffers[], void*) {
  const int n = static_cast<int>(STARPU_VECTOR_GET_NX(buffers[0]));
  clear<<<(n + 255) / 256, 256, 0, starpu_hip_get_local_stream()>>>(data_of(buffers[0]), n);
}

static starpu_codelet codelet(starpu_hip_func_t function, const char* name,
                              std::vector<starpu_data_access_mode> modes) {
  starpu_codelet made;
  starpu_codelet_init(&made);
  made.where = STARPU_HIP;
  made.hip_funcs[0] = function;
  made.hip_flags[0] = STARPU_HIP_ASYNC;
  made.nbuffers = static_cast<int>(modes.size());
  for (std::size_t i = 0; i < modes.size(); ++i) made.modes[i] = modes[i];
  made.name = name;
  return made;
}

static starpu_codelet add, sum, zero;

static std::uint32_t value_of(int block, int i) {
  return static_cast<std::uint32_t>(block * 7919 + i * 31 + 5);
}

// Blocks of all ranks; those of this one have memory.
struct Blocks {
  std::vector<std::vector<std::uint32_t>> host;
  std::vector<starpu_data_handle_t> handles;

  Blocks(int rank, int ranks, int first_tag) : host(kBlocks), handles(kBlocks) {
    for (int b = 0; b < kBlocks; ++b) {
      const bool own = b % ranks == rank;
      if (own)
        for (int i = 0; i < kCount; ++i) host[b].push_back(value_of(b, i));
      starpu_vector_data_register(&handles[b], own ? STARPU_MAIN_RAM : -1,
                                  reinterpret_cast<std::uintptr_t>(host[b].data()), kCount, sizeof(std::uint32_t));
      starpu_mpi_data_register(handles[b], first_tag + b, b % ranks);
    }
  }
  void unregister() {
    for (starpu_data_handle_t handle : handles) starpu_data_unregister(handle);
  }
  int wrong(const std::vector<std::vector<std::uint32_t>>& wanted) const {
    int count = 0;
    for (int b = 0; b < kBlocks; ++b)
      for (std::size_t i = 0; i < host[b].size(); ++i) count += host[b][i] != wanted[b][i];
    return count;
  }
};

static std::vector<std::vector<std::uint32_t>> first_values() {
  std::vector<std::vector<std::uint32_t>> values(kBlocks, std::vector<std::uint32_t>(kCount));
  for (int b = 0; b < kBlocks; ++b)
    for (int i = 0; i < kCount; ++i) values[b][i] = value_of(b, i);
  return values;
}

static void add_to(std::vector<std::uint32_t>& y, const std::vector<std::uint32_t>& x, std::uint32_t factor) {
  for (int i = 0; i < kCount; ++i) y[i] += factor * x[i];
}

// Tasks read blocks of their own rank and of others, which StarPU sends.
static int tasks(int rank, int ranks) {
  Blocks blocks(rank, ranks, 0);
  auto wanted = first_values();
  for (int round = 0; round < kRounds; ++round)
    for (int b = 0; b < kBlocks; ++b) {
      const int from = (b + 1 + round) % kBlocks;
      const auto factor = static_cast<std::uint32_t>(round + 2);
      if (starpu_mpi_task_insert(MPI_COMM_WORLD, &add, STARPU_RW, blocks.handles[b], STARPU_R, blocks.handles[from],
                                 STARPU_VALUE, &factor, sizeof factor, 0) != 0)
        return -1;
      add_to(wanted[b], wanted[from], factor);
    }
  starpu_mpi_wait_for_all(MPI_COMM_WORLD);
  blocks.unregister();
  return blocks.wrong(wanted);
}

// A vector goes from rank to rank, and each adds its own block on its device.
static int messages(int rank, int ranks) {
  std::vector<std::uint32_t> token(kCount, 1), own(kCount);
  for (int i = 0; i < kCount; ++i) own[i] = value_of(rank, i);
  starpu_data_handle_t handles[2];
  starpu_vector_data_register(&handles[0], STARPU_MAIN_RAM, reinterpret_cast<std::uintptr_t>(token.data()), kCount, 4);
  starpu_vector_data_register(&handles[1], STARPU_MAIN_RAM, reinterpret_cast<std::uintptr_t>(own.data()), kCount, 4);
  const int next = (rank + 1) % ranks, previous = (rank + ranks - 1) % ranks;
  for (int round = 0; round < kRounds; ++round) {
    if (rank > 0 || round > 0)
      starpu_mpi_irecv_detached(handles[0], previous, 100 + round, MPI_COMM_WORLD, nullptr, nullptr);
    const std::uint32_t factor = 3;
    if (starpu_task_insert(&add, STARPU_RW, handles[0], STARPU_R, handles[1], STARPU_VALUE, &factor, sizeof factor,
                           0) != 0)
      return -1;
    const bool last = rank == ranks - 1;
    if (!last || round + 1 < kRounds)
      starpu_mpi_isend_detached(handles[0], next, 100 + round + last, MPI_COMM_WORLD, nullptr, nullptr);
  }
  starpu_mpi_wait_for_all(MPI_COMM_WORLD);
  for (starpu_data_handle_t handle : handles) starpu_data_unregister(handle);
  if (rank != ranks - 1) return 0;  // the vector is the last one's
  int count = 0;
  for (int i = 0; i < kCount; ++i) {
    std::uint32_t wanted = 1;
    for (int r = 0; r < ranks; ++r) wanted += 3 * kRounds * value_of(r, i);
    count += token[i] != wanted;
  }
  return count;
}

// A sum over all ranks, by StarPU's reductions: each rank has a copy that its tasks add to.
static int reduction(int rank, int ranks) {
  Blocks blocks(rank, ranks, 200);
  const auto values = first_values();
  std::vector<std::uint32_t> total(kCount, 17), wanted(kCount, 17);
  starpu_data_handle_t handle;
  starpu_vector_data_register(&handle, rank == 0 ? STARPU_MAIN_RAM : -1, reinterpret_cast<std::uintptr_t>(total.data()),
                              kCount, 4);
  starpu_mpi_data_register(handle, 300, 0);
  starpu_data_set_reduction_methods(handle, &sum, &zero);
  for (int b = 0; b < kBlocks; ++b) {
    const auto factor = static_cast<std::uint32_t>(b + 1);
    if (starpu_mpi_task_insert(MPI_COMM_WORLD, &add, STARPU_REDUX, handle, STARPU_R, blocks.handles[b], STARPU_VALUE,
                               &factor, sizeof factor, STARPU_EXECUTE_ON_NODE, b % ranks, 0) != 0)
      return -1;
    add_to(wanted, values[b], factor);
  }
  starpu_mpi_redux_data(MPI_COMM_WORLD, handle);
  starpu_mpi_wait_for_all(MPI_COMM_WORLD);
  starpu_data_unregister(handle);
  blocks.unregister();
  return rank == 0 && total != wanted ? 1 : 0;
}

int main(int count, char** arguments) {
  const std::string test = count > 1 ? arguments[1] : "";
  if (starpu_mpi_init_conf(&count, &arguments, 1, MPI_COMM_WORLD, nullptr) != 0) return 77;
  int rank = 0, ranks = 0, all = 0;
  starpu_mpi_comm_rank(MPI_COMM_WORLD, &rank);
  starpu_mpi_comm_size(MPI_COMM_WORLD, &ranks);
  add = codelet(multiply_add_task, "add", {STARPU_RW, STARPU_R});
  if (test == "reduction") add.modes[0] = STARPU_REDUX;
  sum = codelet(multiply_add_task, "sum", {static_cast<starpu_data_access_mode>(STARPU_RW | STARPU_COMMUTE), STARPU_R});
  zero = codelet(clear_task, "zero", {STARPU_W});

  int wrong = -1;
  if (test == "tasks") wrong = tasks(rank, ranks);
  if (test == "messages") wrong = messages(rank, ranks);
  if (test == "reduction") wrong = reduction(rank, ranks);
  const int bad = wrong != 0;
  if (bad) std::printf("%s: rank %d of %d has %d wrong elements\n", test.c_str(), rank, ranks, wrong);
  MPI_Allreduce(&bad, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) std::printf("%d of %d ranks are right\n", ranks - all, ranks);
  const bool enough = ranks > 1;
  starpu_mpi_shutdown();
  return enough && all == 0 ? 0 : 1;
}
