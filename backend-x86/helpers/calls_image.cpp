// Image instructions (MIMG): applies internal/semantics/image_access.h, which handles one lane, to the lanes of a wave.
#include <algorithm>
#include <bit>
#include <cstring>

#include "backend-x86/helpers/calls_internal.h"
#include "backend-x86/helpers/plane_samples.h"
#include "internal/semantics/image_access.h"

namespace wavejit::backend {
namespace {

using image::Addresses;
using image::Fields;
using image::Image;

Fields fields_of(const ir::CallShape& shape) {
  namespace flag = ir::image_flag;
  Fields f;
  f.dmask = shape.count;
  f.array = shape.array;
  f.unnormalized = shape.unnormalized;
  f.a16 = shape.a16;
  f.gfx9 = shape.gfx9_image;
  f.offset = shape.image & flag::kOffset;
  f.compare = shape.image & flag::kCompare;
  f.derivatives = shape.image & flag::kDerivatives;
  f.lod = shape.image & flag::kLod;
  f.lod_zero = shape.image & flag::kLodZero;
  f.mip = shape.image & flag::kMip;
  return f;
}

// Register i of a lane's address.
struct Register {
  const uint32_t (*rows)[kWaveSize];
  unsigned lane;
  uint32_t operator()(unsigned i) const { return i < kMaxCallRows ? rows[i][lane] : 0; }
};

struct Access {
  explicit Access(CallArgs* args)
      : args(args),
        shape(ir::CallShape::unpack(args->shape)),
        fields(fields_of(shape)),
        image(args->scalars, fields.gfx9) {}

  [[nodiscard]] Addresses<Register> addresses(unsigned lane) const { return {{args->in, lane}, fields.a16}; }
  [[nodiscard]] bool raw() const { return shape.wide; }  // "pck": no conversion

  CallArgs* args;
  ir::CallShape shape;
  Fields fields;
  Image image;
};

// The components of DMASK, one behind the other.
void put_masked(CallArgs* args, unsigned lane, const uint32_t components[4], const ir::CallShape& shape,
                format::Number number) {
  uint32_t value[4];
  unsigned count = 0;
  for (unsigned i = 0; i < 4; ++i)
    if ((shape.count >> i & 1) != 0) value[count++] = components[i];
  put_components(args, lane, value, count, number, shape.d16, shape.packed);
}

template <typename F>
uint64_t texel_addresses(const Access& a, unsigned bytes, bool write, F&& address) {
  return stage_addresses(a.args, bytes, write, [&](unsigned l) { return address(l).value_or(0); });
}
auto texel_of(const Access& a) {
  return [&a](unsigned l) { return image::texel_address(a.image, a.fields, a.addresses(l)); };
}

}  // namespace

uint64_t image_load(CallArgs* args) {
  const Access a(args);
  if (a.image.problem != nullptr) return 0;
  clear_results(args);
  for_each_lane(texel_addresses(a, a.image.layout.bytes, false, texel_of(a)), [&](unsigned l) {
    uint32_t components[4] = {};
    if (a.raw()) {
      std::memcpy(components, reinterpret_cast<const void*>(args->addresses[l]), a.image.layout.bytes);
      if (a.shape.offen && a.image.layout.bytes < 4)  // signed
        components[0] = static_cast<uint32_t>(format::sign_extend(components[0], 8 * a.image.layout.bytes));
    } else {
      a.image.read(args->addresses[l], components);
    }
    put_masked(args, l, components, a.shape, a.image.number);
  });
  return 1;
}

uint64_t image_store(CallArgs* args) {
  const Access a(args);
  if (a.image.problem != nullptr) return 0;
  // The data's rows are the first, those of the address behind them.
  const unsigned enabled = static_cast<unsigned>(std::popcount(a.shape.count));
  const unsigned data_rows = a.shape.d16 && a.shape.packed ? (enabled + 1) / 2 : enabled;
  const auto addresses = [&](unsigned l) { return Addresses<Register>{{args->in + data_rows, l}, a.fields.a16}; };
  const uint64_t lanes = texel_addresses(
      a, a.image.layout.bytes, true, [&](unsigned l) { return image::texel_address(a.image, a.fields, addresses(l)); });
  for_each_lane(lanes, [&](unsigned l) {
    uint32_t value[4] = {}, components[4] = {};
    get_components(args, l, 0, value, enabled, a.image.number, a.shape.d16, a.shape.packed);
    for (unsigned i = 0, next = 0; i < 4; ++i)
      if ((a.shape.count >> i & 1) != 0) components[i] = value[next++];
    auto* texel = reinterpret_cast<void*>(args->addresses[l]);
    if (a.raw()) {
      std::memcpy(texel, components, a.image.layout.bytes);
    } else {
      format::write_element(texel, a.image.layout, a.image.number, components, 4);
    }
  });
  return 1;
}

namespace {

template <typename T>
T updated(ir::AtomicOp op, T old, T data, T compare) {
  using S = std::make_signed_t<T>;
  using F = std::conditional_t<sizeof(T) == 8, double, float>;
  const auto number = [](T bits) { return std::bit_cast<F>(bits); };
  switch (op) {
    case ir::AtomicOp::swap:
      return data;
    case ir::AtomicOp::cmpswap:
      return old == compare ? data : old;
    case ir::AtomicOp::add:
      return old + data;
    case ir::AtomicOp::sub:
      return old - data;
    case ir::AtomicOp::rsub:
      return data - old;
    case ir::AtomicOp::fcmpswap_f32:
    case ir::AtomicOp::fcmpswap_f64:
      return number(old) == number(compare) ? data : old;
    case ir::AtomicOp::fmin_f32:
    case ir::AtomicOp::fmin_f64:
      return number(data) < number(old) ? data : old;
    case ir::AtomicOp::fmax_f32:
    case ir::AtomicOp::fmax_f64:
      return number(data) > number(old) ? data : old;
    case ir::AtomicOp::smin:
      return static_cast<S>(data) < static_cast<S>(old) ? data : old;
    case ir::AtomicOp::umin:
      return std::min(data, old);
    case ir::AtomicOp::smax:
      return static_cast<S>(data) > static_cast<S>(old) ? data : old;
    case ir::AtomicOp::umax:
      return std::max(data, old);
    case ir::AtomicOp::and_:
      return old & data;
    case ir::AtomicOp::or_:
      return old | data;
    case ir::AtomicOp::xor_:
      return old ^ data;
    case ir::AtomicOp::inc:
      return old >= data ? 0 : old + 1;
    case ir::AtomicOp::dec:
      return old == 0 || old > data ? data : old - 1;
    default:
      return old;
  }
}

// Rows: data, then what to compare with, then the address.
template <typename T>
uint64_t atomic(const Access& a) {
  constexpr unsigned kDwords = sizeof(T) / 4;
  CallArgs* args = a.args;
  const auto op = static_cast<ir::AtomicOp>(a.shape.atomic);
  const bool compares = ir::has_two_operands(op);
  const unsigned data_rows = kDwords * (compares ? 2 : 1);
  if (a.image.layout.bytes != sizeof(T)) return 0;
  clear_results(args);
  const uint64_t lanes = texel_addresses(a, sizeof(T), true, [&](unsigned l) {
    return image::texel_address(a.image, a.fields, Addresses<Register>{{args->in + data_rows, l}, a.fields.a16});
  });
  const auto operand = [&](unsigned row, unsigned l) {
    T value = args->in[row][l];
    if constexpr (kDwords == 2) value |= T{args->in[row + 1][l]} << 32;
    return value;
  };
  for_each_lane(lanes, [&](unsigned l) {
    auto* texel = reinterpret_cast<T*>(args->addresses[l]);
    const T data = operand(0, l), compare = compares ? operand(kDwords, l) : 0;
    T old = __atomic_load_n(texel, __ATOMIC_SEQ_CST);
    while (!__atomic_compare_exchange_n(texel, &old, updated<T>(op, old, data, compare), false, __ATOMIC_SEQ_CST,
                                        __ATOMIC_SEQ_CST)) {
    }
    for (unsigned i = 0; i < kDwords && i < args->results; ++i)
      args->out[i][l] = static_cast<uint32_t>(uint64_t{old} >> (32 * i));
  });
  return 1;
}

}  // namespace

uint64_t image_atomic(CallArgs* args) {
  const Access a(args);
  if (a.image.problem != nullptr) return 0;
  return a.shape.wide ? atomic<uint64_t>(a) : atomic<uint32_t>(a);
}

uint64_t image_resinfo(CallArgs* args) {
  const Access a(args);
  if (a.image.problem != nullptr) return 0;
  clear_results(args);
  for_each_lane(args->mask, [&](unsigned l) {
    uint32_t info[4];
    image::resource_info(a.image, a.addresses(l).integer(0), info);
    put_masked(args, l, info, a.shape, format::Number::uint);
  });
  return 1;
}

namespace {

// put_masked() for `lanes` of the four that begin with `first`; results[component][lane].
void put_four(CallArgs* args, unsigned first, unsigned lanes, const uint32_t (&results)[4][4],
              const ir::CallShape& shape, format::Number number) {
  if (shape.d16) {
    for_each_lane(lanes, [&](unsigned l) {
      const uint32_t components[4] = {results[0][l], results[1][l], results[2][l], results[3][l]};
      put_masked(args, first + l, components, shape, number);
    });
    return;
  }
  uint32_t(*row)[kWaveSize] = args->out;
  for (unsigned i = 0; i < 4; ++i) {
    if ((shape.count >> i & 1) == 0) continue;
    for_each_lane(lanes, [&](unsigned l) { (*row)[first + l] = results[i][l]; });
    ++row;
  }
}

struct SampledAccess : Access {
  explicit SampledAccess(CallArgs* args) : Access(args), sampler(args->scalars + 8) {}

  [[nodiscard]] bool is_possible() const { return image::sampling_problem(image, sampler, fields) == nullptr; }
  // The texels that the lane reads are anywhere in the image.
  void describe(unsigned lane) const {
    args->addresses[lane] = image.base;
    describe_access(args, uint64_t{1} << lane, ~0u, false);
  }
  [[nodiscard]] image::Sample<Register> sample(unsigned lane) const {
    return {image, sampler, fields, addresses(lane)};
  }

  image::Sampler sampler;
};

format::Number number_of(const Access& a) {
  return a.fields.compare ? format::Number::float_ : a.image.number;
}

}  // namespace

uint64_t image_sample(CallArgs* args) {
  const SampledAccess a(args);
  if (!a.is_possible()) return 0;
  clear_results(args);
  const std::optional<PlaneSamples> plane = PlaneSamples::of(a.image, a.sampler, a.fields);
  const auto* rows = reinterpret_cast<const float(*)[kWaveSize]>(args->in);
  for (unsigned first = 0; first < kWaveSize; first += 4) {
    auto lanes = static_cast<unsigned>(args->mask >> first & 15);
    if (lanes == 0) continue;
    if (plane) {
      uint32_t results[4][4];
      for (unsigned l = first; l < first + 4; ++l) args->addresses[l] = a.image.base;
      describe_access(args, 0, ~0u, false);
      const PlaneSamples::Places places = plane->places(rows[0] + first, rows[1] + first);
      const unsigned done = plane->sample(places, lanes, args->wave->engine_private[3], first, results);
      put_four(args, first, done, results, a.shape, a.image.number);
      lanes &= ~done;
    }
    for_each_lane(lanes, [&](unsigned l) {
      a.describe(first + l);
      uint32_t components[4];
      a.sample(first + l).sample(components);
      put_masked(args, first + l, components, a.shape, number_of(a));
    });
  }
  return 1;
}

uint64_t image_gather(CallArgs* args) {
  const SampledAccess a(args);
  if (!a.is_possible()) return 0;
  clear_results(args);
  for_each_lane(args->mask, [&](unsigned l) {
    a.describe(l);
    uint32_t texels[4];
    a.sample(l).gather(a.shape.count != 0 ? static_cast<unsigned>(std::countr_zero(a.shape.count)) : 0, texels);
    put_components(args, l, texels, 4, number_of(a), a.shape.d16, a.shape.packed);
  });
  return 1;
}

}  // namespace wavejit::backend
