// The instruction whose translation makes a difference: launches of which a part is translated, the search for the part, and
// what shadow mode says of it.
#include "runtime/shadow/culprit.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "frontend/isa/decoder.h"
#include "runtime/kernel/symbols.h"
#include "shadow_dispatch.h"
#include "test_kernels.h"

namespace wavejit::test {
namespace {

using lift::CodeRange;
using runtime::shadow::Agreement;
using runtime::shadow::Culprit;
using runtime::shadow::find_culprit;

constexpr CodeRange kCode{0x1000, 0x2000};

// Wrong where all of these addresses are translated.
auto wrong_with(std::vector<uint64_t> needed) {
  return [needed = std::move(needed)](const CodeRange& part) {
    const bool all = std::all_of(needed.begin(), needed.end(), [&](uint64_t pc) { return part.contains(pc); });
    return all ? Agreement::different : Agreement::same;
  };
}

TEST(Culprits, AreSingleInstructionsWherePossible) {
  for (uint64_t pc = kCode.begin; pc != kCode.end; pc += 4) {
    unsigned tries = 0;
    const Culprit culprit = find_culprit(kCode, [&](const CodeRange& part) {
      ++tries;
      return wrong_with({pc})(part);
    });
    EXPECT_EQ(culprit.kind, Culprit::Kind::code);
    EXPECT_EQ(culprit.code, (CodeRange{pc, pc + 4}));
    EXPECT_LE(tries, 2u + 10 + 1);
  }
}

TEST(Culprits, AreWhatHasToBeTranslatedTogether) {
  for (const CodeRange& code : {CodeRange{0x1000, 0x2000}, {0x1000, 0x1008}, {0x1ff8, 0x2000}, {0x1234, 0x1444}})
    EXPECT_EQ(find_culprit(kCode, wrong_with({code.begin, code.end - 4})).code, code);
}

TEST(Culprits, MayNotBeInTheCode) {
  EXPECT_EQ(find_culprit(kCode, wrong_with({})).kind, Culprit::Kind::no_code);
  EXPECT_EQ(find_culprit(kCode, wrong_with({0x5000})).kind, Culprit::Kind::gone);
  for (unsigned answers = 0; answers != 12; ++answers) {
    unsigned left = answers;
    const Culprit culprit = find_culprit(kCode, [&](const CodeRange& part) {
      return left-- == 0 ? Agreement::unknown : wrong_with({0x1234, 0x1444})(part);
    });
    EXPECT_EQ(culprit.kind, Culprit::Kind::unknown);
    EXPECT_TRUE(culprit.code == CodeRange() || culprit.code.contains(0x1444)) << answers;
  }
}

// Loops of waves and of lanes, LDS across a barrier, a yield, indexed registers, other rounding, lanes exchanged, a call.
KernelSource all_sorts() {
  return {.name = "all_sorts",
          .body = std::string(kOwnAddress) + R"(
  v_mov_b32_e32 v1, v0
  s_mov_b32 s8, 3
.Lloop:
  v_mad_u32_u24 v1, v1, 3, v0
  s_sub_u32 s8, s8, 1
  s_cmp_lg_u32 s8, 0
  s_cbranch_scc1 .Lloop
  v_and_b32_e32 v5, 7, v0
  s_mov_b64 s[10:11], exec
.Llanes:
  v_cmp_ne_u32_e32 vcc, 0, v5
  s_and_b64 exec, exec, vcc
  s_cbranch_execz .Lout
  v_add_u32_e32 v1, v1, v5
  v_subrev_u32_e32 v5, 1, v5
  s_branch .Llanes
.Lout:
  s_mov_b64 exec, s[10:11]
  s_mov_b32 m0, -1
  v_mov_b32_e32 v9, 0
  ds_write_b32 v2, v1
  s_waitcnt lgkmcnt(0)
  s_barrier
  v_and_b32_e32 v8, 0xff, v2
  ds_read_b32 v9, v8
  s_waitcnt lgkmcnt(0)
  v_add_u32_e32 v1, v1, v9
  s_sleep 1
  s_mov_b32 s16, 1
  s_set_gpr_idx_on s16, gpr_idx(SRC0)
  v_mov_b32_e32 v10, v0
  s_set_gpr_idx_off
  v_add_u32_e32 v1, v1, v10
  s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 2), 3
  v_cvt_f32_u32_e32 v11, v1
  v_mul_f32_e32 v11, 0x3eaaaaab, v11
  s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 2), 0
  v_mov_b32_dpp v12, v11 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf
  v_add_u32_e32 v1, v1, v12
  s_getpc_b64 s[12:13]
.Lhere:
  s_add_u32 s12, s12, .Lfunction-.Lhere
  s_addc_u32 s13, s13, 0
  s_swappc_b64 s[14:15], s[12:13]
  store v[6:7], v1
  s_endpgm
.Lfunction:
  v_xor_b32_e32 v1, 0x5a5a, v1
  s_setpc_b64 s[14:15]
)",
          .args = {{"out"}},
          .lds = 1024};
}

// Of the instructions of a kernel up to the end of its section, in order.
std::vector<isa::Instruction> instructions_of(const runtime::LaunchRequest& request) {
  const std::span<const uint8_t> region =
      runtime::code_region(request.module->object(), request.kernel->descriptor.entry);
  const auto base = reinterpret_cast<uint64_t>(region.data());
  std::vector<isa::Instruction> all;
  for (uint64_t pc = request.kernel->descriptor.entry; pc < base + region.size(); pc = all.back().next_pc()) {
    isa::Instruction inst;
    if (isa::decode(request.module->target(), region.subspan(pc - base), pc, inst) != isa::DecodeStatus::ok) break;
    if (all.size() > 1 && inst.opcode == isa::Opcode::s_nop) break;  // filling
    all.push_back(inst);
  }
  return all;
}

TEST(Culprits, AreLookedForInAllCodeOfTheObject) {
  const auto module = runtime::Module::load(assemble(kShadowTarget, {ids()}));
  ASSERT_TRUE(module);
  const auto regions = (*module)->object().code();
  ASSERT_EQ(regions.size(), 1u);
  const CodeRange all = runtime::shadow::all_code((*module)->object());
  const auto begin = reinterpret_cast<uint64_t>(regions[0].data());
  EXPECT_EQ(all.begin, begin);
  EXPECT_EQ(all.end, begin + regions[0].size());
}

TEST(Places, AreNamedAfterTheFunctionInFrontOfThem) {
  const auto module = runtime::Module::load(assemble(kShadowTarget, {ids()}));
  ASSERT_TRUE(module);
  const codeobject::CodeObject& object = (*module)->object();
  const uint64_t entry = (*object.find_kernel("ids"))->descriptor.entry;
  EXPECT_EQ(runtime::symbolise(object, entry), "ids");
  EXPECT_EQ(runtime::symbolise(object, entry + 8), "ids+0x8");
}

TEST(TranslatedPart, MayBeginAndEndAtAnyInstruction) {
  if (!backend::host_supports(backend::Tier::avx2)) GTEST_SKIP() << "this CPU has no JIT";
  constexpr uint32_t kAll = 2 * kItems + 200;
  const Out out(kAll * 4);
  const Dispatch dispatch(all_sorts(), {out.words()}, kAll);
  const auto written = [&](const runtime::LaunchRequest& request, runtime::LaunchStats& stats) {
    std::fill_n(out.words(), kAll, 0u);
    const Expected<void> done = runtime::launch(request, stats);
    EXPECT_TRUE(done) << done.error().message;
    return std::vector<uint32_t>(out.words(), out.words() + kAll);
  };
  runtime::LaunchRequest request = dispatch.request();
  runtime::LaunchStats stats;
  const std::vector<uint32_t> translated = written(request, stats);
  EXPECT_EQ(stats.moved_waves, 0u);
  request.engine = runtime::Engine::interpreter;
  const std::vector<uint32_t> expected = written(request, stats);
  EXPECT_EQ(translated, expected);

  request.engine = runtime::Engine::jit;
  const std::vector<isa::Instruction> instructions = instructions_of(request);
  ASSERT_GT(instructions.size(), 50u);
  const uint64_t begin = instructions.front().pc, end = instructions.back().next_pc();
  for (const isa::Instruction& inst : instructions) {
    request.schedule = inst.pc % 3 == 0 ? 0 : inst.pc;
    for (const CodeRange& part : {CodeRange{begin, inst.pc}, {inst.pc, end}, {inst.pc, inst.next_pc()}}) {
      SCOPED_TRACE(isa::disassemble(inst) + (part.begin == begin ? " behind" : part.end == end ? " from" : " alone"));
      request.translated_part = part;
      EXPECT_EQ(written(request, stats), expected);
    }
  }
}

class ShadowCulprit : public ShadowMode {
 protected:
  // Has the JIT translate another instruction than the interpreter executes, which has it decoded.
  static void exchange(const Dispatch& dispatch, std::string_view old, uint32_t exclusive_or) {
    runtime::LaunchRequest request = dispatch.request();
    request.engine = runtime::Engine::interpreter;
    runtime::LaunchStats stats;
    ASSERT_TRUE(runtime::launch(request, stats));
    for (const isa::Instruction& inst : instructions_of(request)) {
      if (isa::disassemble(inst) != old) continue;
      constexpr uint64_t kPage = 4096;
      void* const page = reinterpret_cast<void*>(inst.pc / kPage * kPage);
      ASSERT_EQ(mprotect(page, 2 * kPage, PROT_READ | PROT_WRITE), 0);
      uint32_t word = inst.words[0] ^ exclusive_or;
      std::memcpy(reinterpret_cast<void*>(inst.pc), &word, sizeof word);
      return;
    }
    FAIL() << "no " << old;
  }
  void expect_said(std::string_view text) const {
    EXPECT_NE(said_.find(text), std::string::npos) << said_ << "\nexpected: " << text;
  }
};

constexpr uint32_t kXorToOr = 1 << 25;   // VOP2
constexpr uint32_t kAddToSub = 1 << 25;  // v_add_u32, v_sub_u32

TEST_F(ShadowCulprit, IsNamed) {
  const struct {
    const char* old;
    uint32_t exclusive_or;
    const char* said;
  } kCases[] = {
      {"v_add_u32_e32 v1, v1, v5", kAddToSub, "'v_sub_u32_e32 v1, v1, v5' at all_sorts+0x"},  // in a loop of lanes
      {"v_add_u32_e32 v1, v1, v9", kAddToSub, "'v_sub_u32_e32 v1, v1, v9' at all_sorts+0x"},  // behind a barrier
      {"v_xor_b32_e32 v1, 0x5a5a, v1", kXorToOr, "'v_or_b32_e32 v1, 0x5a5a, v1' at all_sorts+0x"},  // in a function
      {"v_mov_b32_e32 v1, v0", 2, "'v_mov_b32_e32 v1, v2' at all_sorts+0x"},                        // at the start
  };
  for (const auto& [old, exclusive_or, said] : kCases) {
    SCOPED_TRACE(old);
    said_.clear();
    const Out out(kItems * 4);
    const Dispatch dispatch(all_sorts(), {out.words()});
    exchange(dispatch, old, exclusive_or);
    EXPECT_EQ(counters_of(dispatch).of(Verdict::different), 1u);
    expect_said("It is the same without all optimisations.");
    expect_said(std::string("They differ when this instruction alone is translated, and all others interpreted: ") +
                said);
  }
}

// Two wrong instructions that do no harm alone.
TEST_F(ShadowCulprit, MayBeCodeThatHasToBeTranslatedTogether) {
  const Out out(kItems * 4);
  const Dispatch dispatch(ids(), {out.words()});
  const std::vector<isa::Instruction> all = instructions_of(dispatch.request());
  const AfterRun together = [&](const runtime::LaunchRequest& request) {
    if (request.engine == runtime::Engine::jit && request.translated_part.contains(all[1].pc) &&
        request.translated_part.contains(all[5].pc))
      out.words()[33] = 1;
  };
  EXPECT_EQ(counters_of(dispatch, together).of(Verdict::different), 1u);
  expect_said(
      "They differ when these 5 instructions are translated together, and all others interpreted: from "
      "'v_lshlrev_b32_e32 v2, 2, v0' at ids+0x");
  expect_said(" to '" + isa::disassemble(all[5]) + "' at ids+0x");
  expect_said("the difference vanishes where this code is cut");
}

TEST_F(ShadowCulprit, MayNotBeCode) {
  const Out out(kItems * 4);
  const Dispatch dispatch(ids(), {out.words()});
  const AfterRun always = [&](const runtime::LaunchRequest& request) {
    if (request.engine == runtime::Engine::jit) out.words()[33] = 1;
  };
  EXPECT_EQ(counters_of(dispatch, always).of(Verdict::different), 1u);
  expect_said("It is the same with all instructions interpreted: no translation is to blame.");
}

}  // namespace
}  // namespace wavejit::test
