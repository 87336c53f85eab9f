// A memory fault in translated code is traced to its guest instruction and lane.
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <bit>
#include <cstring>

#include "backend-x86/encode/fault_decode.h"
#include "runner.h"

namespace wavejit::backend {
namespace {

using ir::AddressForm;
using ir::Inst;
using ir::MemAttr;
using ir::Op;
using ir::Space;

sigjmp_buf g_landing;
const CompiledCode* g_code;
WaveState* g_wave;
struct {
  bool found;
  uint64_t guest_pc;
  uint32_t lane;
  bool write;
  std::optional<uint64_t> non_canonical;
} g_fault;

void on_fault(int, siginfo_t* info, void* context) {
  const auto& machine = *static_cast<ucontext_t*>(context);
  const uint64_t pc = place_in_code(machine);
  const auto offset = static_cast<uint32_t>(pc - reinterpret_cast<uint64_t>(g_code->code().data()));
  g_fault = {};
  for (const FaultRange& range : g_code->fault_ranges()) {
    if (offset < range.begin || offset >= range.end) continue;
    std::optional<uint64_t> address;
    if (info->si_code != SI_KERNEL) address = reinterpret_cast<uint64_t>(info->si_addr);
    const DecodedFault fault = decode_fault(range, machine, address, *g_wave);
    g_fault = {true, range.guest_pc, fault.lane, range.write, fault.non_canonical};
  }
  siglongjmp(g_landing, 1);
}

class Fault : public testing::TestWithParam<Tier> {
 protected:
  static constexpr size_t kPage = 4096;
  void SetUp() override {
    if (!host_supports(GetParam())) GTEST_SKIP() << "the CPU has no " << to_string(GetParam());
    memory = static_cast<uint8_t*>(mmap(nullptr, 3 * kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    ASSERT_EQ(mprotect(memory, kPage, PROT_READ | PROT_WRITE), 0);
    edge = memory + kPage;  // the first byte that is not accessible
    struct sigaction action{};
    action.sa_sigaction = on_fault;
    action.sa_flags = SA_SIGINFO | SA_NODEFER;
    sigaction(SIGSEGV, &action, &previous_);
    sigaction(SIGBUS, &action, &previous_bus_);
  }
  void TearDown() override {
    if (memory == nullptr) return;
    sigaction(SIGSEGV, &previous_, nullptr);
    sigaction(SIGBUS, &previous_bus_, nullptr);
    munmap(memory, 3 * kPage);
  }
  Inst* vgpr(Straight& f, unsigned row) { return f.b.op_typed(Op::get_vgpr, ir::kV32, {}, 0, row); }

  // Expects the access of a function to fault in `lane`, at `non_canonical` if the host does not say where.
  void expect_fault(Straight& f, uint32_t lane, bool write, std::optional<uint64_t> non_canonical = std::nullopt) {
    f.end();
    for (const HostChoices& choices : {HostChoices{}, kLaneByLane}) {
      expect_fault_of(f.function, choices, lane, write, non_canonical);
      if (HasFatalFailure()) return;
    }
  }
  void expect_fault_of(const ir::Function& function, const HostChoices& choices, uint32_t lane, bool write,
                       std::optional<uint64_t> non_canonical) {
    const auto code = compile_or_fail(function, GetParam(), false, choices);
    ASSERT_TRUE(code);
    g_code = code.get();
    g_wave = &*wave;
    if (sigsetjmp(g_landing, 1) == 0) {
      (void)enter(*code, *wave, 0);
      FAIL() << "no fault";
    }
    ASSERT_TRUE(g_fault.found);
    EXPECT_EQ(g_fault.guest_pc, 0x1000u);
    EXPECT_EQ(g_fault.lane, lane);
    EXPECT_EQ(g_fault.write, write);
    EXPECT_EQ(g_fault.non_canonical, non_canonical);
  }
  void access(Straight& f, const MemAttr& mem, std::vector<Inst*> address, bool write, uint64_t active) {
    wave->set_sgpr64(20, active);
    std::vector<Inst*> operands = {f.b.op_typed(Op::get_mask, ir::kMask, {}, 0, 20)};
    operands.insert(operands.end(), address.begin(), address.end());
    if (write) {
      for (unsigned i = 0; i < mem.count; ++i) operands.push_back(f.b.v32(i));
      f.b.store(mem, operands);
    } else {
      f.b.load({ir::TypeKind::v32, mem.count}, mem, operands);
    }
  }
  uint8_t* memory = nullptr;
  uint8_t* edge = nullptr;
  TestWave wave;

 private:
  struct sigaction previous_{}, previous_bus_{};
};
INSTANTIATE_TEST_SUITE_P(Tiers, Fault, testing::ValuesIn(kTiers), [](const auto& info) {
  return info.param == Tier::avx2 ? std::string("avx2") : std::string("avx512");
});

TEST_P(Fault, ContiguousAccess) {
  for (const bool write : {false, true}) {
    for (const uint32_t lane : {0u, 5u, 15u, 16u, 37u, 63u}) {
      for (const uint64_t active : {~0ull, ~0ull << lane}) {
        Straight f;
        wave->set_sgpr64(10, reinterpret_cast<uint64_t>(edge) - 4 * lane);
        Inst* offset = f.b.op(Op::shl, {f.b.op_typed(Op::lane_id, ir::kV32, {}), f.b.v32(2)});
        access(f, {.form = AddressForm::base_offset}, {f.b.op_typed(Op::get_sgpr64, ir::kI64, {}, 0, 10), offset},
               write, active);
        expect_fault(f, lane, write);
      }
    }
  }
}

// Lanes apart from each other.
TEST_P(Fault, StridedAccess) {
  for (const bool write : {false, true}) {
    for (const auto& [bytes, count] : {std::pair{1, 1}, {2, 1}, {4, 1}, {4, 2}, {4, 3}, {4, 4}}) {
      for (const uint32_t lane : {0u, 3u, 9u, 15u, 16u, 37u, 63u}) {
        const uint64_t odd = 0xaaaaaaaaaaaaaaaa;
        for (const uint64_t active :
             {~0ull, ~0ull << lane, odd | 1ull << lane, lane == 63 ? odd : odd & ~(1ull << lane)}) {
          Straight f;
          wave->set_sgpr64(10, reinterpret_cast<uint64_t>(edge) - uint64_t{48} * lane);
          Inst* offset = f.b.op(Op::mul, {f.b.op_typed(Op::lane_id, ir::kV32, {}), f.b.v32(48)});
          access(f,
                 {.form = AddressForm::base_offset,
                  .bytes = static_cast<uint8_t>(bytes),
                  .count = static_cast<uint8_t>(count)},
                 {f.b.op_typed(Op::get_sgpr64, ir::kI64, {}, 0, 10), offset}, write, active);
          expect_fault(f, lane + static_cast<uint32_t>(std::countr_zero(active >> lane)), write);
        }
      }
    }
  }
}

// Several elements a lane; lanes that are off between those that are on.
TEST_P(Fault, InterleavedAccess) {
  for (const bool write : {false, true}) {
    for (const uint8_t count : {uint8_t{2}, uint8_t{3}, uint8_t{4}}) {
      for (const uint32_t lane : {0u, 5u, 7u, 15u, 16u, 37u, 63u}) {
        const uint64_t odd = 0xaaaaaaaaaaaaaaaa;
        for (const uint64_t active :
             {~0ull, ~0ull << lane, odd | 1ull << lane, lane == 63 ? odd : odd & ~(1ull << lane)}) {
          Straight f;
          wave->set_sgpr64(10, reinterpret_cast<uint64_t>(edge) - uint64_t{4} * count * lane);
          Inst* offset = f.b.op(Op::mul, {f.b.op_typed(Op::lane_id, ir::kV32, {}), f.b.v32(4 * count)});
          access(f, {.form = AddressForm::base_offset, .count = count},
                 {f.b.op_typed(Op::get_sgpr64, ir::kI64, {}, 0, 10), offset}, write, active);
          expect_fault(f, lane + static_cast<uint32_t>(std::countr_zero(active >> lane)), write);
        }
      }
    }
  }
}

// Eight lanes each consecutive, the last of one group beyond the edge; also where 64-bit values are loaded whole.
TEST_P(Fault, GroupsOfEight) {
  for (const uint8_t count : {uint8_t{1}, uint8_t{2}}) {
    for (const uint32_t lane : {0u, 3u, 7u, 8u, 14u, 37u, 63u}) {
      for (const uint64_t active : {~0ull, 1ull << lane | 0x5555555555555555}) {
        const uint32_t unit = 4u * count;
        Straight f;
        for (unsigned l = 0; l < 64; ++l)
          wave->vgpr[10][l] = l / 8 == lane / 8 ? static_cast<uint32_t>(kPage - lane % 8 * unit) : 512 * (l / 8 % 3);
        wave->set_sgpr64(10, reinterpret_cast<uint64_t>(memory));
        wave->set_sgpr64(20, active);
        Inst* column = f.b.op(Op::and_, {f.b.op_typed(Op::lane_id, ir::kV32, {}), f.b.v32(7)});
        Inst* offset = f.b.op(Op::add, {vgpr(f, 10), f.b.op(Op::mul, {column, f.b.v32(unit)})});
        Inst* loaded = f.b.load({ir::TypeKind::v32, count}, {.form = AddressForm::base_offset, .count = count},
                                {f.b.op_typed(Op::get_mask, ir::kMask, {}, 0, 20),
                                 f.b.op_typed(Op::get_sgpr64, ir::kI64, {}, 0, 10), offset});
        if (count == 2) {
          const auto half = [&](unsigned i) { return f.b.op_typed(Op::extract, ir::kV32, {loaded}, 0, i); };
          Inst* low = half(0);
          Inst* sum = f.b.op(Op::add, {f.b.op(Op::pack64, {low, half(1)}), f.b.v64(3)});
          f.b.op_typed(Op::set_vgpr, ir::kNone, {f.b.op(Op::lo32, {sum})}, 0, 100);
        }
        expect_fault(f, lane, false);
      }
    }
  }
}

TEST_P(Fault, ScatteredAccess) {
  for (const bool write : {false, true}) {
    for (const auto& [bytes, count] : {std::pair<uint8_t, uint8_t>{4, 1}, {1, 1}, {2, 1}, {4, 2}, {4, 3}, {4, 4}}) {
      for (const uint32_t lane : {0u, 3u, 4u, 9u, 31u, 50u, 62u}) {
        for (const AddressForm form : {AddressForm::base_offset, AddressForm::vector64}) {
          // A lane of several dwords may begin in front of the page that faults.
          uint8_t* const at = count > 1 && lane % 2 != 0 ? edge - 4 : edge + 16;
          Straight f;
          for (unsigned l = 0; l < 64; ++l) {
            const uint64_t a = reinterpret_cast<uint64_t>(l == lane ? at : memory + (l * 52) % 1000);
            const uint64_t value = form == AddressForm::vector64 ? a : a - reinterpret_cast<uint64_t>(memory);
            wave->vgpr[10][l] = static_cast<uint32_t>(value);
            wave->vgpr[11][l] = static_cast<uint32_t>(value >> 32);
          }
          wave->set_sgpr64(10, reinterpret_cast<uint64_t>(memory));
          std::vector<Inst*> address;
          if (form == AddressForm::vector64) {
            address = {f.b.op(Op::pack64, {vgpr(f, 10), vgpr(f, 11)})};
          } else {
            address = {f.b.op_typed(Op::get_sgpr64, ir::kI64, {}, 0, 10), vgpr(f, 10)};
          }
          access(f, {.form = form, .bytes = bytes, .count = count}, address, write, ~0ull);
          expect_fault(f, lane, write);
        }
      }
    }
  }
}

TEST_P(Fault, UniformAddressAndScalarLoad) {
  Straight f;
  wave->set_sgpr64(10, reinterpret_cast<uint64_t>(edge));
  access(f, {.form = AddressForm::base_only}, {f.b.op_typed(Op::get_sgpr64, ir::kI64, {}, 0, 10)}, false, ~0ull);
  expect_fault(f, 0, false);
  Straight g;
  g.b.op_typed(Op::load_scalar, ir::kI32, {g.b.op_typed(Op::get_sgpr64, ir::kI64, {}, 0, 10)});
  expect_fault(g, 64, false);
}

// The host says only that the address was bad.
constexpr uint64_t kNonCanonical = 0xdead000000000000;

TEST_P(Fault, NonCanonicalScattered) {
  for (const bool write : {false, true}) {
    for (const uint8_t bytes : {uint8_t{1}, uint8_t{2}, uint8_t{4}}) {
      for (const uint32_t lane : {0u, 3u, 4u, 13u, 21u, 38u, 63u}) {
        Straight f;
        for (unsigned l = 0; l < 64; ++l) {
          const uint64_t a = l == lane ? kNonCanonical : reinterpret_cast<uint64_t>(memory + 64 + (l * 52) % 1000);
          wave->vgpr[10][l] = static_cast<uint32_t>(a);
          wave->vgpr[11][l] = static_cast<uint32_t>(a >> 32);
        }
        access(f, {.form = AddressForm::vector64, .bytes = bytes, .imm = -60},
               {f.b.op(Op::pack64, {vgpr(f, 10), vgpr(f, 11)})}, write, ~0ull);
        expect_fault(f, lane, write, kNonCanonical - 60);
      }
    }
  }
}

TEST_P(Fault, NonCanonicalBaseOfScatteredOffsets) {
  for (const bool write : {false, true}) {
    for (const uint64_t active : {~0ull, ~0ull << 4, ~0ull << 19, 1ull << 63}) {
      const auto lane = static_cast<uint32_t>(std::countr_zero(active));
      Straight f;
      for (unsigned l = 0; l < 64; ++l) wave->vgpr[10][l] = (l * 0x3456789) ^ 0x80000000u;
      wave->set_sgpr64(10, kNonCanonical);
      access(f, {.form = AddressForm::base_offset}, {f.b.op_typed(Op::get_sgpr64, ir::kI64, {}, 0, 10), vgpr(f, 10)},
             write, active);
      expect_fault(f, lane, write, kNonCanonical + wave->vgpr[10][lane]);
    }
  }
}

// One lane after the other, with one or several elements each.
TEST_P(Fault, NonCanonicalContiguous) {
  for (const bool write : {false, true}) {
    for (const auto& [bytes, count] : {std::pair<uint8_t, uint8_t>{1, 1}, {2, 1}, {4, 1}, {4, 2}, {4, 3}, {4, 4}}) {
      for (const uint64_t active : {~0ull, ~0ull << 5, ~0ull << 19, 1ull << 63}) {
        const auto lane = static_cast<uint32_t>(std::countr_zero(active));
        Straight f;
        wave->set_sgpr64(10, kNonCanonical);
        Inst* offset = f.b.op(Op::mul, {f.b.op_typed(Op::lane_id, ir::kV32, {}), f.b.v32(uint32_t{bytes} * count)});
        access(f, {.form = AddressForm::base_offset, .bytes = bytes, .count = count, .imm = 64},
               {f.b.op_typed(Op::get_sgpr64, ir::kI64, {}, 0, 10), offset}, write, active);
        SCOPED_TRACE(testing::Message() << "bytes " << int{bytes} << " count " << int{count} << " lane " << lane
                                        << " write " << write);
        expect_fault(f, lane, write, kNonCanonical + 64 + uint64_t{lane} * bytes * count);
      }
    }
  }
}

TEST_P(Fault, NonCanonicalUniformAndScalar) {
  for (const uint64_t active : {~0ull, ~0ull << 3, ~0ull << 33}) {
    Straight f;
    wave->set_sgpr64(10, kNonCanonical);
    access(f, {.form = AddressForm::base_only, .imm = 12}, {f.b.op_typed(Op::get_sgpr64, ir::kI64, {}, 0, 10)}, false,
           active);
    // AVX2 loads once for all lanes of a chunk if some lane of it is on: the first lane stands for them.
    const auto lane = static_cast<uint32_t>(std::countr_zero(active));
    expect_fault(f, GetParam() == Tier::avx2 ? lane & ~7u : lane, false, kNonCanonical + 12);
  }
  Straight g;
  g.b.op_typed(Op::load_scalar, ir::kI32, {g.b.op_typed(Op::get_sgpr64, ir::kI64, {}, 0, 10)}, 0, 0x40);
  expect_fault(g, 64, false, kNonCanonical + 0x40);
}

TEST_P(Fault, NonCanonicalAtomic) {
  for (const uint32_t lane : {0u, 44u}) {
    Straight f;
    for (unsigned l = 0; l < 64; ++l) {
      const uint64_t a = l == lane ? kNonCanonical : reinterpret_cast<uint64_t>(memory + 4 * l);
      wave->vgpr[10][l] = static_cast<uint32_t>(a);
      wave->vgpr[11][l] = static_cast<uint32_t>(a >> 32);
    }
    f.b.atomic(ir::kNone, {.form = AddressForm::vector64, .atomic_op = ir::AtomicOp::add, .imm = 8},
               {f.b.mask(~0ull), f.b.op(Op::pack64, {vgpr(f, 10), vgpr(f, 11)}), f.b.v32(1)});
    expect_fault(f, lane, true, kNonCanonical + 8);
  }
}

TEST_P(Fault, Atomic) {
  Straight f;
  for (unsigned l = 0; l < 64; ++l) wave->vgpr[10][l] = l == 44 ? 5000 : l * 4;
  wave->set_sgpr64(10, reinterpret_cast<uint64_t>(memory));
  wave->set_sgpr64(20, ~0ull);
  f.b.atomic(ir::kNone, {.form = AddressForm::base_offset, .atomic_op = ir::AtomicOp::add},
             {f.b.mask(~0ull), f.b.op_typed(Op::get_sgpr64, ir::kI64, {}, 0, 10), vgpr(f, 10), f.b.v32(1)});
  expect_fault(f, 44, true);
}

// Lanes that are off may have any address.
TEST_P(Fault, MaskedLanesTouchNothing) {
  for (const bool write : {false, true}) {
    for (const bool scattered : {false, true}) {
      Straight f;
      for (unsigned l = 0; l < 64; ++l) {
        wave->vgpr[10][l] = static_cast<uint32_t>((scattered ? (l * 52) % 200 : l * 4) + (l < 30 ? 0 : 4096));
      }
      wave->set_sgpr64(10, reinterpret_cast<uint64_t>(edge) - (scattered ? 256 : 120));
      access(f, {.form = AddressForm::base_offset}, {f.b.op_typed(Op::get_sgpr64, ir::kI64, {}, 0, 10), vgpr(f, 10)},
             write, (1ull << 30) - 1);
      f.end();
      EXPECT_EQ(run(f.function, GetParam(), wave), ExitReason::kEnd);
    }
  }
}

}  // namespace
}  // namespace wavejit::backend
