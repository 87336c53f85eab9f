// Integer helpers (ir/helpers.def) and the table of all helpers.
#include "backend-x86/helpers/helpers.h"

#include <cstdlib>
#include <vector>

#include "backend-x86/encode/parking.h"
#include "backend-x86/helpers/calls.h"
#include "backend-x86/helpers/chunk_access.h"
#include "backend-x86/helpers/flat_lanes.h"
#include "backend-x86/helpers/helpers_float.h"
#include "backend-x86/helpers/lane_stream_stubs.h"
#include "backend-x86/helpers/lane_way_stubs.h"
#include "internal/interrupt.h"
#include "internal/semantics/clock.h"
#include "internal/semantics/screen_partition.h"
#include "internal/wave_state.h"

namespace wavejit::backend {
namespace {

template <typename F>
uint64_t each_lane(const HelperArgs* args, F&& function) {
  const auto* a = static_cast<const uint32_t*>(args->in[0]);
  const auto* b = static_cast<const uint32_t*>(args->in[1]);
  const auto* c = static_cast<const uint32_t*>(args->in[2]);
  auto* out = static_cast<uint32_t*>(args->out);
  for (unsigned l = 0; l < args->lanes; ++l) out[l] = function(a[l], b[l], c[l]);
  return 0;
}

uint32_t byte(uint32_t x, unsigned i) {
  return x >> (8 * i) & 0xff;
}
uint32_t distance(uint32_t a, uint32_t b) {
  return a > b ? a - b : b - a;
}

uint32_t sad(uint32_t a, uint32_t b) {
  uint32_t sum = 0;
  for (unsigned i = 0; i < 4; ++i) sum += distance(byte(a, i), byte(b, i));
  return sum;
}

uint64_t sad_u8(const HelperArgs* args) {
  return each_lane(args, [](uint32_t a, uint32_t b, uint32_t c) { return sad(a, b) + c; });
}
uint64_t sad_hi_u8(const HelperArgs* args) {
  return each_lane(args, [](uint32_t a, uint32_t b, uint32_t c) { return (sad(a, b) << 16) + c; });
}
uint64_t sad_u16(const HelperArgs* args) {
  return each_lane(args, [](uint32_t a, uint32_t b, uint32_t c) {
    return distance(a & 0xffff, b & 0xffff) + distance(a >> 16, b >> 16) + c;
  });
}
// Bytes whose reference (b) is 0 do not count.
uint64_t msad_u8(const HelperArgs* args) {
  return each_lane(args, [](uint32_t a, uint32_t b, uint32_t c) {
    for (unsigned i = 0; i < 4; ++i) {
      if (byte(b, i) != 0) c += distance(byte(a, i), byte(b, i));
    }
    return c;
  });
}
// (a + b + (c & 1)) >> 1 in each byte.
uint64_t lerp_u8(const HelperArgs* args) {
  return each_lane(args, [](uint32_t a, uint32_t b, uint32_t c) {
    uint32_t r = 0;
    for (unsigned i = 0; i < 4; ++i) r |= (byte(a, i) + byte(b, i) + (byte(c, i) & 1)) >> 1 << (8 * i);
    return r;
  });
}

uint64_t screen_partition_4se(const HelperArgs* args) {
  const auto* in = static_cast<const uint32_t*>(args->in[0]);
  auto* out = static_cast<uint32_t*>(args->out);
  for (unsigned l = 0; l < args->lanes; ++l) out[l] = kScreenPartition4Se[in[l] & 0xff];
  return 0;
}

}  // namespace

HelperFn find_helper(const ir::Inst& inst) {
  if (inst.op != ir::Op::helper) return find_float_helper(inst.op);
  switch (static_cast<ir::Helper>(inst.attr)) {
#define HELPER(name, ...) \
  case ir::Helper::name:  \
    return name;
#include "ir/helpers.def"
#undef HELPER
    default:
      return nullptr;
  }
}

std::span<const uintptr_t> callable_functions() {
  // Never destroyed: threads that translate may outlive static destruction.
  static const std::vector<uintptr_t>& functions = *new std::vector<uintptr_t>([] {
    std::vector<uintptr_t> all{reinterpret_cast<uintptr_t>(&realtime),
                               reinterpret_cast<uintptr_t>(&raise_interrupt),
                               poll_stub(),
                               flat_stub(Tier::avx2),
                               flat_stub(Tier::avx512),
                               lane_way_stub(Tier::avx2, true),
                               lane_way_stub(Tier::avx2, false),
                               lane_way_stub(Tier::avx512, true),
                               lane_way_stub(Tier::avx512, false),
                               lane_stream_stub(Tier::avx2, true),
                               lane_stream_stub(Tier::avx2, false),
                               lane_stream_stub(Tier::avx512, true),
                               lane_stream_stub(Tier::avx512, false)};
    for (const uintptr_t stub : chunk_access_stubs()) all.push_back(stub);
    const auto add = [&](HelperFn function) { all.push_back(reinterpret_cast<uintptr_t>(function)); };
#define HELPER(name, ...) add(name);
#include "ir/helpers.def"
#undef HELPER
    for (unsigned op = 0; op < ir::kNumOps; ++op)
      if (const HelperFn function = find_float_helper(static_cast<ir::Op>(op))) add(function);
    add(divide_f32);
    for (unsigned call = 0; call < static_cast<unsigned>(ir::Call::kCount); ++call)
      all.push_back(reinterpret_cast<uintptr_t>(find_call(static_cast<ir::Call>(call))));
    return all;
  }());
  return functions;
}

}  // namespace wavejit::backend
