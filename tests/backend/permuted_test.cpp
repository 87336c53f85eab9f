// LDS accesses by addresses that are a scalar plus constants of the lanes: butterflies, strides, small tables.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "runner.h"

namespace wavejit::backend {
namespace {

using ir::Inst;
using ir::Op;

class Permuted : public testing::TestWithParam<Tier> {
 protected:
  void SetUp() override {
    if (!host_supports(GetParam())) GTEST_SKIP() << "the CPU lacks " << to_string(GetParam());
  }
};

// Byte offsets as an expression, and what it gives.
struct Pattern {
  std::string name;
  Inst* (*build)(ir::Builder& b, Inst* lane, unsigned by);
  uint32_t (*value)(uint32_t lane, unsigned by);
};

Inst* constant(ir::Builder& b, uint32_t value) {
  return b.constant(ir::kV32, value);
}

const Pattern kPatterns[] = {
    {"stride", [](ir::Builder& b, Inst* l, unsigned by) { return b.op(Op::mul, {l, constant(b, 4 * by)}); },
     [](uint32_t l, unsigned by) { return l * 4 * by; }},
    {"backwards",
     [](ir::Builder& b, Inst* l, unsigned by) {
       return b.op(Op::mul, {b.op(Op::sub, {constant(b, 63), l}), constant(b, 4 * by)});
     },
     [](uint32_t l, unsigned by) { return (63 - l) * 4 * by; }},
    {"butterfly",
     [](ir::Builder& b, Inst* l, unsigned by) {
       return b.op(Op::shl, {b.op(Op::xor_, {l, constant(b, by)}), constant(b, 2)});
     },
     [](uint32_t l, unsigned by) { return (l ^ by) * 4; }},
    {"spread",  // bitonic: 2 * l - (l & (by - 1))
     [](ir::Builder& b, Inst* l, unsigned by) {
       Inst* low = b.op(Op::and_, {l, constant(b, by - 1)});
       return b.op(Op::shl, {b.op(Op::sub, {b.op(Op::shl, {l, constant(b, 1)}), low}), constant(b, 2)});
     },
     [](uint32_t l, unsigned by) { return (2 * l - (l & (by - 1))) * 4; }},
    {"shared",  // several lanes at one place
     [](ir::Builder& b, Inst* l, unsigned by) {
       return b.op(Op::shl, {b.op(Op::lshr, {l, constant(b, by % 4)}), constant(b, 2)});
     },
     [](uint32_t l, unsigned by) { return (l >> (by % 4)) * 4; }},
    {"tile",  // rows of 1, 2, 4 or 8 lanes, which are stored as columns
     [](ir::Builder& b, Inst* l, unsigned by) {
       Inst* row = b.op(Op::and_, {l, constant(b, (1u << by % 4) - 1)});
       Inst* column = b.op(Op::lshr, {l, constant(b, by % 4)});
       return b.op(Op::add, {b.op(Op::shl, {row, constant(b, 9)}), b.op(Op::shl, {column, constant(b, 2)})});
     },
     [](uint32_t l, unsigned by) { return (l & ((1u << by % 4) - 1)) * 512 + (l >> by % 4) * 4; }},
    {"apart",  // every lane by itself, the last one first
     [](ir::Builder& b, Inst* l, unsigned by) {
       return b.op(Op::mul, {b.op(Op::xor_, {l, constant(b, 63)}), constant(b, 4 * (by + 4))});
     },
     [](uint32_t l, unsigned by) { return (l ^ 63) * 4 * (by + 4); }},
    {"unaligned", [](ir::Builder& b, Inst* l, unsigned by) { return b.op(Op::mul, {l, constant(b, 4 * by + 2)}); },
     [](uint32_t l, unsigned by) { return l * (4 * by + 2); }},
};

constexpr uint64_t kMasks[] = {~0ull, 0, 1, 1ull << 63, 0x5555555555555555, 0xffff0000ffff0000, 0x0000000000ffffff};

class Access {
 public:
  static constexpr uint32_t kStartBits = 0xffff;

  // `bounded`: the code shows that no address wraps around, if `start` is small enough for that.
  Access(Tier tier, const Pattern& pattern, unsigned by, unsigned count, uint32_t start, uint32_t imm, bool bounded)
      : tier_(tier),
        pattern_(pattern),
        by_(by),
        count_(count),
        start_(start),
        imm_(imm),
        bounded_(bounded && start <= kStartBits) {}

  void check(uint64_t mask, std::mt19937_64& random) {
    SCOPED_TRACE(
        fmt::format("{} by {} count {} start {:#x} imm {} mask {:#x}", pattern_.name, by_, count_, start_, imm_, mask));
    for (const bool load : {true, false}) {
      TestWave wave;
      wave.randomise(random);
      // As the lifter has it: lanes whose access does not fit are not in the mask.
      uint64_t active = mask;
      for (unsigned l = 0; l < kWaveSize; ++l) {
        if (uint64_t{address(l)} + imm_ + 4 * count_ > TestWave::kLdsBytes) active &= ~(1ull << l);
      }
      if (mask == ~0ull && active != mask) return;  // stands for a constant below
      wave->set_sgpr64(20, active);
      wave->sgpr[30] = start_;
      TestWave before(wave);
      Straight f;
      build(f, load, mask == ~0ull);
      ASSERT_EQ(run(f.function, tier_, wave), ExitReason::kEnd);
      std::vector<uint8_t> lds(before.lds(), before.lds() + TestWave::kLdsBytes);
      for (unsigned l = 0; l < kWaveSize; ++l) {
        const bool on = active >> l & 1;
        for (unsigned e = 0; e < count_; ++e) {
          uint32_t word = 0;
          uint8_t* at = on ? lds.data() + address(l) + imm_ + 4 * e : nullptr;
          if (load) {
            if (on) std::memcpy(&word, at, 4);
            ASSERT_EQ(wave->vgpr[100 + e][l], word) << "lane " << l << " element " << e;
          } else if (on) {
            std::memcpy(at, &before->vgpr[e][l], 4);
          }
        }
      }
      for (unsigned i = 0; i < TestWave::kLdsBytes; ++i) ASSERT_EQ(wave.lds()[i], lds[i]) << "byte " << i;
    }
  }

 private:
  [[nodiscard]] uint32_t address(unsigned lane) const { return start_ + pattern_.value(lane, by_); }

  void build(Straight& f, bool load, bool full) const {
    Inst* lane = f.b.op(Op::lane_id, {});
    Inst* start = f.b.op(Op::splat, {f.b.op_typed(Op::get_sgpr, ir::kI32, {}, 0, 30)});
    if (bounded_) start = f.b.op(Op::and_, {start, constant(f.b, kStartBits)});
    Inst* offset = f.b.op(Op::add, {pattern_.build(f.b, lane, by_), start});
    Inst* mask = full ? f.b.mask(~0ull) : f.b.op_typed(Op::get_mask, ir::kMask, {}, 0, 20);
    ir::MemAttr mem{.space = ir::Space::lds,
                    .form = ir::AddressForm::lds_offset,
                    .bytes = 4,
                    .count = static_cast<uint8_t>(count_)};
    mem.imm = imm_;
    std::vector<Inst*> operands = {mask, offset};
    if (load) {
      Inst* loaded = f.b.load({ir::TypeKind::v32, static_cast<uint8_t>(count_)}, mem, operands);
      for (unsigned e = 0; e < count_; ++e) {
        Inst* element = count_ > 1 ? f.b.op_typed(Op::extract, ir::kV32, {loaded}, 0, e) : loaded;
        f.b.op_typed(Op::set_vgpr, ir::kNone, {element}, 0, 100 + e);
      }
    } else {
      for (unsigned e = 0; e < count_; ++e) operands.push_back(f.b.op_typed(Op::get_vgpr, ir::kV32, {}, 0, e));
      f.b.store(mem, operands);
    }
    f.end();
  }

  Tier tier_;
  const Pattern& pattern_;
  unsigned by_, count_;
  uint32_t start_, imm_;
  bool bounded_;
};

// Stores of several lanes to one place are not compared: which is last is not said where they overlap in part.
bool overlaps(const Pattern& pattern, unsigned by, unsigned count) {
  std::vector<uint32_t> all;
  for (unsigned l = 0; l < kWaveSize; ++l) all.push_back(pattern.value(l, by));
  std::sort(all.begin(), all.end());
  for (unsigned l = 1; l < kWaveSize; ++l) {
    if (all[l] != all[l - 1] && all[l] - all[l - 1] < 4 * count) return true;
  }
  return false;
}

TEST_P(Permuted, LoadsAndStores) {
  std::mt19937_64 random(7);
  unsigned checked = 0;
  for (const Pattern& pattern : kPatterns) {
    for (const unsigned by : {1u, 2u, 3u, 4u, 5u, 8u, 16u}) {
      for (const unsigned count : {1u, 2u, 4u}) {
        if (overlaps(pattern, by, count)) continue;
        // In the middle, across the end, far beyond it, and where it wraps around to the beginning.
        const uint32_t starts[] = {256, TestWave::kLdsBytes - 64, 0x10000, 0u - 128};
        for (const uint32_t start : starts) {
          const uint32_t imm = random() % 2 == 0 ? 0 : 4 * static_cast<uint32_t>(random() % 16);
          for (const uint64_t mask : kMasks) {
            for (const bool bounded : {false, true}) {
              Access(GetParam(), pattern, by, count, start, imm, bounded).check(mask, random);
              if (HasFatalFailure()) return;
              ++checked;
            }
          }
        }
      }
    }
  }
  EXPECT_GT(checked, 1000u);
}

// The shuffles are there: no gather and no loop over lanes for the inner steps of a bitonic network.
TEST_P(Permuted, ButterfliesTakeNoGather) {
  Straight f;
  Inst* lane = f.b.op(Op::lane_id, {});
  Inst* offset = f.b.op(Op::shl, {f.b.op(Op::xor_, {lane, constant(f.b, 5)}), constant(f.b, 2)});
  ir::MemAttr mem{.space = ir::Space::lds, .form = ir::AddressForm::lds_offset, .bytes = 4, .count = 1};
  Inst* loaded = f.b.load(ir::kV32, mem, {f.b.mask(~0ull), offset});
  f.b.op_typed(Op::set_vgpr, ir::kNone, {loaded}, 0, 100);
  f.b.store(mem, {f.b.mask(~0ull), offset, f.b.op_typed(Op::get_vgpr, ir::kV32, {}, 0, 1)});
  f.end();
  const auto code = compile_or_fail(f.function, GetParam(), true);
  ASSERT_NE(code, nullptr);
  EXPECT_EQ(code->listing().find("vpgather"), std::string::npos) << code->listing();
  EXPECT_EQ(code->listing().find("vpscatter"), std::string::npos) << code->listing();
  EXPECT_NE(code->listing().find("vpermd"), std::string::npos) << code->listing();
}

// A tile that is transposed on its way into the LDS: a shuffle, and a store for each row.
TEST_P(Permuted, TilesAreStoredByRows) {
  Straight f;
  Inst* lane = f.b.op(Op::lane_id, {});
  Inst* start = f.b.op(Op::splat, {f.b.op_typed(Op::get_sgpr, ir::kI32, {}, 0, 30)});
  start = f.b.op(Op::and_, {start, constant(f.b, 0xff00)});
  Inst* row = f.b.op(Op::shl, {f.b.op(Op::and_, {lane, constant(f.b, 3)}), constant(f.b, 10)});
  Inst* column = f.b.op(Op::shl, {f.b.op(Op::lshr, {lane, constant(f.b, 2)}), constant(f.b, 2)});
  ir::MemAttr mem{.space = ir::Space::lds, .form = ir::AddressForm::lds_offset, .bytes = 4, .count = 1};
  Inst* offset = f.b.op(Op::add, {f.b.op(Op::add, {row, column}), start});
  f.b.store(mem, {f.b.mask(~0ull), offset, f.b.op_typed(Op::get_vgpr, ir::kV32, {}, 0, 1)});
  f.end();
  const auto code = compile_or_fail(f.function, GetParam(), true);
  ASSERT_NE(code, nullptr);
  EXPECT_EQ(code->listing().find("vpscatter"), std::string::npos) << code->listing();
  EXPECT_EQ(code->listing().find("vpextr"), std::string::npos) << code->listing();
  EXPECT_NE(code->listing().find(GetParam() == Tier::avx2 ? "vmovhps" : "vextracti32x4"), std::string::npos)
      << code->listing();
}

INSTANTIATE_TEST_SUITE_P(Tiers, Permuted, testing::ValuesIn(kTiers),
                         [](const auto& info) { return info.param == Tier::avx2 ? "avx2" : "avx512"; });

}  // namespace
}  // namespace wavejit::backend
