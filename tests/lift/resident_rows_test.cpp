// Which registers the lifter keeps in the wave state from block to block.
#include "frontend/lift/resident_rows.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "frontend/lift/lifter.h"
#include "ir/text.h"
#include "tests/support/assembler.h"

namespace wavejit {
namespace {

using ir::Op;

constexpr const char* kProduct = "v_mfma_f64_16x16x4f64 v[16:23], v[4:5], v[6:7], v[16:23]\n";
constexpr const char* kBarrier = "s_barrier\n";
constexpr const char* kEnd = "s_endpgm\n";

class ResidentRows : public testing::Test {
 protected:
  const ir::Function* lift(const std::string& source, bool on = true) {
    auto code = test::assemble(isa::Target::gfx90a, source);
    if (!code) {
      ADD_FAILURE() << code.error().message;
      return nullptr;
    }
    code_ = std::move(*code);
    lift::LiftOptions options;
    options.target = isa::Target::gfx90a;
    options.name = "rows";
    options.entry_pc = options.code_base = reinterpret_cast<uint64_t>(code_.data());
    options.code = code_;
    options.exec_full = true;
    options.resident_rows = on;
    auto lifted = lift::lift(options);
    if (!lifted) {
      ADD_FAILURE() << lifted.error().message;
      return nullptr;
    }
    function_ = std::move(lifted->function);
    return function_.get();
  }
  // The rows that the lifted code accesses by `op`.
  std::set<uint64_t> rows(const std::string& source, Op op, bool on = true) {
    std::set<uint64_t> found;
    const ir::Function* function = lift(source, on);
    if (function == nullptr) return found;
    for (const auto& block : function->blocks)
      for (const ir::Inst* inst : block->insts)
        if (inst->op == op) found.insert(inst->imm);
    return found;
  }

 private:
  std::vector<uint8_t> code_;
  std::unique_ptr<ir::Function> function_;
};

const std::set<uint64_t> kSum = {16, 17, 18, 19, 20, 21, 22, 23};

TEST_F(ResidentRows, SumsBetweenBarriers) {
  const std::string twice = fmt::format("{0}{1}{0}{1}", kProduct, kBarrier);
  EXPECT_EQ(rows(twice + kEnd, Op::read_row), kSum);
  EXPECT_EQ(rows(twice + kEnd, Op::write_row), kSum);
  // Nothing else touches them: exits have them written already.
  const std::set<uint64_t> others =
      rows(twice + "v_mov_b32 v30, v16\n" + kBarrier + "v_mov_b32 v31, v30\n" + kEnd, Op::set_vgpr);
  EXPECT_FALSE(others.contains(16));
  EXPECT_TRUE(others.contains(30));
  EXPECT_TRUE(rows(twice + kEnd, Op::read_row, false).empty());
}

TEST_F(ResidentRows, NoneWithoutBarriers) {
  EXPECT_TRUE(rows(fmt::format("{0}{0}{1}", kProduct, kEnd), Op::read_row).empty());
}

TEST_F(ResidentRows, NoneForResultsThatAreNotAddedTo) {
  const std::string text = fmt::format(
      "v_mfma_f64_16x16x4f64 v[16:23], v[4:5], v[6:7], v[24:31]\nv_mfma_f64_16x16x4f64 v[32:39], v[4:5], v[6:7], "
      "0\n{}{}",
      kBarrier, kEnd);
  EXPECT_TRUE(rows(text, Op::read_row).empty());
  EXPECT_TRUE(rows(text, Op::write_row).empty());
}

TEST_F(ResidentRows, AccumulationRegistersFollowTheOthers) {
  const std::string text = fmt::format("v_mfma_f64_16x16x4f64 a[0:7], v[4:5], v[6:7], a[0:7]\n{}{}", kBarrier, kEnd);
  EXPECT_EQ(rows(text, Op::read_row), (std::set<uint64_t>{256, 257, 258, 259, 260, 261, 262, 263}));
}

// The first rows have the work-item ids at the kernel's start.
TEST_F(ResidentRows, NotTheWorkItemIds) {
  const std::string text =
      fmt::format("v_mfma_f64_16x16x4f64 v[0:7], v[8:9], v[10:11], v[0:7]\n{0}{1}{0}{2}", kBarrier, kProduct, kEnd);
  const std::set<uint64_t> found = rows(text, Op::read_row);
  EXPECT_FALSE(found.contains(0));
  EXPECT_FALSE(found.contains(2));
  EXPECT_TRUE(found.contains(3));
}

TEST_F(ResidentRows, NotWhatAnotherLoopWrites) {
  const std::string loop =
      "s_mov_b32 s9, 3\nagain:\nv_add_u32 v16, 1, v16\ns_sub_u32 s9, s9, 1\ns_cmp_lg_u32 s9, 0\ns_cbranch_scc1 again\n";
  const std::set<uint64_t> found = rows(loop + kBarrier + kProduct + kBarrier + kProduct + kEnd, Op::read_row);
  EXPECT_FALSE(found.contains(16));
  // Fewer than eight rows are never resident: with a second sum there are enough.
  const std::string more = "v_mfma_f64_16x16x4f64 v[24:31], v[4:5], v[6:7], v[24:31]\n";
  const std::set<uint64_t> with_more =
      rows(loop + kBarrier + kProduct + more + kBarrier + kProduct + more + kEnd, Op::read_row);
  EXPECT_FALSE(with_more.contains(16));
  EXPECT_TRUE(with_more.contains(17));
  EXPECT_TRUE(with_more.contains(24));
}

TEST_F(ResidentRows, NotWrittenWhereTheWaveEnds) {
  const std::string text = fmt::format("{0}{1}v_mov_b32 v16, 0\n{2}", kProduct, kBarrier, kEnd);
  const ir::Function* function = lift(text);
  ASSERT_NE(function, nullptr);
  for (const auto& block : function->blocks) {
    const ir::Inst* last = block->terminator();
    if (last->op != Op::exit || static_cast<ExitReason>(last->attr) != ExitReason::kEnd) continue;
    for (const ir::Inst* inst : block->insts) EXPECT_NE(inst->op, Op::write_row) << ir::print(*inst);
  }
}

}  // namespace
}  // namespace wavejit
