// Images in memory and what the texture unit does with them: descriptors, texel addresses, filtering. Used by the
// interpreter and by translated code, which both bring the registers of one lane at a time: arithmetic that the ISA
// documents only name (docs/isa-decisions.md, "Images").
//
// Sources: GCN3 and Vega ISA manuals, "Image Resource Descriptor", "Image Sampler Descriptor"; Mesa, gfx6 to gfx9
// register databases, for the fields' places.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <optional>

#include "internal/semantics/data_format.h"

namespace wavejit::image {

using format::Number;

enum class Type : uint8_t { d1 = 8, d2, d3, cube, d1_array, d2_array, d2_msaa, d2_msaa_array };

// What the instruction says about its registers.
struct Fields {
  uint8_t dmask = 1;
  bool array = false;  // DA
  bool unnormalized = false;
  bool a16 = false;
  bool gfx9 = false;  // descriptors of GFX9
  bool offset = false, compare = false, derivatives = false, lod = false, lod_zero = false, mip = false;
};

// Why an image cannot be accessed, or null.
struct Image {
  uint64_t base = 0;
  uint32_t width = 1, height = 1, depth = 1;  // of level 0; depth: slices of 3D images, else 1
  uint32_t first_layer = 0, layers = 1;
  uint32_t pitch = 1;  // texels from row to row, in all levels
  uint32_t base_level = 0, last_level = 0;
  uint32_t min_lod = 0;  // 4.8 bits
  uint32_t selects = 0;
  Type type = Type::d2;
  format::Layout layout;
  Number number = Number::unorm;
  const char* problem = nullptr;

  Image(const uint32_t* w, bool gfx9) {
    base = (uint64_t{w[1] & 0xff} << 32 | w[0]) << 8;
    min_lod = w[1] >> 8 & 0xfff;
    layout = format::image_layout_of(w[1] >> 20 & 63);
    number = static_cast<Number>(w[1] >> 26 & 15);
    width = (w[2] & 0x3fff) + 1;
    height = (w[2] >> 14 & 0x3fff) + 1;
    selects = w[3] & 0xfff;
    base_level = w[3] >> 12 & 15;
    last_level = w[3] >> 16 & 15;
    const uint32_t tiling = w[3] >> 20 & 31;
    type = static_cast<Type>(w[3] >> 28);
    const uint32_t last = w[4] & 0x1fff;
    pitch = (w[4] >> 13 & (gfx9 ? 0xffff : 0x3fff)) + 1;
    first_layer = w[5] & 0x1fff;
    if (type == Type::d3) depth = last + 1;
    // The last layer is where GFX9 has the depth, and a field of its own before.
    const uint32_t last_layer = gfx9 ? last : w[5] >> 13 & 0x1fff;
    if (is_array() || type == Type::cube) layers = last_layer >= first_layer ? last_layer - first_layer + 1 : 1;
    if (type == Type::d1 || type == Type::d1_array) height = 1;
    pitch = std::max(pitch, width);
    // Linear is swizzle mode 0 in GFX9 and tile mode 8 (linear aligned) before.
    if (w[3] >> 28 < 8 || type == Type::d2_msaa || type == Type::d2_msaa_array) {
      problem = "type";
    } else if (tiling != (gfx9 ? 0u : 8u)) {
      problem = "tiling";
    } else if (!format::is_valid(layout, number)) {
      problem = "format";
    }
  }

  [[nodiscard]] bool is_array() const { return type == Type::d1_array || type == Type::d2_array; }
  // Registers of the position: with the layer of arrays, if the instruction says so, and the face of cubes.
  [[nodiscard]] unsigned dimensions() const {
    return type == Type::d1 || type == Type::d1_array ? 1 : type == Type::d3 ? 3 : 2;
  }
  [[nodiscard]] unsigned coordinates(const Fields& f) const {
    return dimensions() + ((is_array() && f.array) || type == Type::cube ? 1 : 0);
  }
  [[nodiscard]] static uint32_t at_level(uint32_t size, uint32_t level) { return std::max(size >> level, 1u); }
  [[nodiscard]] uint32_t levels() const { return last_level >= base_level ? last_level - base_level + 1 : 1; }

  // Rows in front of a level's first one: levels lie below each other.
  [[nodiscard]] uint64_t rows_before(uint32_t level) const {
    uint64_t rows = 0;
    for (uint32_t i = 0; i < level; ++i) rows += at_level(height, i);
    return rows;
  }
  // Null if there is no such texel. Level and layer count from the first ones of the descriptor.
  [[nodiscard]] std::optional<uint64_t> address(uint32_t x, uint32_t y, uint32_t z, uint32_t level) const {
    level += base_level;
    if (level > last_level && level != base_level) return std::nullopt;
    if (x >= at_level(width, level) || y >= at_level(height, level)) return std::nullopt;
    uint64_t slice = z;
    if (type == Type::d3) {
      if (z >= at_level(depth, level)) return std::nullopt;
    } else {
      if (z >= layers) return std::nullopt;
      slice += first_layer;
    }
    const uint64_t rows_of_slice = rows_before(std::max(last_level, base_level) + 1);
    const uint64_t row = slice * rows_of_slice + rows_before(level) + y;
    return base + (row * pitch + x) * layout.bytes;
  }
  // The registers' components of a texel.
  void read(uint64_t at, uint32_t out[4]) const {
    uint32_t texel[4];
    format::read_element(reinterpret_cast<const void*>(at), layout, number, texel);
    select(texel, out);
  }
  // A texel of the registers' components.
  void write(void* texel, const uint32_t (&registers)[4]) const {
    uint32_t components[4];
    format::select_back(registers, selects, components);
    format::write_element(texel, layout, number, components, 4);
  }
  // The registers' components of one that has `texel` as its X, Y, Z and W (DST_SEL).
  void select(const uint32_t texel[4], uint32_t out[4]) const {
    for (unsigned i = 0; i < 4; ++i) out[i] = format::select(texel, selects >> (3 * i) & 7, number);
  }
};

// The values of address registers, which 16-bit addresses share by twos.
template <typename Register>
struct Addresses {
  Register reg;  // number of the register -> value
  bool a16 = false;

  [[nodiscard]] uint32_t integer(unsigned i) const { return a16 ? reg(i / 2) >> (16 * (i % 2)) & 0xffff : reg(i); }
  [[nodiscard]] float number(unsigned i) const {
    return a16 ? format::half_to_float(integer(i)) : std::bit_cast<float>(reg(i));
  }
};

// Where a load, store or atomic goes; null when out of range.
template <typename Register>
std::optional<uint64_t> texel_address(const Image& image, const Fields& f, const Addresses<Register>& a) {
  const unsigned dims = image.dimensions(), coordinates = image.coordinates(f);
  const uint32_t x = a.integer(0), y = dims >= 2 ? a.integer(1) : 0;
  const uint32_t z = coordinates > 1 && coordinates > (dims == 3 ? 2u : dims) ? a.integer(coordinates - 1) : 0;
  const uint32_t level = f.mip ? a.integer(coordinates) : 0;
  return image.address(x, y, dims == 3 ? a.integer(2) : z, level);
}

inline void resource_info(const Image& image, uint32_t level, uint32_t out[4]) {
  const bool exists = level < image.levels();
  const uint32_t l = level + image.base_level;
  out[0] = exists ? Image::at_level(image.width, l) : 0;
  out[1] = exists ? Image::at_level(image.height, l) : 0;
  out[2] = !exists ? 0 : image.type == Type::d3 ? Image::at_level(image.depth, l) : image.layers;
  out[3] = image.levels();
}

struct Sampler {
  uint32_t clamp[3];
  uint32_t compare;
  bool unnormalized, truncate;
  float min_lod, max_lod, bias;
  bool mag_linear, min_linear, z_linear;
  uint32_t mip_filter;  // 0 none, 1 point, 2 linear
  uint32_t border;
  const char* problem = nullptr;

  explicit Sampler(const uint32_t* w) {
    for (unsigned i = 0; i < 3; ++i) clamp[i] = w[0] >> (3 * i) & 7;
    compare = w[0] >> 12 & 7;
    unnormalized = (w[0] >> 15 & 1) != 0;
    truncate = (w[0] >> 27 & 1) != 0;
    if ((w[0] >> 29 & 3) != 0) problem = "filter mode";
    min_lod = static_cast<float>(w[1] & 0xfff) / 256;
    max_lod = static_cast<float>(w[1] >> 12 & 0xfff) / 256;
    bias = static_cast<float>(format::sign_extend(w[2] & 0x3fff, 14)) / 256;
    // Anisotropic filters are taken for their isotropic counterparts.
    mag_linear = (w[2] >> 20 & 1) != 0;
    min_linear = (w[2] >> 22 & 1) != 0;
    z_linear = (w[2] >> 24 & 3) == 2;
    mip_filter = w[2] >> 26 & 3;
    border = w[3] >> 30;
    if (border == 3) problem = "border colour";
  }
};

// One axis of a filter's footprint: two texels and the weight of the second, in 1/256. Texel -1 is the border.
struct Axis {
  int64_t texel[2];
  uint32_t weight;
};

// `mode`: CLAMP_X. -1: the border.
inline int64_t clamp_texel(int64_t i, int64_t size, uint32_t mode) {
  const auto mirrored = [&](int64_t k) { return k < 0 ? -1 - k : k; };
  switch (mode) {
    case 0: {  // wrap
      const int64_t m = i % size;
      return m < 0 ? m + size : m;
    }
    case 1: {  // mirror
      int64_t m = i % (2 * size);
      if (m < 0) m += 2 * size;
      return m < size ? m : 2 * size - 1 - m;
    }
    case 2:
      return std::clamp<int64_t>(i, 0, size - 1);
    case 3:
      return std::min(mirrored(i), size - 1);
    case 4:
    case 6:
      return i < 0 || i >= size ? -1 : i;
    default:
      return mirrored(i) >= size ? -1 : mirrored(i);
  }
}

// `position` in texels.
inline Axis axis_of(double position, uint32_t size, uint32_t mode, bool linear, bool truncate) {
  constexpr double kFar = 1 << 24;
  if (std::isnan(position)) position = 0;
  position = std::clamp(position, -kFar, kFar);
  if (mode == 4 || mode == 5) position = std::clamp(position, mode == 4 ? 0.0 : -double{1} * size, double{1} * size);
  if (!linear) {
    // To fixed point with eight bits of fraction, unless coordinates are truncated.
    const auto i = truncate ? static_cast<int64_t>(std::floor(position))
                            : static_cast<int64_t>(std::floor(position * 256 + 0.5)) >> 8;
    const int64_t texel = clamp_texel(i, size, mode);
    return {{texel, texel}, 0};
  }
  const auto fixed = static_cast<int64_t>(std::floor((position - 0.5) * 256 + 0.5));
  const int64_t i = fixed >> 8;
  return {{clamp_texel(i, size, mode), clamp_texel(i + 1, size, mode)}, static_cast<uint32_t>(fixed & 255)};
}

inline bool compares(uint32_t function, float reference, float texel) {
  const bool less = reference < texel, equal = reference == texel, greater = reference > texel;
  return ((function & 1) != 0 && less) || ((function & 2) != 0 && equal) || ((function & 4) != 0 && greater) ||
         function == 7;
}

// Why an image cannot be sampled with the instruction, or null. Where neither registers nor the opcode say the level of
// detail, neighbouring lanes do; of images of one level, with the same filter on both sides of 0, it selects nothing.
inline const char* sampling_problem(const Image& image, const Sampler& sampler, const Fields& f) {
  if (image.problem != nullptr) return image.problem;
  if (sampler.problem != nullptr) return sampler.problem;
  if (f.lod || f.lod_zero || f.derivatives) return nullptr;
  return image.levels() == 1 && sampler.mag_linear == sampler.min_linear ? nullptr : "level of detail";
}

// One lane of image_sample and image_gather4.
template <typename Register>
class Sample {
 public:
  Sample(const Image& image, const Sampler& sampler, const Fields& f, const Addresses<Register>& a)
      : image_(image), sampler_(sampler), f_(f) {
    unsigned at = 0;
    int32_t offset[3] = {};
    if (f.offset) {
      const uint32_t packed = a.reg(at++);
      for (unsigned i = 0; i < 3; ++i) offset[i] = format::sign_extend(packed >> (8 * i) & 63, 6);
    }
    if (f.compare) reference_ = std::bit_cast<float>(a.reg(at++));
    const Addresses<Shifted> rest{{a.reg, at}, f.a16};
    unsigned next = 0;
    const unsigned dims = image.dimensions();
    double derivatives[2][3] = {};
    if (f.derivatives) {
      for (auto& row : derivatives)
        for (unsigned i = 0; i < dims; ++i) row[i] = rest.number(next++);
    }
    for (unsigned i = 0; i < dims; ++i) position_[i] = rest.number(next++);
    if (image.type == Type::cube) {  // as v_cubesc and v_cubetc, divided and 1.5 added, leave them
      position_[0] -= 1;
      position_[1] -= 1;
    }
    if (image.coordinates(f) > dims) {
      const double layer = std::nearbyint(rest.number(next++));
      layer_ = static_cast<uint32_t>(std::clamp(std::isnan(layer) ? 0.0 : layer, 0.0, 65536.0));
      // "face_id = slice * 8 + face", other than without a sampler (Vega ISA manual, "Image Opcodes with a Sampler").
      if (image.type == Type::cube)
        layer_ = std::min(layer_ / 8, std::max(image.layers / 6, 1u) - 1) * 6 + std::min(layer_ % 8, 5u);
      layer_ = std::min(layer_, image.layers - 1);
    }
    normalized_ = !f.unnormalized && !sampler.unnormalized;
    for (unsigned i = 0; i < 3; ++i) offset_[i] = offset[i];
    double lod = 0;
    if (f.lod) lod = rest.number(next++);
    if (f.derivatives) {
      double longest = 0;
      for (const auto& row : derivatives) {
        double length = 0;
        for (unsigned i = 0; i < dims; ++i) length += std::pow(row[i] * (normalized_ ? size(i, 0) : 1), 2);
        longest = std::max(longest, length);
      }
      lod = longest > 0 ? std::log2(longest) / 2 : -126;
    }
    if (!f.lod_zero) lod += sampler.bias;
    if (std::isnan(lod)) lod = 0;
    lod = std::clamp(lod, double{sampler.min_lod}, std::max(double{sampler.max_lod}, double{sampler.min_lod}));
    lod_ = std::max(lod, image.min_lod / 256.0);
  }

  void sample(uint32_t out[4]) const {
    const bool linear = lod_ > 0 ? sampler_.min_linear : sampler_.mag_linear;
    const double last = image_.levels() - 1;
    double sums[4] = {};
    if (sampler_.mip_filter == 2) {
      const auto fixed = static_cast<uint32_t>(std::floor(std::clamp(lod_, 0.0, last) * 256 + 0.5));
      const uint32_t weight = fixed & 255;
      add(sums, fixed >> 8, linear, (256 - weight) / 256.0);
      if (weight != 0) add(sums, (fixed >> 8) + 1, linear, weight / 256.0);
    } else {
      const double level = sampler_.mip_filter == 1 ? std::clamp(std::floor(lod_ + 0.5), 0.0, last) : 0.0;
      add(sums, static_cast<uint32_t>(level), linear, 1);
    }
    for (unsigned i = 0; i < 4; ++i) {
      out[i] = format::is_integer(image_.number) && !f_.compare ? integer_of(sums[i])
                                                                : std::bit_cast<uint32_t>(static_cast<float>(sums[i]));
    }
  }

  // One component of the four texels that a bilinear filter would take.
  void gather(unsigned component, uint32_t out[4]) const {
    const auto level = static_cast<uint32_t>(std::clamp(std::floor(lod_ + 0.5), 0.0, image_.levels() - 1.0));
    const Axis x = axis(0, level, true), y = axis(1, level, true), z = axis(2, level, false);
    constexpr unsigned kPlaces[4][2] = {{0, 1}, {1, 1}, {1, 0}, {0, 0}};
    for (unsigned i = 0; i < 4; ++i) {
      uint32_t texel[4];
      read(x.texel[kPlaces[i][0]], y.texel[kPlaces[i][1]], z.texel[0], level, texel);
      out[i] = texel[component];
    }
  }

 private:
  struct Shifted {
    Register reg;
    unsigned first;
    uint32_t operator()(unsigned i) const { return reg(first + i); }
  };

  [[nodiscard]] uint32_t size(unsigned axis, uint32_t level) const {
    const uint32_t full = axis == 0 ? image_.width : axis == 1 ? image_.height : image_.depth;
    return Image::at_level(full, image_.base_level + level);
  }
  [[nodiscard]] Axis axis(unsigned i, uint32_t level, bool linear) const {
    if (i >= image_.dimensions()) return {{i == 2 ? layer_ : 0, i == 2 ? layer_ : 0}, 0};
    const uint32_t texels = size(i, level);
    // Faces of cubes are filtered each for itself.
    const uint32_t mode = image_.type == Type::cube ? 2 : sampler_.clamp[i];
    const double position = (normalized_ ? position_[i] * texels : position_[i]) + offset_[i];
    return axis_of(position, texels, mode, linear, sampler_.truncate);
  }
  void read(int64_t x, int64_t y, int64_t z, uint32_t level, uint32_t out[4]) const {
    std::optional<uint64_t> at;
    if (x >= 0 && y >= 0 && z >= 0)
      at = image_.address(static_cast<uint32_t>(x), static_cast<uint32_t>(y), static_cast<uint32_t>(z), level);
    if (at) {
      image_.read(*at, out);
    } else {
      const uint32_t alpha = sampler_.border == 0 ? 0 : format::one(image_.number);
      const uint32_t colour = sampler_.border == 2 ? alpha : 0;
      const uint32_t border[4] = {colour, colour, colour, alpha};
      image_.select(border, out);
    }
    if (!f_.compare) return;
    const float reference = image_.number == Number::unorm ? std::clamp(reference_, 0.0f, 1.0f) : reference_;
    const float one = compares(sampler_.compare, reference, std::bit_cast<float>(out[0])) ? 1.0f : 0.0f;
    out[0] = out[1] = out[2] = out[3] = std::bit_cast<uint32_t>(one);
  }
  [[nodiscard]] double value_of(uint32_t component) const {
    if (f_.compare || !format::is_integer(image_.number)) return std::bit_cast<float>(component);
    return image_.number == Number::sint ? static_cast<int32_t>(component) : static_cast<double>(component);
  }
  [[nodiscard]] uint32_t integer_of(double value) const {
    return static_cast<uint32_t>(static_cast<int64_t>(std::nearbyint(value)));
  }
  void add(double sums[4], uint32_t level, bool linear, double weight) const {
    const bool three = image_.type == Type::d3;
    const Axis axes[3] = {axis(0, level, linear), axis(1, level, linear && image_.dimensions() > 1),
                          axis(2, level, three && linear && sampler_.z_linear)};
    for (unsigned corner = 0; corner < 8; ++corner) {
      double share = weight;
      int64_t texel[3];
      for (unsigned i = 0; i < 3; ++i) {
        const unsigned second = corner >> i & 1;
        share *= (second != 0 ? axes[i].weight : 256 - axes[i].weight) / 256.0;
        texel[i] = axes[i].texel[second];
      }
      if (share == 0) continue;
      uint32_t components[4];
      read(texel[0], texel[1], texel[2], level, components);
      for (unsigned i = 0; i < 4; ++i) sums[i] += share * value_of(components[i]);
    }
  }

  const Image& image_;
  const Sampler& sampler_;
  const Fields& f_;
  double position_[3] = {};
  int32_t offset_[3] = {};
  uint32_t layer_ = 0;
  float reference_ = 0;
  double lod_ = 0;
  bool normalized_ = true;
};

}  // namespace wavejit::image
