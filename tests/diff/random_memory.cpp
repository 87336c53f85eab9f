#include "tests/diff/random_memory.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <string_view>

#include "internal/semantics/data_format.h"
#include "tests/diff/random_program.h"

namespace wavejit::test {
namespace {

using isa::Format;

// Rows from kAddressVgpr on.
enum Row : uint32_t {
  kLdsRow = kAddressVgpr,          // three of LDS offsets, dwords
  kLdsApart = kAddressVgpr + 3,    // LDS offsets 16 bytes apart, or the same
  kGlobalPair = kAddressVgpr + 4,  // three pairs of addresses, dwords
  kGlobalApart = kAddressVgpr + 10,
  kSharedPair = kAddressVgpr + 12,  // in the apertures, and one pair that mixes them lane by lane: 16 bytes apart
  kPrivatePair = kAddressVgpr + 14,
  kMixedPair = kAddressVgpr + 16,
  kIndex = kAddressVgpr + 18,  // index and offset of buffers, and an offset of its own
  kOffset = kAddressVgpr + 20,
  kIndexApart = kAddressVgpr + 22,  // the same, 16 bytes apart
  kScratch = kAddressVgpr + 24,     // 16 bytes apart; then dwords
  kCoordinates = kAddressVgpr + 26,
  kPositions = kAddressVgpr + 32,
  kAddress64 = kAddressVgpr + 44,    // of addr64
  kOffsetApart = kAddressVgpr + 46,  // as kOffset, 16 bytes apart
};
static_assert(kOffsetApart <= kLastAddressVgpr);

unsigned below(Rng& rng, unsigned n) {
  return static_cast<unsigned>(rng() % n);
}
bool chance(Rng& rng, unsigned one_in) {
  return rng() % one_in == 0;
}
uint32_t vgpr(Rng& rng) {
  return below(rng, 16);
}
bool has(const isa::OpcodeInfo& info, std::string_view part) {
  return info.name.find(part) != std::string_view::npos;
}
uint32_t number(const isa::OpcodeInfo& info, isa::Target target) {
  return static_cast<uint32_t>(info.number[static_cast<unsigned>(isa::family_of(target))]);
}
bool before_gfx8(isa::Target target) {
  return isa::family_of(target) < isa::Family::gfx8;
}
// Accumulation registers as data.
bool accumulators(isa::Target target, Rng& rng) {
  return isa::family_of(target) >= isa::Family::gfx90a && chance(rng, 4);
}

// Which of lanes that overlap in part is stored last is open (docs/isa-decisions.md), and host atomics want alignment.
bool is_wide(const isa::OpcodeInfo& info) {
  return (info.is_store && has(info, "_dwordx")) || (info.is_atomic && (has(info, "_x2") || has(info, "_f64")));
}

std::vector<uint32_t> ds_words(const isa::OpcodeInfo& info, isa::Target target, Rng& rng) {
  const bool early = before_gfx8(target);
  const bool two = has(info, "read2") || has(info, "write2") || has(info, "wrxchg2");
  const bool wide = info.is_store && !has(info, "src2") && (has(info, "b64") || has(info, "b96") || has(info, "b128"));
  uint32_t offset = static_cast<uint32_t>(rng()) & 0x00fc;
  if (two) offset = static_cast<uint32_t>(rng()) & (has(info, "st64") ? 0x0707u : 0x7f7fu);
  // Modes of swizzle, distances of the two-source forms.
  if (info.is_cross_lane || has(info, "src2")) offset |= static_cast<uint32_t>(rng()) & 0xff00u;
  // v0 to v2 start as offsets, and any register may be out of range.
  const uint32_t address = wide             ? kLdsApart
                           : chance(rng, 2) ? kLdsRow + below(rng, 4)
                           : chance(rng, 2) ? below(rng, 3)
                                            : vgpr(rng);
  uint32_t word0 = 0xd8000000u | number(info, target) << (early ? 18 : 17) | offset;
  if (chance(rng, 8) || has(info, "gws") || has(info, "ordered")) word0 |= early ? 0x20000u : 0x10000u;  // GDS
  if (accumulators(target, rng)) word0 |= 1u << 25;
  uint32_t word1 = vgpr(rng) << 24 | vgpr(rng) << 16 | vgpr(rng) << 8 | address;
  // Fields without operand must be 0.
  static constexpr uint32_t kMasks[] = {0xff00ffff, 0xff0000ff, 0xff000000, 0x000000ff, 0x0000ffff, 0x0000ff00, 0};
  if (chance(rng, 2)) word1 &= kMasks[rng() % std::size(kMasks)];
  if (wide) word1 |= address;
  if (info.name == "ds_nop") word0 &= 0xffff0000u, word1 = 0;
  return {word0, word1};
}

std::vector<uint32_t> flat_words(const isa::OpcodeInfo& info, isa::Target target, Rng& rng) {
  const bool gfx9 = isa::family_of(target) >= isa::Family::gfx9;
  const bool wide = is_wide(info);
  uint32_t word0 = 0xdc000000u | number(info, target) << 18 | (chance(rng, 2) ? 1u << 16 : 0);
  uint32_t word1 = vgpr(rng) << 24 | vgpr(rng) << 8;
  if (chance(rng, 8)) word0 |= 1u << 17;
  if (accumulators(target, rng)) word1 |= 1u << 23;
  const auto bits = static_cast<uint32_t>(rng());
  if (info.name.starts_with("scratch_")) {
    const bool scalar = chance(rng, 2);
    word0 |= 1u << 14 | (bits & (wide ? 0xf0 : 0xff));
    word1 |= (scalar ? kSmallSgpr + (wide ? 1 : below(rng, 2)) : 0x7f) << 16;
    word1 |= kScratch + (wide ? 0 : below(rng, 2));
    // GFX940 has a bit for whether there is a VGPR, besides an SGPR or alone. The sum stays in a lane's part.
    if (isa::family_of(target) == isa::Family::gfx940 && chance(rng, 2)) {
      word0 |= 1u << 13;
      if (scalar) word0 &= ~0xd0u;
    }
  } else if (info.name.starts_with("global_")) {
    const bool scalar = chance(rng, 2);
    word0 |= 2u << 14 | (bits & (wide ? 0x1ff0 : 0x1ffc));
    if (chance(rng, 8)) word0 |= 1u << 13;  // to LDS
    word1 |= (scalar ? kAddressSgpr : 0x7f) << 16;
    if (scalar)
      word1 |= wide ? kLdsApart : kLdsRow + below(rng, 4);
    else
      word1 |= wide ? kGlobalApart : kGlobalPair + 2 * below(rng, 4);
  } else {
    if (gfx9) word0 |= bits & (wide ? 0xf0 : 0xfc);
    // Floating-point atomics are other ones in each aperture; the rest of the pairs are global addresses.
    word1 |= wide ? kGlobalApart + 2 * below(rng, 4) : kGlobalPair + 2 * below(rng, 7);
  }
  return {word0, word1};
}

uint32_t buffer_address(const isa::OpcodeInfo& info, uint32_t modes, uint32_t* word0, bool wide, isa::Target target,
                        Rng& rng) {
  *word0 |= modes << 12;
  if (modes == 0 && before_gfx8(target) && chance(rng, 2)) {
    *word0 |= 1u << 15;
    return kAddress64;
  }
  (void)info;
  if (modes == 1) return wide ? kOffsetApart : kOffset;
  return wide ? kIndexApart : kIndex;
}

std::vector<uint32_t> buffer_words(const isa::OpcodeInfo& info, isa::Target target, Rng& rng) {
  const bool wide = is_wide(info);
  if (has(info, "_wb") || has(info, "_inv")) return {0xe0000000u | number(info, target) << 18, 0};
  const uint32_t modes = has(info, "store_lds") ? 0 : below(rng, 4);  // offen, idxen
  const bool aligned = wide || chance(rng, 4);
  uint32_t common = (chance(rng, 2) ? 1u << 14 : 0) | (static_cast<uint32_t>(rng()) & (aligned ? 0xf0 : 0x7c));
  const uint32_t address = buffer_address(info, modes, &common, aligned, target, rng);
  const uint32_t soffset = chance(rng, 2) ? 128 + (aligned ? 16 * below(rng, 4) : 4 * below(rng, 9))
                                          : kSmallSgpr + (aligned ? 1 : below(rng, 2));
  uint32_t word1 =
      soffset << 24 | (aligned ? kAlignedDescriptorSgpr : kDescriptorSgpr) / 4 << 16 | vgpr(rng) << 8 | address;
  if (isa::family_of(target) >= isa::Family::gfx90a ? accumulators(target, rng) : chance(rng, 8))
    word1 |= 1u << 23;  // accumulation registers, or TFE before
  if (info.format == Format::mubuf) {
    const bool lds = has(info, "store_lds") || chance(rng, 8);
    if (!before_gfx8(target) && chance(rng, 8)) common |= 1u << 17;
    return {0xe0000000u | number(info, target) << 18 | common | (lds ? 1u << 16 : 0), word1};
  }
  const uint32_t formats = random_format(rng);
  const unsigned shift = before_gfx8(target) ? 16 : 15;
  return {0xe8000000u | number(info, target) << shift | common | (formats & 15) << 19 | (formats >> 4) << 23, word1};
}

std::vector<uint32_t> image_words(const isa::OpcodeInfo& info, isa::Target target, Rng& rng) {
  const bool samples = has(info, "sample") || has(info, "gather");
  const bool plain = info.name == "image_sample";
  uint32_t dmask = 1 + below(rng, 15), resource = plain ? kPlainImageSgpr : kImageSgpr;
  if (has(info, "gather")) dmask = 1u << below(rng, 4);
  if (info.is_atomic) {
    const bool wide = chance(rng, 2), compare = has(info, "cmpswap");
    dmask = wide ? (compare ? 15 : 3) : (compare ? 3 : 1);
    resource = wide ? kImage64Sgpr : kImage32Sgpr;
  }
  const uint32_t row = samples          ? kPositions
                       : chance(rng, 8) ? vgpr(rng)
                       : info.is_atomic ? kCoordinates
                                        : kCoordinates + 2 * below(rng, 2);
  uint32_t word0 = 0xf0000000u | number(info, target) << 18 | dmask << 8;
  const auto sometimes = [&](unsigned one_in, uint32_t mask) {
    if (chance(rng, one_in)) word0 |= mask;
  };
  sometimes(8, 1u << 25);                       // slc
  if (!info.is_atomic) sometimes(8, 1u << 17);  // lwe
  if (accumulators(target, rng) || (!info.is_atomic && isa::family_of(target) < isa::Family::gfx90a && chance(rng, 8)))
    word0 |= 1u << 16;  // accumulators; TFE before
  // A16; before GFX9 R128: a descriptor without its second half.
  sometimes(isa::family_of(target) >= isa::Family::gfx9 ? 4 : 8, 1u << 15);
  sometimes(2, 1u << 14);  // array
  sometimes(2, 1u << 13);  // glc
  sometimes(2, 1u << 12);  // unnormalized
  uint32_t word1 = row | vgpr(rng) << 8 | resource / 4 << 16;
  if (samples) word1 |= (plain ? kPlainSamplerSgpr : kSamplerSgpr) / 4 << 21;
  if (chance(rng, 4)) word1 |= 1u << 31;  // d16
  return {word0, word1};
}

std::vector<uint32_t> scalar_words(const isa::OpcodeInfo& info, isa::Target target, Rng& rng) {
  const bool buffer = has(info, "buffer"), none = has(info, "dcache") && !has(info, "discard");
  const unsigned dwords = has(info, "x16")                                 ? 16
                          : has(info, "x8")                                ? 8
                          : has(info, "x4")                                ? 4
                          : has(info, "cmpswap_x2")                        ? 4
                          : has(info, "x2") || has(info, "atomic_cmpswap") ? 2
                                                                           : 1;
  const unsigned step = std::min(dwords, 4u);
  uint32_t data = step * below(rng, 16 / step);
  if (dwords <= 2 && chance(rng, 8)) data = 106;
  const uint32_t base = none ? 0 : !buffer ? kAddressSgpr : chance(rng, 2) ? kDescriptorSgpr : kAlignedDescriptorSgpr;
  const uint32_t small = kSmallSgpr + (info.is_atomic ? 1 : below(rng, 2));
  const auto bits = static_cast<uint32_t>(rng());
  if (before_gfx8(target)) {
    const uint32_t word0 = 0xc0000000u | number(info, target) << 22 | (none ? 0 : data << 15) | base / 2 << 9;
    if (none) return {word0};
    if (chance(rng, 2)) return {word0 | 1u << 8 | (bits & 0xff)};
    if (isa::family_of(target) == isa::Family::gfx7 && chance(rng, 2)) return {word0 | 255, bits & 0x7ff};
    return {word0 | small};
  }
  const bool gfx9 = isa::family_of(target) >= isa::Family::gfx9;
  uint32_t word0 = 0xc0000000u | number(info, target) << 18 | data << 6 | base / 2, word1 = 0;
  if (none) return {word0 & ~0x1fffu, 0};
  if (chance(rng, 2)) {
    word0 |= 1u << 17;
    word1 = bits & 0xfff;
    if (gfx9 && chance(rng, 4)) word1 |= 0x1ff000;  // negative
    if (info.is_atomic) word1 &= ~7u;
    if (gfx9 && chance(rng, 4)) {
      word0 |= 1u << 14;
      word1 |= small << 25;
    }
  } else if (gfx9 && chance(rng, 2)) {
    word0 |= 1u << 14;
    word1 = small << 25;
  } else {
    word1 = small;
  }
  if (info.is_memory && chance(rng, 2)) word0 |= 1u << 16;  // glc
  return {word0, word1};
}

void set_image(uint32_t* w, uint64_t base, isa::Target target, uint32_t formats, uint32_t type, Rng& rng) {
  const bool gfx9 = isa::family_of(target) >= isa::Family::gfx9;
  const bool cube = type == 11;
  const uint32_t width = 1 + (cube ? below(rng, 4) : below(rng, 12)), height = cube ? width : 1 + below(rng, 6);
  const uint32_t pitch = width + below(rng, 3), first = below(rng, 2);
  const uint32_t last = cube ? first + 5 : first + below(rng, 3);
  const uint32_t last_level = below(rng, 3), base_level = below(rng, last_level + 1);
  static constexpr uint32_t kSelects[] = {0, 1, 4, 5, 6, 7};
  w[0] = static_cast<uint32_t>(base >> 8);
  w[1] = static_cast<uint32_t>(base >> 40) & 0xff;
  if (chance(rng, 4)) w[1] |= below(rng, 700) << 8;
  w[1] |= (formats & 63) << 20 | (formats >> 6) << 26;
  w[2] = (width - 1) | (height - 1) << 14;
  w[3] = base_level << 12 | last_level << 16 | (gfx9 ? 0u : 8u) << 20 | type << 28;
  for (unsigned i = 0; i < 4; ++i) w[3] |= (chance(rng, 2) ? 4 + i : kSelects[rng() % std::size(kSelects)]) << (3 * i);
  w[4] = (type == 10 ? below(rng, 3) : last) | (pitch - 1) << 13;
  w[5] = first | last << 13;
  w[6] = w[7] = 0;
}

// A data format of images (bits 5:0), and a number format that it has above.
uint32_t image_format(Rng& rng) {
  for (;;) {
    const auto data = below(rng, 20), number = below(rng, 10);
    if (data == 15 || number == 6 || number == 8) continue;
    if (format::is_valid(format::image_layout_of(data), static_cast<format::Number>(number))) return data | number << 6;
  }
}

void set_sampler(uint32_t* w, Rng& rng) {
  w[0] =
      (static_cast<uint32_t>(rng()) & 0x0000'71ff) | (chance(rng, 4) ? 1u << 15 : 0) | (chance(rng, 4) ? 1u << 27 : 0);
  const uint32_t min_lod = chance(rng, 2) ? 0 : below(rng, 600);
  w[1] = min_lod | (min_lod + below(rng, 3000)) << 12;
  w[2] = chance(rng, 2) ? 0 : static_cast<uint32_t>(static_cast<int>(below(rng, 600)) - 300) & 0x3fff;
  w[2] |= below(rng, 2) << 20 | below(rng, 2) << 22 | below(rng, 3) << 24 | below(rng, 3) << 26;
  w[3] = below(rng, 3) << 30;
}

// A coordinate that is mostly within the image, perhaps one of 16 bits with another above it.
uint32_t coordinate(Rng& rng) {
  const uint32_t low = chance(rng, 8) ? below(rng, 20) : below(rng, 5);
  return chance(rng, 4) ? low | below(rng, 5) << 16 : low;
}

uint32_t position(Rng& rng) {
  switch (rng() % 8) {
    case 0:
      return corner_value(rng);
    case 1:
      return std::bit_cast<uint32_t>(static_cast<float>(below(rng, 200)) / 16 - 2);
    case 2:
      return static_cast<uint32_t>(rng()) & 0xbfffbfff & 0x3dff3dff;  // halves below 1.5
    default:
      return std::bit_cast<uint32_t>(static_cast<float>(below(rng, 512)) / 256 - 0.5f);
  }
}

// An offset, a multiple of `step`, in a buffer without an index: perhaps around the end of the buffer, or one whose sum
// with the immediate or with the size of the access wraps. Where GFX6 and GFX7 count records, offsets are not checked.
uint32_t edge_offset(const uint32_t* descriptor, isa::Target target, uint32_t step, uint32_t usual, Rng& rng) {
  const bool checked = !before_gfx8(target) || (descriptor[1] >> 16 & 0x3fff) == 0;
  if (!checked || !chance(rng, 3)) return usual;
  if (chance(rng, 3)) return 0 - step * (1 + below(rng, 9));
  return (descriptor[2] & ~(step - 1)) + step * below(rng, 4) - 3 * step;
}

}  // namespace

bool is_memory_format(Format format) {
  switch (format) {
    case Format::ds:
    case Format::flat:
    case Format::mubuf:
    case Format::mtbuf:
    case Format::mimg:
    case Format::smem:
      return true;
    default:
      return false;
  }
}

bool needs_addresses(isa::Opcode opcode) {
  const isa::OpcodeInfo& info = isa::info(opcode);
  if (!is_memory_format(info.format) || !(info.is_memory || info.format == Format::smem)) return false;
  // The LDS's limits are checked; only stores of several dwords need lanes that do not overlap in part.
  return info.format != Format::ds || (info.is_store && (has(info, "b64") || has(info, "b96") || has(info, "b128")));
}

std::vector<uint32_t> random_memory_words(isa::Opcode opcode, isa::Target target, Rng& rng) {
  const isa::OpcodeInfo& info = isa::info(opcode);
  switch (info.format) {
    case Format::ds:
      return ds_words(info, target, rng);
    case Format::flat:
      return flat_words(info, target, rng);
    case Format::mubuf:
    case Format::mtbuf:
      return buffer_words(info, target, rng);
    case Format::mimg:
      return image_words(info, target, rng);
    case Format::smem:
      return scalar_words(info, target, rng);
    default:
      return {};
  }
}

void set_addresses(WaveState& wave, const MemoryMap& map, isa::Target target, Rng& rng) {
  const uint64_t memory = map.memory + kMemoryBytes / 2;
  wave.set_sgpr64(kAddressSgpr, memory);
  wave.sgpr[kSmallSgpr] = 4 * below(rng, 60);  // 236 + 255 + 16 bytes are inside scratch
  wave.sgpr[kSmallSgpr + 1] = 16 * below(rng, 16);
  wave.scratch_base = map.scratch;
  wave.scratch_bytes_per_lane = kScratchBytesPerLane;

  static constexpr uint64_t kStrides[] = {0, 0, 4, 12, 16, 24};
  const uint64_t high = kStrides[rng() % std::size(kStrides)] << 16 | (rng() % 3 == 0 ? 1u << 31 : 0);
  wave.set_sgpr64(kDescriptorSgpr, (memory & 0xffffffffffff) | high << 32);
  wave.sgpr[kDescriptorSgpr + 2] = chance(rng, 2) ? below(rng, 64) : below(rng, 2000);
  // Selects, formats, element size (4 or 16 bytes: elements of two would split dwords of several lanes) and index
  // stride (8 or 16 lanes: more would swizzle to behind the memory). Lanes are not added to the index: the format would
  // be a stride.
  const uint32_t formats = random_format(rng);
  wave.sgpr[kDescriptorSgpr + 3] =
      (static_cast<uint32_t>(rng()) & 0x00380fff) | 1u << 19 | (formats & 15) << 15 | (formats >> 4) << 12;
  wave.set_sgpr64(kAlignedDescriptorSgpr, (memory & 0xffffffffffff) | uint64_t{16 * below(rng, 4)} << 48);
  wave.sgpr[kAlignedDescriptorSgpr + 2] = chance(rng, 2) ? below(rng, 64) : below(rng, 4000);
  const uint32_t aligned_formats = random_format(rng);
  wave.sgpr[kAlignedDescriptorSgpr + 3] =
      (static_cast<uint32_t>(rng()) & 0xfff) | (aligned_formats & 15) << 15 | (aligned_formats >> 4) << 12;

  static constexpr uint32_t kTypes[] = {8, 9, 9, 9, 10, 11, 12, 13};
  set_image(&wave.sgpr[kImageSgpr], map.memory, target, image_format(rng), kTypes[rng() % std::size(kTypes)], rng);
  set_image(&wave.sgpr[kImage32Sgpr], map.memory, target, 4 | 4 << 6, kTypes[rng() % std::size(kTypes)], rng);
  set_image(&wave.sgpr[kImage64Sgpr], map.memory, target, 11 | 4 << 6, kTypes[rng() % std::size(kTypes)], rng);
  set_sampler(&wave.sgpr[kSamplerSgpr], rng);
  Rng plain = rng;  // so that what follows is the same with it and without
  uint32_t* image = &wave.sgpr[kPlainImageSgpr];
  uint32_t* sampler = &wave.sgpr[kPlainSamplerSgpr];
  set_image(image, map.memory, target, image_format(plain), kTypes[plain() % std::size(kTypes)], plain);
  image[3] &= ~(0xffu << 12);  // first and last level
  set_sampler(sampler, plain);
  sampler[2] = (sampler[2] & ~(1u << 22)) | (sampler[2] >> 20 & 1) << 22;  // minification as magnification

  for (unsigned lane = 0; lane < kWaveSize; ++lane) {
    const auto set = [&](unsigned row, uint32_t value) { wave.vgpr[row][lane] = value; };
    const auto set64 = [&](unsigned row, uint64_t value) {
      set(row, static_cast<uint32_t>(value));
      set(row + 1, static_cast<uint32_t>(value >> 32));
    };
    // Those of programs.
    set(kProgramVgpr + 0, 4 * lane);
    set(kProgramVgpr + 1, static_cast<uint32_t>(rng()) & 0xffc);
    set(kProgramVgpr + 2, 4 * (63 - lane));
    set(kProgramVgpr + 3, 4 * (lane ^ 17));
    const uint64_t addresses[] = {memory + 4 * lane, memory + (rng() & 0xffc), memory + 4 * (63 - lane) + 60};
    for (unsigned i = 0; i < 3; ++i) {
      set64(kProgramVgpr + 4 + 2 * i, addresses[i]);
      set64(kGlobalPair + 2 * i, addresses[i]);
    }
    for (unsigned i = 0; i < 3; ++i) set(kLdsRow + i, wave.vgpr[kProgramVgpr + i][lane]);
    set(kLdsApart, 16 * below(rng, chance(rng, 16) ? 300 : 64));
    set64(kGlobalApart, memory + 16 * (chance(rng, 8) ? below(rng, 64) : (lane * 13 + 5) % 64));
    const uint64_t shared = uint64_t{kSharedApertureHi} << 32 | 16 * below(rng, chance(rng, 16) ? 300 : 64);
    const uint64_t own = uint64_t{kPrivateApertureHi} << 32 | 16 * below(rng, 15);
    set64(kSharedPair, shared);
    set64(kPrivatePair, own);
    const uint64_t mixed[] = {memory + 16 * below(rng, 64), shared, own};
    set64(kMixedPair, mixed[rng() % 3]);
    set(kIndex, (lane * 5 + 3) % 64);
    set(kIndex + 1, 4 * (lane % 11));
    set(kOffset, edge_offset(&wave.sgpr[kDescriptorSgpr], target, 4, 16 * (lane ^ 9), rng));
    set(kOffsetApart, edge_offset(&wave.sgpr[kAlignedDescriptorSgpr], target, 16, 16 * below(rng, 32), rng));
    set(kIndexApart, below(rng, 64));
    set(kIndexApart + 1, 16 * below(rng, 32));
    set(kScratch, 16 * below(rng, 12));
    set(kScratch + 1, 4 * below(rng, 50));
    for (unsigned i = 0; i < 6; ++i) set(kCoordinates + i, coordinate(rng));
    for (unsigned i = 0; i < 12; ++i) set(kPositions + i, position(rng));
    set64(kAddress64, 16 * below(rng, 64));
  }
}

}  // namespace wavejit::test
