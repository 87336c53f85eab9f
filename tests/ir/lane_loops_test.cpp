// Random loops that lanes leave one by one, with branches inside that lanes take differently: a copy for one lane after the
// other leaves the same registers as the loop. Most merges are as a compiler makes them, for the lanes that are active;
// others are for other lanes, or left out, so that some loops must be refused.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <random>
#include <unordered_map>

#include "ir/builder.h"
#include "ir/pass.h"
#include "ir/rules.h"
#include "ir/text.h"
#include "lane_loop_runs.h"

namespace wavejit::ir {
namespace {

class LoopMaker {
 public:
  // `storing`: lanes write arrays in memory, and read there; `walking`: in loops of their own, too.
  // switching: loops of nothing but two ways that note who goes on.
  explicit LoopMaker(uint64_t seed, bool storing = false, bool walking = false, bool switching = false)
      : random_(seed), storing_(storing), walking_(walking), switching_(switching) {}

  std::unique_ptr<Function> make() {
    function_ = std::make_unique<Function>("f");
    Block* entry = function_->add_block();
    builder_ = std::make_unique<Builder>(*function_, entry);
    function_->entries.push_back({.guest_pc = 0x100, .block = entry});
    for (unsigned i = 0; i < kVectors; ++i) values_.v.push_back(builder_->op_typed(Op::get_vgpr, kV32, {}, 0, i));
    for (unsigned i = 0; i < kScalars; ++i) values_.s.push_back(builder_->op_typed(Op::get_sgpr, kI32, {}, 0, 2 + i));
    values_.m.push_back(builder_->op_typed(Op::get_mask, kMask, {}, 0, 126));
    for (unsigned i = 1; i < kMasks; ++i)
      values_.m.push_back(builder_->op_typed(Op::get_mask, kMask, {}, 0, 10 + 2 * i));
    base_ = builder_->op_typed(Op::get_sgpr64, kI64, {}, 0, 40);
    if (storing_) {
      Inst* lane = builder_->op_typed(Op::lane_id, kV32, {});
      static constexpr unsigned kStrides[] = {0, 4, 8, 40, 64, 64, 256, 4096};
      Inst* first = builder_->op(Op::mul, {lane, builder_->v32(kStrides[below(std::size(kStrides))])});
      if (chance(15)) first = builder_->op(Op::sub, {builder_->v32(1u << 20), first});
      if (chance(15)) first = builder_->op(Op::and_, {any(values_.v), builder_->v32(0xfffff0)});
      values_.v[kPlace] = first;
    }
    loop(0);
    for (unsigned i = 0; i < kVectors; ++i)
      if (chance(70)) builder_->op_typed(Op::set_vgpr, kNone, {values_.v[i]}, 0, i);
    for (unsigned i = 0; i < kScalars; ++i)
      if (chance(odd_ ? 40 : 10)) builder_->op_typed(Op::set_sgpr, kNone, {values_.s[i]}, 0, 2 + i);
    for (unsigned i = 1; i < kMasks; ++i)
      if (chance(30)) builder_->op_typed(Op::set_mask, kNone, {values_.m[i]}, 0, 10 + 2 * i);
    builder_->exit(ExitReason::kYield, 0x200);
    return std::move(function_);
  }

 private:
  static constexpr unsigned kVectors = 5, kScalars = 2, kMasks = 3;
  static constexpr unsigned kPlace = kVectors - 1;  // where the lane stores next
  // m[0] is EXEC.
  struct Values {
    std::vector<Inst*> v, s, m;
  };

  unsigned below(unsigned bound) { return static_cast<unsigned>(random_() % bound); }
  bool chance(unsigned percent) { return below(100) < percent; }
  Inst*& any(std::vector<Inst*>& list) { return list[below(static_cast<unsigned>(list.size()))]; }
  Inst* exec() { return values_.m[0]; }
  Inst*& any_result() { return values_.v[below(storing_ && !chance(2) ? kPlace : kVectors)]; }

  void store() {
    Inst*& place = values_.v[kPlace];
    MemAttr mem;
    mem.form = AddressForm::base_offset;
    mem.count = static_cast<uint8_t>(1 + below(2));
    mem.bytes = static_cast<uint8_t>(mem.count > 1 || chance(60) ? 4 : 1 + below(2));
    mem.imm = chance(5) ? 4 : 0;
    std::vector<Inst*> operands{exec(), base_, place, any(values_.v)};
    if (mem.count > 1) operands.push_back(any(values_.v));
    builder_->store(mem, std::move(operands));
    const uint32_t bytes = chance(3) ? 8 : mem.count * mem.bytes;
    place = builder_->select(exec(), builder_->op(Op::add, {place, builder_->v32(bytes)}), place);
  }
  // A loop of those that `lanes` are, each as often as its count says. `body` gets the lanes that are in it, and what `values` have become.
  template <typename Body>
  std::vector<Inst*> counted(Inst* lanes, Inst* count, std::vector<Inst*> values, Body body) {
    const bool down = chance(40);
    Inst* const one = builder_->v32(1);
    Inst* const zero = builder_->v32(0);
    Block* header = function_->add_block();
    Block* behind = function_->add_block();
    builder_->br(header);
    builder_->set_block(header);
    values.insert(values.end(), {lanes, down ? count : zero});
    for (Inst*& value : values) value = builder_->op_typed(Op::phi, value->type, {value});
    const std::vector<Inst*> phis = values;
    Inst *const going = phis.end()[-2], *const number = phis.end()[-1];
    values.resize(values.size() - 2);
    values = body(going, values);
    for (size_t i = 0; i < values.size(); ++i)
      if (values[i] != phis[i]) values[i] = builder_->select(going, values[i], phis[i]);
    Inst* next = builder_->op(down ? Op::sub : Op::add, {number, one});
    static constexpr ICmp kUp[] = {ICmp::ne, ICmp::ult, ICmp::slt}, kDown[] = {ICmp::ne, ICmp::ugt, ICmp::sgt};
    Inst* staying = builder_->icmp((down ? kDown : kUp)[below(3)], next, down ? zero : count);
    Inst* again = builder_->op(Op::and_, {going, staying});
    builder_->cond_br(builder_->op(Op::mask_any, {again}), header, behind);
    std::vector<Inst*> nexts = values;
    nexts.insert(nexts.end(), {again, next});
    for (size_t i = 0; i < phis.size(); ++i) {
      phis[i]->operands.push_back(nexts[i]);
      nexts[i]->users.push_back(phis[i]);
    }
    builder_->set_block(behind);
    return values;
  }

  // Each lane walks through memory, once or a few times, and mostly copies what it reads to where it stores next.
  void walk() {
    Inst* const wide_base = builder_->op(Op::splat64, {base_});
    const auto at = [&](Inst* offset) {
      return builder_->op(Op::add, {wide_base, builder_->op(Op::zext64, {offset})});
    };
    const auto odd_below_8 = [&] {
      return builder_->op(Op::or_, {builder_->op(Op::and_, {any(values_.v), builder_->v32(6)}), builder_->v32(1)});
    };
    MemAttr mem;
    mem.bytes = static_cast<uint8_t>(chance(50) ? 4 : 1 + below(2));
    const bool stores = chance(80), same = chance(70);
    const bool holes = chance(15);  // between rows
    static constexpr uint64_t kSteps[] = {0, 4, 16};
    Inst* const step = builder_->v64(chance(70) ? mem.bytes : kSteps[below(std::size(kSteps))]);
    Inst* const size = builder_->v64(mem.bytes);
    Inst* const place = at(values_.v[kPlace]);
    static constexpr uint64_t kDistances[] = {0, 1, 4, 8, 12, 64, 1u << 30};
    Inst* const from = chance(70)
                           ? builder_->op(Op::sub, {place, builder_->v64(kDistances[below(std::size(kDistances))])})
                           : at(builder_->op(Op::and_, {any(values_.v), builder_->v32(0xfffc)}));
    Inst* const count = odd_below_8();
    const auto element = [&](Inst* lanes, std::vector<Inst*> v) {
      Inst* loaded = builder_->load(kV32, mem, {lanes, v[1]});
      if (stores) builder_->store(mem, {lanes, v[0], same ? loaded : v[2]});
      return std::vector<Inst*>{stores ? builder_->op(Op::add, {v[0], size}) : v[0],
                                builder_->op(Op::add, {v[1], step}), builder_->op(Op::xor_, {v[2], loaded})};
    };
    const auto row = [&](Inst* lanes, std::vector<Inst*> v) {
      if (holes) v[0] = builder_->op(Op::add, {v[0], size});
      return counted(lanes, count, std::move(v), element);
    };
    std::vector<Inst*> values{place, from, values_.v[0]};
    values = chance(50) ? row(exec(), std::move(values)) : counted(exec(), odd_below_8(), std::move(values), row);
    values_.v[0] = merged(values[2], values_.v[0]);
    Inst* offset = builder_->op(Op::lo32, {builder_->op(Op::sub, {values[0], wide_base})});
    values_.v[kPlace] = builder_->select(exec(), offset, values_.v[kPlace]);
  }
  // Somewhere before or behind what the lane writes.
  void load_near() {
    MemAttr mem;
    mem.form = AddressForm::base_offset;
    mem.count = static_cast<uint8_t>(1 + below(2));
    mem.bytes = static_cast<uint8_t>(mem.count > 1 || chance(60) ? 4 : 1 + below(2));
    static constexpr uint32_t kDistances[] = {0, 1, 4, 8, 12, 64, 1u << 30, 1u << 30};
    Inst* at = builder_->op(Op::sub, {values_.v[kPlace], builder_->v32(kDistances[below(std::size(kDistances))])});
    Inst* load = builder_->load(Type{TypeKind::v32, mem.count}, mem, {exec(), base_, at});
    Inst*& v = any_result();
    v = merged(mem.count == 1 ? load : builder_->extract(load, 1), v);
  }

  // What a register holds behind a write: mostly for active lanes alone.
  Inst* merged(Inst* value, Inst* old) {
    if (chance(odd_ ? 8 : 2)) return value;
    Inst* lanes = chance(odd_ ? 8 : 2) ? any(values_.m) : exec();
    return builder_->select(lanes, value, old);
  }

  Inst* comparison() {
    static constexpr ICmp kPredicates[] = {ICmp::eq, ICmp::ne, ICmp::ult, ICmp::uge, ICmp::slt, ICmp::sge};
    Inst* b = chance(50) ? any(values_.v) : builder_->op(Op::splat, {any(values_.s)});
    Inst* a = any(values_.v);
    if (chance(50)) {
      a = builder_->op(Op::and_, {a, builder_->v32(3)});
      b = builder_->v32(below(4));
    }
    return builder_->icmp(kPredicates[below(std::size(kPredicates))], a, b);
  }

  void load_for_all() {
    static constexpr uint64_t kPlaces[] = {0, 64, 128, uint64_t{1} << 30, uint64_t{1} << 30, uint64_t{1} << 31};
    Inst* loaded = builder_->op_typed(Op::load_scalar, kI32, {base_}, 0, kPlaces[below(std::size(kPlaces))]);
    Inst*& v = any_result();
    v = merged(builder_->op(Op::xor_, {v, builder_->op(Op::splat, {loaded})}), v);
  }

  void statement() {
    if (storing_ && chance(25)) return chance(60) ? store() : load_near();
    if (walking_ && chance(15)) return walk();
    if (storing_ && chance(3)) return load_for_all();
    switch (below(9)) {
      case 0:
        if (chance(60)) {
          Inst*& s = any(values_.s);
          s = builder_->op(Op::add, {s, builder_->i32(below(7))});
        }
        return;
      case 1: {
        Inst* mask = comparison();
        Inst*& m = values_.m[1 + below(kMasks - 1)];
        switch (below(5)) {
          case 0:
            m = builder_->op(Op::and_, {exec(), mask});
            return;
          case 1:
            m = builder_->op(Op::or_, {m, builder_->op(Op::and_, {exec(), mask})});
            return;
          case 2:
            m = builder_->op(Op::andn, {m, exec()});
            return;
          case 3:
            m = builder_->op(Op::xor_, {m, exec()});
            return;
          default:
            m = chance(odd_ ? 60 : 10) ? mask
                                       : builder_->op(Op::or_, {builder_->op(Op::and_, {exec(), mask}),
                                                                builder_->op(Op::andn, {m, exec()})});
            return;
        }
      }
      case 2: {
        MemAttr mem;
        mem.form = AddressForm::base_offset;
        mem.count = static_cast<uint8_t>(1 + below(2));
        Inst* load = builder_->load(Type{TypeKind::v32, mem.count}, mem, {exec(), base_, any(values_.v)});
        Inst*& v = any_result();
        v = merged(mem.count == 1 ? load : builder_->extract(load, 1), v);
        return;
      }
      case 3: {
        Inst* wide = builder_->op(Op::mul_wide_u, {any(values_.v), any(values_.v)});
        Inst*& v = any_result();
        v = merged(builder_->op(chance(50) ? Op::lo32 : Op::hi32, {wide}), v);
        return;
      }
      case 4: {
        Inst* sum = builder_->op(Op::fadd_f32, {any(values_.v), any(values_.v)}, 0x3c);
        Inst*& v = any_result();
        v = merged(sum, v);
        return;
      }
      case 5: {
        Inst* chosen = builder_->select(any(values_.m), any(values_.v), any(values_.v));
        Inst*& v = any_result();
        v = merged(chosen, v);
        return;
      }
      default: {
        static constexpr Op kOps[] = {Op::add, Op::sub, Op::xor_, Op::mul, Op::lshr};
        Inst* b = chance(25)   ? builder_->op(Op::splat, {any(values_.s)})
                  : chance(20) ? builder_->op_typed(Op::lane_id, kV32, {})
                  : chance(30) ? builder_->v32(below(9))
                               : any(values_.v);
        Inst* result = builder_->op(kOps[below(std::size(kOps))], {any(values_.v), b});
        Inst*& v = any_result();
        v = merged(result, v);
        return;
      }
    }
  }

  void statements(unsigned depth) {
    for (unsigned i = 0, count = 1 + below(switching_ && depth > 0 ? 2 : 6); i < count; ++i) {
      const unsigned kind = switching_ && depth > 0 ? 9 : depth < 3 ? below(10) : 9;
      if (kind == 0) {
        branch(depth);
      } else if (kind == 1 && depth < 2) {
        loop(depth + 1);
      } else if (kind == 2) {
        uniform_branch(depth);
      } else if (kind == 3 && depth < 2) {
        crossed_branches(depth);
      } else if (kind == 4) {
        kept_condition();
      } else {
        statement();
      }
    }
  }

  void add_phis(Block* join, const Values& one, const Values& other) {
    builder_->set_block(join);
    const auto merge = [&](std::vector<Inst*>& now, const std::vector<Inst*>& a, const std::vector<Inst*>& b) {
      for (size_t i = 0; i < now.size(); ++i)
        now[i] = a[i] == b[i] ? a[i] : builder_->op_typed(Op::phi, a[i]->type, {a[i], b[i]});
    };
    merge(values_.v, one.v, other.v);
    merge(values_.s, one.s, other.s);
    merge(values_.m, one.m, other.m);
  }

  // if (some lane is in the mask) for those lanes ...
  void branch(unsigned depth) {
    Inst* lanes = comparison();
    if (!chance(odd_ ? 10 : 2)) lanes = builder_->op(chance(80) ? Op::and_ : Op::andn, {exec(), lanes});
    Block* then = function_->add_block();
    Block* join = function_->add_block();
    Inst* some = builder_->op(Op::mask_any, {lanes});
    if (chance(30)) {
      builder_->cond_br(builder_->op(Op::not_, {some}), join, then);
    } else {
      builder_->cond_br(some, then, join);
    }
    const Values before = values_;
    builder_->set_block(then);
    values_.m[0] = chance(odd_ ? 10 : 2) ? any(values_.m) : lanes;
    const std::vector<Inst*> scalars = values_.s;
    statements(depth + 1);
    if (!chance(odd_ ? 20 : 4)) values_.s = scalars;
    values_.m[0] = chance(odd_ ? 5 : 1) ? exec() : before.m[0];
    const Values behind = values_;
    builder_->br(join);
    add_phis(join, before, behind);
    if (join->predecessors[0] == then) swap_ways(join);
  }
  // A condition that only some lanes compute. Others have what the mask held, and it is cut or filled up behind the branch.
  void kept_condition() {
    Inst* going = comparison();
    Inst* lanes = builder_->op(Op::and_, {exec(), going});
    Block* then = function_->add_block();
    Block* join = function_->add_block();
    builder_->cond_br(builder_->op(Op::mask_any, {lanes}), then, join);
    Inst* old = any(values_.m);
    builder_->set_block(then);
    Inst* own = comparison();
    if (chance(50)) own = builder_->op(Op::and_, {lanes, own});
    builder_->br(join);
    builder_->set_block(join);
    Inst* mask = builder_->op_typed(Op::phi, kMask, {old, own});
    if (join->predecessors[0] == then) swap_ways(join);
    Inst* const kept = mask;
    Inst* others = builder_->op(Op::andn, {exec(), going});
    for (unsigned i = 0, count = 1 + below(3); i < count; ++i) {
      Inst* with = chance(20) ? kept : chance(50) ? others : chance(50) ? lanes : chance(30) ? any(values_.m) : exec();
      const Op op = chance(50) ? Op::or_ : chance(70) ? Op::and_ : Op::andn;
      mask = chance(50) ? builder_->op(op, {mask, with}) : builder_->op(op, {with, mask});
    }
    if (!chance(odd_ ? 30 : 5)) mask = builder_->op(Op::and_, {chance(60) ? exec() : lanes, mask});
    Inst*& v = any(values_.v);
    v = builder_->select(mask, any(values_.v), v);
  }

  // Statements for some lanes, which mostly leave scalars as they were.
  void only_lanes(Inst* lanes, unsigned depth) {
    Inst* const all = exec();
    const std::vector<Inst*> scalars = values_.s;
    values_.m[0] = lanes;
    statements(depth + 1);
    if (!chance(odd_ ? 20 : 4)) values_.s = scalars;
    values_.m[0] = all;
  }

  // Two ifs for lanes of two kinds, with a block of its own for what comes from either way of the first one.
  void crossed_branches(unsigned depth) {
    Inst* kind = comparison();
    Inst* one = builder_->op(Op::and_, {exec(), kind});
    Inst* other =
        builder_->op(chance(80) ? Op::andn : Op::and_, {exec(), chance(odd_ ? 90 : 98) ? kind : comparison()});
    Block* first = function_->add_block();
    Block* skip = function_->add_block();
    Block* second = function_->add_block();
    Block* neither = function_->add_block();
    Block* join = function_->add_block();
    const Values before = values_;
    builder_->cond_br(builder_->op(Op::mask_any, {one}), first, skip);
    builder_->set_block(first);
    only_lanes(one, depth);
    const Values behind_first = values_;
    builder_->cond_br(builder_->op(Op::mask_any, {other}), second, neither);
    builder_->set_block(skip);
    values_ = before;
    builder_->cond_br(builder_->op(Op::mask_any, {other}), second, neither);
    // Both are entered from the end of the first block, and from `skip`.
    add_phis(second, behind_first, before);
    if (second->predecessors[0] == skip) swap_ways(second);
    only_lanes(other, depth);
    const Values behind_second = values_;
    builder_->br(join);
    values_ = before;
    add_phis(neither, behind_first, before);
    if (neither->predecessors[0] == skip) swap_ways(neither);
    values_.m[0] = before.m[0];
    const Values behind_neither = values_;
    builder_->br(join);
    values_ = before;
    add_phis(join, behind_second, behind_neither);
    if (join->predecessors[0] == neither) swap_ways(join);
    values_.m[0] = before.m[0];
  }

  // Phis list what comes from the branch first.
  static void swap_ways(Block* join) {
    for (Inst* phi : join->insts) {
      if (phi->op != Op::phi) break;
      std::swap(phi->operands[0], phi->operands[1]);
    }
  }

  // Lanes that do not go leave the loop, and some of those that do. Returns the mask of all that leave, and of others.
  Inst* breaking_branch(unsigned depth) {
    Inst* going = comparison();
    Inst* lanes = builder_->op(Op::and_, {exec(), going});
    Block* then = function_->add_block();
    Block* join = function_->add_block();
    builder_->cond_br(builder_->op(Op::mask_any, {lanes}), then, join);
    const Values before = values_;
    builder_->set_block(then);
    values_.m[0] = lanes;
    statements(depth + 1);
    Inst* others = builder_->op(Op::not_, {chance(odd_ ? 10 : 2) ? lanes : going});
    Inst* leaving = chance(60) ? builder_->op(Op::or_, {comparison(), others}) : others;
    values_.m[0] = before.m[0];
    const Values behind = values_;
    builder_->br(join);
    add_phis(join, before, behind);
    Inst* all = builder_->op_typed(Op::phi, kMask, {before.m[0], leaving});
    if (join->predecessors[0] == then) swap_ways(join);
    if (chance(50)) chance(30) ? uniform_branch(depth) : statements(depth + 1);
    return all;
  }

  // A case and its default, as later compilers make a switch that leaves the loop: each way notes which lanes go on, in bits of its own
  // of a mask that others keep or that the iteration before has left. Returns the lanes that leave.
  Inst* flagged_ways(unsigned depth, Inst* carried) {
    Inst* const own = exec();
    Inst* going = comparison();
    Inst* lanes = builder_->op(Op::and_, {own, going});
    Inst* others = builder_->op(Op::andn, {own, going});
    if (chance(30)) others = builder_->op(Op::and_, {others, comparison()});  // some go neither way
    Inst* flags = way_with_flags(depth, lanes, carried, [&](Inst* noted) {
      return chance(odd_ ? 40 : 5) ? noted : builder_->op(Op::and_, {going, noted});
    });
    values_.m[0] = own;
    const Inst* const before = flags;
    flags = way_with_flags(depth, others, flags, [&](Inst* noted) {
      if (chance(odd_ ? 40 : 5)) return noted;
      Inst* kept = builder_->op(Op::andn, {const_cast<Inst*>(before), others});
      return builder_->op(Op::or_, {kept, builder_->op(Op::and_, {noted, others})});
    });
    values_.m[0] = own;
    return chance(70) ? builder_->op(Op::not_, {flags}) : flags;
  }
  // The way of `lanes`, and the flags behind it: those before, or what `finish` makes of those that it notes.
  template <typename Finish>
  Inst* way_with_flags(unsigned depth, Inst* lanes, Inst* flags, const Finish& finish) {
    Block* then = function_->add_block();
    Block* join = function_->add_block();
    builder_->cond_br(builder_->op(Op::mask_any, {lanes}), then, join);
    const Values before = values_;
    builder_->set_block(then);
    values_.m[0] = lanes;
    if (chance(60)) statements(depth + 1);
    Inst* noted = chance(50) ? builder_->mask(0) : chance(50) ? builder_->mask(~uint64_t{0}) : flags;
    if (chance(60)) noted = inner_case(depth, lanes, noted);
    noted = finish(noted);
    const Values behind = values_;
    builder_->br(join);
    add_phis(join, before, behind);
    Inst* all = builder_->op_typed(Op::phi, kMask, {flags, noted});
    if (join->predecessors[0] == then) swap_ways(join);
    return all;
  }
  // Some of the lanes note that they go on, and others perhaps that they do not.
  Inst* inner_case(unsigned depth, Inst* lanes, Inst* noted) {
    Inst* some = comparison();
    Inst* here = builder_->op(Op::and_, {some, lanes});
    Inst* rest = builder_->op(Op::andn, {lanes, some});
    Block* then = function_->add_block();
    Block* join = function_->add_block();
    builder_->cond_br(builder_->op(Op::mask_any, {here}), then, join);
    const Values before = values_;
    builder_->set_block(then);
    values_.m[0] = here;
    statements(depth + 2);
    values_.m[0] = before.m[0];
    const Values behind = values_;
    Inst* all_lanes = builder_->mask(~uint64_t{0});
    builder_->br(join);
    add_phis(join, before, behind);
    Inst* all = builder_->op_typed(Op::phi, kMask, {noted, all_lanes});
    if (join->predecessors[0] == then) swap_ways(join);
    return chance(50) ? builder_->op(chance(50) ? Op::andn : Op::or_, {all, rest}) : all;
  }

  void uniform_branch(unsigned depth) {
    Block* then = function_->add_block();
    Block* join = function_->add_block();
    Inst* bit = builder_->op(Op::and_, {any(values_.s), builder_->i32(1)});
    builder_->cond_br(builder_->icmp(ICmp::ne, bit, builder_->i32(0)), then, join);
    const Values before = values_;
    builder_->set_block(then);
    statements(depth + 1);
    values_.m[0] = before.m[0];
    const Values behind = values_;
    builder_->br(join);
    add_phis(join, before, behind);
  }

  // do { ... } while (some lane stays); or as often as a scalar says.
  void loop(unsigned depth) {
    odd_ = chance(40);
    const bool uniform = !switching_ && depth > 0 && chance(25);
    Block* header = function_->add_block();
    Block* behind = function_->add_block();
    const Values outside = values_;
    Inst* zero = builder_->v32(0);
    Inst* none = builder_->i32(0);
    Inst* no_lane = builder_->mask(0);
    builder_->br(header);
    builder_->set_block(header);
    std::vector<Inst*> phis;
    const auto enter = [&](std::vector<Inst*>& list) {
      for (Inst*& value : list) phis.push_back(value = builder_->op_typed(Op::phi, value->type, {value}));
    };
    enter(values_.v);
    enter(values_.s);
    enter(values_.m);
    Inst* counter = builder_->op_typed(Op::phi, kV32, {zero});
    Inst* rounds = builder_->op_typed(Op::phi, kI32, {none});
    Inst* flags = builder_->op_typed(Op::phi, kMask, {no_lane});
    const Values begun = values_;
    const Inst* const own = exec();
    if (!switching_) statements(depth);
    Inst* leaving = !switching_ && !uniform && chance(35) ? breaking_branch(depth) : nullptr;
    if (switching_ || (!uniform && chance(35))) leaving = flagged_ways(depth, chance(60) ? flags : builder_->mask(0));
    if (!chance(odd_ ? 5 : 1)) values_.m[0] = const_cast<Inst*>(own);
    Inst* next_round = builder_->op(Op::add, {rounds, builder_->i32(1)});
    // Lanes stay a few iterations.
    Inst* bound = builder_->op(Op::and_, {outside.v[0], builder_->v32(3)});
    Inst* counted = builder_->op(Op::add, {counter, builder_->v32(1)});
    Inst* next = chance(70) ? builder_->select(exec(), counted, counter) : counted;
    Inst* staying = builder_->icmp(ICmp::ult, counter, bound);
    Inst* left = builder_->icmp(ICmp::uge, counter, bound);
    Inst* lanes = uniform      ? exec()
                  : chance(50) ? builder_->op(Op::and_, {exec(), staying})
                               : builder_->op(Op::andn, {exec(), left});
    if (leaving != nullptr) lanes = builder_->op(Op::andn, {lanes, leaving});
    Inst* again = uniform ? builder_->icmp(ICmp::ult, rounds, builder_->i32(2)) : builder_->op(Op::mask_any, {lanes});
    Block* latch = builder_->block();
    if (!uniform) values_.m[0] = lanes;
    builder_->cond_br(again, header, behind);
    size_t i = 0;
    const auto close = [&](Inst* phi, Inst* value) {
      phi->operands.push_back(value);
      value->users.push_back(phi);
    };
    for (auto* list : {&values_.v, &values_.s, &values_.m})
      for (Inst* value : *list) close(phis[i++], value);
    close(counter, next);
    close(rounds, next_round);
    close(flags, leaving != nullptr && chance(80) ? leaving : flags);
    EXPECT_EQ(header->predecessors[1], latch);
    builder_->set_block(behind);
    values_.m[0] = outside.m[0];
    if (chance(odd_ ? 20 : 5)) any(values_.v) = any(const_cast<std::vector<Inst*>&>(begun.v));
    if (depth > 0 && !chance(odd_ ? 10 : 2)) values_.s = outside.s;
  }

  std::mt19937_64 random_;
  const bool storing_, walking_, switching_;
  bool odd_ = false;
  std::unique_ptr<Function> function_;
  std::unique_ptr<Builder> builder_;
  Values values_;
  Inst* base_ = nullptr;
};

uint64_t seeds(uint64_t usual) {
  const char* text = std::getenv("WAVEJIT_LANE_LOOP_SEEDS");
  return text != nullptr ? std::strtoull(text, nullptr, 0) : usual;
}

void compare_registers(uint64_t count, bool switching) {
  size_t copied = 0, refused = 0, threaded = 0;
  for (uint64_t seed = 1; seed <= count; ++seed) {
    const auto function = LoopMaker(seed, false, false, switching).make();
    ASSERT_EQ(verify(*function), "") << "seed " << seed;
    constexpr uint64_t kRuns = 4;
    std::vector<std::vector<std::string>> expected;
    for (uint64_t run = 0; run < kRuns; ++run) expected.push_back(test::registers(*function, seed + run));
    ASSERT_FALSE(expected[0][0].starts_with("error")) << "seed " << seed << ": " << expected[0][0];
    const std::string before = print(*function);
    if (!test::copies_lane_loops(*function)) {
      ++refused;
      continue;
    }
    ++copied;
    threaded += function->rule_counts[static_cast<size_t>(Rule::branch_threaded)] != 0;
    ASSERT_EQ(verify(*function), "") << "seed " << seed << "\n" << before;
    for (uint64_t run = 0; run < kRuns; ++run)
      ASSERT_EQ(test::registers(*function, seed + run), expected[run]) << "seed " << seed << "\n"
                                                                       << before << print(*function);
  }
  EXPECT_GT(copied, count / 5);
  EXPECT_GT(threaded, switching ? 0 : count / 50);
  EXPECT_GT(refused, count / 20);
}

TEST(LaneLoops, LeaveTheRegistersOfTheLoop) {
  compare_registers(seeds(1200), false);
}

// Lanes that leave are noted in masks of which each way keeps the others' bits.
TEST(LaneLoops, LeaveTheRegistersWhereWaysNoteWhoGoesOn) {
  compare_registers(seeds(1200), true);
}

// How often a rule has changed the functions.
using RuleCounts = std::unordered_map<Rule, size_t>;

// Memory holds the same in the end, too, whatever lanes read and write of each other's arrays. Returns how many copies keep stores
// back.
size_t compare_memory(uint64_t count, bool walking, RuleCounts& counts) {
  size_t copied = 0;
  for (uint64_t seed = 1; seed <= count; ++seed) {
    const auto function = LoopMaker(seed, true, walking).make();
    EXPECT_EQ(verify(*function), "") << "seed " << seed;
    constexpr uint64_t kRuns = 4;
    std::vector<std::vector<std::string>> expected;
    for (uint64_t run = 0; run < kRuns; ++run)
      expected.push_back(test::registers(*function, seed + run, MemoryModel::bytes));
    const std::string before = print(*function);
    if (!test::copies_lane_loops(*function)) continue;
    copied += print(*function).find("begin_streams") != std::string::npos;
    for (auto& [rule, times] : counts) times += function->rule_counts[static_cast<size_t>(rule)];
    EXPECT_EQ(verify(*function), "") << "seed " << seed << "\n" << before;
    for (uint64_t run = 0; run < kRuns; ++run)
      EXPECT_EQ(test::registers(*function, seed + run, MemoryModel::bytes), expected[run])
          << "seed " << seed << "\n"
          << before << print(*function);
    if (testing::Test::HasFailure()) break;
  }
  return copied;
}

TEST(LaneLoops, LeaveTheMemoryOfTheLoop) {
  RuleCounts none;
  const uint64_t count = seeds(600);
  EXPECT_GT(compare_memory(count, false, none), count / 10);
}

// Loops inside in which lanes walk through memory, so that checks go in front of them. They are executed for long.
TEST(StreamChecks, LeaveTheMemoryOfTheLoop) {
  RuleCounts counts{{Rule::check_in_front, 0}, {Rule::load_decided, 0}, {Rule::counter_dropped, 0}};
  const uint64_t count = seeds(600) / 2;
  EXPECT_GT(compare_memory(count, true, counts), count / 10);
  for (const auto& [rule, times] : counts)
    EXPECT_GT(times, count / 150) << rules()[static_cast<size_t>(rule)].name << " in " << count << " functions";
}

// The same functions: what nobody looks at may change, registers must not.
TEST(DemandedLanes, LeaveTheRegistersOfTheLoop) {
  const uint64_t count = seeds(1200);
  const auto passes = pipeline();
  const auto pass = std::ranges::find(passes, "demanded-lanes", &Pass::name);
  ASSERT_NE(pass, passes.end());
  size_t stale = 0;
  for (uint64_t seed = 1; seed <= count; ++seed) {
    const auto function = LoopMaker(seed).make();
    constexpr uint64_t kRuns = 3;
    std::vector<std::vector<std::string>> expected;
    for (uint64_t run = 0; run < kRuns; ++run) expected.push_back(test::registers(*function, seed + run));
    const std::string before = print(*function);
    for (unsigned i = 0; i < 3 && pass->run(*function, {}).changed; ++i) {
    }
    ASSERT_EQ(verify(*function), "") << "seed " << seed << "\n" << before;
    stale += function->rule_counts[static_cast<size_t>(Rule::stale_mask)];
    for (uint64_t run = 0; run < kRuns; ++run)
      ASSERT_EQ(test::registers(*function, seed + run), expected[run]) << "seed " << seed << "\n"
                                                                       << before << print(*function);
  }
  EXPECT_GT(stale, count / 20);
}

}  // namespace
}  // namespace wavejit::ir
