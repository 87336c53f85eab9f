// Loads of neighbouring bytes of each lane become one, of four or eight bytes: strings, records, checksums.
//
// They come from several instructions, and a fault is to be reported at the right one. The load keeps their places
// (Inst::imm), and the backend loads the bytes of a lane together only where they lie on one page: either all of them
// fault there, and it is the first one that does, or none.
#include <algorithm>
#include <optional>

#include "ir/analysis/lane_shape.h"
#include "ir/passes/passes.h"

namespace wavejit::ir::passes {
namespace {

class ByteMerger {
 public:
  explicit ByteMerger(Function& function) : function_(function) {}

  bool run() {
    bool changed = false;
    for (const auto& block : function_.blocks) {
      std::vector<std::vector<Inst*>> runs;
      bool open = false;  // nothing but pure operations since the last one
      for (Inst* inst : block->insts) {
        if (is_pure(inst->op)) continue;
        const bool fits = eligible(*inst);
        if (fits && open && follows(runs.back(), *inst)) {
          runs.back().push_back(inst);
        } else if (fits) {
          runs.push_back({inst});
        }
        open = fits;
      }
      for (const std::vector<Inst*>& bytes : runs) changed |= merge(*block, bytes);
    }
    return changed;
  }

 private:
  // A byte's place in its lane's memory: offset = root + constant.
  struct Place {
    const Inst* root;
    uint32_t constant = 0;  // added modulo 2^32
  };

  bool eligible(const Inst& inst) {
    if (inst.op != Op::load || inst.mem.bytes != 1 || inst.mem.count != 1 || inst.mem.glc) return false;
    if (inst.mem.space != Space::global || inst.guest_pc == 0) return false;
    if (inst.mem.form != AddressForm::base_offset && inst.mem.form != AddressForm::vector64) return false;
    // Close lanes are served as vectors.
    if (!shapes_) shapes_.emplace(function_);
    const LaneShape shape = shapes_->of(inst.operands.back());
    constexpr int64_t kFar = 8;
    return shape.group < 4 || shape.stride >= kFar || shape.stride <= -kFar;
  }

  static Place place(const Inst& load) {
    const Inst* offset = load.operands.back();
    if (load.mem.form == AddressForm::base_offset && offset->op == Op::add && offset->operands[1]->is_const())
      return {offset->operands[0], static_cast<uint32_t>(offset->operands[1]->imm)};
    return {offset};
  }

  static bool follows(const std::vector<Inst*>& bytes, const Inst& next) {
    const Inst &first = *bytes.front(), &last = *bytes.back();
    if (next.mem.form != first.mem.form || next.mem.sign_extend != first.mem.sign_extend) return false;
    if (!std::equal(first.operands.begin(), first.operands.end() - 1, next.operands.begin())) return false;
    if (next.guest_pc <= last.guest_pc || (next.guest_pc - first.guest_pc) / 4 > UINT8_MAX) return false;
    const Place from = place(last), to = place(next);
    if (from.root != to.root) return false;
    const bool by_offset = to.constant == from.constant + 1 && next.mem.imm == last.mem.imm;
    const bool by_imm = to.constant == from.constant && next.mem.imm == last.mem.imm + 1;
    if (bytes.size() == 1) return by_offset || by_imm;
    return wraps(bytes) ? by_offset : by_imm;
  }
  // By offsets, of which 32 bits count, or by displacements from one address.
  static bool wraps(const std::vector<Inst*>& bytes) { return bytes[0]->mem.imm == bytes[1]->mem.imm; }

  bool merge(Block& block, const std::vector<Inst*>& bytes) {
    bool changed = false;
    for (size_t at = 0; bytes.size() - at >= 4;) {
      const size_t count = bytes.size() - at >= 8 ? 8 : 4;
      join(block, {bytes.begin() + static_cast<ptrdiff_t>(at), bytes.begin() + static_cast<ptrdiff_t>(at + count)});
      function_.count(Rule::bytes_merged);
      at += count;
      changed = true;
    }
    return changed;
  }

  // At the place of the first.
  void join(Block& block, const std::vector<Inst*>& bytes) {
    const Inst* first = bytes[0];
    Type type = kV32;
    type.count = static_cast<uint8_t>(bytes.size());
    Inst* all = function_.create(Op::load, type, {first->operands});
    all->mem = first->mem;
    all->mem.count = static_cast<uint8_t>(bytes.size());
    all->mem.wraps = wraps(bytes);
    all->guest_pc = first->guest_pc;
    all->parent = &block;
    std::vector<Inst*> made{all};
    for (size_t k = 0; k < bytes.size(); ++k) {
      all->imm |= (bytes[k]->guest_pc - first->guest_pc) / 4 << 8 * k;
      Inst* element = function_.create(Op::extract, kV32, {all});
      element->imm = k;
      element->guest_pc = bytes[k]->guest_pc;
      element->parent = &block;
      made.push_back(element);
      function_.replace_all_uses(bytes[k], element);
    }
    const auto place = std::find(block.insts.begin(), block.insts.end(), first);
    block.insts.insert(place, made.begin(), made.end());
    for (Inst* inst : bytes) {
      std::erase(block.insts, inst);
      function_.unlink(inst);
    }
  }

  Function& function_;
  std::optional<LaneShapes> shapes_;  // made for the first load of a byte; of the addresses, which no merge changes
};

}  // namespace

PassResult merge_bytes(Function& function, const PassContext&) {
  const bool dropped = drop_unreachable(function);
  return {.changed = ByteMerger(function).run() || dropped};
}

}  // namespace wavejit::ir::passes
