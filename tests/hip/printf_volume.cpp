// Much output of the device: from all lanes, of all types, with strings.
#include <set>
#include <string>

#include "child.h"

__global__ void lines(int block_offset) {
  const int i = (block_offset + blockIdx.x) * blockDim.x + threadIdx.x;
  if (i % 3 == 1) return;
  printf("line %d: %5.2f %c %s %lld %x %-6u| %p\n", i, i * 0.25, 'a' + i % 26, i % 2 ? "odd" : "even",
         10000000000ll * i, i, static_cast<unsigned>(i), reinterpret_cast<void*>(0x1000ull + i));
}

int main() {
  const ChildResult result = run_child([] {
    // One stream: in HIP 5.2 kernels of several wait for ever for the host to take what they print.
    for (int part = 0; part < 4; ++part) lines<<<4, 128>>>(4 * part);
    HIP(hipDeviceSynchronize());
  });
  CHECK(result.ended_well());
  std::set<std::string> seen;
  for (size_t at = 0; at < result.text.size();) {
    const size_t end = result.text.find('\n', at);
    CHECK(end != std::string::npos);
    CHECK(seen.insert(result.text.substr(at, end - at)).second);
    at = end + 1;
  }
  int expected = 0;
  for (int i = 0; i < 16 * 128; ++i) {
    if (i % 3 == 1) continue;
    char line[200];
    std::snprintf(line, sizeof line, "line %d: %5.2f %c %s %lld %x %-6u| %p", i, i * 0.25, 'a' + i % 26,
                  i % 2 ? "odd" : "even", 10000000000ll * i, i, static_cast<unsigned>(i),
                  reinterpret_cast<void*>(0x1000ull + i));
    CHECK(seen.count(line) == 1);
    ++expected;
  }
  CHECK(seen.size() == static_cast<size_t>(expected));
}
