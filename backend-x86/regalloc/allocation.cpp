#include "backend-x86/regalloc/allocation.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <optional>
#include <utility>

#include "backend-x86/regalloc/error.h"
#include "backend-x86/regalloc/frame.h"
#include "backend-x86/regalloc/homes.h"
#include "backend-x86/regalloc/lives.h"
#include "internal/stop_scope.h"

namespace wavejit::backend {
namespace {

using asmjit::BaseReg;
using asmjit::Error;
using asmjit::Label;
using asmjit::Operand;
using lir::Convention;
using lir::Node;
namespace I = x86::Inst;

constexpr Error kFine = asmjit::kErrorOk;
constexpr std::array<uint32_t, kGroups> kFirstHost{0, 16, 48};
constexpr uint32_t kHosts = 56;

// What is in the host's registers.
struct Assignment {
  std::array<uint32_t, kGroups> assigned{}, dirty{};  // dirty: the stack slot does not hold the same
  std::array<uint32_t, kHosts> regs;                  // valid where assigned

  [[nodiscard]] uint32_t reg(uint32_t group, uint32_t host) const { return regs[kFirstHost[group] + host]; }
  [[nodiscard]] bool is_dirty(uint32_t group, uint32_t host) const { return (dirty[group] >> host & 1) != 0; }
  void remove(uint32_t group, uint32_t host) {
    assigned[group] &= ~(1u << host);
    dirty[group] &= ~(1u << host);
  }
};

// The same for the beginning of a block, with room for what is assigned only.
struct StoredAssignment {
  uint32_t first = kNoIndex;  // of the registers, by group and host; none: control has not come there yet
  std::array<uint32_t, kGroups> assigned{}, dirty{};
};

class Allocator {
 public:
  explicit Allocator(lir::Function& function)
      : builder_(function), function_(function), available_(host_registers(function)), lives_(function, available_) {}

  Error run() {
    WAVEJIT_TRY(lives_.run());
    hint_arguments();
    CopyClasses classes(lives_);
    scarce_ = assign_homes(lives_, classes, available_);
    host_of_.assign(lives_.lives.size(), kNoRegister);
    target_host_of_.assign(lives_.lives.size(), kNoRegister);
    frame_.emplace(builder_, lives_);
    next_uses_.assign(lives_.lives.size(), {});
    entries_.resize(lives_.blocks.size());
    allocated_.assign(lives_.blocks.size(), false);
    WAVEJIT_TRY(allocate_blocks());
    for (auto& [block, node] : results_) node = rewrite_result(builder_, *node);
    function_.jumps = jumps();
    return frame_->finish(clobbered_[kGpGroup], std::move(arguments_));
  }

  // Those of the function and those that the allocator has made, in the order of the code.
  [[nodiscard]] std::vector<Node*> jumps() const {
    std::vector<std::pair<uint32_t, Node*>> of_blocks = lives_.jumps;
    std::ranges::copy_if(results_, std::back_inserter(of_blocks), [](const auto& result) { return result.second; });
    std::ranges::stable_sort(of_blocks, {}, &std::pair<uint32_t, Node*>::first);
    std::vector<Node*> jumps;
    jumps.reserve(of_blocks.size() + ways_.size());
    for (const auto& [block, node] : of_blocks)
      if (lives_.blocks[block].reachable) jumps.push_back(node);
    jumps.insert(jumps.end(), ways_.begin(), ways_.end());
    return jumps;
  }

 private:
  // The stack pointer and k0, which stands for no mask, are not among them.
  static std::array<uint32_t, kGroups> host_registers(const lir::Function& function) {
    return {0xffff & ~(1u << x86::Gp::kIdSp), function.avx512 ? ~0u : 0xffffu, 0xfeu};
  }

  [[nodiscard]] Lifetime& life(uint32_t reg) { return lives_.lives[reg]; }

  // --- arguments ---

  template <typename Visit>
  void for_each_argument(Visit&& visit) {
    for (uint32_t i = 0; i < function_.arguments.size(); ++i) {
      const uint32_t reg = lives_.find_life(function_.arguments[i].id());
      if (reg != kNoIndex && lives_.live_in(0, reg)) visit(i, reg);
    }
  }

  void hint_arguments() {
    for_each_argument([&](uint32_t i, uint32_t reg) { life(reg).hint = Convention::kArguments[i]; });
  }

  Error enter_function() {
    Error error = kFine;
    const auto take = [&](uint32_t i, uint32_t reg, uint32_t host) {
      assign(reg, host, true);
      arguments_.push_back({.from = Convention::kArguments[i], .to = host, .reg = reg});
    };
    for_each_argument([&](uint32_t i, uint32_t reg) {
      const Lifetime& l = life(reg);
      if (l.home != kNoRegister && !(now_.assigned[l.group] >> l.home & 1)) take(i, reg, l.home);
    });
    for_each_argument([&](uint32_t i, uint32_t reg) {
      if (host_of_[reg] != kNoRegister) return;
      const uint32_t group = life(reg).group;
      const uint32_t free = available_[group] & ~now_.assigned[group];
      if (free == 0) {
        error = kBroken;
      } else {
        take(i, reg, static_cast<uint32_t>(std::countr_zero(free)));
      }
    });
    return error;
  }

  // --- what is where ---

  void assign(uint32_t reg, uint32_t host, bool dirty) {
    const uint32_t group = life(reg).group;
    host_of_[reg] = static_cast<uint8_t>(host);
    now_.regs[kFirstHost[group] + host] = reg;
    now_.assigned[group] |= 1u << host;
    clobbered_[group] |= 1u << host;
    if (dirty) now_.dirty[group] |= 1u << host;
  }
  void drop(uint32_t reg, uint32_t host) {
    host_of_[reg] = kNoRegister;
    now_.remove(life(reg).group, host);
  }
  void make_dirty(uint32_t group, uint32_t host) { now_.dirty[group] |= 1u << host; }

  void replace(const Assignment& with) {
    const auto each = [&](const Assignment& a, auto&& visit) {
      for (uint32_t group = 0; group < kGroups; ++group)
        for_each_bit(a.assigned[group], [&](uint32_t host) { visit(a.reg(group, host), host); });
    };
    each(now_, [&](uint32_t reg, uint32_t) { host_of_[reg] = kNoRegister; });
    now_ = with;
    each(now_, [&](uint32_t reg, uint32_t host) { host_of_[reg] = static_cast<uint8_t>(host); });
  }

  // --- code ---

  static uint32_t move_instruction(asmjit::TypeId type, bool avx512) {
    using asmjit::TypeId;
    namespace TypeUtils = asmjit::TypeUtils;
    switch (type) {
      case TypeId::kInt32:
      case TypeId::kUInt32:
      case TypeId::kInt64:
      case TypeId::kUInt64:
        return I::kIdMov;
      case TypeId::kMask8:
        return I::kIdKmovb;
      case TypeId::kMask16:
        return I::kIdKmovw;
      case TypeId::kMask32:
        return I::kIdKmovd;
      case TypeId::kMask64:
        return I::kIdKmovq;
      default:
        break;
    }
    if (!TypeUtils::isVec128(type) && !TypeUtils::isVec256(type) && !TypeUtils::isVec512(type)) return 0;
    switch (TypeUtils::scalarOf(type)) {
      case TypeId::kFloat32:
        return I::kIdVmovaps;
      case TypeId::kFloat64:
        return I::kIdVmovapd;
      default:
        return avx512 ? I::kIdVmovdqa32 : I::kIdVmovdqa;
    }
  }
  Error copy(uint32_t reg, const Operand& to, const Operand& from) {
    const uint32_t id = move_instruction(life(reg).virt->type, function_.avx512);
    if (id == 0) return kBroken;
    place_cursor();
    builder_.emit(id, to, from);
    return kFine;
  }
  // Code of the current instruction goes in front of it. The node is not looked at until there is some.
  void place_cursor() {
    if (in_front_of_ != nullptr) builder_.set_cursor(in_front_of_->prev);
  }
  [[nodiscard]] BaseReg host(uint32_t reg, uint32_t id) { return BaseReg(life(reg).virt->signature, id); }

  Error load(uint32_t reg, uint32_t to) {
    assign(reg, to, false);
    WAVEJIT_TRY(copy(reg, host(reg, to), frame_->slot(reg, life(reg).virt->signature.size())));
    frame_->note(builder_.cursor());
    return kFine;
  }
  Error save(uint32_t reg, uint32_t from) {
    now_.dirty[life(reg).group] &= ~(1u << from);
    WAVEJIT_TRY(copy(reg, frame_->slot(reg, life(reg).virt->signature.size()), host(reg, from)));
    frame_->note(builder_.cursor());
    return kFine;
  }
  Error spill(uint32_t reg, uint32_t from) {
    if (now_.is_dirty(life(reg).group, from)) WAVEJIT_TRY(save(reg, from));
    drop(reg, from);
    return kFine;
  }
  Error move(uint32_t reg, uint32_t to, uint32_t from) {
    const bool dirty = now_.is_dirty(life(reg).group, from);
    drop(reg, from);
    assign(reg, to, dirty);
    return copy(reg, host(reg, to), host(reg, from));
  }
  Error exchange(uint32_t a, uint32_t a_host, uint32_t b, uint32_t b_host) {
    const bool a_dirty = now_.is_dirty(kGpGroup, a_host), b_dirty = now_.is_dirty(kGpGroup, b_host);
    drop(a, a_host);
    drop(b, b_host);
    assign(a, b_host, a_dirty);
    assign(b, a_host, b_dirty);
    const bool wide = std::max(life(a).virt->bytes, life(b).virt->bytes) > 4;
    place_cursor();
    return wide ? builder_.xchg(x86::gpq(a_host), x86::gpq(b_host)) : builder_.xchg(x86::gpd(a_host), x86::gpd(b_host));
  }

  // --- decisions ---

  [[nodiscard]] uint32_t choose(uint32_t reg, uint32_t allowed) {
    const Lifetime& l = life(reg);
    if (l.home != kNoRegister && (allowed >> l.home & 1) != 0) return l.home;
    if ((allowed & l.entered) != 0) allowed &= l.entered;
    return static_cast<uint32_t>(std::countr_zero(allowed));
  }

  // The host register whose contents are wanted last, of those that need no store for twice the time.
  [[nodiscard]] uint32_t choose_victim(uint32_t group, uint32_t candidates) {
    uint32_t best = kNoIndex;
    float best_gain = 0;
    for_each_bit(candidates, [&](uint32_t host) {
      const uint32_t reg = now_.reg(group, host);
      const NextUse& next = next_uses_[reg];
      const uint32_t until = next.block == block_ && next.instruction != kNoIndex ? next.instruction : behind_;
      auto gain = static_cast<float>(until - instruction_);
      if (until == behind_) gain += 1 / (life(reg).frequency + 0.01F);
      if (now_.is_dirty(group, host)) gain /= 2;
      if (best == kNoIndex || gain > best_gain) {
        best = host;
        best_gain = gain;
      }
    });
    return best;
  }

  // Where a value without a register goes.
  [[nodiscard]] uint32_t choose_for_use(uint32_t reg, uint32_t allowed, uint32_t live) {
    const Lifetime& l = life(reg);
    if (l.home != kNoRegister && (allowed >> l.home & 1) != 0) return l.home;
    if ((allowed & ~live) != 0) return choose(reg, allowed & ~live);
    return choose_victim(l.group, allowed);
  }

  // --- instructions ---

  Error allocate(Instruction& inst) {
    StopScope::check();
    in_front_of_ = inst.node;
    RegisterUse* uses = lives_.uses.data() + inst.first_use;
    for (uint32_t group = 0; group < kGroups; uses += inst.count[group], ++group) {
      const std::span<RegisterUse> of_group(uses, inst.count[group]);
      const bool special = inst.special != kNoIndex;
      if (of_group.empty() && !special) continue;
      const uint32_t used = special ? lives_.fixed[inst.special].used[group] : 0;
      const uint32_t clobbered = special ? lives_.fixed[inst.special].clobbered[group] : 0;
      WAVEJIT_TRY(allocate(inst, group, of_group, used, clobbered));
    }
    in_front_of_ = nullptr;
    return kFine;
  }

  void use_done(RegisterUse& use, uint32_t group, uint32_t host) {
    use.flags |= RegisterUse::done;
    if (use.has(RegisterUse::write)) make_dirty(group, host);
  }

  // A register that is not in a host register may be replaced by its stack slot, once per instruction.
  bool use_memory(Instruction& inst, RegisterUse& use) {
    if (!use.has(RegisterUse::use_memory) || !std::has_single_bit(use.use_places)) return false;
    if (use.memory_size > life(use.reg).virt->bytes) return false;
    const auto place = static_cast<uint32_t>(std::countr_zero(use.use_places));
    inst.node->operands[place / 2] = frame_->slot(use.reg, use.memory_size);
    frame_->note(inst.node);
    use.use_places = 0;
    return true;
  }

  Error allocate(Instruction& inst, uint32_t group, std::span<RegisterUse> uses, uint32_t will_use, uint32_t will_out) {
    // What is where it can be stays; what is not makes room.
    uint32_t will_free = 0;
    bool pending = false, outs = false, duplicates = false;
    for (RegisterUse& use : uses) {
      outs |= use.has(RegisterUse::out | RegisterUse::kill);
      duplicates |= use.has(RegisterUse::duplicate);
      if (!use.has(RegisterUse::use)) {
        use.flags |= RegisterUse::done;
        continue;
      }
      const uint8_t in = host_of_[use.reg];
      if (use.use_id != kNoRegister) {
        if (in == use.use_id) {
          use_done(use, group, in);
          will_use |= 1u << in;
        } else {
          will_free |= 1u << use.use_id & now_.assigned[group];
          pending = true;
        }
      } else if (in != kNoRegister && (use.use_mask & ~will_use) >> in & 1) {
        use.use_id = in;
        use_done(use, group, in);
        will_use |= 1u << in;
      } else {
        if (in != kNoRegister) will_free |= 1u << in;
        pending = true;
      }
    }
    if (pending) WAVEJIT_TRY(decide_uses(inst, group, uses, will_use, will_free));
    const uint32_t used_or_clobbered = will_use | will_out;
    if (will_free != 0) WAVEJIT_TRY(free_hosts(group, will_free, will_use, will_out));
    if (pending) WAVEJIT_TRY(fetch_uses(group, uses));

    if (outs) {
      for (const RegisterUse& use : uses) {
        if (!use.has(RegisterUse::out | RegisterUse::kill)) continue;
        if (const uint8_t in = host_of_[use.reg]; in != kNoRegister) {
          drop(use.reg, in);
          will_out &= ~(1u << in);
        }
      }
    }
    if (will_out != 0) {
      Error error = kFine;
      for_each_bit(will_out & now_.assigned[group], [&](uint32_t host) {
        if (!error) error = spill(now_.reg(group, host), host);
      });
      WAVEJIT_TRY(error);
    }
    if (duplicates) WAVEJIT_TRY(copy_arguments(uses));
    uint32_t out_hosts = 0;
    if (outs) WAVEJIT_TRY(assign_outs(group, uses, out_hosts));
    clobbered_[group] |= used_or_clobbered | out_hosts;
    return kFine;
  }

  Error decide_uses(Instruction& inst, uint32_t group, std::span<RegisterUse> uses, uint32_t& will_use,
                    uint32_t& will_free) {
    uint32_t live = now_.assigned[group] & ~will_free;
    for (RegisterUse& use : uses) {
      if (use.has(RegisterUse::done)) continue;
      const uint8_t in = host_of_[use.reg];
      if (!memory_used_ && in == kNoRegister && use_memory(inst, use)) {
        use.flags |= RegisterUse::done;
        memory_used_ = true;
        continue;
      }
      if (use.use_id != kNoRegister) continue;
      const uint32_t allowed = use.use_mask & ~(will_free | will_use);
      if (allowed == 0) return kBroken;
      const uint32_t to = choose_for_use(use.reg, allowed, live);
      const uint32_t bit = 1u << to;
      will_use |= bit;
      will_free |= bit & live;
      use.use_id = static_cast<uint8_t>(to);
      if (in != kNoRegister) {
        will_free |= 1u << in;
        live &= ~(1u << in);
      }
      if ((live & bit) == 0) {
        WAVEJIT_TRY(in != kNoRegister ? move(use.reg, to, in) : load(use.reg, to));
        use_done(use, group, to);
      }
      live |= bit;
    }
    return kFine;
  }

  // Moves home what is in the way if it can be there, spills it otherwise.
  Error free_hosts(uint32_t group, uint32_t will_free, uint32_t will_use, uint32_t will_out) {
    uint32_t allowed = available_[group] & ~(now_.assigned[group] | will_free | will_use | will_out);
    Error error = kFine;
    for_each_bit(will_free, [&](uint32_t host) {
      if (error || !(now_.assigned[group] >> host & 1)) return;
      const uint32_t reg = now_.reg(group, host);
      const uint8_t home = life(reg).home;
      if (home != kNoRegister && (allowed >> home & 1) != 0) {
        error = move(reg, home, host);
        allowed &= ~(1u << home);
      } else {
        error = spill(reg, host);
      }
    });
    return error;
  }

  Error fetch_uses(uint32_t group, std::span<RegisterUse> uses) {
    bool force = false;
    for (;;) {
      bool pending = false, progress = false;
      for (RegisterUse& use : uses) {
        if (use.has(RegisterUse::done)) continue;
        pending = true;
        const uint8_t in = host_of_[use.reg];
        const uint32_t to = use.use_id;
        if (now_.assigned[group] >> to & 1) {
          const uint32_t other = now_.reg(group, to);
          if (group == kGpGroup && in != kNoRegister) {
            WAVEJIT_TRY(exchange(use.reg, in, other, to));
            use_done(use, group, to);
            progress = true;
            for (RegisterUse& second : uses)
              if (second.reg == other && second.use_id == in && !second.has(RegisterUse::done))
                use_done(second, group, in);
            continue;
          }
          if (!force) continue;
          WAVEJIT_TRY(spill(other, to));
        }
        WAVEJIT_TRY(in != kNoRegister ? move(use.reg, to, in) : load(use.reg, to));
        use_done(use, group, to);
        progress = true;
      }
      if (!pending) return kFine;
      if (force && !progress) return kBroken;
      force = !progress;
    }
  }

  Error copy_arguments(std::span<const RegisterUse> uses) {
    Error error = kFine;
    for (const RegisterUse& use : uses) {
      if (!use.has(RegisterUse::duplicate)) continue;
      for_each_bit(use.use_mask, [&](uint32_t to) {
        if (!error && to != use.use_id) error = copy(use.reg, host(use.reg, to), host(use.reg, use.use_id));
      });
    }
    return error;
  }

  Error assign_outs(uint32_t group, std::span<RegisterUse> uses, uint32_t& out_hosts) {
    uint32_t live = now_.assigned[group];
    for (RegisterUse& use : uses) {
      if (!use.has(RegisterUse::out)) continue;
      if (const uint8_t in = host_of_[use.reg]; in != kNoRegister) drop(use.reg, in);
      uint32_t to = use.out_id;
      if (to == kNoRegister) {
        const uint32_t allowed = use.out_mask & ~out_hosts;
        if (allowed == 0) return kBroken;
        if ((allowed & ~live) != 0) {
          to = choose(use.reg, allowed & ~live);
        } else {
          to = choose_victim(group, allowed & live);
          WAVEJIT_TRY(spill(now_.reg(group, to), to));
        }
      }
      if (!use.has(RegisterUse::kill)) assign(use.reg, to, true);
      use.out_id = static_cast<uint8_t>(to);
      out_hosts |= 1u << to;
      live &= ~(1u << to);
    }
    return kFine;
  }

  // A register without a home that is not used any more in this block waits on the stack, so that later blocks do not save it.
  Error spill_behind(const Instruction& inst, uint32_t reg) {
    const uint8_t in = host_of_[reg];
    if (in == kNoRegister || life(reg).home != kNoRegister) return kFine;
    builder_.set_cursor(inst.node);
    return spill(reg, in);
  }

  // --- blocks ---

  // Code that makes the assignment what the block expects.
  Error switch_to(uint32_t block) {
    StoredAssignment& stored = entries_[block];
    Assignment want = restored(stored);
    for (uint32_t group = 0; group < kGroups; ++group)
      for_each_bit(want.assigned[group],
                   [&](uint32_t host) { target_host_of_[want.reg(group, host)] = static_cast<uint8_t>(host); });
    Error error = kFine;
    for (uint32_t group = 0; group < kGroups && !error; ++group) error = switch_to(block, want, group);
    for (uint32_t group = 0; group < kGroups; ++group)
      for_each_bit(want.assigned[group], [&](uint32_t host) { target_host_of_[want.reg(group, host)] = kNoRegister; });
    stored.dirty = want.dirty;
    return error;
  }

  Error switch_to(uint32_t block, Assignment& want, uint32_t group) {
    Error error = kFine;
    for_each_bit(now_.assigned[group], [&](uint32_t host) {
      if (error) return;
      const uint32_t reg = now_.reg(group, host);
      if (!lives_.live_in(block, reg)) {
        drop(reg, host);
      } else if (target_host_of_[reg] == kNoRegister) {
        error = spill(reg, host);
      }
    });
    WAVEJIT_TRY(error);
    uint32_t affected = want.assigned[group], to_load = 0;
    for (int round = 0; affected != 0; ++round) {
      if (round == 2) return kBroken;
      for (uint32_t rest = affected; rest != 0; rest &= rest - 1) {
        const auto host = static_cast<uint32_t>(std::countr_zero(rest));
        const uint32_t bit = 1u << host;
        const uint32_t reg = want.reg(group, host);
        bool occupied = (now_.assigned[group] & bit) != 0;
        if (occupied && now_.reg(group, host) != reg) {
          if (round <= 0) continue;  // what is there may leave by itself
          const uint32_t other = now_.reg(group, host);
          const uint8_t in = host_of_[reg];
          if (in == kNoRegister) continue;
          round = -1;
          if (group == kGpGroup) {
            WAVEJIT_TRY(exchange(other, host, reg, in));
          } else {
            WAVEJIT_TRY(clear(want, group, host));
            occupied = false;
          }
        }
        if (!occupied) {
          const uint8_t in = host_of_[reg];
          if (in == kNoRegister) {
            if (lives_.live_in(block, reg)) to_load |= bit;
            affected &= ~bit;
            continue;
          }
          WAVEJIT_TRY(move(reg, host, in));
        }
        if (want.is_dirty(group, host) != now_.is_dirty(group, host)) {
          if (want.is_dirty(group, host)) {
            make_dirty(group, host);
          } else if (allocated_[block]) {
            WAVEJIT_TRY(save(reg, host));
          } else {
            want.dirty[group] |= bit;
          }
        }
        round = -1;
        affected &= ~bit;
      }
    }
    for_each_bit(to_load, [&](uint32_t host) {
      if (error) return;
      error = load(want.reg(group, host), host);
      if (want.is_dirty(group, host)) make_dirty(group, host);
    });
    return error;
  }

  // Makes room in a host register whose contents are wanted elsewhere.
  Error clear(const Assignment& want, uint32_t group, uint32_t host) {
    const uint32_t reg = now_.reg(group, host);
    if (!now_.is_dirty(group, host)) return drop(reg, host), kFine;
    uint32_t allowed = available_[group] & ~now_.assigned[group];
    if ((allowed & ~want.assigned[group]) != 0) allowed &= ~want.assigned[group];
    if (allowed == 0) return spill(reg, host);
    return move(reg, static_cast<uint32_t>(std::countr_zero(allowed)), host);
  }

  // The block begins with what is where now.
  void enter(uint32_t block) {
    StoredAssignment& entry = entries_[block];
    entry = {.first = static_cast<uint32_t>(stored_.size()), .dirty = now_.dirty};
    for (uint32_t group = 0; group < kGroups; ++group) {
      for_each_bit(now_.assigned[group], [&](uint32_t host) {
        const uint32_t reg = now_.reg(group, host);
        if (block != 0 && !lives_.live_in(block, reg)) {
          entry.dirty[group] &= ~(1u << host);
          return;
        }
        entry.assigned[group] |= 1u << host;
        stored_.push_back(reg);
        if (scarce_[group]) life(reg).entered |= 1u << host;
      });
    }
  }
  [[nodiscard]] bool is_entered(uint32_t block) const { return entries_[block].first != kNoIndex; }
  [[nodiscard]] Assignment restored(const StoredAssignment& from) const {
    Assignment to;
    to.assigned = from.assigned;
    to.dirty = from.dirty;
    uint32_t next = from.first;
    for (uint32_t group = 0; group < kGroups; ++group)
      for_each_bit(to.assigned[group], [&](uint32_t host) { to.regs[kFirstHost[group] + host] = stored_[next++]; });
    return to;
  }

  Error allocate_branch(Instruction& inst, uint32_t target) {
    WAVEJIT_TRY(allocate(inst));
    if (!is_entered(target)) return enter(target), kFine;
    // Code for the way to the target goes behind the function, if there is any.
    Node* const behind = function_.last();
    Node* const cursor = builder_.set_cursor(behind);
    const Assignment before = now_;
    WAVEJIT_TRY(switch_to(target));
    if (builder_.cursor() != behind) {
      Operand& to = inst.node->target();
      const Label label = to.as<Label>();
      const Label way = builder_.new_label();
      to = way;
      inst.node->options &= ~asmjit::InstOptions::kShortForm;
      builder_.jmp(label);
      ways_.push_back(builder_.cursor());
      builder_.set_cursor(behind);
      builder_.bind(way);
    }
    builder_.set_cursor(cursor);
    replace(before);
    return kFine;
  }

  void find_next_uses(const FlowBlock& block) {
    for (uint32_t i = block.begin; i < block.end; ++i) {
      const Instruction& inst = lives_.instructions[i];
      for (uint32_t u = inst.first_use; u < inst.first_use + inst.uses(); ++u) {
        NextUse& next = next_uses_[lives_.uses[u].reg];
        if (next.block != block_) next = {.block = block_, .instruction = i};
      }
    }
  }

  // Nodes are not in the caches any more when their turn comes to be rewritten.
  static constexpr uint32_t kFetchedAhead = 12;
  void fetch_node(uint32_t instruction) const {
    if (instruction >= lives_.instructions.size()) return;
    const Node* const node = lives_.instructions[instruction].node;
    __builtin_prefetch(node, 1);
    __builtin_prefetch(&node->operands, 1);
  }

  Error allocate_block(uint32_t index) {
    const FlowBlock block = lives_.blocks[index];
    allocated_[index] = true;
    block_ = index;
    behind_ = block.end;
    const bool scarce = scarce_[0] || scarce_[1] || scarce_[2];
    if (scarce) find_next_uses(block);
    Node* const behind = block.last->next;
    for (uint32_t i = block.begin; i < block.end; ++i) {
      Instruction& inst = lives_.instructions[i];
      fetch_node(i + kFetchedAhead);
      memory_used_ = false;
      instruction_ = i;
      if (block.ends_with_branch && i + 1 == block.end) {
        WAVEJIT_TRY(allocate_branch(inst, block.target));
        WAVEJIT_TRY(rewrite(function_, lives_, inst));
        continue;
      }
      WAVEJIT_TRY(allocate(inst));
      if (scarce) {
        // Between a push and its call, the stack pointer is lower than spill slots assume.
        const bool may_spill = !inst.node->is_call() && inst.node->id != I::kIdPush;
        for (uint32_t u = inst.first_use; u < inst.first_use + inst.uses(); ++u) {
          const RegisterUse& use = lives_.uses[u];
          next_uses_[use.reg].instruction = use.next;
          if (may_spill && use.has(RegisterUse::last)) WAVEJIT_TRY(spill_behind(inst, use.reg));
        }
      }
      if (inst.node->is_result()) {
        results_.emplace_back(index, inst.node);
      } else {
        WAVEJIT_TRY(rewrite(function_, lives_, inst));
      }
    }
    const uint32_t next = block.next != kNoIndex ? block.next : block.target;
    if (next == kNoIndex) return kFine;
    Node* const last = behind != nullptr ? behind->prev : function_.last();
    builder_.set_cursor(block.ends_with_jump ? last->prev : last);
    if (is_entered(next)) return switch_to(next);
    enter(next);
    replace(restored(entries_[next]));
    return kFine;
  }

  Error allocate_blocks() {
    WAVEJIT_TRY(enter_function());
    enter(0);
    auto remaining = static_cast<size_t>(
        std::count_if(lives_.blocks.begin(), lives_.blocks.end(), [](const FlowBlock& b) { return b.reachable; }));
    uint32_t place = 0, index = 0;
    for (;;) {
      WAVEJIT_TRY(allocate_block(index));
      if (--remaining == 0) return kFine;
      const FlowBlock& block = lives_.blocks[index];
      const uint32_t next = block.next != kNoIndex ? block.next : block.target;
      if (next != kNoIndex && !allocated_[next]) {
        index = next;
        continue;
      }
      do {
        place = place + 1 < lives_.blocks.size() ? place + 1 : 0;
      } while (!lives_.blocks[place].reachable || allocated_[place] || !is_entered(place));
      index = place;
      replace(restored(entries_[index]));
    }
  }

  lir::Builder builder_;
  lir::Function& function_;
  const std::array<uint32_t, kGroups> available_;
  Lives lives_;
  std::optional<StackFrame> frame_;
  std::vector<Argument> arguments_;
  std::array<bool, kGroups> scarce_{};  // not everything has a home
  std::array<uint32_t, kGroups> clobbered_{};

  Assignment now_;
  std::vector<uint8_t> host_of_;                     // by register, as in now_
  std::vector<uint8_t> target_host_of_;              // the same for the block that is switched to
  std::vector<StoredAssignment> entries_;            // by block: what is where at its beginning
  std::vector<uint32_t> stored_;                     // registers of entries_
  std::vector<bool> allocated_;                      // by block
  std::vector<std::pair<uint32_t, Node*>> results_;  // by block; in the end the jumps in their places, or null
  std::vector<Node*> ways_;                          // jumps of code behind the function that leads to blocks
  bool memory_used_ = false;                         // by the current instruction
  Node* in_front_of_ = nullptr;                      // the current instruction, while its registers are allocated

  // The next instruction in the block that speaks of a register, if the block is the current one.
  struct NextUse {
    uint32_t block = kNoIndex, instruction = kNoIndex;
  };
  std::vector<NextUse> next_uses_;                     // by register
  uint32_t block_ = 0, instruction_ = 0, behind_ = 0;  // the current ones, and the first behind the block
};

}  // namespace

Error allocate_registers(lir::Function& function) {
  return Allocator(function).run();
}

}  // namespace wavejit::backend
