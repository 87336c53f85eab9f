// Loops that are emitted tile by tile, and addresses kept in general registers, with indices that wrap around.
#include <sys/mman.h>

#include <cstring>

#include "backend-x86/lower/plans/tile_regions.h"
#include "runner.h"

namespace wavejit::backend {
namespace {

using ir::AddressForm;
using ir::Inst;
using ir::Op;
using ir::Space;

class Tile : public testing::TestWithParam<Tier> {
 protected:
  void SetUp() override {
    if (!host_supports(GetParam())) GTEST_SKIP() << "the CPU has no " << to_string(GetParam());
    std::mt19937_64 random{11};
    wave.randomise(random);
  }
  static void close(Inst* phi, Inst* first, Inst* next) {
    for (Inst* v : {first, next}) {
      phi->operands.push_back(v);
      v->users.push_back(phi);
    }
  }
  TestWave wave;
};
INSTANTIATE_TEST_SUITE_P(Tiers, Tile, testing::ValuesIn(kTiers), [](const auto& info) {
  return info.param == Tier::avx2 ? std::string("avx2") : std::string("avx512");
});

bool never_barrier(const Inst& inst) {
  return inst.op != Op::mask_any && inst.op != Op::mask_to_i64;
}

// Twenty accumulators, a counter, a scalar and an invariant: acc[k] += x ^ i ^ k; everything is used behind the
// loop, partly through phis of the block there.
TEST_P(Tile, ManyAccumulators) {
  constexpr unsigned kCount = 20;
  ir::Function f("tiled");
  ir::Block *start = f.add_block(), *body = f.add_block(), *end = f.add_block();
  f.entries.push_back({0, start});
  ir::Builder b(f, start);
  Inst* x = b.op_typed(Op::get_vgpr, ir::kV32, {}, 0, 1);
  Inst* n = b.op_typed(Op::get_sgpr, ir::kI32, {}, 0, 5);
  Inst *zero = b.i32(0), *mask = b.op_typed(Op::get_mask, ir::kMask, {}, 0, 20);
  std::vector<Inst*> first;
  for (unsigned k = 0; k < kCount; ++k)
    first.push_back(k % 3 == 0 ? b.v32(k) : k % 3 == 1 ? x : b.op_typed(Op::get_vgpr, ir::kV32, {}, 0, 3));
  b.cond_br(b.icmp(ir::ICmp::eq, n, b.i32(0)), end, body);
  b.set_block(body);
  Inst* i = b.op_typed(Op::phi, ir::kI32, {});
  std::vector<Inst*> acc, next;
  for (unsigned k = 0; k < kCount; ++k) acc.push_back(b.op_typed(Op::phi, ir::kV32, {}));
  Inst* m = b.op_typed(Op::phi, ir::kMask, {});
  for (unsigned k = 0; k < kCount; ++k) {
    Inst* factor = b.op(Op::splat, {b.op(Op::xor_, {i, b.i32(k)})});
    next.push_back(b.op(Op::add, {acc[k], b.op(Op::xor_, {x, factor})}));
  }
  Inst* next_m = b.op(Op::and_, {m, b.icmp(ir::ICmp::ne, next[0], b.v32(0))});
  Inst* next_i = b.op(Op::add, {i, b.i32(1)});
  b.cond_br(b.icmp(ir::ICmp::ult, next_i, n), body, end);
  close(i, zero, next_i);
  close(m, mask, next_m);
  for (unsigned k = 0; k < kCount; ++k) close(acc[k], first[k], next[k]);
  b.set_block(end);
  std::vector<Inst*> out;
  for (unsigned k = 0; k < kCount; ++k) {
    out.push_back(b.op_typed(Op::phi, ir::kV32, {}));
    close(out[k], first[k], next[k]);
  }
  Inst* count = b.op_typed(Op::phi, ir::kI32, {});
  close(count, n, next_i);
  Inst* out_m = b.op_typed(Op::phi, ir::kMask, {});
  close(out_m, mask, next_m);
  for (unsigned k = 0; k < kCount; ++k) b.op_typed(Op::set_vgpr, ir::kNone, {out[k]}, 0, 100 + k);
  b.op_typed(Op::set_sgpr, ir::kNone, {count}, 0, 60);
  b.op_typed(Op::set_mask, ir::kNone, {out_m}, 0, 62);
  b.exit(ExitReason::kEnd, 0);

  // The point of it is that the loop is tiled.
  const Liveness liveness(f);
  const TileRegions regions(f, liveness, ir::LaneShapes(f), {.vectors = 32, .masks = 7}, 4, never_barrier);
  ASSERT_NE(regions.of(body), nullptr);
  EXPECT_EQ(regions.of(body)->width, 1u);
  EXPECT_EQ(regions.of(end), nullptr);

  for (const uint32_t trips : {0u, 1u, 7u}) {
    wave->sgpr[5] = trips;
    TestWave before(wave);
    ASSERT_EQ(run(f, GetParam(), wave), ExitReason::kEnd);
    EXPECT_EQ(wave->sgpr[60], trips);
    uint64_t still = before->sgpr64(20);
    for (unsigned l = 0; l < 64; ++l) {
      const uint32_t vx = before->vgpr[1][l];
      for (unsigned k = 0; k < kCount; ++k) {
        uint32_t a = k % 3 == 0 ? k : before->vgpr[k % 3 == 1 ? 1 : 3][l];
        for (uint32_t t = 0; t < trips; ++t) {
          a += vx ^ t ^ k;
          if (k == 0 && a == 0) still &= ~(uint64_t{1} << l);
        }
        ASSERT_EQ(wave->vgpr[100 + k][l], a) << "lane " << l << ", accumulator " << k << ", trips " << trips;
      }
    }
    EXPECT_EQ(wave->sgpr64(62), still);
  }
}

// Steps of the Collatz sequence, counted by a scalar: trips differ widely by lane, tiles leave one after the other.
TEST_P(Tile, LanesLeaveOneByOne) {
  constexpr unsigned kSums = 10;
  ir::Function f("divergent");
  ir::Block *start = f.add_block(), *body = f.add_block(), *end = f.add_block();
  f.entries.push_back({0, start});
  ir::Builder b(f, start);
  Inst *x = b.op_typed(Op::get_vgpr, ir::kV32, {}, 0, 1), *lanes = b.op_typed(Op::get_mask, ir::kMask, {}, 0, 20);
  Inst *zero = b.v32(0), *one = b.v32(1), *three = b.v32(3), *first_count = b.i32(0), *step = b.i32(1);
  b.br(body);
  b.set_block(body);
  Inst *n = b.op_typed(Op::phi, ir::kV32, {}), *steps = b.op_typed(Op::phi, ir::kV32, {});
  Inst *highest = b.op_typed(Op::phi, ir::kV32, {}), *active = b.op_typed(Op::phi, ir::kMask, {});
  Inst* count = b.op_typed(Op::phi, ir::kI32, {});
  std::vector<Inst*> sums, next_sums;  // enough to do that two registers at a time keep the processor busy
  for (unsigned k = 0; k < kSums; ++k) sums.push_back(b.op_typed(Op::phi, ir::kV32, {}));
  Inst* odd = b.icmp(ir::ICmp::ne, b.op(Op::and_, {n, one}), zero);
  Inst* next = b.op(Op::select, {odd, b.op(Op::add, {b.op(Op::mul, {n, three}), one}), b.op(Op::lshr, {n, one})});
  Inst* next_count = b.op(Op::add, {count, step});
  Inst* next_steps = b.op(Op::select, {active, b.op(Op::splat, {next_count}), steps});
  Inst* next_highest = b.op(Op::select, {active, b.op(Op::umax, {highest, next}), highest});
  for (unsigned k = 0; k < kSums; ++k)
    next_sums.push_back(b.op(Op::select, {active, b.op(Op::add, {sums[k], b.op(Op::mul, {n, b.v32(k)})}), sums[k]}));
  Inst* stay = b.op(Op::and_, {active, b.icmp(ir::ICmp::ne, next, one)});
  b.cond_br(b.op(Op::mask_any, {stay}), body, end);
  close(n, x, next);
  close(steps, zero, next_steps);
  close(highest, x, next_highest);
  close(active, lanes, stay);
  close(count, first_count, next_count);
  for (unsigned k = 0; k < kSums; ++k) close(sums[k], x, next_sums[k]);
  b.set_block(end);
  for (unsigned k = 0; k < kSums; ++k) b.op_typed(Op::set_vgpr, ir::kNone, {next_sums[k]}, 0, 110 + k);
  b.op_typed(Op::set_vgpr, ir::kNone, {next_steps}, 0, 100);
  b.op_typed(Op::set_vgpr, ir::kNone, {next_highest}, 0, 101);
  b.op_typed(Op::set_mask, ir::kNone, {stay}, 0, 62);
  b.exit(ExitReason::kEnd, 0);

  const Liveness liveness(f);
  const TileRegions regions(f, liveness, ir::LaneShapes(f), {.vectors = 32, .masks = 7}, 4, never_barrier);
  ASSERT_NE(regions.of(body), nullptr);
  EXPECT_LT(regions.of(body)->width, 4u);

  for (const uint64_t on : {~uint64_t{0}, uint64_t{0xffff0000}, uint64_t{1} << 63, uint64_t{0x8001400220041008}}) {
    wave->set_sgpr64(20, on);
    for (unsigned l = 0; l < 64; ++l) wave->vgpr[1][l] = l < 16 ? 27 : 2 + l * l;
    ASSERT_EQ(run(f, GetParam(), wave), ExitReason::kEnd);
    EXPECT_EQ(wave->sgpr64(62), 0u);
    for (unsigned l = 0; l < 64; ++l) {
      uint32_t v = l < 16 ? 27 : 2 + l * l, most = v, trips = 0, sum = 0;
      while (on >> l & 1) {
        sum += v;
        v = v % 2 != 0 ? 3 * v + 1 : v / 2;
        most = std::max(most, v);
        ++trips;
        if (v == 1) break;
      }
      ASSERT_EQ(wave->vgpr[100][l], trips) << "lane " << l << ", mask " << on;
      ASSERT_EQ(wave->vgpr[101][l], most) << "lane " << l << ", mask " << on;
      for (unsigned k = 0; k < kSums; ++k)
        ASSERT_EQ(wave->vgpr[110 + k][l], wave->vgpr[1][l] + k * sum) << "lane " << l;
    }
  }
}

// Addresses in vectors, of an index that may wrap around, and a scalar to add: in a loop that is tiled, the number for the
// wave is made from the tile's chunk.
TEST_P(Tile, AddressesFromVectors) {
  constexpr unsigned kRow = 8;
  const bool avx2 = GetParam() == Tier::avx2;
  const unsigned sums = avx2 ? 9 : 20;  // as many as the registers hold for a tile, but not for the wave
  ir::Function f("rows");
  ir::Block *start = f.add_block(), *body = f.add_block(), *end = f.add_block();
  f.entries.push_back({0, start});
  ir::Builder b(f, start);
  Inst *base = b.op_typed(Op::get_sgpr64, ir::kI64, {}, 0, 8), *first = b.op_typed(Op::get_sgpr, ir::kI32, {}, 0, 10);
  Inst *lanes = b.op_typed(Op::get_mask, ir::kMask, {}, 0, 20), *zero = b.i64(0), *step = b.i64(4);
  Inst* index =
      b.op(Op::add, {b.op(Op::mul, {b.op_typed(Op::lane_id, ir::kV32, {}), b.v32(kRow)}), b.op(Op::splat, {first})});
  Inst* rows = b.op(Op::add, {b.op(Op::shl, {b.op(Op::zext64, {index}), b.v64(2)}), b.op(Op::splat64, {base})});
  b.op_typed(Op::set_vgpr, ir::kNone, {b.op(Op::lo32, {rows})}, 0, 50);
  std::vector<Inst*> firsts, acc, next;
  for (unsigned k = 0; k < sums; ++k) firsts.push_back(b.op_typed(Op::get_vgpr, ir::kV32, {}, 0, 1 + k));
  b.br(body);
  b.set_block(body);
  Inst* i = b.op_typed(Op::phi, ir::kI64, {});
  for (unsigned k = 0; k < sums; ++k) acc.push_back(b.op_typed(Op::phi, ir::kV32, {}));
  const ir::MemAttr mem{.space = Space::global, .form = AddressForm::vector64, .bytes = 4};
  Inst* value = b.load(ir::kV32, mem, {lanes, b.op(Op::add, {rows, b.op(Op::splat64, {i})})});
  for (unsigned k = 0; k < sums; ++k) next.push_back(b.op(Op::add, {b.op(Op::mul, {acc[k], b.v32(3)}), value}));
  Inst* next_i = b.op(Op::add, {i, step});
  b.cond_br(b.icmp(ir::ICmp::ult, next_i, b.i64(4 * kRow)), body, end);
  close(i, zero, next_i);
  for (unsigned k = 0; k < sums; ++k) close(acc[k], firsts[k], next[k]);
  b.set_block(end);
  for (unsigned k = 0; k < sums; ++k) b.op_typed(Op::set_vgpr, ir::kNone, {next[k]}, 0, 100 + k);
  b.exit(ExitReason::kEnd, 0);
  const Liveness liveness(f);
  const RegisterBudget budget =
      avx2 ? RegisterBudget{.vectors = 16, .masks = 0} : RegisterBudget{.vectors = 32, .masks = 7};
  ASSERT_NE(TileRegions(f, liveness, ir::LaneShapes(f), budget, avx2 ? 8 : 4, never_barrier).of(body), nullptr);

  std::vector<uint32_t> memory(64 * kRow);
  for (uint32_t m = 0; uint32_t& word : memory) word = m++ * 0x9e3779b9u;
  wave->sgpr[10] = 5;
  wave->set_sgpr64(8, reinterpret_cast<uint64_t>(memory.data() - 5));
  wave->set_sgpr64(20, ~uint64_t{0});
  TestWave before(wave);
  ASSERT_EQ(run(f, GetParam(), wave), ExitReason::kEnd);
  for (unsigned l = 0; l < 64; ++l) {
    for (unsigned k = 0; k < sums; ++k) {
      uint32_t expected = before->vgpr[1 + k][l];
      for (unsigned n = 0; n < kRow; ++n) expected = expected * 3 + memory[kRow * l + n];
      ASSERT_EQ(wave->vgpr[100 + k][l], expected) << "lane " << l << ", accumulator " << k;
    }
  }
}

// Memory at both ends of 4 GiB, nothing in between.
class Ends {
 public:
  static constexpr uint64_t kSpan = uint64_t{1} << 32, kEnd = 1 << 16;
  Ends() {
    void* p = mmap(nullptr, kSpan + 2 * kEnd, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) return;
    base_ = static_cast<uint8_t*>(p) + kEnd;
    mprotect(base_ - kEnd, 2 * kEnd, PROT_READ | PROT_WRITE);
    mprotect(base_ + kSpan - kEnd, 2 * kEnd, PROT_READ | PROT_WRITE);
    for (uint64_t b = 0; b < 2 * kEnd; ++b) {
      base_[static_cast<int64_t>(b - kEnd)] = static_cast<uint8_t>(b * 167 >> 3);
      base_[kSpan - kEnd + b] = static_cast<uint8_t>(b * 59 >> 2);
    }
  }
  ~Ends() { munmap(base_ - kEnd, kSpan + 2 * kEnd); }
  Ends(const Ends&) = delete;
  Ends& operator=(const Ends&) = delete;
  [[nodiscard]] uint8_t* base() const { return base_; }

 private:
  uint8_t* base_ = nullptr;
};

// base + extend(first + stride * lane) where the sum in 32 bits wraps around, or changes sign, somewhere in the wave.
// The scalar part is not known, so that only a test at run time can tell.
TEST_P(Tile, IndicesThatWrap) {
  const Ends ends;
  ASSERT_NE(ends.base(), nullptr);
  for (const bool is_signed : {false, true}) {
    for (const bool rows : {false, true}) {
      for (const int32_t stride : {4, 1, -4, 8, 0}) {
        Straight s;
        ir::Builder& b = s.b;
        Inst* base = b.op_typed(Op::get_sgpr64, ir::kI64, {}, 0, 8);
        Inst* first = b.op_typed(Op::get_sgpr, ir::kI32, {}, 0, 10);
        Inst* lane = b.op_typed(Op::lane_id, ir::kV32, {});
        if (rows) {
          Inst* row = b.op(Op::mul, {b.op(Op::lshr, {lane, b.v32(4)}),
                                     b.op(Op::splat, {b.op_typed(Op::get_sgpr, ir::kI32, {}, 0, 11)})});
          lane = b.op(Op::add, {b.op(Op::and_, {lane, b.v32(15)}), row});
        }
        Inst* index =
            b.op(Op::add, {b.op(Op::mul, {lane, b.v32(static_cast<uint32_t>(stride))}), b.op(Op::splat, {first})});
        Inst* address = b.op(Op::add, {b.op(is_signed ? Op::sext64 : Op::zext64, {index}), b.op(Op::splat64, {base})});
        const unsigned bytes = stride == 1 ? 1 : 4;
        const ir::MemAttr mem{
            .space = Space::global, .form = AddressForm::vector64, .bytes = static_cast<uint8_t>(bytes)};
        b.op_typed(Op::set_vgpr, ir::kNone, {b.load(ir::kV32, mem, {b.mask(~uint64_t{0}), address})}, 0, 100);
        ir::MemAttr store = mem;
        store.imm = 8192;
        b.store(store, {b.mask(~uint64_t{0}), address, b.op_typed(Op::get_vgpr, ir::kV32, {}, 0, 1)});
        s.end();
        // The signed index is around 0 with the base in the middle; the unsigned one around 2^32.
        for (const uint32_t start : {0u, 0xffffff00u, 0xfffffff0u, 0xffffff80u, 0xffffffc4u, 256u, 0xfffffffcu, 12u}) {
          wave->sgpr[10] = start;
          wave->sgpr[11] = 3;
          wave->set_sgpr64(8, reinterpret_cast<uint64_t>(ends.base()));
          std::vector<uint32_t> expected(64);
          std::vector<uint8_t*> at(64);
          for (unsigned l = 0; l < 64; ++l) {
            const uint32_t n = rows ? (l & 15) + (l >> 4) * 3 : l;
            const uint32_t value = start + n * static_cast<uint32_t>(stride);
            at[l] = ends.base() + (is_signed ? int64_t{static_cast<int32_t>(value)} : int64_t{value});
            std::memcpy(&expected[l], at[l], bytes);
          }
          ASSERT_EQ(run(s.function, GetParam(), wave), ExitReason::kEnd);
          for (unsigned l = 0; l < 64; ++l) {
            ASSERT_EQ(wave->vgpr[100][l], expected[l])
                << "lane " << l << ", start " << start << ", stride " << stride << (is_signed ? ", signed" : "");
            // The highest lane wins where several store to one place.
            bool last = true;
            for (unsigned other = l + 1; other < 64; ++other)
              last &= at[other] + bytes <= at[l] || at[l] + bytes <= at[other];
            if (last) {
              ASSERT_EQ(std::memcmp(at[l] + 8192, &wave->vgpr[1][l], bytes), 0)
                  << "lane " << l << ", start " << start << ", stride " << stride << (is_signed ? ", signed" : "");
            }
          }
        }
      }
    }
  }
}

// Indices against a bound, and sums and differences of these and others, inside the bound and at it.
TEST_P(Tile, SumsOfClampedIndices) {
  std::vector<uint32_t> memory(1024);
  for (uint32_t m = 0; uint32_t& word : memory) word = m++ * 0x9e3779b9u;
  wave->set_sgpr64(8, reinterpret_cast<uint64_t>(memory.data() + 256));
  for (const Op op : {Op::add, Op::sub}) {
    Straight s;
    ir::Builder& b = s.b;
    Inst *base = b.op_typed(Op::get_sgpr64, ir::kI64, {}, 0, 8), *first = b.op_typed(Op::get_sgpr, ir::kI32, {}, 0, 10);
    Inst *bound = b.op_typed(Op::get_sgpr, ir::kI32, {}, 0, 11), *lane = b.op_typed(Op::lane_id, ir::kV32, {});
    Inst* ascending = b.op(Op::add, {b.op(Op::mul, {lane, b.v32(2)}), b.op(Op::splat, {first})});
    Inst* index = b.op(op, {b.op(Op::smin, {ascending, b.op(Op::splat, {bound})}), lane});
    Inst* address = b.op(Op::add, {b.op(Op::shl, {b.op(Op::sext64, {index}), b.v64(2)}), b.op(Op::splat64, {base})});
    const ir::MemAttr mem{.space = Space::global, .form = AddressForm::vector64, .bytes = 4};
    b.op_typed(Op::set_vgpr, ir::kNone, {b.load(ir::kV32, mem, {b.mask(~uint64_t{0}), address})}, 0, 100);
    s.end();
    for (const int32_t limit : {500, 100, 40}) {
      wave->sgpr[10] = 7;
      wave->sgpr[11] = static_cast<uint32_t>(limit);
      ASSERT_EQ(run(s.function, GetParam(), wave), ExitReason::kEnd);
      for (int32_t l = 0; l < 64; ++l) {
        const int32_t clamped = std::min(2 * l + 7, limit), place = op == Op::add ? clamped + l : clamped - l;
        ASSERT_EQ(wave->vgpr[100][l], memory[static_cast<size_t>(256 + place)]) << "lane " << l << ", bound " << limit;
      }
    }
  }
}

// Lanes that leave one by one, each with an address of its own that advances by four: bytes, words and dwords.
TEST_P(Tile, WalksThroughElementsOfAnySize) {
  constexpr unsigned kSums = 10;
  std::vector<uint32_t> memory(4096);
  for (uint32_t m = 0; uint32_t& word : memory) word = m++ * 0x9e3779b9u;
  for (const unsigned bytes : {1u, 2u, 4u}) {
    ir::Function f("walk");
    ir::Block *start = f.add_block(), *body = f.add_block(), *end = f.add_block();
    f.entries.push_back({0, start});
    ir::Builder b(f, start);
    Inst *low = b.op_typed(Op::get_vgpr, ir::kV32, {}, 0, 1), *high = b.op_typed(Op::get_vgpr, ir::kV32, {}, 0, 2);
    Inst *from = b.op(Op::pack64, {low, high}), *length = b.op_typed(Op::get_vgpr, ir::kV32, {}, 0, 3);
    Inst* lanes = b.op_typed(Op::get_mask, ir::kMask, {}, 0, 20);
    Inst *zero = b.v32(0), *one = b.v32(1), *four = b.v64(4);
    b.br(body);
    b.set_block(body);
    Inst *address = b.op_typed(Op::phi, ir::kV64, {}), *left = b.op_typed(Op::phi, ir::kV32, {});
    Inst* active = b.op_typed(Op::phi, ir::kMask, {});
    std::vector<Inst*> sums, next_sums;
    for (unsigned k = 0; k < kSums; ++k) sums.push_back(b.op_typed(Op::phi, ir::kV32, {}));
    const ir::MemAttr mem{.space = Space::global, .form = AddressForm::vector64, .bytes = static_cast<uint8_t>(bytes)};
    Inst* value = b.load(ir::kV32, mem, {active, address});
    for (unsigned k = 0; k < kSums; ++k) {
      Inst* sum = b.op(Op::add, {b.op(Op::mul, {sums[k], b.v32(3)}), value});
      next_sums.push_back(b.op(Op::select, {active, sum, sums[k]}));
    }
    Inst *next_address = b.op(Op::add, {address, four}), *next_left = b.op(Op::sub, {left, one});
    Inst* stay = b.op(Op::and_, {active, b.icmp(ir::ICmp::ne, next_left, zero)});
    b.cond_br(b.op(Op::mask_any, {stay}), body, end);
    close(address, from, next_address);
    close(left, length, next_left);
    close(active, lanes, stay);
    for (unsigned k = 0; k < kSums; ++k) close(sums[k], length, next_sums[k]);
    b.set_block(end);
    for (unsigned k = 0; k < kSums; ++k) b.op_typed(Op::set_vgpr, ir::kNone, {next_sums[k]}, 0, 110 + k);
    b.exit(ExitReason::kEnd, 0);
    const auto trips = [](unsigned lane) { return 1 + lane * 7 % 23; };
    const auto begin = [](unsigned lane) { return lane * 37 % 64 * 50; };
    for (unsigned l = 0; l < 64; ++l) {
      const auto at = reinterpret_cast<uint64_t>(&memory[begin(l)]);
      wave->vgpr[1][l] = static_cast<uint32_t>(at);
      wave->vgpr[2][l] = static_cast<uint32_t>(at >> 32);
      wave->vgpr[3][l] = trips(l);
    }
    wave->set_sgpr64(20, ~uint64_t{0});
    ASSERT_EQ(run(f, GetParam(), wave), ExitReason::kEnd);
    for (unsigned l = 0; l < 64; ++l) {
      uint32_t sum = trips(l);
      for (unsigned n = 0; n < trips(l); ++n) {
        uint32_t element = 0;
        std::memcpy(&element, &memory[begin(l) + n], bytes);
        sum = sum * 3 + element;
      }
      for (unsigned k = 0; k < kSums; ++k)
        ASSERT_EQ(wave->vgpr[110 + k][l], sum) << "lane " << l << ", " << bytes << " bytes";
    }
  }
}

}  // namespace
}  // namespace wavejit::backend
