// Ranks of MPI, each with a device of its own: a heat equation on a ring, the parts' borders exchanged after every
// step.
#include <mpi.h>

#include <cmath>
#include <vector>

#include "check.h"

constexpr int kPart = 5000, kSteps = 40;

__global__ void step(const double* from, double* to) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x + 1;  // 0 and kPart + 1 belong to the neighbours
  if (i <= kPart) to[i] = from[i] + 0.25 * (from[i - 1] - 2 * from[i] + from[i + 1]);
}

double start(int i) {
  return (i * 37 % 101) + (i % 7 == 0 ? 50 : 0);
}

int main(int argc, char** argv) {
  CHECK(MPI_Init(&argc, &argv) == MPI_SUCCESS);
  int rank = 0, ranks = 0, devices = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  CHECK(ranks == 2);
  HIP(hipGetDeviceCount(&devices));
  HIP(hipSetDevice(rank % devices));
  hipDeviceProp_t properties;
  HIP(hipGetDeviceProperties(&properties, rank % devices));
  std::printf("rank %d of %d: device %d of %d, %s\n", rank, ranks, rank % devices, devices, properties.gcnArchName);

  double* parts[2];
  std::vector<double> host(kPart + 2);
  for (double*& part : parts) HIP(hipMalloc(&part, (kPart + 2) * sizeof(double)));
  for (int i = 1; i <= kPart; ++i) host[i] = start(rank * kPart + i - 1);
  HIP(hipMemcpy(parts[0], host.data(), (kPart + 2) * sizeof(double), hipMemcpyHostToDevice));
  const int left = (rank + ranks - 1) % ranks, right = (rank + 1) % ranks;
  for (int s = 0; s < kSteps; ++s) {
    double* const now = parts[s % 2];
    if (s % 2 == 0) {
      // Through the host, as any MPI can.
      double ends[2], borders[2];
      HIP(hipMemcpy(&ends[0], now + 1, sizeof(double), hipMemcpyDeviceToHost));
      HIP(hipMemcpy(&ends[1], now + kPart, sizeof(double), hipMemcpyDeviceToHost));
      MPI_Sendrecv(&ends[0], 1, MPI_DOUBLE, left, 0, &borders[1], 1, MPI_DOUBLE, right, 0, MPI_COMM_WORLD,
                   MPI_STATUS_IGNORE);
      MPI_Sendrecv(&ends[1], 1, MPI_DOUBLE, right, 1, &borders[0], 1, MPI_DOUBLE, left, 1, MPI_COMM_WORLD,
                   MPI_STATUS_IGNORE);
      HIP(hipMemcpy(now, &borders[0], sizeof(double), hipMemcpyHostToDevice));
      HIP(hipMemcpy(now + kPart + 1, &borders[1], sizeof(double), hipMemcpyHostToDevice));
    } else {
      // Device memory by its address, as MPI that knows of GPUs can; here it is the process's memory, and any MPI can.
      HIP(hipDeviceSynchronize());
      MPI_Sendrecv(now + 1, 1, MPI_DOUBLE, left, 2, now + kPart + 1, 1, MPI_DOUBLE, right, 2, MPI_COMM_WORLD,
                   MPI_STATUS_IGNORE);
      MPI_Sendrecv(now + kPart, 1, MPI_DOUBLE, right, 3, now, 1, MPI_DOUBLE, left, 3, MPI_COMM_WORLD,
                   MPI_STATUS_IGNORE);
    }
    step<<<(kPart + 255) / 256, 256>>>(now, parts[1 - s % 2]);
    HIP(hipGetLastError());
  }
  HIP(hipMemcpy(host.data(), parts[kSteps % 2], (kPart + 2) * sizeof(double), hipMemcpyDeviceToHost));

  // The whole part of the other rank, out of its device's memory.
  std::vector<double> all(2 * kPart);
  MPI_Allgather(parts[kSteps % 2] + 1, kPart, MPI_DOUBLE, all.data(), kPart, MPI_DOUBLE, MPI_COMM_WORLD);
  std::vector<double> ring(2 * kPart), next(2 * kPart);
  for (int i = 0; i < 2 * kPart; ++i) ring[i] = start(i);
  for (int s = 0; s < kSteps; ++s) {
    for (int i = 0; i < 2 * kPart; ++i)
      next[i] = ring[i] + 0.25 * (ring[(i + 2 * kPart - 1) % (2 * kPart)] - 2 * ring[i] + ring[(i + 1) % (2 * kPart)]);
    ring.swap(next);
  }
  for (int i = 0; i < 2 * kPart; ++i) CHECK(std::fabs(all[i] - ring[i]) < 1e-9);
  for (int i = 0; i < kPart; ++i) CHECK(host[i + 1] == all[rank * kPart + i]);
  MPI_Finalize();
}
