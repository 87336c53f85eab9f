// MIMG: images. Descriptors, texel addresses and filtering are in internal/semantics/image_access.h.
#include <algorithm>
#include <bit>
#include <cstring>

#include "frontend/interp/atomics.h"
#include "frontend/interp/memory.h"
#include "internal/semantics/image_access.h"

namespace wavejit::interp {
namespace {

using format::Number;
using image::Fields;
using image::Image;

// What the opcode says about the address registers.
enum : uint8_t {
  kOffset = 1,
  kCompare = 2,
  kDerivatives = 4,
  kLod = 8,
  kLodZero = 16,
  kMip = 32,
  kRaw = 64,
  kSigned = 128
};

struct RowsFrom {
  Context* c;
  unsigned first, lane;
  uint32_t operator()(unsigned i) const { return first + i < kNumVgprs ? c->row(first + i)[lane] : 0; }
};

struct Access {
  Access(Context& context, const Op& o)
      : c(context), op(o), image(descriptor(context, o).data(), !context.before_gfx9) {
    const isa::Instruction& inst = op.inst;
    fields = {.dmask = static_cast<uint8_t>(inst.dmask == 0 ? 1 : inst.dmask),
              .array = inst.da,
              .unnormalized = inst.unorm,
              .a16 = inst.a16,
              .gfx9 = !c.before_gfx9,
              .offset = (op.param & kOffset) != 0,
              .compare = (op.param & kCompare) != 0,
              .derivatives = (op.param & kDerivatives) != 0,
              .lod = (op.param & kLod) != 0,
              .lod_zero = (op.param & kLodZero) != 0,
              .mip = (op.param & kMip) != 0};
  }
  // R128: half a descriptor, the rest of which is zeros.
  static std::array<uint32_t, 8> descriptor(const Context& c, const Op& op) {
    std::array<uint32_t, 8> words{};
    std::copy_n(&c.wave.sgpr[op.scalar_base], op.inst.r128 ? 4 : 8, words.begin());
    return words;
  }
  [[nodiscard]] image::Addresses<RowsFrom> addresses(unsigned lane) const {
    return {{&c, op.addr_row, lane}, fields.a16};
  }
  // Fills c.addresses; returns the lanes that access memory.
  uint64_t texels(bool write) const {
    uint64_t lanes = 0;
    for (uint64_t m = c.wave.exec(); m != 0; m &= m - 1) {
      const auto l = static_cast<unsigned>(std::countr_zero(m));
      const auto at = image::texel_address(image, fields, addresses(l));
      c.addresses[l] = at.value_or(0);
      if (at) lanes |= uint64_t{1} << l;
    }
    describe_access(c, lanes, image.layout.bytes, write);
    return lanes;
  }

  Context& c;
  const Op& op;
  Image image;
  Fields fields;
};

// Components selected by `mask` to c.out, as the registers hold them.
void collect(Context& c, const Op& op, unsigned lane, const uint32_t* components, unsigned mask, Number number) {
  unsigned next = 0;
  for (unsigned i = 0; i < 4; ++i) {
    if ((mask >> i & 1) == 0) continue;
    const unsigned at = next++;
    if (!op.inst.d16) {
      c.out[at * kWaveSize + lane] = components[i];
    } else if (c.before_gfx9) {
      c.out[at * kWaveSize + lane] = format::to_d16(components[i], number);
    } else {
      uint32_t& row = c.out[at / 2 * kWaveSize + lane];
      row = at % 2 == 0 ? format::to_d16(components[i], number) : row | format::to_d16(components[i], number) << 16;
    }
  }
}

// From c.out to the registers, and the status behind them.
Step finish(Context& c, const Op& op, unsigned components) {
  const unsigned rows = op.inst.d16 && !c.before_gfx9 ? (components + 1) / 2 : components;
  const uint64_t exec = c.wave.exec();
  c.lanes.merge(c.row(op.data_row), c.out, exec, rows);
  if (op.inst.tfe) {
    c.lanes.splat(c.out, 0, 1);
    c.lanes.merge(c.row(op.data_row + rows), c.out, exec, 1);
  }
  return Step::next;
}

Step load(Context& c, const Op& op) {
  const uint64_t exec = c.wave.exec();
  if (exec == 0) return Step::next;
  c.use(Env::rn);
  const Access a(c, op);
  if (a.image.problem != nullptr) return c.exit(ExitReason::kUnsupported, op);
  const uint64_t valid = a.texels(false);
  const unsigned bytes = a.image.layout.bytes;
  for (uint64_t m = exec; m != 0; m &= m - 1) {
    const auto l = static_cast<unsigned>(std::countr_zero(m));
    uint32_t components[4] = {};
    if ((valid >> l & 1) != 0) {
      if ((op.param & kRaw) != 0) {
        std::memcpy(components, reinterpret_cast<const void*>(c.addresses[l]), bytes);
        if ((op.param & kSigned) != 0 && bytes < 4)
          components[0] = static_cast<uint32_t>(format::sign_extend(components[0], 8 * bytes));
      } else {
        a.image.read(c.addresses[l], components);
      }
      collect(c, op, l, components, a.fields.dmask, a.image.number);
    } else {
      for (unsigned i = 0; i < 4; ++i) c.out[i * kWaveSize + l] = 0;
    }
  }
  return finish(c, op, static_cast<unsigned>(std::popcount(a.fields.dmask)));
}

Step store(Context& c, const Op& op) {
  if (c.wave.exec() == 0) return Step::next;
  c.use(Env::rn);
  const Access a(c, op);
  if (a.image.problem != nullptr) return c.exit(ExitReason::kUnsupported, op);
  const uint32_t* rows = c.row(op.data_row);
  for (uint64_t m = a.texels(true); m != 0; m &= m - 1) {
    const auto l = static_cast<unsigned>(std::countr_zero(m));
    uint32_t components[4] = {};
    unsigned next = 0;
    for (unsigned i = 0; i < 4; ++i) {
      if ((a.fields.dmask >> i & 1) == 0) continue;
      const unsigned at = next++;
      if (!op.inst.d16) {
        components[i] = rows[at * kWaveSize + l];
      } else {
        const uint32_t row = rows[(c.before_gfx9 ? at : at / 2) * kWaveSize + l];
        components[i] = format::from_d16((c.before_gfx9 || at % 2 == 0 ? row : row >> 16) & 0xffff, a.image.number);
      }
    }
    auto* texel = reinterpret_cast<void*>(c.addresses[l]);
    if ((op.param & kRaw) != 0) {
      std::memcpy(texel, components, a.image.layout.bytes);
    } else {
      a.image.write(texel, components);
    }
  }
  return Step::next;
}

// DMASK tells the size of the data: one dword or two, twice that for compare-and-swap.
template <typename T>
Step atomic_of(Context& c, const Op& op, const Access& a) {
  if (a.image.layout.bytes != sizeof(T)) return c.exit(ExitReason::kUnsupported, op);
  constexpr unsigned kDwords = sizeof(T) / 4;
  const auto kind = static_cast<AtomicOp>(op.param);
  const bool two = kind == AtomicOp::cmpswap || kind == AtomicOp::fcmpswap;
  uint32_t* rows = c.row(op.data_row);
  const uint64_t valid = a.texels(true);
  for (uint64_t m = c.wave.exec(); m != 0; m &= m - 1) {
    const auto l = static_cast<unsigned>(std::countr_zero(m));
    T old{};
    if ((valid >> l & 1) != 0) {
      const T extra = two ? lane_value<T>(rows + kDwords * kWaveSize, l) : T{};
      old = atomic_apply(kind, reinterpret_cast<T*>(c.addresses[l]), lane_value<T>(rows, l), extra);
    }
    if (op.inst.glc) set_lane_value<T>(rows, l, old);
  }
  return Step::next;
}
Step atomic(Context& c, const Op& op) {
  if (c.wave.exec() == 0) return Step::next;
  c.use(Env::rn);
  Op plain = op;
  plain.param = 0;
  const Access a(c, plain);
  if (a.image.problem != nullptr) return c.exit(ExitReason::kUnsupported, op);
  const unsigned dwords = op.inst.get(isa::Slot::vdata).dwords;
  const auto kind = static_cast<AtomicOp>(op.param);
  const bool wide = dwords == (kind == AtomicOp::cmpswap || kind == AtomicOp::fcmpswap ? 4 : 2);
  return wide ? atomic_of<uint64_t>(c, op, a) : atomic_of<uint32_t>(c, op, a);
}

Step resource_info(Context& c, const Op& op) {
  const Access a(c, op);
  if (a.image.problem != nullptr) return c.exit(ExitReason::kUnsupported, op);
  for (uint64_t m = c.wave.exec(); m != 0; m &= m - 1) {
    const auto l = static_cast<unsigned>(std::countr_zero(m));
    uint32_t info[4];
    image::resource_info(a.image, a.addresses(l).integer(0), info);
    collect(c, op, l, info, a.fields.dmask, Number::uint);
  }
  return finish(c, op, static_cast<unsigned>(std::popcount(a.fields.dmask)));
}

template <bool gather>
Step sample(Context& c, const Op& op) {
  const uint64_t exec = c.wave.exec();
  if (exec == 0) return Step::next;
  c.use(Env::rn);
  const Access a(c, op);
  const image::Sampler sampler(&c.wave.sgpr[op.inst.get(isa::Slot::ssamp).reg]);
  if (image::sampling_problem(a.image, sampler, a.fields) != nullptr) return c.exit(ExitReason::kUnsupported, op);
  const Number number = a.fields.compare ? Number::float_ : a.image.number;
  for (uint64_t m = exec; m != 0; m &= m - 1) {
    const auto l = static_cast<unsigned>(std::countr_zero(m));
    c.addresses[l] = a.image.base;
    describe_access(c, uint64_t{1} << l, kUnknownBytes, false);
    const image::Sample<RowsFrom> one(a.image, sampler, a.fields, a.addresses(l));
    uint32_t result[4];
    if (gather)
      one.gather(static_cast<unsigned>(std::countr_zero(a.fields.dmask)), result);
    else
      one.sample(result);
    collect(c, op, l, result, gather ? 15 : a.fields.dmask, number);
  }
  return finish(c, op, gather ? 4 : static_cast<unsigned>(std::popcount(a.fields.dmask)));
}

}  // namespace

void register_mimg(Registry& r) {
  r.handler(Opcode::image_load, load);
  r.handler(Opcode::image_load_mip, load, kMip);
  r.handler(Opcode::image_load_pck, load, kRaw);
  r.handler(Opcode::image_load_pck_sgn, load, kRaw | kSigned);
  r.handler(Opcode::image_load_mip_pck, load, kMip | kRaw);
  r.handler(Opcode::image_load_mip_pck_sgn, load, kMip | kRaw | kSigned);
  r.handler(Opcode::image_store, store);
  r.handler(Opcode::image_store_mip, store, kMip);
  r.handler(Opcode::image_store_pck, store, kRaw);
  r.handler(Opcode::image_store_mip_pck, store, kMip | kRaw);
  r.handler(Opcode::image_get_resinfo, resource_info);
#define WAVEJIT_ATOMIC(name, kind) r.handler(Opcode::image_atomic_##name, atomic, static_cast<uint8_t>(AtomicOp::kind))
  WAVEJIT_ATOMIC(swap, swap);
  WAVEJIT_ATOMIC(cmpswap, cmpswap);
  WAVEJIT_ATOMIC(add, add);
  WAVEJIT_ATOMIC(sub, sub);
  WAVEJIT_ATOMIC(smin, smin);
  WAVEJIT_ATOMIC(umin, umin);
  WAVEJIT_ATOMIC(smax, smax);
  WAVEJIT_ATOMIC(umax, umax);
  WAVEJIT_ATOMIC(and, band);
  WAVEJIT_ATOMIC(or, bor);
  WAVEJIT_ATOMIC(xor, bxor);
  WAVEJIT_ATOMIC(inc, inc);
  WAVEJIT_ATOMIC(dec, dec);
  WAVEJIT_ATOMIC(rsub, rsub);
  WAVEJIT_ATOMIC(fcmpswap, fcmpswap);
  WAVEJIT_ATOMIC(fmin, fmin);
  WAVEJIT_ATOMIC(fmax, fmax);
#undef WAVEJIT_ATOMIC
  r.handler(Opcode::image_sample, sample<false>);
#define WAVEJIT_SAMPLE(name, flags)                                             \
  r.handler(Opcode::image_sample_##name, sample<false>, flags);                 \
  r.handler(Opcode::image_sample_c_##name, sample<false>, (flags) | kCompare);  \
  r.handler(Opcode::image_sample_##name##_o, sample<false>, (flags) | kOffset); \
  r.handler(Opcode::image_sample_c_##name##_o, sample<false>, (flags) | kCompare | kOffset)
  WAVEJIT_SAMPLE(l, kLod);
  WAVEJIT_SAMPLE(lz, kLodZero);
  WAVEJIT_SAMPLE(d, kDerivatives);
  WAVEJIT_SAMPLE(cd, kDerivatives);
#undef WAVEJIT_SAMPLE
#define WAVEJIT_GATHER(name, flags)                                             \
  r.handler(Opcode::image_gather4_##name, sample<true>, flags);                 \
  r.handler(Opcode::image_gather4_c_##name, sample<true>, (flags) | kCompare);  \
  r.handler(Opcode::image_gather4_##name##_o, sample<true>, (flags) | kOffset); \
  r.handler(Opcode::image_gather4_c_##name##_o, sample<true>, (flags) | kCompare | kOffset)
  WAVEJIT_GATHER(l, kLod);
  WAVEJIT_GATHER(lz, kLodZero);
#undef WAVEJIT_GATHER
}

}  // namespace wavejit::interp
