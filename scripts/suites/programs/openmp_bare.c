// Target regions of LLVM's OpenMP (libomptarget): mapped arrays, data that stays on the device, a global variable, copies between
// allocations, tasks that depend on each other. Debian has no device runtime for AMD's processors (libompdevice), so the regions are bare:
// work-items of their own number, without OpenMP constructs inside.
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

enum { kGroups = 24, kGroupSize = 128, kCount = kGroups * kGroupSize, kRounds = 20 };

#pragma omp declare target
int offset = 3;
#pragma omp end declare target

#ifdef __AMDGCN__
#define WORK_ITEM (__builtin_amdgcn_workgroup_id_x() * kGroupSize + __builtin_amdgcn_workitem_id_x())
#else
#define WORK_ITEM 0  // regions are not executed on the host: see main()
#endif

static int failures = 0;

static void expect(const char* what, int i, double found, double expected) {
  if (found == expected) return;
  if (failures++ < 10) printf("%s: element %d is %g instead of %g\n", what, i, found, expected);
}

static void mapped_arrays(void) {
  static double a[kCount], b[kCount], sum[kCount];
  for (int i = 0; i < kCount; ++i) a[i] = i, b[i] = 0.5 * i;
#pragma omp target teams ompx_bare num_teams(kGroups) thread_limit(kGroupSize) map(to : a, b) map(from : sum)
  {
    const int i = WORK_ITEM;
    sum[i] = a[i] + b[i] + offset;
  }
  for (int i = 0; i < kCount; ++i) expect("mapped arrays", i, sum[i], 1.5 * i + 3);
}

static void resident_data(void) {
  int* data = malloc(kCount * sizeof *data);
  for (int i = 0; i < kCount; ++i) data[i] = i;
#pragma omp target enter data map(to : data[0 : kCount])
  for (int i = 0; i < kCount; ++i) data[i] = -1;  // the device has its copy
  for (int round = 0; round < kRounds; ++round) {
#pragma omp target teams ompx_bare num_teams(kGroups) thread_limit(kGroupSize) map(alloc : data[0 : kCount])
    data[WORK_ITEM] += round;
  }
#pragma omp target update from(data[0 : kCount / 2])
  for (int i = 0; i < kCount; ++i)
    expect("half of resident data", i, data[i], i < kCount / 2 ? i + kRounds * (kRounds - 1) / 2 : -1);
#pragma omp target exit data map(from : data[0 : kCount])
  for (int i = 0; i < kCount; ++i) expect("resident data", i, data[i], i + kRounds * (kRounds - 1) / 2);
  free(data);
}

static void global_variable(void) {
  static int seen[kCount];
  offset = 11;
#pragma omp target update to(offset)
#pragma omp target teams ompx_bare num_teams(kGroups) thread_limit(kGroupSize) map(from : seen)
  seen[WORK_ITEM] = offset;
  for (int i = 0; i < kCount; ++i) expect("global variable", i, seen[i], 11);
}

static void allocations(void) {
  const int device = omp_get_default_device(), host = omp_get_initial_device();
  int *first = omp_target_alloc(kCount * sizeof(int), device), *second = omp_target_alloc(kCount * sizeof(int), device);
  static int to[kCount], from[kCount];
  for (int i = 0; i < kCount; ++i) to[i] = 7 * i;
  int errors = omp_target_memcpy(first, to, sizeof to, 0, 0, device, host);
#pragma omp target teams ompx_bare num_teams(kGroups) thread_limit(kGroupSize) is_device_ptr(first, second)
  second[WORK_ITEM] = first[kCount - 1 - WORK_ITEM];
  errors |= omp_target_memcpy(first, second, sizeof to, 0, 0, device, device);
  errors |= omp_target_memcpy(from, first, sizeof to, 0, 0, host, device);
  expect("copies", 0, errors, 0);
  for (int i = 0; i < kCount; ++i) expect("copies", i, from[i], 7 * (kCount - 1 - i));
  omp_target_free(first, device);
  omp_target_free(second, device);
}

static void dependent_tasks(void) {
  static int chain[kCount], apart[kCount];
  for (int i = 0; i < kCount; ++i) chain[i] = 1, apart[i] = i;
#pragma omp target enter data map(to : chain, apart)
#pragma omp parallel
#pragma omp single
  for (int round = 0; round < kRounds; ++round) {
#pragma omp target teams ompx_bare num_teams(kGroups) thread_limit(kGroupSize) nowait depend(inout : chain[0]) map(alloc : chain)
    chain[WORK_ITEM] = chain[WORK_ITEM] * 3 + round;
#pragma omp target teams ompx_bare num_teams(kGroups) thread_limit(kGroupSize) nowait depend(inout : apart[0]) map(alloc : apart)
    apart[WORK_ITEM] ^= round << 16;
  }
#pragma omp target exit data map(from : chain, apart)
  unsigned value = 1, bits = 0;
  for (int round = 0; round < kRounds; ++round) value = value * 3 + round, bits ^= (unsigned)round << 16;
  for (int i = 0; i < kCount; ++i) {
    expect("dependent tasks", i, chain[i], (int)value);
    expect("tasks beside them", i, apart[i], i ^ (int)bits);
  }
}

int main(void) {
  if (omp_get_num_devices() == 0) {
    printf("There is no device.\n");
    return 1;
  }
  mapped_arrays();
  resident_data();
  global_variable();
  allocations();
  dependent_tasks();
  printf("%d devices, %d failures\n", omp_get_num_devices(), failures);
  return failures != 0;
}
