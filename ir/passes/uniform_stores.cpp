// Where all lanes store to one place that only the private aperture could make several (a generic address, the same in
// all lanes), the pass lets one lane store, with the last active lane's data. In the aperture each lane has its own memory:
// there the store keeps its mask and data. Stores known to be global take the base_only form, and the backend stores once
// (backend-x86/lower/memory_uniform.cpp has the reason).
#include "internal/wave_state.h"
#include "ir/passes/passes.h"
#include "ir/passes/rewriter.h"

namespace wavejit::ir::passes {
namespace {

class UniformStores {
 public:
  explicit UniformStores(Function& function) : function_(function), r_(function) {}

  bool run() {
    (void)r_.run([&](Inst* inst) -> Replacement {
      if (inst->op == Op::store && is_one_place(*inst) && !is_one_lane(inst->operands[0])) narrow(inst);
      return nullptr;
    });
    return r_.changed();
  }

 private:
  static bool is_one_place(const Inst& store) {
    return store.mem.form == AddressForm::vector64 && store.operands[1]->op == Op::splat64;
  }

  static bool is_one_lane(const Inst* mask) { return mask->is_const() && (mask->imm & (mask->imm - 1)) == 0; }

  void narrow(Inst* store) {
    Inst* mask = store->operands[0];
    Inst* lanes = r_.make(Op::mask_to_i64, {mask});
    Inst* is_private = store->mem.space == Space::flat ? private_aperture(*store) : nullptr;
    Inst* last = nullptr;
    bool changed = false;
    const auto set = [&](unsigned index, Inst* value) {
      changed |= store->operands[index] != value;
      function_.set_operand(store, index, value);
    };
    for (unsigned i = 2; i < store->operands.size(); ++i) {
      Inst* data = store->operands[i];
      if (data->is_const() || data->op == Op::splat) continue;
      if (last == nullptr) {
        Inst* leading = r_.make(Op::lo32, {r_.make(Op::clz, {lanes})});
        last = r_.make(Op::sub, {r_.constant(kI32, kWaveSize - 1), leading});
      }
      Inst* value = r_.make(Op::splat, {r_.make(Op::readlane, {data, last})});
      set(i, is_private == nullptr ? value : r_.make(Op::select, {is_private, data, value}));
    }
    Inst* first = r_.make(Op::and_, {lanes, r_.make(Op::sub, {r_.constant(kI64, 0), lanes})});
    if (is_private != nullptr) first = r_.make(Op::select, {is_private, lanes, first});
    set(0, r_.make(Op::i64_to_mask, {first}));
    if (changed) r_.note_change(Rule::one_lane_stores);
  }

  Inst* private_aperture(const Inst& store) {
    Inst* base = store.operands[1]->operands[0];
    Inst* address = r_.make(Op::add, {base, r_.constant(kI64, static_cast<uint64_t>(store.mem.imm))});
    return r_.make(Op::icmp, {r_.make(Op::hi32, {address}), r_.constant(kI32, kPrivateApertureHi)},
                   static_cast<uint32_t>(ICmp::eq));
  }

  Function& function_;
  Rewriter r_;
};

}  // namespace

PassResult uniform_stores(Function& function, const PassContext&) {
  return {.changed = UniformStores(function).run()};
}

}  // namespace wavejit::ir::passes
