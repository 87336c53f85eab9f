// Image instructions (MIMG): applies internal/semantics/image_access.h, which handles one lane, to the lanes of a wave.
// What most programs use has vector code (texel_rows.h, plane_samples.h).
#include <pthread.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <new>
#include <optional>

#include "backend-x86/helpers/calls_internal.h"
#include "backend-x86/helpers/plane_samples.h"
#include "backend-x86/helpers/texel_rows.h"
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

// What the descriptor, the sampler and the instruction's fields say.
struct Described {
  Described(const uint32_t* scalars, const ir::CallShape& shape)
      : fields(fields_of(shape)),
        image(scalars, fields.gfx9),
        sampler(scalars + 8),
        sources(texel_sources(image)),
        needed(needed_components(sources, shape.count)),
        texels(image.layout, image.number) {
    unsigned row = 0;
    for (unsigned i = 0; i < 4; ++i)
      if ((shape.count >> i & 1) != 0) in_place = in_place && !sources[i].is_constant && sources[i].component == row++;
    if (image.problem != nullptr) return;
    if (!fields.a16 && !fields.mip) plane = TexelPlane::of(image);
    samples = PlaneSamples::of(image, sampler, fields);
    std::fill_n(origins, kWaveSize, image.base);
  }

  Fields fields;
  Image image;
  image::Sampler sampler;  // of instructions without one: of zeros
  TexelSources sources;
  unsigned needed;       // components of texels
  bool in_place = true;  // the result's rows are the texels' first ones
  TexelRows texels;
  std::optional<TexelPlane> plane;
  std::optional<PlaneSamples> samples;
  uint64_t origins[kWaveSize];  // where the image begins, for each lane
};

constexpr unsigned kImageWords = 8, kSampledWords = 12;  // scalars: descriptors

struct LastImage {
  uint64_t shape;
  unsigned words;
  uint32_t scalars[kSampledWords];
  Described described;
};
constexpr size_t kLastImages = 32;
using LastImages = std::array<std::optional<LastImage>, kLastImages>;

// Not thread_local: a library that is loaded late gets little static thread-local storage.
thread_local LastImages* thread_images = nullptr;

// A key: destructors of thread_local objects end the process where there is no memory to note them. The library is never unloaded.
std::optional<pthread_key_t> images_key() {
  static const std::optional<pthread_key_t> key = [] {
    pthread_key_t made = 0;
    const auto release = [](void* images) {
      delete static_cast<LastImages*>(images);
      thread_images = nullptr;
    };
    return pthread_key_create(&made, release) == 0 ? std::optional(made) : std::nullopt;
  }();
  return key;
}
// Null if there is no memory.
LastImages* last_images() {
  if (thread_images != nullptr) return thread_images;
  const std::optional<pthread_key_t> key = images_key();
  auto* const images = new (std::nothrow) LastImages;
  if (!key || images == nullptr || pthread_setspecific(*key, images) != 0) {
    delete images;
    return nullptr;
  }
  return thread_images = images;
}

// The one of an instruction with `words` scalars. Mostly its lanes' image is that of its last execution by this thread.
const Described& described(const CallArgs& args, unsigned words, std::optional<LastImage>& own) {
  LastImages* const all = last_images();
  std::optional<LastImage>& last = all != nullptr ? (*all)[args.guest_pc / 8 % kLastImages] : own;
  const auto same = [&] {
    uint32_t difference = 0;
    for (unsigned i = 0; i < words; ++i) difference |= last->scalars[i] ^ args.scalars[i];
    return difference == 0;
  };
  if (!last || last->shape != args.shape || last->words != words || !same()) {
    uint32_t scalars[kSampledWords] = {};
    std::copy_n(args.scalars, words, scalars);
    last.emplace(LastImage{args.shape, words, {}, Described(scalars, ir::CallShape::unpack(args.shape))});
    std::copy_n(scalars, kSampledWords, last->scalars);
  }
  return last->described;
}

struct Access {
  explicit Access(CallArgs* args, unsigned words = kImageWords)
      : args(args),
        shape(ir::CallShape::unpack(args->shape)),
        about(described(*args, words, without_memory)),
        fields(about.fields),
        image(about.image) {}

  [[nodiscard]] Addresses<Register> addresses(unsigned lane) const { return {{args->in, lane}, fields.a16}; }
  [[nodiscard]] bool raw() const { return shape.wide; }  // "pck": no conversion

  CallArgs* args;
  ir::CallShape shape;
  std::optional<LastImage> without_memory;  // where the thread can keep none
  const Described& about;
  const Fields& fields;
  const Image& image;
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

// The lanes that access a texel, whose address begins in row `first`; describes the access.
uint64_t stage_texels(const Access& a, unsigned first, bool write) {
  CallArgs* args = a.args;
  const std::optional<TexelPlane>& plane = a.about.plane;
  if (!plane) {
    return stage_addresses(args, a.image.layout.bytes, write, [&](unsigned l) {
      const Addresses<Register> registers{{args->in + first, l}, a.fields.a16};
      return image::texel_address(a.image, a.fields, registers).value_or(0);
    });
  }
  const uint64_t lanes = plane->addresses(args->in[first], args->in[first + 1], args->mask, args->addresses);
  describe_access(args, lanes, a.image.layout.bytes, write);
  return lanes;
}

// Calls read(rows), which reads texels and returns the lanes that have got them, and makes the result of them: not of
// 16 bits.
template <typename F>
uint64_t put_texels(const Access& a, F&& read) {
  if (a.about.in_place) return read(*reinterpret_cast<Rows*>(a.args->out));
  alignas(32) Rows rows;
  const uint64_t lanes = read(rows);
  put_rows(a.about.sources, a.shape.count, rows, lanes, a.args->out);
  return lanes;
}

}  // namespace

uint64_t image_load(CallArgs* args) {
  const Access a(args);
  if (a.image.problem != nullptr) return 0;
  if (!a.raw() && !a.shape.d16) {
    const uint64_t lanes = stage_texels(a, 0, false);
    put_texels(a, [&](Rows& rows) {
      a.about.texels.load(args->addresses, lanes, a.about.needed, rows);
      return lanes;
    });
    return 1;
  }
  clear_results(args);
  for_each_lane(stage_texels(a, 0, false), [&](unsigned l) {
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
  const uint64_t lanes = stage_texels(a, data_rows, true);
  if (!a.raw() && !a.shape.d16) {
    const uint32_t *registers[4] = {}, *rows[4];
    for (unsigned i = 0, next = 0; i < 4; ++i)
      if ((a.shape.count >> i & 1) != 0) registers[i] = args->in[next++];
    format::select_back(registers, a.image.selects, rows);
    a.about.texels.store(args->addresses, lanes, rows);
    return 1;
  }
  for_each_lane(lanes, [&](unsigned l) {
    uint32_t value[4] = {}, components[4] = {};
    get_components(args, l, 0, value, enabled, a.image.number, a.shape.d16, a.shape.packed);
    for (unsigned i = 0, next = 0; i < 4; ++i)
      if ((a.shape.count >> i & 1) != 0) components[i] = value[next++];
    auto* texel = reinterpret_cast<void*>(args->addresses[l]);
    if (a.raw()) {
      std::memcpy(texel, components, a.image.layout.bytes);
    } else {
      a.image.write(texel, components);
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
  const uint64_t lanes = stage_texels(a, data_rows, true);
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

struct SampledAccess : Access {
  explicit SampledAccess(CallArgs* args) : Access(args, kSampledWords), sampler(about.sampler) {}

  [[nodiscard]] bool is_possible() const { return image::sampling_problem(image, sampler, fields) == nullptr; }
  // The texels that the lane reads are anywhere in the image.
  void describe(unsigned lane) const {
    args->addresses[lane] = image.base;
    describe_access(args, uint64_t{1} << lane, ~0u, false);
  }
  [[nodiscard]] image::Sample<Register> sample(unsigned lane) const {
    return {image, sampler, fields, addresses(lane)};
  }

  const image::Sampler& sampler;
};

format::Number number_of(const Access& a) {
  return a.fields.compare ? format::Number::float_ : a.image.number;
}

}  // namespace

uint64_t image_sample(CallArgs* args) {
  const SampledAccess a(args);
  if (!a.is_possible()) return 0;
  uint64_t rest = args->mask;
  const std::optional<PlaneSamples>& plane = a.about.samples;
  if (!plane || a.shape.d16) clear_results(args);
  if (plane) {
    const auto* x = reinterpret_cast<const float*>(args->in[0]);
    const auto* y = reinterpret_cast<const float*>(args->in[1]);
    const unsigned needed = a.about.needed;
    const auto read = [&](Rows& rows) {
      // The texels that a lane reads are anywhere in the image.
      describe_access(args, 0, ~0u, false, a.about.origins);
      return plane->sample(x, y, rest, needed, args->wave->engine_private[3], rows);
    };
    uint64_t done = 0;
    if (a.shape.d16) {
      const TexelSources& sources = a.about.sources;
      alignas(32) Rows rows;
      done = read(rows);
      for_each_lane(done, [&](unsigned l) {
        uint32_t components[4];
        for (unsigned i = 0; i < 4; ++i)
          components[i] = sources[i].is_constant ? sources[i].constant : rows[sources[i].component][l];
        put_masked(args, l, components, a.shape, a.image.number);
      });
    } else {
      done = put_texels(a, read);
    }
    rest &= ~done;
  }
  for_each_lane(rest, [&](unsigned l) {
    a.describe(l);
    uint32_t components[4];
    a.sample(l).sample(components);
    put_masked(args, l, components, a.shape, number_of(a));
  });
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
