// Masks, lane moves, helpers with their own models.
#include <bit>
#include <cmath>
#include <cstring>

#include "runner.h"

namespace wavejit::backend {
namespace {

using ir::Builder;
using ir::Inst;
using ir::Op;

Inst* vgpr(Builder& b, unsigned row) {
  return b.op_typed(Op::get_vgpr, ir::kV32, {}, 0, row);
}
Inst* mask(Builder& b, unsigned sgpr) {
  return b.op_typed(Op::get_mask, ir::kMask, {}, 0, sgpr);
}
Inst* sgpr(Builder& b, unsigned index) {
  return b.op_typed(Op::get_sgpr, ir::kI32, {}, 0, index);
}
void set_vgpr(Builder& b, unsigned row, Inst* v) {
  b.op_typed(Op::set_vgpr, ir::kNone, {v}, 0, row);
}
void set_sgpr(Builder& b, unsigned index, Inst* v) {
  b.op_typed(v->type == ir::kI64 ? Op::set_sgpr64 : Op::set_sgpr, ir::kNone, {v}, 0, index);
}

class Lanes : public testing::TestWithParam<Tier> {
 protected:
  void SetUp() override {
    if (!host_supports(GetParam())) GTEST_SKIP() << "the CPU has no " << to_string(GetParam());
    wave.randomise(random);
    for (unsigned i = 0; i < 8; i += 2) wave->set_sgpr64(20 + i, random());
  }
  void run_it(Straight& f) {
    before = std::make_unique<TestWave>(wave);
    f.end();
    ASSERT_EQ(run(f.function, GetParam(), wave), ExitReason::kEnd);
  }
  uint32_t in(unsigned row, unsigned lane) { return (*before)->vgpr[row][lane]; }
  uint32_t out(unsigned lane) { return wave->vgpr[100][lane]; }
  std::mt19937_64 random{11};
  TestWave wave;
  std::unique_ptr<TestWave> before;
};
INSTANTIATE_TEST_SUITE_P(Tiers, Lanes, testing::ValuesIn(kTiers), [](const auto& info) {
  return info.param == Tier::avx2 ? std::string("avx2") : std::string("avx512");
});

TEST_P(Lanes, MaskConversions) {
  Straight f;
  Inst* m = mask(f.b, 20);
  set_sgpr(f.b, 40, f.b.op(Op::mask_to_i64, {m}));
  set_sgpr(f.b, 50, f.b.op(Op::zext_i1, {f.b.op(Op::mask_any, {m})}));
  set_sgpr(f.b, 51, f.b.op(Op::zext_i1, {f.b.op(Op::mask_all, {m})}));
  Inst* n = f.b.op(Op::i64_to_mask, {f.b.op_typed(Op::get_sgpr64, ir::kI64, {}, 0, 22)});
  f.b.op_typed(Op::set_mask, ir::kNone, {n}, 0, 44);
  set_vgpr(f.b, 100, f.b.op(Op::mbcnt, {m}));
  set_vgpr(f.b, 101, f.b.op(Op::select, {f.b.mask(0x123456789abcdef0), f.b.v32(1), f.b.v32(0)}));
  set_vgpr(f.b, 102, f.b.op_typed(Op::lane_id, ir::kV32, {}));
  Inst* scalar = f.b.icmp(ir::ICmp::slt, sgpr(f.b, 24), f.b.i32(0));
  f.b.op_typed(Op::set_mask, ir::kNone, {f.b.op(Op::splat_mask, {scalar})}, 0, 46);
  set_vgpr(f.b, 103, f.b.op(Op::mbcnt, {f.b.mask(~0ull)}));
  run_it(f);
  const uint64_t bits = (*before)->sgpr64(20);
  EXPECT_EQ(wave->sgpr64(40), bits);
  EXPECT_EQ(wave->sgpr[50], bits != 0);
  EXPECT_EQ(wave->sgpr[51], 0u);
  EXPECT_EQ(wave->sgpr64(44), (*before)->sgpr64(22));
  EXPECT_EQ(wave->sgpr64(46), (*before)->sgpr[24] >> 31 ? ~0ull : 0);
  for (unsigned l = 0; l < 64; ++l) {
    EXPECT_EQ(out(l), static_cast<uint32_t>(std::popcount(bits & ((1ull << l) - 1))));
    EXPECT_EQ(wave->vgpr[101][l], 0x123456789abcdef0ull >> l & 1);
    EXPECT_EQ(wave->vgpr[102][l], l);
    EXPECT_EQ(wave->vgpr[103][l], l);
  }
}

TEST_P(Lanes, MaskAnyAndAllSeeEveryLane) {
  for (const uint64_t bits : {0ull, 1ull, 1ull << 63, 1ull << 37, ~0ull, ~0ull >> 1, ~(1ull << 20)}) {
    Straight f;
    set_sgpr(f.b, 50, f.b.op(Op::zext_i1, {f.b.op(Op::mask_any, {mask(f.b, 20)})}));
    set_sgpr(f.b, 51, f.b.op(Op::zext_i1, {f.b.op(Op::mask_all, {mask(f.b, 20)})}));
    wave->set_sgpr64(20, bits);
    run_it(f);
    EXPECT_EQ(wave->sgpr[50], bits != 0);
    EXPECT_EQ(wave->sgpr[51], bits == ~0ull);
  }
}

TEST_P(Lanes, ReadAndWriteLane) {
  for (const unsigned lane : {0u, 3u, 5u, 15u, 16u, 37u, 63u}) {
    Straight f;
    wave->sgpr[30] = lane + 64 * 5;
    set_sgpr(f.b, 40, f.b.op(Op::readlane, {vgpr(f.b, 1), f.b.i32(lane)}));
    set_sgpr(f.b, 41, f.b.op(Op::readlane, {vgpr(f.b, 1), sgpr(f.b, 30)}));
    set_vgpr(f.b, 100, f.b.op(Op::writelane, {vgpr(f.b, 2), sgpr(f.b, 31), sgpr(f.b, 30)}));
    set_vgpr(f.b, 101, f.b.op(Op::writelane, {f.b.v32(7), sgpr(f.b, 31), f.b.i32(lane)}));
    run_it(f);
    EXPECT_EQ(wave->sgpr[40], in(1, lane));
    EXPECT_EQ(wave->sgpr[41], in(1, lane));
    for (unsigned l = 0; l < 64; ++l) {
      EXPECT_EQ(out(l), l == lane ? (*before)->sgpr[31] : in(2, l));
      EXPECT_EQ(wave->vgpr[101][l], l == lane ? (*before)->sgpr[31] : 7);
    }
  }
}

TEST_P(Lanes, ReadFirstLane) {
  for (const uint64_t bits : {0ull, 1ull, 1ull << 63, 0xf0f000ull, ~0ull}) {
    Straight f;
    wave->set_sgpr64(20, bits);
    set_sgpr(f.b, 40, f.b.op(Op::readfirstlane, {vgpr(f.b, 1), mask(f.b, 20)}));
    set_sgpr(f.b, 41, f.b.op(Op::readfirstlane, {vgpr(f.b, 1), f.b.mask(~0ull)}));
    run_it(f);
    EXPECT_EQ(wave->sgpr[40], in(1, bits == 0 ? 0 : static_cast<unsigned>(std::countr_zero(bits))));
    EXPECT_EQ(wave->sgpr[41], in(1, 0));
  }
}

TEST_P(Lanes, Permutes) {
  Straight f;
  set_vgpr(f.b, 100, f.b.op(Op::bpermute, {vgpr(f.b, 1), vgpr(f.b, 2), mask(f.b, 20)}, 0, 12));
  set_vgpr(f.b, 101, f.b.op(Op::permute, {vgpr(f.b, 1), vgpr(f.b, 2), mask(f.b, 20)}, 0, 8));
  run_it(f);
  const uint64_t bits = (*before)->sgpr64(20);
  uint32_t sent[64] = {};
  for (unsigned l = 0; l < 64; ++l) {
    const unsigned from = (in(1, l) + 12) / 4 % 64;
    EXPECT_EQ(out(l), bits >> from & 1 ? in(2, from) : 0) << l;
    if (bits >> l & 1) sent[(in(1, l) + 8) / 4 % 64] = in(2, l);
  }
  for (unsigned l = 0; l < 64; ++l) EXPECT_EQ(wave->vgpr[101][l], sent[l]) << l;
}

// Addresses of which the number that all lanes share does not reach the lane's number: shuffles instead of gathers.
TEST_P(Lanes, PermutesByKnownAddresses) {
  Straight f;
  Inst* lane = f.b.op(Op::lane_id, {});
  const auto constant = [&](uint32_t value) { return f.b.constant(ir::kV32, value); };
  const auto address = [&](Inst* number) { return f.b.op(Op::shl, {number, constant(2)}); };
  Inst* all = f.b.constant(ir::kMask, ~uint64_t{0});
  Inst* butterfly = address(f.b.op(Op::xor_, {lane, constant(37)}));
  Inst* down = address(
      f.b.op(Op::select, {f.b.constant(ir::kMask, ~uint64_t{0} >> 9), f.b.op(Op::add, {lane, constant(9)}), lane}));
  Inst* far = f.b.op(Op::shl, {f.b.op(Op::splat, {sgpr(f.b, 24)}), constant(8)});
  set_vgpr(f.b, 100, f.b.op(Op::bpermute, {butterfly, vgpr(f.b, 1), all}, 0, 12));
  set_vgpr(f.b, 101, f.b.op(Op::bpermute, {down, vgpr(f.b, 1), mask(f.b, 20)}));
  set_vgpr(f.b, 102, f.b.op(Op::bpermute, {f.b.op(Op::add, {butterfly, far}), vgpr(f.b, 2), all}));
  set_vgpr(f.b, 103, f.b.op(Op::bpermute, {f.b.op(Op::mul, {lane, constant(20)}), vgpr(f.b, 2), mask(f.b, 20)}));
  run_it(f);
  const uint64_t bits = (*before)->sgpr64(20);
  const auto active = [&](unsigned row, unsigned from) { return bits >> from & 1 ? in(row, from) : 0; };
  for (unsigned l = 0; l < 64; ++l) {
    EXPECT_EQ(out(l), in(1, ((l ^ 37) + 3) % 64)) << l;
    EXPECT_EQ(wave->vgpr[101][l], active(1, l < 55 ? l + 9 : l)) << l;
    EXPECT_EQ(wave->vgpr[102][l], in(2, l ^ 37)) << l;
    EXPECT_EQ(wave->vgpr[103][l], active(2, l * 5 % 64)) << l;
  }
}

// One value read at several places of a block, with other values moved in between.
TEST_P(Lanes, ReadsOneValueAgain) {
  Straight f;
  Inst* all = f.b.constant(ir::kMask, ~uint64_t{0});
  Inst* a = vgpr(f.b, 1);
  Inst* b = vgpr(f.b, 2);
  Inst* anywhere = vgpr(f.b, 3);
  const auto read = [&](unsigned to, Inst* value, unsigned lane) {
    set_sgpr(f.b, to, f.b.op(Op::readlane, {value, sgpr(f.b, lane)}));
  };
  read(40, a, 20);
  read(41, a, 21);
  set_vgpr(f.b, 100, f.b.op(Op::bpermute, {anywhere, a, all}));
  read(42, b, 20);
  read(43, a, 22);
  set_vgpr(f.b, 101, f.b.op(Op::bpermute, {anywhere, a, mask(f.b, 20)}));
  read(44, a, 23);
  set_vgpr(f.b, 102, f.b.op(Op::permute, {anywhere, b, all}));
  read(45, a, 24);
  Inst* spread = f.b.op(Op::mul, {f.b.op(Op::lane_id, {}), f.b.constant(ir::kV32, 20)});
  set_vgpr(f.b, 103, f.b.op(Op::bpermute, {spread, b, all}));
  read(46, a, 25);
  run_it(f);
  const auto lane = [&](unsigned number) { return static_cast<unsigned>((*before)->sgpr[number] % 64); };
  const uint64_t bits = (*before)->sgpr64(20);
  const struct {
    unsigned to, row, lane;
  } reads[] = {{40, 1, 20}, {41, 1, 21}, {42, 2, 20}, {43, 1, 22}, {44, 1, 23}, {45, 1, 24}, {46, 1, 25}};
  for (const auto& r : reads) EXPECT_EQ(wave->sgpr[r.to], in(r.row, lane(r.lane))) << r.to;
  for (unsigned l = 0; l < 64; ++l) {
    const unsigned from = in(3, l) / 4 % 64;
    EXPECT_EQ(out(l), in(1, from)) << l;
    EXPECT_EQ(wave->vgpr[101][l], bits >> from & 1 ? in(1, from) : 0) << l;
    EXPECT_EQ(wave->vgpr[103][l], in(2, l * 5 % 64)) << l;
  }
}

TEST_P(Lanes, Dpp) {
  const auto source = [](unsigned control, int l) -> int {
    const int n = static_cast<int>(control & 15), i = l % 16, row = l / 16 * 16;
    switch (control >> 4) {
      case 0x10:
        return i + n < 16 ? l + n : -1;
      case 0x11:
        return i - n >= 0 ? l - n : -1;
      case 0x12:
        return row + (i + 16 - n) % 16;
      case 0x13:
        return control == 0x130   ? (l < 63 ? l + 1 : -1)
               : control == 0x134 ? (l + 1) % 64
               : control == 0x138 ? l - 1
                                  : (l + 63) % 64;
      case 0x14:
        return control == 0x140   ? row + 15 - i
               : control == 0x141 ? l / 8 * 8 + 7 - l % 8
               : control == 0x142 ? row - 1
               : l >= 32          ? 31
                                  : -1;
      case 0x15:
        return row + n;
      default:
        return l / 4 * 4 + static_cast<int>(control >> (2 * (l % 4)) & 3);
    }
  };
  for (const unsigned control : {0x1bu, 0xe4u, 0x00u, 0x101u, 0x10fu, 0x111u, 0x118u, 0x121u, 0x12fu, 0x130u, 0x134u,
                                 0x138u, 0x13cu, 0x140u, 0x141u, 0x142u, 0x143u, 0x153u}) {
    Straight f;
    set_vgpr(f.b, 100, f.b.op(Op::dpp, {vgpr(f.b, 1), mask(f.b, 20)}, control));
    f.b.op_typed(Op::set_mask, ir::kNone, {f.b.op(Op::dpp_valid, {mask(f.b, 20)}, control)}, 0, 40);
    f.b.op_typed(Op::set_mask, ir::kNone, {f.b.op(Op::dpp_valid, {f.b.mask(~0ull)}, control)}, 0, 42);
    run_it(f);
    const uint64_t bits = (*before)->sgpr64(20);
    for (int l = 0; l < 64; ++l) {
      const int s = source(control, l);
      const bool valid = s >= 0 && (bits >> s & 1);
      EXPECT_EQ(out(static_cast<unsigned>(l)), valid ? in(1, static_cast<unsigned>(s)) : 0)
          << std::hex << control << " lane " << l;
      EXPECT_EQ(wave->sgpr64(40) >> l & 1, valid) << std::hex << control << " lane " << l;
      EXPECT_EQ(wave->sgpr64(42) >> l & 1, s >= 0) << std::hex << control << " lane " << l;
    }
  }
}

TEST_P(Lanes, Swizzle) {
  for (const unsigned offset : {0x801bu, 0x041fu, 0x001fu, 0x7c1fu, 0x0bd3u, 0xc0a0u, 0xc4e7u}) {
    Straight f;
    set_vgpr(f.b, 100, f.b.op(Op::swizzle, {vgpr(f.b, 1), mask(f.b, 20)}, offset));
    run_it(f);
    const uint64_t bits = (*before)->sgpr64(20);
    for (unsigned l = 0; l < 64; ++l) {
      unsigned s;
      if (offset >= 0xc000) {
        const unsigned n = offset >> 5 & 31, keep = offset & 31, moved = (offset & 0x400 ? l + 32 - n : l + n) % 32;
        s = l / 32 * 32 + ((l & keep) | (moved & ~keep)) % 32;
      } else if (offset & 0x8000) {
        s = l / 4 * 4 + (offset >> 2 * (l % 4) & 3);
      } else {
        s = l / 32 * 32 + ((((l % 32) & (offset & 31)) | (offset >> 5 & 31)) ^ (offset >> 10 & 31));
      }
      EXPECT_EQ(out(l), bits >> s & 1 ? in(1, s) : 0) << std::hex << offset << " lane " << l;
    }
  }
}

// The examples of the RDNA manuals, DS_SWIZZLE_B32.
TEST_P(Lanes, SwizzleFft) {
  Straight f;
  set_vgpr(f.b, 100, f.b.op(Op::swizzle, {vgpr(f.b, 1), f.b.mask(~0ull)}, 0xe000));
  set_vgpr(f.b, 101, f.b.op(Op::swizzle, {vgpr(f.b, 1), f.b.mask(~0ull)}, 0xe010));
  set_vgpr(f.b, 102, f.b.op(Op::swizzle, {vgpr(f.b, 1), f.b.mask(~0ull)}, 0xe01f));
  run_it(f);
  constexpr unsigned kAll[] = {0x01, 0x11, 0x09, 0x19, 0x05, 0x15, 0x0d, 0x1d,
                               0x03, 0x13, 0x0b, 0x1b, 0x07, 0x17, 0x0f, 0x1f},
                     kSixteen[] = {0x1, 0x9, 0x5, 0xd, 0x3, 0xb, 0x7, 0xf, 0x2, 0xa, 0x6, 0xe, 0x4, 0xc, 0x8, 0x10};
  for (unsigned l = 0; l < 64; ++l) {
    const unsigned half = l & 32, in_half = l % 32;
    EXPECT_EQ(wave->vgpr[100][l], in(1, half + kAll[in_half % 16] - 1 + in_half / 16));
    EXPECT_EQ(wave->vgpr[101][l], in(1, half + (l & 16) + kSixteen[l % 16] - 1));
    EXPECT_EQ(wave->vgpr[102][l], in(1, l));
  }
}

TEST_P(Lanes, ByteHelpers) {
  Straight f;
  unsigned row = 100;
  for (const auto h :
       {ir::Helper::sad_u8, ir::Helper::sad_hi_u8, ir::Helper::sad_u16, ir::Helper::msad_u8, ir::Helper::lerp_u8}) {
    set_vgpr(f.b, row++,
             f.b.op_typed(Op::helper, ir::kV32, {vgpr(f.b, 1), vgpr(f.b, 2), vgpr(f.b, 3)}, static_cast<uint32_t>(h)));
  }
  run_it(f);
  for (unsigned l = 0; l < 64; ++l) {
    uint32_t sad = 0, msad = in(3, l), lerp = 0;
    for (unsigned i = 0; i < 32; i += 8) {
      const int a = in(1, l) >> i & 255, b = in(2, l) >> i & 255, c = in(3, l) >> i & 1;
      sad += static_cast<uint32_t>(std::abs(a - b));
      if (b != 0) msad += static_cast<uint32_t>(std::abs(a - b));
      lerp |= static_cast<uint32_t>((a + b + c) / 2) << i;
    }
    const int high = std::abs(static_cast<int>(in(1, l) >> 16) - static_cast<int>(in(2, l) >> 16));
    const int low = std::abs(static_cast<int>(in(1, l) & 0xffff) - static_cast<int>(in(2, l) & 0xffff));
    EXPECT_EQ(wave->vgpr[100][l], sad + in(3, l));
    EXPECT_EQ(wave->vgpr[101][l], (sad << 16) + in(3, l));
    EXPECT_EQ(wave->vgpr[102][l], static_cast<uint32_t>(high + low) + in(3, l));
    EXPECT_EQ(wave->vgpr[103][l], msad);
    EXPECT_EQ(wave->vgpr[104][l], lerp);
  }
}

// The sequence that compilers emit for a correctly rounded f32 quotient (LLVM SITargetLowering::LowerFDIV32).
TEST_P(Lanes, DivisionSequenceRoundsCorrectly) {
  constexpr uint32_t kKeep = ir::fpenv::kKeepInputDenorm | ir::fpenv::kKeepOutputDenorm;
  for (int round = 0; round < 60; ++round) {
    for (unsigned l = 0; l < 64; ++l) {
      if (round < 20) {  // ordinary numbers, which take the fast paths
        wave->vgpr[1][l] = (static_cast<uint32_t>(random()) & 0x807fffff) | (110 + static_cast<uint32_t>(random() % 30))
                                                                                << 23;
        wave->vgpr[2][l] = (static_cast<uint32_t>(random()) & 0x807fffff) | (110 + static_cast<uint32_t>(random() % 30))
                                                                                << 23;
      } else {
        wave->vgpr[1][l] = interesting32(random);
        wave->vgpr[2][l] = interesting32(random);
      }
    }
    Straight f;
    Builder& b = f.b;
    Inst *n = vgpr(b, 1), *d = vgpr(b, 2), *one = b.v32(0x3f800000);
    Inst* ds = b.op(Op::div_scale_f32, {d, d, n}, kKeep);
    Inst* ns = b.op(Op::div_scale_f32, {n, d, n}, kKeep);
    Inst* vcc = b.op(Op::div_scale_vcc_f32, {n, d, n}, kKeep);
    Inst* r0 = b.op(Op::frcp_f32, {ds}, kKeep);
    Inst* negative = b.op(Op::xor_, {ds, b.v32(0x80000000)});
    Inst* e0 = b.op(Op::fma_f32, {negative, r0, one}, kKeep);
    Inst* r1 = b.op(Op::fma_f32, {e0, r0, r0}, kKeep);
    Inst* q0 = b.op(Op::fmul_f32, {ns, r1}, kKeep);
    Inst* e1 = b.op(Op::fma_f32, {negative, q0, ns}, kKeep);
    Inst* q1 = b.op(Op::fma_f32, {e1, r1, q0}, kKeep);
    Inst* e2 = b.op(Op::fma_f32, {negative, q1, ns}, kKeep);
    Inst* q2 = b.op(Op::div_fmas_f32, {e2, r1, q1, vcc}, kKeep);
    set_vgpr(b, 100, b.op(Op::div_fixup_f32, {q2, d, n}, kKeep));
    run_it(f);
    for (unsigned l = 0; l < 64; ++l) {
      const float expected = std::bit_cast<float>(in(1, l)) / std::bit_cast<float>(in(2, l));
      if (std::isnan(expected)) {
        EXPECT_TRUE(std::isnan(std::bit_cast<float>(out(l)))) << l;
      } else {
        EXPECT_EQ(out(l), std::bit_cast<uint32_t>(expected)) << std::hex << in(1, l) << " / " << in(2, l);
      }
    }
  }
}

TEST_P(Lanes, DivisionSequenceRoundsCorrectlyF64) {
  constexpr uint32_t kKeep = ir::fpenv::kKeepInputDenorm | ir::fpenv::kKeepOutputDenorm;
  for (int round = 0; round < 40; ++round) {
    for (unsigned l = 0; l < 64; ++l) {
      for (unsigned r : {1u, 3u}) {
        uint64_t bits = interesting64(random);
        if (round < 20) bits = (random() & 0x800fffffffffffff) | (900 + random() % 200) << 52;  // the fast paths
        wave->vgpr[r][l] = static_cast<uint32_t>(bits);
        wave->vgpr[r + 1][l] = static_cast<uint32_t>(bits >> 32);
      }
    }
    Straight f;
    Builder& b = f.b;
    Inst *n = b.op(Op::pack64, {vgpr(b, 1), vgpr(b, 2)}), *d = b.op(Op::pack64, {vgpr(b, 3), vgpr(b, 4)});
    Inst* one = b.v64(0x3ff0000000000000);
    Inst* ds = b.op(Op::div_scale_f64, {d, d, n}, kKeep);
    Inst* ns = b.op(Op::div_scale_f64, {n, d, n}, kKeep);
    Inst* vcc = b.op(Op::div_scale_vcc_f64, {n, d, n}, kKeep);
    Inst* negative = b.op(Op::xor_, {ds, b.v64(1ull << 63)});
    Inst* r = b.op(Op::frcp_f64, {ds}, kKeep);
    for (int i = 0; i < 2; ++i) r = b.op(Op::fma_f64, {r, b.op(Op::fma_f64, {negative, r, one}, kKeep), r}, kKeep);
    Inst* q = b.op(Op::fmul_f64, {ns, r}, kKeep);
    Inst* e = b.op(Op::fma_f64, {negative, q, ns}, kKeep);
    Inst* fixed = b.op(Op::div_fixup_f64, {b.op(Op::div_fmas_f64, {e, r, q, vcc}, kKeep), d, n}, kKeep);
    set_vgpr(b, 100, b.op(Op::lo32, {fixed}));
    set_vgpr(b, 101, b.op(Op::hi32, {fixed}));
    run_it(f);
    for (unsigned l = 0; l < 64; ++l) {
      const auto value = [&](unsigned row) {
        return std::bit_cast<double>(in(row, l) | uint64_t{in(row + 1, l)} << 32);
      };
      const double expected = value(1) / value(3);
      const double actual = std::bit_cast<double>(out(l) | uint64_t{wave->vgpr[101][l]} << 32);
      if (std::isnan(expected)) {
        EXPECT_TRUE(std::isnan(actual)) << l;
      } else {
        EXPECT_EQ(std::bit_cast<uint64_t>(actual), std::bit_cast<uint64_t>(expected)) << value(1) << " / " << value(3);
      }
    }
  }
}

// Classes that are known when the code is made, against the same ones in a register.
TEST_P(Lanes, KnownClasses) {
  for (uint32_t first = 0; first < 1024; first += 8) {
    for (unsigned l = 0; l < 64; ++l) {
      const uint64_t bits = interesting64(random);
      wave->vgpr[1][l] = interesting32(random);
      wave->vgpr[2][l] = static_cast<uint32_t>(bits);
      wave->vgpr[3][l] = static_cast<uint32_t>(bits >> 32);
      for (uint32_t i = 0; i < 8; ++i) wave->vgpr[10 + i][l] = first + i;
    }
    Straight f;
    Builder& b = f.b;
    Inst *narrow = vgpr(b, 1), *wide = b.op(Op::pack64, {vgpr(b, 2), vgpr(b, 3)});
    Inst* differences = b.v32(0);
    for (uint32_t i = 0; i < 8; ++i) {
      for (const Op op : {Op::fclass_f16, Op::fclass_f32, Op::fclass_f64}) {
        Inst* x = op == Op::fclass_f64 ? wide : narrow;
        Inst* differs = b.op(Op::xor_, {b.op(op, {x, b.v32(first + i)}), b.op(op, {x, vgpr(b, 10 + i)})});
        differences = b.op(Op::select, {differs, b.v32(first + i + 1), differences});
      }
    }
    set_vgpr(b, 100, differences);
    run_it(f);
    for (unsigned l = 0; l < 64; ++l)
      ASSERT_EQ(out(l), 0u) << "class " << out(l) - 1 << " of " << std::hex << in(1, l) << " " << in(3, l) << " "
                            << in(2, l);
  }
}

TEST_P(Lanes, LdexpF64AndTrigPreop) {
  constexpr uint32_t kKeep = ir::fpenv::kKeepInputDenorm | ir::fpenv::kKeepOutputDenorm;
  for (int round = 0; round < 20; ++round) {
    for (unsigned l = 0; l < 64; ++l) {
      const uint64_t bits = interesting64(random);
      wave->vgpr[1][l] = static_cast<uint32_t>(bits);
      wave->vgpr[2][l] = static_cast<uint32_t>(bits >> 32);
      wave->vgpr[3][l] = random() % 2 ? interesting32(random) : static_cast<uint32_t>(random() % 4400) - 2200;
    }
    Straight f;
    Builder& b = f.b;
    Inst* x = b.op(Op::pack64, {vgpr(b, 1), vgpr(b, 2)});
    Inst* y = b.op(Op::fldexp_f64, {x, vgpr(b, 3)}, kKeep);
    set_vgpr(b, 100, b.op(Op::lo32, {y}));
    set_vgpr(b, 101, b.op(Op::hi32, {y}));
    Inst* t = b.op(Op::trig_preop_f64, {b.v64(0x3ff0000000000000), b.v32(0)}, kKeep);
    set_vgpr(b, 102, b.op(Op::lo32, {t}));
    set_vgpr(b, 103, b.op(Op::hi32, {t}));
    run_it(f);
    for (unsigned l = 0; l < 64; ++l) {
      const double in_value = std::bit_cast<double>(in(1, l) | uint64_t{in(2, l)} << 32);
      const double expected = std::ldexp(in_value, static_cast<int>(in(3, l)));
      const double actual = std::bit_cast<double>(out(l) | uint64_t{wave->vgpr[101][l]} << 32);
      if (std::isnan(expected)) {
        EXPECT_TRUE(std::isnan(actual));
      } else {
        EXPECT_EQ(std::bit_cast<uint64_t>(actual), std::bit_cast<uint64_t>(expected))
            << in_value << " exponent " << static_cast<int>(in(3, l));
      }
      // The first segment of 2/pi: within an ulp of its leading 53 bits.
      EXPECT_NEAR(std::bit_cast<double>(wave->vgpr[102][l] | uint64_t{wave->vgpr[103][l]} << 32),
                  0.63661977236758134308, 1e-15);
    }
  }
}

}  // namespace
}  // namespace wavejit::backend
