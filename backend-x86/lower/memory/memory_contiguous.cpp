#include "backend-x86/lower/memory/memory_contiguous.h"

#include <array>
#include <functional>
#include <optional>
#include <vector>

#include "backend-x86/lower/lowering.h"
#include "backend-x86/lower/memory/memory_access.h"
#include "backend-x86/lower/memory/memory_shared.h"
#include "backend-x86/lower/memory/streaming_stores.h"

namespace wavejit::backend {

using ir::Space;

namespace {

// The next instruction accesses the i-th of the registers that hold the elements in the order of memory.
void mark_interleaved(MemoryAccess& access, unsigned i) {
  const unsigned n = access.mem.count;
  FaultRange part = fault_range(access, true, i * access.isa.lanes / n);
  part.lane_elements = static_cast<uint8_t>(n);
  part.skipped_elements = static_cast<uint8_t>(i * access.isa.lanes % n);
  access.ctx.faults.mark(part);
}

// The same for 64-bit values: memory has them as registers do, but for the order of the lanes.
void whole_pairs(MemoryAccess& access, const Gp& pointer, std::span<const MaskReg> masks) {
  const bool ordered = access.isa.lane_of64(1, 0) == access.isa.lanes / 2;
  const Vec64 value = access.load ? access.ctx.dst64(*access.wide.pairs[0], access.chunk)
                                  : access.ctx.v64(access.wide.pairs[0], access.chunk);
  Vec64 memory = value;
  if (!ordered) memory = access.isa.vec64();
  if (!ordered && !access.load) access.isa.swap_row64(memory, value);
  for (unsigned i = 0; i < 2; ++i) {
    const Mem at = x86::ptr(pointer, static_cast<int32_t>(access.disp + i * access.isa.bytes()));
    const MaskReg* mask = masks.empty() ? nullptr : &masks[i];
    mark_interleaved(access, i);
    if (access.load) {
      access.isa.load(memory.part[i], at, mask);
    } else {
      masks.empty() ? store_all_lanes(access, at, memory.part[i]) : access.isa.store(at, memory.part[i], mask);
    }
  }
  if (!ordered && access.load) access.isa.swap_row64(value, memory);
}

// Loads of two 64-bit values a lane.
void two_whole_pairs(MemoryAccess& access, const Gp& pointer, std::span<const MaskReg> masks) {
  const std::array<Vec64, 2> values = {access.ctx.dst64(*access.wide.pairs[0], access.chunk),
                                       access.ctx.dst64(*access.wide.pairs[1], access.chunk)};
  const auto at = [&](unsigned i) {
    return x86::ptr(pointer, static_cast<int32_t>(access.disp + i * access.isa.bytes()));
  };
  if (masks.empty() && access.mem.space == Space::lds && access.isa.load_pairs64(at(0), values)) return;
  std::array<Vec, 4> memory;
  for (unsigned i = 0; i < memory.size(); ++i) {
    memory[i] = access.isa.vec();
    mark_interleaved(access, i);
    access.isa.load(memory[i], at(i), masks.empty() ? nullptr : &masks[i]);
  }
  take_apart(access, memory);
}

// The elements of all lanes lie one after the other. `masks`: of the registers that hold them in this order; none: all
// are accessed.
void access_interleaved(MemoryAccess& access, const Gp& pointer, std::span<const MaskReg> masks) {
  if (access.wide.any())
    return access.mem.count == 2 ? whole_pairs(access, pointer, masks) : two_whole_pairs(access, pointer, masks);
  const unsigned n = access.mem.count;
  std::vector<Vec> memory(n), lanes(n);
  for (unsigned i = 0; i < n; ++i) {
    memory[i] = access.isa.vec();
    lanes[i] = access.load ? result_of(access, i) : data_of(access, i);
  }
  const auto at = [&](unsigned i) {
    return x86::ptr(pointer, static_cast<int32_t>(access.disp + i * access.isa.bytes()));
  };
  const auto mask = [&](unsigned i) { return masks.empty() ? nullptr : &masks[i]; };
  if (access.load && n == 4 && masks.empty() && access.mem.space == Space::lds && access.isa.load_quads(at(0), lanes))
    return;
  if (access.load) {
    for (unsigned i = 0; i < n; ++i) {
      mark_interleaved(access, i);
      access.isa.load(memory[i], at(i), mask(i));
    }
    access.isa.deinterleave(memory, lanes);
  } else {
    access.isa.interleave(lanes, memory);
    for (unsigned i = 0; i < n; ++i) {
      mark_interleaved(access, i);
      masks.empty() ? store_all_lanes(access, at(i), memory[i]) : access.isa.store(at(i), memory[i], mask(i));
    }
  }
}

void contiguous_interleaved(MemoryAccess& access, const Gp& pointer) {
  const auto access_all = [&] { all_lanes(access, pointer, [&] { access_interleaved(access, pointer, {}); }); };
  if (access.active.full) return access_all();
  const auto masked_access = [&] {
    std::vector<MaskReg> masks(access.mem.count);
    for (MaskReg& m : masks) m = access.isa.mask();
    access.isa.repeat_mask(access.active.mask, masks);
    access_interleaved(access, pointer, masks);
  };
  if (fixed_lanes(access)) return masked_access();
  const bool shared = is_shared(access) && !access.wide.any();
  if (shared && access.slow_used && !(access.load && access.mem.count == 2)) {
    // The same function would do it, lane by lane.
    require_full_mask(access);
    return access_interleaved(access, pointer, {});
  }
  const Label masked = access.cc.new_label(), done = access.cc.new_label();
  access.cc.j(x86::negateCond(access.isa.test_all({&access.active.mask, 1})), masked);
  access_all();
  if (shared) return shared_contiguous(access, pointer, masked);
  access.cc.bind(done);
  access.ctx.cold([&] {
    access.cc.bind(masked);
    skip_without_lanes(access, done);
    masked_access();
    access.cc.jmp(done);
  });
}

void contiguous_narrow(MemoryAccess& access, const Gp& pointer, const MaskReg* lanes) {
  const Mem at = x86::ptr(pointer, static_cast<int32_t>(access.disp));
  if (access.load) {
    access.ctx.faults.mark(fault_range(access, true));
    access.isa.load_narrow(result_of(access, 0), at, access.mem.bytes, access.mem.sign_extend, lanes);
  } else {
    const Vec v = data_of(access, 0);
    access.ctx.faults.mark(fault_range(access, true));
    access.isa.store_narrow(at, v, access.mem.bytes, lanes);
  }
}

}  // namespace

void access_contiguous(MemoryAccess& access, const Gp& pointer) {
  if (access.lane_stride != access.element_stride && !access.scratch_swizzled)
    return contiguous_interleaved(access, pointer);
  // The rows of scratch that active lanes access are there for lanes that are off, too, and nobody else's. Without an active
  // lane there is no such row: the offset is whatever the registers hold.
  const bool merges =
      access.scratch_swizzled && (access.isa.has_masked_narrow() || access.ctx.on(Optimisation::merged_scratch));
  const auto move_elements = [&](const MaskReg* lanes) {
    if (access.mem.bytes < 4) return contiguous_narrow(access, pointer, lanes);
    for (unsigned i = 0; i < access.mem.count; ++i) {
      const Mem at = x86::ptr(pointer, static_cast<int32_t>(access.disp + i * access.element_stride));
      const unsigned first = lanes != nullptr && !merges ? first_lanes(access) : 0;
      if (access.load) {
        access.ctx.faults.mark(fault_range(access, true));
        first != 0 ? access.isa.load_first(result_of(access, i), at, first)
                   : access.isa.load(result_of(access, i), at, lanes);
      } else {
        const Vec v = data_of(access, i);
        if (first != 0) {
          access.ctx.faults.mark(fault_range(access, true));
          access.isa.store_first(at, v, first);
          continue;
        }
        if (merges && lanes != nullptr) {
          access.isa.store_merged(at, v, *lanes, fault_range(access, true));
          continue;
        }
        access.ctx.faults.mark(fault_range(access, true));
        lanes != nullptr ? access.isa.store(at, v, lanes) : store_all_lanes(access, at, v);
      }
    }
  };
  const auto access_all = [&] { all_lanes(access, pointer, [&] { move_elements(nullptr); }); };
  if (access.active.full) return access_all();
  if (access.mem.bytes < 4 && !access.isa.has_masked_narrow()) {
    if (is_shared(access) && !access.slow_used) {
      const Label masked = access.cc.new_label();
      access.cc.j(x86::negateCond(access.isa.test_all({&access.active.mask, 1})), masked);
      move_elements(nullptr);
      return shared_contiguous(access, pointer, masked);
    }
    require_full_mask(access);
    return move_elements(nullptr);
  }
  if (merges && !access.load && !access.isa.has_masked_narrow() && !fixed_lanes(access)) {
    const Label done = access.cc.new_label();
    access.cc.j(x86::negateCond(access.isa.test_any({&access.active.mask, 1})), done);
    move_elements(access.active.get());
    access.cc.bind(done);
    return;
  }
  if ((access.scratch_swizzled && access.load) || merges || fixed_lanes(access))
    return move_elements(access.active.get());
  // The plain access when all lanes are on; the masked one is out of line.
  const Label masked = access.cc.new_label(), done = access.cc.new_label();
  access.cc.j(x86::negateCond(access.isa.test_all({&access.active.mask, 1})), masked);
  access_all();
  access.cc.bind(done);
  access.ctx.cold([&] {
    access.cc.bind(masked);
    if (!access.scratch_swizzled) skip_without_lanes(access, done);
    move_elements(access.active.get());
    access.cc.jmp(done);
  });
}

void take_apart(MemoryAccess& access, std::span<const Vec> memory) {
  if (!access.wide.any()) {
    std::vector<Vec> results;
    results.reserve(access.mem.count);
    for (unsigned element = 0; element < access.mem.count; ++element) results.push_back(result_of(access, element));
    return access.isa.deinterleave(memory, results);
  }
  if (access.mem.count == 2)
    return access.isa.swap_row64(access.ctx.dst64(*access.wide.pairs[0], access.chunk), {memory[0], memory[1]});
  for (unsigned pair = 0; pair < 2; ++pair) {
    const Vec64 value = access.ctx.dst64(*access.wide.pairs[pair], access.chunk);
    for (unsigned part = 0; part < 2; ++part)
      shuffle_whole(access, value.part[part], part, memory, [&](unsigned lane) { return 4 * lane + 2 * pair; });
  }
}

void shuffle_whole(MemoryAccess& access, const Vec& to, unsigned part, std::span<const Vec> memory,
                   const std::function<unsigned(unsigned lane)>& first_dword) {
  std::array<uint8_t, 16> from{};
  for (unsigned i = 0; i < access.isa.lanes; ++i)
    from[i] = static_cast<uint8_t>(first_dword(access.isa.lane_of64(part, i / 2)) + i % 2);
  access.isa.shuffle(to, memory, from);
}

}  // namespace wavejit::backend
