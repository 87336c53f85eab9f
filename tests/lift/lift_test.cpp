// Structure of lifted code: blocks, entries, exits, what is read from and written back to the wave state, and in which
// form scalar pairs travel. What instructions compute is tested differentially (tests/diff, tests/isa, tests/kernels).
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "frontend/lift/lifter.h"
#include "ir/pass.h"
#include "ir/text.h"
#include "tests/support/assembler.h"

namespace wavejit {
namespace {

using ir::Inst;
using ir::Op;

constexpr uint64_t kBase = 0x10000;
constexpr uint32_t kMode = 0x3c0;

class LiftTest : public testing::Test {
 protected:
  // Assembles and lifts; the options may be changed before by setting `options`.
  ir::Function& lift(const std::string& source, isa::Target target = isa::Target::gfx906) {
    auto code = test::assemble(target, source);
    if (!code) {
      ADD_FAILURE() << code.error().message;
      code = std::vector<uint8_t>(4);
    }
    code_ = std::move(*code);
    options.target = target;
    options.name = "snippet";
    options.entry_pc = options.code_base = kBase;
    options.code = code_;
    unsupported.clear();
    auto result = lift::lift(options, &unsupported);
    if (!result) ADD_FAILURE() << result.error().message;
    function_ = result ? std::move(result->function) : std::make_unique<ir::Function>("failed");
    EXPECT_EQ(ir::verify(*function_), "");
    return *function_;
  }

  [[nodiscard]] std::vector<const Inst*> all(Op op) const {
    std::vector<const Inst*> found;
    for (const auto& block : function_->blocks)
      for (const Inst* inst : block->insts)
        if (inst->op == op) found.push_back(inst);
    return found;
  }
  [[nodiscard]] bool has(Op op, uint64_t imm) const {
    const auto found = all(op);
    return std::any_of(found.begin(), found.end(), [&](const Inst* inst) { return inst->imm == imm; });
  }
  [[nodiscard]] std::vector<uint64_t> imms(Op op) const {
    std::vector<uint64_t> result;
    for (const Inst* inst : all(op)) result.push_back(inst->imm);
    std::sort(result.begin(), result.end());
    return result;
  }
  [[nodiscard]] std::string text() const { return ir::print(*function_); }
  [[nodiscard]] const ir::Function& function() const { return *function_; }

  lift::LiftOptions options{.mode = kMode};
  std::vector<lift::Unsupported> unsupported;

 private:
  std::vector<uint8_t> code_;
  std::unique_ptr<ir::Function> function_;
};

// Behind s_sleep the unit is entered with the EXEC that it is for. Waves that slept with another one go on in another unit, which the
// exit has to write all registers for (ir::Resumptions): it sees that from the entry, which does not read EXEC.
TEST_F(LiftTest, EntriesKnowExecThoughOtherWaysLeadThere) {
  constexpr const char* kCode =
      "v_cmp_eq_u32 vcc, 0, v0\n s_and_saveexec_b64 s[10:11], vcc\n s_cbranch_execz 1f\n s_sleep 1\n"
      "1:\n s_xor_b64 exec, exec, s[10:11]\n s_barrier\n s_endpgm";
  options.exec_full = true;
  lift(kCode);
  EXPECT_EQ(function().entries.size(), 3u) << text();
  EXPECT_FALSE(has(Op::get_mask, sreg::kExecLo)) << text();
  options.exec_full = false;
  lift(kCode);
  EXPECT_TRUE(has(Op::get_mask, sreg::kExecLo)) << text();
}

TEST_F(LiftTest, EndWritesNothingBack) {
  lift("s_mov_b32 s0, 1\n v_mov_b32 v0, 2\n s_endpgm");
  ASSERT_EQ(all(Op::exit).size(), 1u) << text();
  EXPECT_EQ(all(Op::exit)[0]->attr, static_cast<uint32_t>(ExitReason::kEnd));
  EXPECT_EQ(all(Op::exit)[0]->imm, kBase + 8);
  EXPECT_TRUE(all(Op::set_sgpr).empty()) << text();
  EXPECT_TRUE(all(Op::set_vgpr).empty()) << text();
}

TEST_F(LiftTest, JumpWritesBackWhatWasModified) {
  lift("s_mov_b32 s5, s6\n v_add_u32 v3, v4, v5\n s_setpc_b64 s[30:31]");
  EXPECT_EQ(all(Op::exit_jump).size(), 1u);
  EXPECT_EQ(imms(Op::set_sgpr), (std::vector<uint64_t>{5})) << text();
  EXPECT_EQ(imms(Op::set_vgpr), (std::vector<uint64_t>{3})) << text();
  EXPECT_TRUE(all(Op::set_mask).empty()) << "EXEC and VCC were not written";
  EXPECT_TRUE(has(Op::get_sgpr64, 30)) << "the target is read as one number";
}

TEST_F(LiftTest, RegistersWithTheirOldValueAreNotWritten) {
  lift("s_mov_b64 s[0:1], exec\n s_mov_b64 exec, -1\n s_nop 0\n s_mov_b64 exec, s[0:1]\n s_setpc_b64 s[30:31]");
  EXPECT_EQ(imms(Op::set_mask), (std::vector<uint64_t>{0})) << text();
}

TEST_F(LiftTest, FullExecNeedsNoSelect) {
  const std::string source = "v_add_u32 v0, v1, v2\n s_setpc_b64 s[30:31]";
  lift(source);
  EXPECT_EQ(all(Op::select).size(), 1u) << text();
  EXPECT_TRUE(has(Op::get_vgpr, 0)) << "inactive lanes keep their value";
  options.exec_full = true;
  lift(source);
  EXPECT_TRUE(all(Op::select).empty()) << text();
  EXPECT_FALSE(has(Op::get_vgpr, 0)) << text();
}

TEST_F(LiftTest, FullExecIsKnownInLoopsAndAfterRestoring) {
  options.exec_full = true;
  lift(R"(
    s_mov_b32 s0, 0
  loop:
    v_cmp_gt_u32 vcc, v1, v2
    s_and_saveexec_b64 s[2:3], vcc
    v_add_u32 v3, v3, v1
    s_or_b64 exec, exec, s[2:3]
    v_add_u32 v4, v4, v1
    s_add_u32 s0, s0, 1
    s_cmp_lt_u32 s0, 10
    s_cbranch_scc1 loop
    s_setpc_b64 s[30:31])");
  EXPECT_EQ(all(Op::select).size(), 1u) << "only the addition under the condition\n" << text();
}

TEST_F(LiftTest, BarrierIsAnEntry) {
  const ir::Function& f = lift(
      "v_mov_b32 v0, 1\n v_mov_b32 v1, 2\n s_barrier\n v_add_u32 v2, v0, v3\n global_store_dword v[4:5], v2, off\n "
      "s_endpgm");
  ASSERT_EQ(f.entries.size(), 2u);
  EXPECT_EQ(f.entries[0].guest_pc, kBase);
  EXPECT_EQ(f.entries[1].guest_pc, kBase + 12);
  EXPECT_TRUE(f.entries[1].block->predecessors.empty());
  const auto exits = all(Op::exit);
  ASSERT_EQ(exits.size(), 2u);
  EXPECT_EQ(exits[0]->attr, static_cast<uint32_t>(ExitReason::kBarrier));
  EXPECT_EQ(exits[0]->imm, kBase + 12);
  EXPECT_EQ(imms(Op::set_vgpr), (std::vector<uint64_t>{0})) << "v1 is not read behind the barrier\n" << text();
}

// What only the loop's first block reads must outlive the barrier, also if that block is the kernel's first one.
TEST_F(LiftTest, FirstBlockOfALoopReadsWhatItHasWrittenInFrontOfABarrier) {
  for (const char* before : {"", "s_nop 0\n s_cbranch_scc0 1f\n s_nop 1\n"}) {
    lift(std::string(before) +
         "1:\n s_xor_b32 s3, s3, s2\n s_barrier\n s_sub_u32 s4, s4, 1\n s_cbranch_scc0 1b\n s_endpgm");
    EXPECT_TRUE(has(Op::set_sgpr, 3)) << text();
    EXPECT_FALSE(has(Op::set_sgpr, 2)) << text();
  }
}

TEST_F(LiftTest, EntryAtALoopHeaderGetsItsOwnBlock) {
  const ir::Function& f = lift(R"(
    s_mov_b32 s0, 0
    s_barrier
  loop:
    s_add_u32 s0, s0, 1
    s_cmp_lt_u32 s0, s1
    s_cbranch_scc1 loop
    s_setpc_b64 s[30:31])");
  ASSERT_EQ(f.entries.size(), 2u);
  EXPECT_TRUE(f.entries[1].block->predecessors.empty());
  ASSERT_EQ(f.entries[1].block->successors.size(), 1u);
  EXPECT_EQ(f.entries[1].block->successors[0]->predecessors.size(), 2u) << text();
  EXPECT_EQ(all(Op::phi).size(), 1u) << "s0 only\n" << text();
}

TEST_F(LiftTest, CallLeavesAndReturnsToAnEntry) {
  const ir::Function& f = lift("s_swappc_b64 s[30:31], s[4:5]\n s_endpgm");
  ASSERT_EQ(f.entries.size(), 2u);
  EXPECT_EQ(f.entries[1].guest_pc, kBase + 4);
  EXPECT_EQ(all(Op::exit_jump).size(), 1u);
  EXPECT_TRUE(has(Op::set_sgpr64, 30)) << text();
}

TEST_F(LiftTest, DivergentLoopMaskIsOneMaskPhi) {
  options.exec_full = true;
  lift(R"(
    s_mov_b64 s[2:3], 0
    v_mov_b32 v1, 0
  loop:
    v_add_u32 v1, v1, v0
    v_cmp_gt_u32 vcc, v1, v2
    s_or_b64 s[2:3], vcc, s[2:3]
    s_andn2_b64 exec, exec, s[2:3]
    s_cbranch_execnz loop
    s_or_b64 exec, exec, s[2:3]
    global_store_dword v[4:5], v1, off
    s_endpgm)");
  for (const Inst* phi : all(Op::phi)) EXPECT_NE(phi->type.kind, ir::TypeKind::i32) << text();
  EXPECT_TRUE(all(Op::i64_to_mask).empty()) << text();
  EXPECT_TRUE(all(Op::mask_to_i64).empty()) << text();
}

TEST_F(LiftTest, PointerInALoopIsOnePhi) {
  lift(R"(
  loop:
    s_load_dword s6, s[2:3], 0x0
    s_add_u32 s2, s2, 4
    s_addc_u32 s3, s3, 0
    s_cmp_lg_u32 s6, 0
    s_cbranch_scc1 loop
    s_setpc_b64 s[30:31])");
  const auto phis = all(Op::phi);
  EXPECT_EQ(std::count_if(phis.begin(), phis.end(), [](const Inst* p) { return p->type == ir::kI64; }), 1) << text();
  EXPECT_EQ(std::count_if(phis.begin(), phis.end(), [](const Inst* p) { return p->type == ir::kI32; }), 0) << text();
}

TEST_F(LiftTest, ModeIsFollowedStatically) {
  lift(
      "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 2), 3\n v_add_f32 v0, v1, v2\n"
      "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 2), 0\n v_add_f32 v3, v4, v5\n s_setpc_b64 s[30:31]");
  const auto sums = all(Op::fadd_f32);
  ASSERT_EQ(sums.size(), 2u);
  const uint32_t keep = ir::fpenv::kKeepInputDenorm | ir::fpenv::kKeepOutputDenorm;
  EXPECT_EQ(sums[0]->attr & keep, keep);
  EXPECT_EQ(sums[1]->attr & keep, 0u);
  EXPECT_TRUE(all(Op::set_field).empty()) << "MODE is back to what it was\n" << text();
}

TEST_F(LiftTest, AnotherModeAtAJoinLeavesTheUnit) {
  lift(R"(
    s_cbranch_scc1 join
    s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 4), 3
    s_mov_b32 s7, 1
  join:
    v_add_f32 v0, v1, v2
    s_setpc_b64 s[30:31])");
  ASSERT_EQ(all(Op::exit_jump).size(), 2u) << text();
  EXPECT_TRUE(has(Op::set_field, offsetof(WaveState, mode))) << text();
  EXPECT_TRUE(has(Op::set_sgpr, 7)) << text();
}

// Waves come there with another MODE, so that another unit takes them.
TEST_F(LiftTest, BehindABarrierWithAnotherModeIsNoEntry) {
  options.mode = kMode | mode::kGprIdxEn;
  const ir::Function& f = lift(R"(
    s_barrier
    s_set_gpr_idx_off
    v_mov_b32 v0, 1
    s_barrier
    v_add_u32 v2, v0, v3
    global_store_dword v[4:5], v2, off
    s_endpgm)");
  ASSERT_EQ(f.entries.size(), 2u) << "the start, and behind the first barrier\n" << text();
  EXPECT_EQ(f.entries[1].guest_pc, kBase + 4);
  EXPECT_TRUE(has(Op::set_field, offsetof(WaveState, mode))) << text();
  EXPECT_EQ(imms(Op::set_vgpr), (std::vector<uint64_t>{0})) << text();
  EXPECT_TRUE(all(Op::store).empty()) << "of no use here\n" << text();
}

// Such a place may be reached in other ways.
TEST_F(LiftTest, BehindABarrierWithAnotherModeMayBeALoop) {
  const ir::Function& f = lift(R"(
    s_branch inside
  again:
    s_set_gpr_idx_on s2, gpr_idx(DST)
    s_barrier
  inside:
    v_add_u32 v2, v0, v3
    s_cmp_lg_u32 s3, 0
    s_cbranch_scc1 again
    s_endpgm)");
  EXPECT_EQ(f.entries.size(), 1u) << text();
  EXPECT_EQ(all(Op::add).size(), 1u) << text();
}

TEST_F(LiftTest, ModeFromARegisterLeavesTheUnit) {
  lift("s_setreg_b32 hwreg(HW_REG_MODE, 0, 4), s2\n v_add_f32 v0, v1, v2\n s_endpgm");
  EXPECT_EQ(all(Op::exit_jump).size(), 1u);
  EXPECT_TRUE(has(Op::set_field, offsetof(WaveState, mode))) << text();
  EXPECT_TRUE(all(Op::fadd_f32).empty());
}

TEST_F(LiftTest, UnsupportedInstructionIsAnExit) {
  lift(
      "s_cbranch_scc1 fine\n exp mrt0 v0, v0, v0, v0 done vm\n s_endpgm\n fine:\n v_mov_b32 v0, 1\n s_setpc_b64 "
      "s[30:31]");
  ASSERT_EQ(unsupported.size(), 1u);
  EXPECT_EQ(unsupported[0].pc, kBase + 4);
  EXPECT_NE(unsupported[0].what.find("exp"), std::string::npos) << unsupported[0].what;
  const auto exits = all(Op::exit);
  ASSERT_EQ(exits.size(), 1u);
  EXPECT_EQ(exits[0]->attr, static_cast<uint32_t>(ExitReason::kUnsupported));
  EXPECT_EQ(exits[0]->imm, kBase + 4);
}

TEST_F(LiftTest, UndecodableBytesAndTheEndOfTheCodeAreIllegal) {
  lift("s_cbranch_scc1 next\n .long 0xffffffff\n next:\n s_nop 0");
  const auto exits = all(Op::exit);
  ASSERT_EQ(exits.size(), 2u) << text();
  for (const Inst* exit : exits) EXPECT_EQ(exit->attr, static_cast<uint32_t>(ExitReason::kIllegal));
  std::vector<uint64_t> pcs = imms(Op::exit);
  EXPECT_EQ(pcs, (std::vector<uint64_t>{kBase + 4, kBase + 12}));
}

TEST_F(LiftTest, BranchOutOfTheCodeIsIllegal) {
  lift("s_branch 0x1000");
  ASSERT_EQ(all(Op::exit).size(), 1u);
  EXPECT_EQ(all(Op::exit)[0]->attr, static_cast<uint32_t>(ExitReason::kIllegal));
}

TEST_F(LiftTest, TrapKeepsItsNumberAndTheState) {
  lift("v_mov_b32 v7, 1\n s_trap 2");
  ASSERT_EQ(all(Op::exit).size(), 1u);
  EXPECT_EQ(all(Op::exit)[0]->attr, static_cast<uint32_t>(ExitReason::kTrap));
  EXPECT_EQ(all(Op::exit)[0]->imm, kBase + 4);
  EXPECT_EQ(all(Op::exit)[0]->imm2, 2u);
  EXPECT_TRUE(has(Op::set_vgpr, 7)) << text();
}

TEST_F(LiftTest, VcczIsStaleAfterHalvesFromLanes) {
  lift("v_readlane_b32 vcc_lo, v0, 0\n s_cbranch_vccz there\n s_endpgm\n there:\n s_endpgm");
  EXPECT_EQ(all(Op::get_vccz).size(), 1u) << text();
  for (const char* write : {"s_mov_b64 vcc, s[0:1]", "s_mov_b32 vcc_lo, s0", "s_mov_b32 vcc_hi, s0"}) {
    lift(std::string(write) + "\n s_cbranch_vccz there\n s_endpgm\n there:\n s_endpgm");
    EXPECT_TRUE(all(Op::get_vccz).empty()) << text();
    EXPECT_EQ(all(Op::mask_any).size(), 1u) << text();
  }
}

TEST_F(LiftTest, GlobalAddressFormsKeepTheirShape) {
  lift("global_load_dword v0, v1, s[2:3] offset:16\n global_load_dwordx4 v[4:7], v[8:9], off offset:-8\n s_endpgm");
  const auto loads = all(Op::load);
  ASSERT_EQ(loads.size(), 2u);
  EXPECT_EQ(loads[0]->mem.form, ir::AddressForm::base_offset);
  EXPECT_EQ(loads[0]->mem.imm, 16);
  EXPECT_EQ(loads[1]->mem.form, ir::AddressForm::vector64);
  EXPECT_EQ(loads[1]->mem.imm, -8);
  EXPECT_EQ(loads[1]->mem.count, 4);
}

TEST_F(LiftTest, ScratchDescriptorIsRecognisedThroughThePrologue) {
  const std::string source = R"(
    s_mov_b64 s[22:23], s[2:3]
    s_mov_b64 s[20:21], s[0:1]
    s_add_u32 s20, s20, s9
    s_addc_u32 s21, s21, 0
  loop:
    buffer_store_dword v1, v0, s[20:23], 0 offen offset:4
    buffer_load_dwordx2 v[2:3], off, s[20:23], s32 offset:8
    s_barrier
    s_cbranch_scc1 loop
    s_endpgm)";
  options.scratch_srd_sgpr = 0;
  lift(source);
  ASSERT_EQ(all(Op::store).size(), 1u);
  ASSERT_EQ(all(Op::load).size(), 1u) << text();
  EXPECT_EQ(all(Op::store)[0]->mem.space, ir::Space::scratch);
  EXPECT_EQ(all(Op::store)[0]->mem.form, ir::AddressForm::scratch_off);
  EXPECT_EQ(all(Op::load)[0]->mem.form, ir::AddressForm::scratch_base);
  EXPECT_EQ(all(Op::load)[0]->mem.count, 2);
  options.scratch_srd_sgpr = -1;
  lift(source);
  EXPECT_EQ(all(Op::store)[0]->mem.space, ir::Space::global);
}

// In functions s[0:3] is what the runtime has seen at the entry: behind calls too, unless the code writes it.
TEST_F(LiftTest, ScratchDescriptorOfFunctions) {
  const std::string source = R"(
    buffer_store_dword v1, off, s[0:3], s32 offset:4
    s_swappc_b64 s[30:31], s[4:5]
    buffer_load_dword v2, off, s[0:3], s32 offset:8
    s_mov_b32 s2, 0
    buffer_load_dword v3, off, s[0:3], s32 offset:12
    s_setpc_b64 s[30:31])";
  options.scratch_srd_at_entries = true;
  lift(source);
  ASSERT_EQ(all(Op::store).size(), 1u);
  ASSERT_EQ(all(Op::load).size(), 2u) << text();
  EXPECT_EQ(all(Op::store)[0]->mem.space, ir::Space::scratch);
  EXPECT_EQ(all(Op::load)[0]->mem.space, ir::Space::scratch);
  EXPECT_EQ(all(Op::load)[1]->mem.space, ir::Space::global);
  options.scratch_srd_at_entries = false;
  lift(source);
  EXPECT_EQ(all(Op::store)[0]->mem.space, ir::Space::global);
  EXPECT_EQ(all(Op::load)[0]->mem.space, ir::Space::global);
}

// In kernels s[0:3] behind calls is what the runtime sees there, if that is asked for.
TEST_F(LiftTest, ScratchDescriptorBehindCalls) {
  const std::string source = R"(
    s_add_u32 s0, s0, s9
    s_addc_u32 s1, s1, 0
    buffer_store_dword v1, off, s[0:3], s32 offset:4
    s_mov_b32 s3, 0
    s_swappc_b64 s[30:31], s[4:5]
    buffer_load_dword v2, off, s[0:3], s32 offset:8
    s_endpgm)";
  options.scratch_srd_sgpr = 0;
  for (const bool known : {false, true}) {
    options.scratch_srd_behind_calls = known;
    lift(source);
    ASSERT_EQ(all(Op::store).size(), 1u);
    ASSERT_EQ(all(Op::load).size(), 1u) << text();
    EXPECT_EQ(all(Op::store)[0]->mem.space, ir::Space::scratch);
    EXPECT_EQ(all(Op::load)[0]->mem.space, known ? ir::Space::scratch : ir::Space::global);
  }
}

TEST_F(LiftTest, OptionsThatMakeNoSenseAreErrors) {
  lift::LiftOptions bad{.name = "bad", .entry_pc = 0x5000, .code_base = kBase, .mode = kMode};
  const std::vector<uint8_t> code(16);
  bad.code = code;
  auto result = lift::lift(bad);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::kBadCodeObject);
}

// SSA construction walks along the chain of blocks from the last use to the first definition.
TEST_F(LiftTest, LongChainsOfBlocks) {
  const auto chain = [](unsigned length) {
    std::string source = "v_mov_b32 v0, 1\n s_mov_b64 s[4:5], vcc\n";
    for (unsigned i = 0; i < length; ++i) source += "s_cbranch_scc1 0\n";
    return source + "v_add_u32 v1, v0, v3\n s_mov_b64 exec, s[4:5]\n s_setpc_b64 s[30:31]";
  };
  lift(chain(12000));
  EXPECT_TRUE(has(Op::set_vgpr, 1));
  const auto code = test::assemble(isa::Target::gfx906, chain(20000));
  ASSERT_TRUE(code);
  lift::LiftOptions large{.name = "large", .entry_pc = kBase, .code = *code, .code_base = kBase, .mode = kMode};
  // Cut: the part with the entry leaves for the next block.
  const auto result = lift::lift(large);
  ASSERT_TRUE(result) << result.error().message;
  unsigned leaves = 0;
  for (const auto& block : result->function->blocks) {
    const ir::Inst* end = block->terminator();
    if (end->op != Op::exit_jump) continue;
    ++leaves;
    EXPECT_EQ(end->operands[0]->imm, kBase + 8 + 16384 * 4);
  }
  EXPECT_GT(leaves, 0u);
}

TEST_F(LiftTest, EveryTargetLiftsItsOwnForms) {
  for (const isa::Target target :
       {isa::Target::gfx803, isa::Target::gfx900, isa::Target::gfx906, isa::Target::gfx908, isa::Target::gfx90a}) {
    const std::string carry =
        target == isa::Target::gfx803 ? "v_add_u32 v0, vcc, v1, v2" : "v_add_co_u32 v0, vcc, v1, v2";
    lift(carry + "\n s_setpc_b64 s[30:31]", target);
    EXPECT_TRUE(unsupported.empty());
    EXPECT_EQ(all(Op::addc_carry).size(), 1u) << text();
    EXPECT_TRUE(has(Op::set_mask, 106)) << text();
  }
}

// Optimised and unoptimised IR of everything above stays valid.
TEST_F(LiftTest, PassesAcceptWhatIsLifted) {
  ir::Function& f = lift(R"(
    s_load_dwordx2 s[0:1], s[4:5], 0x0
    v_cmp_gt_u32 vcc, s8, v0
    s_and_saveexec_b64 s[2:3], vcc
    s_cbranch_execz done
    v_lshlrev_b32 v1, 2, v0
    global_load_dword v2, v1, s[0:1]
    v_mul_f32 v2, v2, v2
    global_store_dword v1, v2, s[0:1]
  done:
    s_endpgm)");
  ir::optimise(f, {.verify = true});
  EXPECT_EQ(ir::verify(f), "");
  EXPECT_EQ(all(Op::load).size(), 1u);
}

}  // namespace
}  // namespace wavejit
