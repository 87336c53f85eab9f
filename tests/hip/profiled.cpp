// The files of `wavejit exec --profile` and `--report`, of processes that have children and that end by a fault. Arguments: the
// files' names.
#include <fstream>
#include <iterator>

#include "child.h"

__global__ void add_one(int* p) {
  p[threadIdx.x] += 1;
}
__global__ void write_at(int* p, long index) {
  p[index] = 1;
}

static std::string contents(const char* name) {
  std::ifstream file(name);
  return {std::istreambuf_iterator<char>(file), {}};
}

int main(int, char** arguments) {
  const char* const files[] = {arguments[1], arguments[2]};
  const auto remove_files = [&] {
    for (const char* file : files) std::remove(file);
  };
  remove_files();
  // A child of fork() writes none: what it knows ends with the fork.
  const ChildResult forked = run_child([&] {
    int* p;
    HIP(hipMalloc(&p, 4096));
    add_one<<<1, 64>>>(p);
    HIP(hipDeviceSynchronize());
    const pid_t child = fork();
    if (child == 0) std::exit(0);
    CHECK(waitpid(child, nullptr, 0) == child);
    for (const char* file : files) CHECK(contents(file).empty());
    std::exit(0);
  });
  CHECK(forked.ended_well());
  for (const char* file : files) CHECK(contents(file).find("add_one(int*)") != std::string::npos);
  remove_files();
  // HIP ends the process by abort().
  const ChildResult faulted = run_child([] {
    int* p;
    HIP(hipMalloc(&p, 4096));
    write_at<<<1, 1>>>(p, 1L << 40);
    HIP(hipDeviceSynchronize());
  });
  CHECK(!faulted.ended_well());
  for (const char* file : files) CHECK(contents(file).find("write_at(int*, long)") != std::string::npos);
}
