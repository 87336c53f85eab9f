// Loads, stores and atomics: every address form, pattern of addresses, mask and element size, against a lane-by-lane
// model.
#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>

#include "runner.h"

namespace wavejit::backend {
namespace {

using ir::AddressForm;
using ir::AtomicOp;
using ir::Inst;
using ir::MemAttr;
using ir::Op;
using ir::Space;

// splat and all behind it are expressions of the lane number that the compiler can see through, but for the last, of
// which it sees a part; the others come from registers.
enum class Pattern {
  contiguous,
  strided,
  uniform,
  descending,
  random,
  overlapping,
  rows_anywhere,  // four neighbouring lanes each
  splat,
  lanes,
  lanes_strided,
  lanes_far,
  lanes_packed,
  lanes_descending,
  rows8,
  rows16,
  rows32,
  rows_uniform,
  eights_anywhere  // eight neighbouring lanes each; in some runs one lane is elsewhere
};
constexpr Pattern kPatterns[] = {Pattern::contiguous,       Pattern::strided,      Pattern::uniform,
                                 Pattern::descending,       Pattern::random,       Pattern::overlapping,
                                 Pattern::rows_anywhere,    Pattern::splat,        Pattern::lanes,
                                 Pattern::lanes_strided,    Pattern::lanes_far,    Pattern::lanes_packed,
                                 Pattern::lanes_descending, Pattern::rows8,        Pattern::rows16,
                                 Pattern::rows32,           Pattern::rows_uniform, Pattern::eights_anywhere};
constexpr bool visible(Pattern pattern) {
  return pattern >= Pattern::splat;
}

// Lane l is at start + (l / row) * pitch + (l % row) * step.
struct Layout {
  uint32_t row, pitch, step;
};
constexpr Layout layout(Pattern pattern, uint32_t unit) {
  switch (pattern) {
    case Pattern::lanes:
      return {64, 0, unit};
    case Pattern::lanes_strided:
      return {64, 0, unit + 4};
    case Pattern::lanes_far:
      return {64, 0, 68};
    case Pattern::lanes_packed:  // the elements of neighbouring lanes overlap
      return {64, 0, 4};
    case Pattern::lanes_descending:
      return {64, 0, 0u - unit};
    case Pattern::rows8:
      return {8, 8 * unit + 4, unit};
    case Pattern::rows16:
      return {16, 16 * unit + 12, unit};
    case Pattern::rows32:
      return {32, 32 * unit + 8, unit};
    case Pattern::rows_uniform:
      return {16, 4 * unit, 0};
    default:
      return {64, 0, 0};
  }
}
enum class Masks { full_constant, full_at_run_time, random, one, none };
constexpr Masks kMasks[] = {Masks::full_constant, Masks::full_at_run_time, Masks::random, Masks::one, Masks::none};

class Memory : public testing::TestWithParam<Tier> {
 protected:
  static constexpr uint32_t kBytes = 16384;
  void SetUp() override {
    if (!host_supports(GetParam())) GTEST_SKIP() << "the CPU has no " << to_string(GetParam());
    global.resize(kBytes);
  }

  // Byte offsets per lane, relative to the start of the space.
  std::vector<uint32_t> offsets(Pattern pattern, uint32_t unit, uint32_t limit) {
    std::vector<uint32_t> o(64);
    const uint32_t first = static_cast<uint32_t>(random() % 16) * 4;
    for (uint32_t l = 0; l < 64; ++l) {
      switch (pattern) {
        case Pattern::contiguous:
          o[l] = first + l * unit;
          break;
        default: {
          const Layout place = layout(pattern, unit);
          if (pattern == Pattern::lanes_descending) o[l] = 63 * unit;
          o[l] += first + l / place.row * place.pitch + l % place.row * place.step;
          continue;
        }
        case Pattern::strided:
          o[l] = first + l * (unit + 4);
          break;
        case Pattern::uniform:
          o[l] = first;
          break;
        case Pattern::descending:
          o[l] = first + (63 - l) * unit;
          break;
        case Pattern::overlapping:
          o[l] = first + l / 3 * unit;
          break;
        case Pattern::eights_anywhere:
          o[l] = (5 * (l / 8) % 8 * 11 + l % 8) * unit + first;
          break;
        case Pattern::rows_anywhere:
          o[l] = (17 * (l / 4) % 16 * 5 + l % 4) * unit + first;
          break;
        case Pattern::random:
          // Partly overlapping lanes only for single elements: for several, the order between them is not defined.
          o[l] = static_cast<uint32_t>(random() % limit);
          if (unit > 4) o[l] -= o[l] % unit;
          break;
      }
      if (o[l] + 64 > limit) o[l] %= (limit - 64) / unit * unit;
    }
    if (pattern == Pattern::eights_anywhere && random() % 2 != 0) o[random() % 64] = first;
    return o;
  }

  struct Plan {
    MemAttr mem;
    Pattern pattern;
    Masks masks;
    bool lds_edge = false;         // offsets beyond the LDS
    Space target = Space::global;  // flat: where the addresses point
  };

  uint64_t choose_mask(Masks masks) {
    switch (masks) {
      case Masks::full_constant:
      case Masks::full_at_run_time:
        return ~uint64_t{0};
      case Masks::random:
        return random();
      case Masks::one:
        return uint64_t{1} << random() % 64;
      case Masks::none:
        return 0;
    }
    return 0;
  }

  // Host address of byte `byte` (counted in the space) for a lane; null when out of range (LDS).
  uint8_t* host(TestWave& wave, std::vector<uint8_t>& memory, Space space, uint64_t byte, unsigned lane) {
    if (space == Space::lds) return byte < TestWave::kLdsBytes ? wave.lds() + byte : nullptr;
    if (space == Space::scratch) return wave.scratch() + byte / 4 * 256 + lane * 4 + byte % 4;
    return memory.data() + byte;
  }

  // Emits address operands; registers hold what they need. Returns lane byte offsets (before imm).
  std::vector<Inst*> address(Straight& f, const Plan& plan, const std::vector<uint32_t>& o, TestWave& wave) {
    const Space space = plan.mem.space;
    const uint32_t unit = uint32_t{plan.mem.bytes} * plan.mem.count;
    uint64_t base = space == Space::scratch ? wave->scratch_base : reinterpret_cast<uint64_t>(global.data());
    for (unsigned l = 0; l < 64 && plan.pattern == Pattern::eights_anywhere; ++l)
      wave->vgpr[13][l] = o[l] - l % 8 * unit;
    if (plan.mem.form == AddressForm::vector64 && visible(plan.pattern)) {
      if (plan.target == Space::lds) base = uint64_t{kSharedApertureHi} << 32;
      if (plan.target == Space::scratch) base = uint64_t{kPrivateApertureHi} << 32;
      wave->sgpr[12] = o[0];
      wave->set_sgpr64(10, base);
      return {f.b.op(Op::add, {f.b.op(Op::splat64, {f.b.op_typed(Op::get_sgpr64, ir::kI64, {}, 0, 10)}),
                               f.b.op(Op::zext64, {expression(f, plan.pattern, unit)})})};
    }
    if (plan.mem.form == AddressForm::vector64 && plan.target != Space::scratch && random() % 2 != 0) {
      if (plan.target == Space::lds) base = uint64_t{kSharedApertureHi} << 32;
      return {indexed(f, base, o, wave)};
    }
    if (plan.mem.form == AddressForm::vector64) {
      for (unsigned l = 0; l < 64; ++l) {
        uint64_t a = base + o[l];
        if (plan.target == Space::lds) a = uint64_t{kSharedApertureHi} << 32 | o[l];
        if (plan.target == Space::scratch) a = uint64_t{kPrivateApertureHi} << 32 | o[l];
        wave->vgpr[10][l] = static_cast<uint32_t>(a);
        wave->vgpr[11][l] = static_cast<uint32_t>(a >> 32);
      }
      return {f.b.op(Op::pack64, {vgpr(f, 10), vgpr(f, 11)})};
    }
    for (unsigned l = 0; l < 64; ++l) wave->vgpr[10][l] = o[l];
    wave->sgpr[12] = o[0];
    wave->set_sgpr64(10, base);
    Inst* offset = visible(plan.pattern) ? expression(f, plan.pattern, unit) : vgpr(f, 10);
    switch (plan.mem.form) {
      case AddressForm::lds_offset:
        return {offset};
      case AddressForm::base_only:
      case AddressForm::scratch_base:
        return {f.b.op_typed(Op::get_sgpr64, ir::kI64, {}, 0, 10)};
      default:
        return {f.b.op_typed(Op::get_sgpr64, ir::kI64, {}, 0, 10), offset};
    }
  }
  // The same addresses as a base plus extended and shifted indices, of either sign.
  Inst* indexed(Straight& f, uint64_t base, const std::vector<uint32_t>& o, TestWave& wave) {
    uint32_t all = 0;
    for (const uint32_t x : o) all |= x;
    const auto shift = static_cast<uint32_t>(random() % (std::min(3, std::countr_zero(all | 8u)) + 1));
    const bool is_signed = random() % 2 != 0, high = random() % 2 != 0;
    // Signed: indices around zero. Unsigned: indices around 2^31, where those of gathers would change sign.
    const uint32_t moved = !high ? 0 : is_signed ? 0u - 100 : 0x80000000u - 100;
    for (unsigned l = 0; l < 64; ++l) wave->vgpr[10][l] = (o[l] >> shift) + moved;
    const uint64_t extended = is_signed ? static_cast<uint64_t>(int64_t{static_cast<int32_t>(moved)}) : uint64_t{moved};
    wave->set_sgpr64(10, base - (extended << shift) + 8);
    Inst* address = f.b.op(is_signed ? Op::sext64 : Op::zext64, {vgpr(f, 10)});
    if (shift != 0) address = f.b.op(Op::shl, {address, f.b.v64(shift)});
    address = f.b.op(Op::add, {address, f.b.op(Op::splat64, {f.b.op_typed(Op::get_sgpr64, ir::kI64, {}, 0, 10)})});
    return f.b.op(Op::add, {address, f.b.v64(~uint64_t{7})});
  }
  // The byte offsets of a visible pattern.
  Inst* expression(Straight& f, Pattern pattern, uint32_t unit) {
    const Layout place = layout(pattern, unit);
    Inst* lane = f.b.op_typed(Op::lane_id, ir::kV32, {});
    if (pattern == Pattern::eights_anywhere)
      return f.b.op(Op::add, {vgpr(f, 13), f.b.op(Op::mul, {f.b.op(Op::and_, {lane, f.b.v32(7)}), f.b.v32(unit)})});
    Inst* start = f.b.op_typed(Op::get_sgpr, ir::kI32, {}, 0, 12);
    // In some runs it is known that nothing wraps.
    if (random() % 2 != 0) start = f.b.op(Op::and_, {start, f.b.i32(0xffff)});
    const auto shift = static_cast<uint32_t>(std::countr_zero(place.row));
    Inst* row = f.b.op(Op::mul, {f.b.op(Op::lshr, {lane, f.b.v32(shift)}), f.b.v32(place.pitch)});
    if (place.row == 64) row = f.b.v32(0);
    Inst* column = f.b.op(Op::mul, {f.b.op(Op::and_, {lane, f.b.v32(place.row - 1)}), f.b.v32(place.step)});
    return f.b.op(Op::add, {f.b.op(Op::add, {f.b.op(Op::splat, {start}), row}), column});
  }
  Inst* vgpr(Straight& f, unsigned row) { return f.b.op_typed(Op::get_vgpr, ir::kV32, {}, 0, row); }
  Inst* mask_operand(Straight& f, Masks masks) {
    return masks == Masks::full_constant ? f.b.mask(~0ull) : f.b.op_typed(Op::get_mask, ir::kMask, {}, 0, 20);
  }

  void check(const Plan& plan) {
    const MemAttr& mem = plan.mem;
    SCOPED_TRACE(fmt::format("space {} form {} bytes {} count {} imm {} pattern {} masks {} edge {} target {}",
                             static_cast<int>(mem.space), static_cast<int>(mem.form), mem.bytes, mem.count, mem.imm,
                             static_cast<int>(plan.pattern), static_cast<int>(plan.masks), plan.lds_edge,
                             static_cast<int>(plan.target)));
    const Space space = mem.space == Space::flat ? plan.target : mem.space;
    const uint32_t unit = uint32_t{mem.bytes} * mem.count;
    const uint32_t limit = space == Space::scratch ? TestWave::kScratchBytes - 128
                           : space == Space::lds   ? TestWave::kLdsBytes - 128
                                                   : 8000;
    for (uint8_t& byte : global) byte = static_cast<uint8_t>(random());
    TestWave wave;
    wave.randomise(random);
    auto o =
        offsets(plan.pattern, space == Space::scratch && plan.pattern != Pattern::strided ? mem.bytes : unit, limit);
    if (visible(plan.pattern)) {
      o = offsets(plan.pattern, unit, limit);
      if (space != Space::global && *std::max_element(o.begin(), o.end()) > limit) return;
    }
    if (plan.lds_edge) {
      for (uint32_t& x : o) x += TestWave::kLdsBytes - 96;
    }
    // Generic addresses into scratch are aligned.
    if (mem.space == Space::flat && space == Space::scratch) {
      for (uint32_t& x : o) x -= x % mem.bytes;
    }
    if (mem.form == AddressForm::base_only || mem.form == AddressForm::scratch_base) std::fill(o.begin(), o.end(), 0);
    const uint64_t active = choose_mask(plan.masks);
    wave->set_sgpr64(20, active);
    wave->set_sgpr64(22, 0);

    for (const bool is_load : {true, false}) {
      if (!is_load && mem.sign_extend) continue;
      // Which of the lanes that overlap partly stores last is not defined.
      if (!is_load && plan.pattern == Pattern::lanes_packed && unit > 4) continue;
      // As halves of one 64-bit value that is computed with.
      const bool whole = mem.bytes == 4 && mem.count == 2 && random() % 2 != 0;
      Straight f;
      const auto compute = [&](Inst* low, Inst* high) {
        Inst* zero = f.b.op(Op::splat64, {f.b.op_typed(Op::get_sgpr64, ir::kI64, {}, 0, 22)});
        return f.b.op(Op::add, {f.b.op(Op::pack64, {low, high}), zero});
      };
      // In some runs a profile says that lanes are anywhere, which need not be so.
      constexpr uint64_t kPlace = 0x100;
      f.b.set_guest_pc(kPlace);
      if (random() % 3 == 0) f.function.profile[kPlace] = {.executed = 100, .lanes = 6400, .groups = 1000};
      std::vector<Inst*> operands = {mask_operand(f, plan.masks)};
      for (Inst* a : address(f, plan, o, wave)) operands.push_back(a);
      if (is_load) {
        Inst* loaded = f.b.load({ir::TypeKind::v32, mem.count}, mem, operands);
        std::vector<Inst*> elements;
        elements.reserve(mem.count);
        for (unsigned e = 0; e < mem.count; ++e)
          elements.push_back(mem.count > 1 ? f.b.op_typed(Op::extract, ir::kV32, {loaded}, 0, e) : loaded);
        if (whole) {
          Inst* sum = compute(elements[0], elements[1]);
          elements = {f.b.op(Op::lo32, {sum}), f.b.op(Op::hi32, {sum})};
        }
        for (unsigned e = 0; e < mem.count; ++e) f.b.op_typed(Op::set_vgpr, ir::kNone, {elements[e]}, 0, 100 + e);
      } else {
        std::vector<Inst*> elements;
        elements.reserve(mem.count);
        for (unsigned e = 0; e < mem.count; ++e) elements.push_back(vgpr(f, e));
        if (whole) {
          Inst* sum = compute(elements[0], elements[1]);
          elements = {f.b.op(Op::lo32, {sum}), f.b.op(Op::hi32, {sum})};
        }
        operands.insert(operands.end(), elements.begin(), elements.end());
        f.b.store(mem, operands);
      }
      f.end();
      TestWave before(wave);
      std::vector<uint8_t> expected_memory = global;
      const HostChoices choices = random() % 2 == 0 ? HostChoices{} : kLaneByLane;
      ASSERT_EQ(run(f.function, GetParam(), wave, 0, choices), ExitReason::kEnd);
      for (unsigned l = 0; l < 64; ++l) {
        for (unsigned e = 0; e < mem.count; ++e) {
          uint32_t expected = 0;
          if (active >> l & 1) {
            const uint64_t first = o[l] + static_cast<uint64_t>(mem.imm) + uint64_t{e} * mem.bytes;
            // The LDS checks each element of an access, generic addresses the access as a whole.
            const uint64_t end = o[l] + static_cast<uint64_t>(mem.imm) +
                                 uint64_t{mem.space == Space::flat ? mem.count : e + 1u} * mem.bytes;
            const bool out = space == Space::lds && end > TestWave::kLdsBytes;
            for (unsigned i = 0; i < mem.bytes && !out; ++i) {
              if (is_load) {
                expected |= uint32_t{*host(before, global, space, first + i, l)} << (8 * i);
              } else {
                *host(before, expected_memory, space, first + i, l) =
                    static_cast<uint8_t>(before->vgpr[e][l] >> (8 * i));
              }
            }
            if (is_load && mem.sign_extend && mem.bytes < 4) {
              const unsigned shift = 32 - 8 * mem.bytes;
              expected = static_cast<uint32_t>(static_cast<int32_t>(expected << shift) >> shift);
            }
          }
          if (is_load) {
            ASSERT_EQ(wave->vgpr[100 + e][l], expected) << "lane " << l << " element " << e << "\n"
                                                        << ir::print(f.function);
          }
        }
      }
      if (!is_load) {
        ASSERT_TRUE(global == expected_memory) << ir::print(f.function);
        ASSERT_EQ(std::memcmp(wave.lds(), before.lds(), TestWave::kLdsBytes), 0) << ir::print(f.function);
        ASSERT_EQ(std::memcmp(wave.scratch(), before.scratch(), TestWave::kScratchBytes * 64), 0)
            << ir::print(f.function);
      }
    }
  }

  void sweep(Space space, AddressForm form, Space target = Space::global) {
    for (const uint8_t bytes : {uint8_t{1}, uint8_t{2}, uint8_t{4}}) {
      for (const uint8_t count : {uint8_t{1}, uint8_t{2}, uint8_t{3}, uint8_t{4}}) {
        if (bytes < 4 && count > 1) continue;
        for (const Pattern pattern : kPatterns) {
          for (const Masks masks : kMasks) {
            MemAttr mem{.space = space, .form = form, .bytes = bytes, .count = count};
            mem.sign_extend = bytes < 4 && random() % 2;
            mem.imm = static_cast<int64_t>(random() % 4) * 16;
            check({mem, pattern, masks, false, target});
            if (HasFatalFailure()) return;
            if (space == Space::flat && target == Space::lds && !visible(pattern))
              check({mem, pattern, masks, true, target});
            if (HasFatalFailure()) return;
          }
        }
      }
    }
  }

  std::mt19937_64 random{99};
  std::vector<uint8_t> global;
};
INSTANTIATE_TEST_SUITE_P(Tiers, Memory, testing::ValuesIn(kTiers), [](const auto& info) {
  return info.param == Tier::avx2 ? std::string("avx2") : std::string("avx512");
});

TEST_P(Memory, GlobalBaseOffset) {
  sweep(Space::global, AddressForm::base_offset);
}
TEST_P(Memory, GlobalBaseOnly) {
  sweep(Space::global, AddressForm::base_only);
}
TEST_P(Memory, GlobalVector64) {
  sweep(Space::global, AddressForm::vector64);
}
TEST_P(Memory, FlatToGlobal) {
  sweep(Space::flat, AddressForm::vector64);
}
TEST_P(Memory, FlatToLds) {
  sweep(Space::flat, AddressForm::vector64, Space::lds);
}
TEST_P(Memory, FlatToScratch) {
  sweep(Space::flat, AddressForm::vector64, Space::scratch);
}
TEST_P(Memory, Lds) {
  sweep(Space::lds, AddressForm::lds_offset);
}
TEST_P(Memory, ScratchOffset) {
  sweep(Space::scratch, AddressForm::scratch_off);
}
TEST_P(Memory, ScratchBase) {
  sweep(Space::scratch, AddressForm::scratch_base);
}

TEST_P(Memory, FarImmediates) {
  for (const int64_t imm : {int64_t{1} << 33, -(int64_t{1} << 33), int64_t{0x7ffffff0}}) {
    Straight f;
    TestWave wave;
    for (unsigned i = 0; i < 64; ++i) global[i * 4] = static_cast<uint8_t>(i);
    wave->set_sgpr64(10, reinterpret_cast<uint64_t>(global.data()) - static_cast<uint64_t>(imm));
    Inst* base = f.b.op_typed(Op::get_sgpr64, ir::kI64, {}, 0, 10);
    Inst* offset = f.b.op(Op::shl, {f.b.op_typed(Op::lane_id, ir::kV32, {}), f.b.v32(2)});
    const MemAttr mem{.form = AddressForm::base_offset, .bytes = 1, .imm = imm};
    f.b.op_typed(Op::set_vgpr, ir::kNone, {f.b.load(ir::kV32, mem, {f.b.mask(~0ull), base, offset})}, 0, 100);
    f.end();
    ASSERT_EQ(run(f.function, GetParam(), wave), ExitReason::kEnd);
    for (unsigned l = 0; l < 64; ++l) EXPECT_EQ(wave->vgpr[100][l], l);
  }
}

// Lanes of a chunk share an address, but each has a scratch of its own there: a pair that is broadcast in the hot path differs by
// lane in the cold one.
TEST_P(Memory, FlatPairsOfOneAddressInScratch) {
  for (const unsigned shift : {3u, 4u, 5u}) {  // 2^shift lanes share an address
    TestWave wave;
    for (unsigned word = 0; word < 32; ++word)
      for (unsigned l = 0; l < 64; ++l) reinterpret_cast<uint32_t*>(wave.scratch())[word * 64 + l] = word * 1000 + l;
    wave->set_sgpr64(10, uint64_t{kPrivateApertureHi} << 32);
    Straight f;
    Inst* lane = f.b.op_typed(Op::lane_id, ir::kV32, {});
    Inst* offset = f.b.op(Op::shl, {f.b.op(Op::lshr, {lane, f.b.v32(shift)}), f.b.v32(3)});
    Inst* base = f.b.op(Op::splat64, {f.b.op_typed(Op::get_sgpr64, ir::kI64, {}, 0, 10)});
    Inst* address = f.b.op(Op::add, {base, f.b.op(Op::zext64, {offset})});
    const MemAttr mem{.space = Space::flat, .form = AddressForm::vector64, .count = 2};
    Inst* pair = f.b.load({ir::TypeKind::v32, 2}, mem, {f.b.mask(~0ull), address});
    const auto half = [&](unsigned i) { return f.b.op_typed(Op::extract, ir::kV32, {pair}, 0, i); };
    Inst* sum = f.b.op(Op::add, {f.b.op(Op::pack64, {half(0), half(1)}), f.b.v64(1)});
    f.b.op_typed(Op::set_vgpr, ir::kNone, {f.b.op(Op::lo32, {sum})}, 0, 100);
    f.b.op_typed(Op::set_vgpr, ir::kNone, {f.b.op(Op::hi32, {sum})}, 0, 101);
    f.end();
    ASSERT_EQ(run(f.function, GetParam(), wave), ExitReason::kEnd);
    for (unsigned l = 0; l < 64; ++l) {
      EXPECT_EQ(wave->vgpr[100][l], (l >> shift) * 2000 + l + 1) << shift << " lane " << l;
      EXPECT_EQ(wave->vgpr[101][l], (l >> shift) * 2000 + 1000 + l) << shift << " lane " << l;
    }
  }
}

TEST_P(Memory, ScalarLoads) {
  Straight f;
  TestWave wave;
  for (unsigned i = 0; i < 256; ++i) global[i] = static_cast<uint8_t>(i * 7);
  wave->set_sgpr64(10, reinterpret_cast<uint64_t>(global.data()) + 64);
  wave->sgpr[12] = 16;
  Inst* base = f.b.op_typed(Op::get_sgpr64, ir::kI64, {}, 0, 10);
  Inst* offset = f.b.op_typed(Op::get_sgpr, ir::kI32, {}, 0, 12);
  Inst* loaded = f.b.op_typed(Op::load_scalar, {ir::TypeKind::i32, 16}, {base, offset}, 0, static_cast<uint64_t>(-8));
  for (unsigned e = 0; e < 16; ++e)
    f.b.op_typed(Op::set_sgpr, ir::kNone, {f.b.op_typed(Op::extract, ir::kI32, {loaded}, 0, e)}, 0, 40 + e);
  Inst* one = f.b.op_typed(Op::load_scalar, ir::kI32, {base}, 0, 4);
  f.b.op_typed(Op::set_sgpr, ir::kNone, {one}, 0, 60);
  f.end();
  ASSERT_EQ(run(f.function, GetParam(), wave), ExitReason::kEnd);
  for (unsigned e = 0; e < 16; ++e)
    EXPECT_EQ(std::memcmp(&wave->sgpr[40 + e], &global[64 + 16 - 8 + e * 4], 4), 0) << e;
  EXPECT_EQ(std::memcmp(&wave->sgpr[60], &global[68], 4), 0);
}

// --- atomics ---
template <typename T>
T combine(AtomicOp op, T old, T value, T other) {
  using S = std::make_signed_t<T>;
  using F = std::conditional_t<sizeof(T) == 8, double, float>;
  const F of = std::bit_cast<F>(old), vf = std::bit_cast<F>(value);
  switch (op) {
    case AtomicOp::swap:
      return value;
    case AtomicOp::cmpswap:
      return old == other ? value : old;
    case AtomicOp::add:
      return old + value;
    case AtomicOp::sub:
      return old - value;
    case AtomicOp::rsub:
      return value - old;
    case AtomicOp::smin:
      return static_cast<S>(value) < static_cast<S>(old) ? value : old;
    case AtomicOp::umin:
      return value < old ? value : old;
    case AtomicOp::smax:
      return static_cast<S>(value) > static_cast<S>(old) ? value : old;
    case AtomicOp::umax:
      return value > old ? value : old;
    case AtomicOp::and_:
      return old & value;
    case AtomicOp::or_:
      return old | value;
    case AtomicOp::xor_:
      return old ^ value;
    case AtomicOp::inc:
      return old >= value ? 0 : old + 1;
    case AtomicOp::dec:
      return old == 0 || old > value ? value : old - 1;
    case AtomicOp::mskor:
      return (old & ~value) | other;
    case AtomicOp::fadd_f32:
    case AtomicOp::fadd_f64:
      return std::bit_cast<T>(of + vf);
    case AtomicOp::fmin_f32:
    case AtomicOp::fmin_f64:
      return vf < of ? value : old;
    case AtomicOp::fmax_f32:
    case AtomicOp::fmax_f64:
      return vf > of ? value : old;
    default:
      return old;
  }
}

TEST_P(Memory, Atomics) {
  const auto wide_only = [](AtomicOp op) {
    return op == AtomicOp::fadd_f64 || op == AtomicOp::fmin_f64 || op == AtomicOp::fmax_f64;
  };
  const auto narrow_only = [](AtomicOp op) {
    return op == AtomicOp::fadd_f32 || op == AtomicOp::fmin_f32 || op == AtomicOp::fmax_f32;
  };
  struct Place {
    Space space;
    AddressForm form;
    Space target;
  };
  for (const Place place : {Place{Space::global, AddressForm::base_offset, Space::global},
                            Place{Space::global, AddressForm::vector64, Space::global},
                            Place{Space::lds, AddressForm::lds_offset, Space::lds},
                            Place{Space::flat, AddressForm::vector64, Space::global},
                            Place{Space::flat, AddressForm::vector64, Space::lds}}) {
    for (unsigned code = 0; code <= static_cast<unsigned>(AtomicOp::mskor); ++code) {
      const auto op = static_cast<AtomicOp>(code);
      if (op == AtomicOp::pk_fadd_f16 || op == AtomicOp::pk_fadd_bf16) continue;
      for (const uint8_t bytes : {uint8_t{4}, uint8_t{8}}) {
        if ((bytes == 4 && wide_only(op)) || (bytes == 8 && narrow_only(op))) continue;
        for (unsigned variant = 0; variant < 8; ++variant) {
          // All lanes at one address, and lanes that share one by threes; data that differs or not; some masks.
          const bool wants_result = variant & 1, same_data = variant & 2;
          const Pattern pattern = variant & 4 ? Pattern::splat : Pattern::overlapping;
          const Masks masks = kMasks[random() % std::size(kMasks)];
          const MemAttr mem{.space = place.space, .form = place.form, .bytes = bytes, .atomic_op = op, .imm = 24};
          TestWave wave;
          wave.randomise(random);
          auto o = offsets(pattern, bytes, 2000);
          for (uint32_t& x : o) x &= ~7u;
          // Half outside: nothing happens with generic addresses, and elsewhere the lane is not in the mask.
          const bool edge = place.target == Space::lds && pattern != Pattern::splat &&
                            (place.space == Space::flat || masks == Masks::random);
          if (edge) o[40] = TestWave::kLdsBytes - 24 - bytes / 2;
          const bool floating = wide_only(op) || narrow_only(op);
          for (uint8_t& byte : global) byte = floating ? 0x40 : static_cast<uint8_t>(random());
          for (unsigned l = 0; l < 64; ++l) {
            uint64_t value = floating
                                 ? (bytes == 8 ? 0x4010000000000000 + random() % 1000 : 0x40400000 + random() % 1000)
                             : random() % 4 ? random()
                                            : 0;
            std::memcpy(&wave->vgpr[0][l], &value, 4);
            wave->vgpr[1][l] = static_cast<uint32_t>(value >> 32);
          }
          if (same_data) {
            wave->set_sgpr64(14, wave->vgpr[0][0] | uint64_t{wave->vgpr[1][0]} << 32);
            for (unsigned l = 1; l < 64; ++l) {
              wave->vgpr[0][l] = wave->vgpr[0][0];
              wave->vgpr[1][l] = wave->vgpr[1][0];
            }
          }
          uint64_t active = choose_mask(masks);
          if (edge && masks == Masks::random) {
            active |= 1ull << 40;
            if (place.space == Space::lds) active &= ~(1ull << 40);
          }
          wave->set_sgpr64(20, active);
          Straight f;
          std::vector<Inst*> operands = {mask_operand(f, masks)};
          for (Inst* a : address(f, {mem, pattern, masks, false, place.target}, o, wave)) operands.push_back(a);
          const auto data = [&](unsigned row) {
            return bytes == 8 ? f.b.op(Op::pack64, {vgpr(f, row), vgpr(f, row + 1)}) : vgpr(f, row);
          };
          if (same_data) {
            Inst* value =
                f.b.op_typed(bytes == 8 ? Op::get_sgpr64 : Op::get_sgpr, bytes == 8 ? ir::kI64 : ir::kI32, {}, 0, 14);
            operands.push_back(f.b.op(bytes == 8 ? Op::splat64 : Op::splat, {value}));
          } else {
            operands.push_back(data(0));
          }
          const bool two = op == AtomicOp::cmpswap || op == AtomicOp::mskor;
          if (two) operands.push_back(data(2));
          const ir::Type type = !wants_result ? ir::kNone : bytes == 8 ? ir::kV64 : ir::kV32;
          Inst* old = f.b.atomic(type, mem, operands);
          old->attr = ir::fpenv::kKeepInputDenorm | ir::fpenv::kKeepOutputDenorm;  // as the model
          if (wants_result) {
            f.b.op_typed(Op::set_vgpr, ir::kNone, {bytes == 8 ? f.b.op(Op::lo32, {old}) : old}, 0, 100);
            if (bytes == 8) f.b.op_typed(Op::set_vgpr, ir::kNone, {f.b.op(Op::hi32, {old})}, 0, 101);
          }
          f.end();
          // Some lanes find what they compare with.
          for (unsigned l = 0; l < 64; l += 2) {
            if (op == AtomicOp::cmpswap && place.target == Space::global) {
              std::memcpy(&wave->vgpr[2][l], &global[o[l] + 24], 4);
              std::memcpy(&wave->vgpr[3][l], &global[o[l] + 28], 4);
            }
          }
          TestWave before(wave);
          std::vector<uint8_t> expected_memory = global;
          ASSERT_EQ(run(f.function, GetParam(), wave), ExitReason::kEnd);
          for (unsigned l = 0; l < 64; ++l) {
            uint64_t previous = 0;
            const uint64_t byte = o[l] + 24;
            const bool out = place.target == Space::lds && byte + bytes > TestWave::kLdsBytes;
            if ((active >> l & 1) && !out) {
              uint8_t* at = host(before, expected_memory, place.target, byte, l);
              std::memcpy(&previous, at, bytes);
              const uint64_t value = before->vgpr[0][l] | uint64_t{before->vgpr[1][l]} << 32;
              const uint64_t other = before->vgpr[2][l] | uint64_t{before->vgpr[3][l]} << 32;
              const uint64_t updated =
                  bytes == 8 ? combine<uint64_t>(op, previous, value, other)
                             : combine<uint32_t>(op, static_cast<uint32_t>(previous), static_cast<uint32_t>(value),
                                                 static_cast<uint32_t>(other));
              std::memcpy(at, &updated, bytes);
            }
            if (wants_result) {
              uint64_t actual = wave->vgpr[100][l];
              if (bytes == 8) actual |= uint64_t{wave->vgpr[101][l]} << 32;
              ASSERT_EQ(actual, previous) << "lane " << l << "\n" << ir::print(f.function);
            }
          }
          ASSERT_TRUE(global == expected_memory) << ir::print(f.function);
          ASSERT_EQ(std::memcmp(wave.lds(), before.lds(), TestWave::kLdsBytes), 0) << ir::print(f.function);
        }
      }
    }
  }
}

TEST_P(Memory, PackedHalfAtomicAdd) {
  struct Case {
    AtomicOp op;
    uint32_t value, sum;  // 1.0 and 2.0; 64 and 128
  };
  for (const auto& [op, value, wanted] :
       {Case{AtomicOp::pk_fadd_f16, 0x3c004000, 0x54005800}, Case{AtomicOp::pk_fadd_bf16, 0x3f804000, 0x42804300}}) {
    Straight f;
    TestWave wave;
    const MemAttr mem{.space = Space::global, .form = AddressForm::base_offset, .bytes = 4, .atomic_op = op};
    wave->set_sgpr64(10, reinterpret_cast<uint64_t>(global.data()));
    wave->set_sgpr64(20, ~0ull);
    std::memset(global.data(), 0, 64);
    for (unsigned l = 0; l < 64; ++l) wave->vgpr[0][l] = value;
    f.b.atomic(
        ir::kNone, mem,
        {mask_operand(f, Masks::random), f.b.op_typed(Op::get_sgpr64, ir::kI64, {}, 0, 10), f.b.v32(8), vgpr(f, 0)});
    f.end();
    ASSERT_EQ(run(f.function, GetParam(), wave), ExitReason::kEnd);
    uint32_t sum;
    std::memcpy(&sum, &global[8], 4);
    EXPECT_EQ(sum, wanted);
  }
}

// A store and a load of the same memory by other lanes keep their order although lanes are handled in chunks.
TEST_P(Memory, LoadsAfterStoresSeeThemInAllLanes) {
  for (const Space space : {Space::lds, Space::global}) {
    Straight f;
    TestWave wave;
    std::mt19937_64 generator{5};
    wave.randomise(generator);
    wave->set_sgpr64(10, reinterpret_cast<uint64_t>(global.data()));
    Inst* lane = f.b.op_typed(Op::lane_id, ir::kV32, {});
    Inst* up = f.b.op(Op::shl, {lane, f.b.v32(2)});
    Inst* down = f.b.op(Op::shl, {f.b.op(Op::sub, {f.b.v32(63), lane}), f.b.v32(2)});
    const MemAttr mem{.space = space, .form = space == Space::lds ? AddressForm::lds_offset : AddressForm::base_offset};
    const auto at = [&](Inst* offset) {
      std::vector<Inst*> o = {f.b.mask(~0ull)};
      if (space == Space::global) o.push_back(f.b.op_typed(Op::get_sgpr64, ir::kI64, {}, 0, 10));
      o.push_back(offset);
      return o;
    };
    const auto store = [&](Inst* offset, unsigned row) {
      auto o = at(offset);
      o.push_back(vgpr(f, row));
      f.b.store(mem, o);
    };
    store(up, 1);
    Inst* reversed = f.b.load(ir::kV32, mem, at(down));
    store(up, 2);
    store(down, 3);  // wins everywhere
    Inst* last = f.b.load(ir::kV32, mem, at(up));
    f.b.op_typed(Op::set_vgpr, ir::kNone, {reversed}, 0, 100);
    f.b.op_typed(Op::set_vgpr, ir::kNone, {last}, 0, 101);
    f.end();
    TestWave before(wave);
    ASSERT_EQ(run(f.function, GetParam(), wave), ExitReason::kEnd);
    for (unsigned l = 0; l < 64; ++l) {
      EXPECT_EQ(wave->vgpr[100][l], before->vgpr[1][63 - l]);
      EXPECT_EQ(wave->vgpr[101][l], before->vgpr[3][63 - l]);
    }
  }
}

}  // namespace
}  // namespace wavejit::backend
