// Images and samplers of the HSA image extension. An image handle is the address of its hardware descriptor, which HIP
// copies into texture objects. All images are linear: rows, slices and layers one behind the other.
//
// Fields: Vega and GCN3 ISA manuals, "Image Resource Descriptor", "Buffer Resource Descriptor", "Image Sampler
// Descriptor"; include/internal/semantics/image_access.h reads them.
#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <optional>

#include "frontend/isa/target.h"
#include "internal/semantics/data_format.h"
#include "runtime/hsa/agent.h"
#include "runtime/hsa/live.h"
#include "runtime/hsa/memory.h"
#include "runtime/hsa/newer_api.h"
#include "runtime/hsa/status.h"

namespace wavejit::hsa {
namespace {

constexpr size_t kAlignment = 256;  // of images in memory: descriptors count in such units

// What HIP reads through the handle: a descriptor of images (8 words), then what device code asks the format from
// (ROCm device libraries, ockl image.cl: channel type, channel order, width).
struct alignas(64) Image {
  std::array<uint32_t, 12> words{};
  hsa_ext_image_descriptor_t descriptor{};
  uint8_t* data = nullptr;
  size_t element_bytes = 0, row_pitch = 0, slice_pitch = 0;
};
struct alignas(64) Sampler {
  std::array<uint32_t, 8> words{};
};

Live<Image>& images() {
  static auto* const all = new Live<Image>;
  return *all;
}
Live<Sampler>& samplers() {
  static auto* const all = new Live<Sampler>;
  return *all;
}

using format::Number;

// How components lie in memory: the data format for 1, 2, 3 and 4 of them; 0 where there is none.
struct ChannelType {
  Number number;
  uint8_t data_format[4];
};
std::optional<ChannelType> channel_type(uint32_t type) {
  constexpr uint8_t k8[4] = {1, 3, 0, 10}, k16[4] = {2, 5, 0, 12}, k32[4] = {4, 11, 13, 14};
  const auto of = [](Number number, const uint8_t(&f)[4]) { return ChannelType{number, {f[0], f[1], f[2], f[3]}}; };
  switch (type) {
    case HSA_EXT_IMAGE_CHANNEL_TYPE_SNORM_INT8:
      return of(Number::snorm, k8);
    case HSA_EXT_IMAGE_CHANNEL_TYPE_SNORM_INT16:
      return of(Number::snorm, k16);
    case HSA_EXT_IMAGE_CHANNEL_TYPE_UNORM_INT8:
      return of(Number::unorm, k8);
    case HSA_EXT_IMAGE_CHANNEL_TYPE_UNORM_INT16:
      return of(Number::unorm, k16);
    case HSA_EXT_IMAGE_CHANNEL_TYPE_UNORM_SHORT_565:
      return ChannelType{Number::unorm, {0, 0, 16, 0}};
    case HSA_EXT_IMAGE_CHANNEL_TYPE_UNORM_SHORT_555:
      return ChannelType{Number::unorm, {0, 0, 17, 0}};
    case HSA_EXT_IMAGE_CHANNEL_TYPE_UNORM_SHORT_101010:
      return ChannelType{Number::unorm, {0, 0, 9, 0}};
    case HSA_EXT_IMAGE_CHANNEL_TYPE_SIGNED_INT8:
      return of(Number::sint, k8);
    case HSA_EXT_IMAGE_CHANNEL_TYPE_SIGNED_INT16:
      return of(Number::sint, k16);
    case HSA_EXT_IMAGE_CHANNEL_TYPE_SIGNED_INT32:
      return of(Number::sint, k32);
    case HSA_EXT_IMAGE_CHANNEL_TYPE_UNSIGNED_INT8:
      return of(Number::uint, k8);
    case HSA_EXT_IMAGE_CHANNEL_TYPE_UNSIGNED_INT16:
      return of(Number::uint, k16);
    case HSA_EXT_IMAGE_CHANNEL_TYPE_UNSIGNED_INT32:
      return of(Number::uint, k32);
    case HSA_EXT_IMAGE_CHANNEL_TYPE_HALF_FLOAT:
      return of(Number::float_, k16);
    case HSA_EXT_IMAGE_CHANNEL_TYPE_FLOAT:
      return of(Number::float_, k32);
    default:
      return std::nullopt;
  }
}

// Components of an order, and which of them (4 to 7: the first to the fourth; 0 and 1 are themselves) registers get.
struct ChannelOrder {
  unsigned components = 0;
  uint8_t select[4];
  bool srgb = false;
};
std::optional<ChannelOrder> channel_order(uint32_t order) {
  constexpr uint8_t x = 4, y = 5, z = 6, w = 7;
  switch (order) {
    case HSA_EXT_IMAGE_CHANNEL_ORDER_A:
      return ChannelOrder{1, {0, 0, 0, x}};
    case HSA_EXT_IMAGE_CHANNEL_ORDER_R:
    case HSA_EXT_IMAGE_CHANNEL_ORDER_RX:
    case HSA_EXT_IMAGE_CHANNEL_ORDER_DEPTH:
      return ChannelOrder{1, {x, 0, 0, 1}};
    case HSA_EXT_IMAGE_CHANNEL_ORDER_RG:
    case HSA_EXT_IMAGE_CHANNEL_ORDER_RGX:
      return ChannelOrder{2, {x, y, 0, 1}};
    case HSA_EXT_IMAGE_CHANNEL_ORDER_RA:
      return ChannelOrder{2, {x, 0, 0, y}};
    case HSA_EXT_IMAGE_CHANNEL_ORDER_RGB:  // of packed types alone, which have R in the highest bits
      return ChannelOrder{3, {z, y, x, 1}};
    case HSA_EXT_IMAGE_CHANNEL_ORDER_RGBX:
      return ChannelOrder{4, {x, y, z, 1}};
    case HSA_EXT_IMAGE_CHANNEL_ORDER_RGBA:
      return ChannelOrder{4, {x, y, z, w}};
    case HSA_EXT_IMAGE_CHANNEL_ORDER_BGRA:
      return ChannelOrder{4, {z, y, x, w}};
    case HSA_EXT_IMAGE_CHANNEL_ORDER_ARGB:
      return ChannelOrder{4, {y, z, w, x}};
    case HSA_EXT_IMAGE_CHANNEL_ORDER_ABGR:
      return ChannelOrder{4, {w, z, y, x}};
    case HSA_EXT_IMAGE_CHANNEL_ORDER_SRGBA:
      return ChannelOrder{4, {x, y, z, w}, true};
    case HSA_EXT_IMAGE_CHANNEL_ORDER_SBGRA:
      return ChannelOrder{4, {z, y, x, w}, true};
    case HSA_EXT_IMAGE_CHANNEL_ORDER_INTENSITY:
      return ChannelOrder{1, {x, x, x, x}};
    case HSA_EXT_IMAGE_CHANNEL_ORDER_LUMINANCE:
      return ChannelOrder{1, {x, x, x, 1}};
    default:
      return std::nullopt;
  }
}

struct Format {
  uint32_t data_format = 0;
  Number number = Number::unorm;
  uint32_t selects = 0;
  size_t bytes = 0;
};
std::optional<Format> format_of(const hsa_ext_image_format_t& wanted) {
  const auto type = channel_type(wanted.channel_type);
  const auto order = channel_order(wanted.channel_order);
  if (!type || !order) return std::nullopt;
  Format f{.data_format = type->data_format[order->components - 1], .number = type->number};
  if (order->srgb) {
    if (f.data_format != 10 || f.number != Number::unorm) return std::nullopt;
    f.number = Number::srgb;
  }
  const format::Layout layout = format::image_layout_of(f.data_format);
  if (f.data_format == 0 || !format::is_valid(layout, f.number)) return std::nullopt;
  f.bytes = layout.bytes;
  for (unsigned i = 0; i < 4; ++i) f.selects |= uint32_t{order->select[i]} << (3 * i);
  return f;
}

struct Geometry {
  uint32_t type;  // of the descriptor; 0: a buffer
  unsigned dimensions;
  bool array = false;
};
std::optional<Geometry> geometry_of(uint32_t geometry) {
  switch (geometry) {
    case HSA_EXT_IMAGE_GEOMETRY_1D:
      return Geometry{8, 1};
    case HSA_EXT_IMAGE_GEOMETRY_2D:
    case HSA_EXT_IMAGE_GEOMETRY_2DDEPTH:
      return Geometry{9, 2};
    case HSA_EXT_IMAGE_GEOMETRY_3D:
      return Geometry{10, 3};
    case HSA_EXT_IMAGE_GEOMETRY_1DA:
      return Geometry{12, 1, true};
    case HSA_EXT_IMAGE_GEOMETRY_2DA:
    case HSA_EXT_IMAGE_GEOMETRY_2DADEPTH:
      return Geometry{13, 2, true};
    case HSA_EXT_IMAGE_GEOMETRY_1DB:
      return Geometry{0, 1};
    default:
      return std::nullopt;
  }
}

// Values outside of hsa_status_t are no constant expressions.
const auto kFormatUnsupported = static_cast<hsa_status_t>(HSA_EXT_STATUS_ERROR_IMAGE_FORMAT_UNSUPPORTED);
const auto kSizeUnsupported = static_cast<hsa_status_t>(HSA_EXT_STATUS_ERROR_IMAGE_SIZE_UNSUPPORTED);
const auto kPitchUnsupported = static_cast<hsa_status_t>(HSA_EXT_STATUS_ERROR_IMAGE_PITCH_UNSUPPORTED);

// Sizes of an image. Pitches of 0 are chosen.
struct Extent {
  Format format;
  Geometry geometry;
  uint32_t width = 1, height = 1, slices = 1;
  size_t row_pitch = 0, slice_pitch = 0;
  [[nodiscard]] size_t bytes() const { return slice_pitch * slices; }
};
hsa_status_t extent_of(const hsa_ext_image_descriptor_t& d, size_t row_pitch, size_t slice_pitch, Extent& out) {
  const auto geometry = geometry_of(d.geometry);
  if (!geometry) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  const auto format = format_of(d.format);
  if (!format) return kFormatUnsupported;
  out.format = *format;
  out.geometry = *geometry;
  if (std::max({d.width, d.height, d.depth, d.array_size}) > UINT32_MAX) return kSizeUnsupported;
  out.width = static_cast<uint32_t>(d.width);
  out.height = geometry->dimensions >= 2 ? static_cast<uint32_t>(d.height) : 1;
  out.slices = static_cast<uint32_t>(geometry->array ? d.array_size : geometry->dimensions == 3 ? d.depth : 1);
  const bool is_buffer = geometry->type == 0;
  if (d.width == 0 || out.height == 0 || out.slices == 0) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  if (!is_buffer && (d.width > 16384 || out.height > 16384 || out.slices > 8192)) return kSizeUnsupported;
  out.row_pitch = row_pitch ? row_pitch : size_t{out.width} * format->bytes;
  if (out.row_pitch % format->bytes != 0 || out.row_pitch < size_t{out.width} * format->bytes) return kPitchUnsupported;
  out.slice_pitch = slice_pitch ? slice_pitch : out.row_pitch * out.height;
  // Slices lie one behind the other, without gaps.
  if (out.slices > 1 && out.slice_pitch != out.row_pitch * out.height) return kPitchUnsupported;
  return HSA_STATUS_SUCCESS;
}

void describe(Image& image, const Agent& agent, const Extent& e) {
  const bool gfx9 = isa::family_of(agent.target) >= isa::Family::gfx9;
  const auto address = reinterpret_cast<uint64_t>(image.data);
  auto& w = image.words;
  w[8] = image.descriptor.format.channel_type;
  w[9] = image.descriptor.format.channel_order;
  w[10] = e.width;
  const auto number = static_cast<uint32_t>(e.format.number);
  if (e.geometry.type == 0) {  // a buffer: elements of a structure
    w[0] = static_cast<uint32_t>(address);
    w[1] = static_cast<uint32_t>(address >> 32 & 0xffff) | static_cast<uint32_t>(e.format.bytes) << 16;
    w[2] = gfx9 ? e.width : static_cast<uint32_t>(e.width * e.format.bytes);
    w[3] = e.format.selects | number << 12 | e.format.data_format << 15;
    return;
  }
  const auto pitch = static_cast<uint32_t>(e.row_pitch / e.format.bytes);
  const uint32_t last = e.slices - 1;
  w[0] = static_cast<uint32_t>(address >> 8);
  w[1] = static_cast<uint32_t>(address >> 40 & 0xff) | e.format.data_format << 20 | number << 26;
  w[2] = (e.width - 1) | (e.height - 1) << 14;
  w[3] = e.format.selects | (gfx9 ? 0u : 8u) << 20 | e.geometry.type << 28;
  w[4] = (e.geometry.dimensions == 3 || gfx9 ? last : 0) | (pitch - 1) << 13;
  w[5] = gfx9 ? 0 : last << 13;
}

hsa_status_t create(const Agent& agent, const hsa_ext_image_descriptor_t& descriptor, const void* data,
                    size_t row_pitch, size_t slice_pitch, hsa_ext_image_t* out) {
  Extent extent;
  if (const hsa_status_t status = extent_of(descriptor, row_pitch, slice_pitch, extent); status != HSA_STATUS_SUCCESS)
    return status;
  if (!data) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  if (extent.geometry.type != 0 && reinterpret_cast<uint64_t>(data) % kAlignment != 0)
    return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  auto image = std::make_shared<Image>();
  image->descriptor = descriptor;
  image->data = const_cast<uint8_t*>(static_cast<const uint8_t*>(data));
  image->element_bytes = extent.format.bytes;
  image->row_pitch = extent.row_pitch;
  image->slice_pitch = extent.slice_pitch;
  describe(*image, agent, extent);
  out->handle = images().add(std::move(image));
  return HSA_STATUS_SUCCESS;
}

hsa_status_t gpu(hsa_agent_t handle, Agent*& agent) {
  agent = agent_of(handle);
  return agent && agent->is_gpu() ? HSA_STATUS_SUCCESS : HSA_STATUS_ERROR_INVALID_AGENT;
}

// Whether the region lies in the image. Sizes of 0 in y and z mean 1.
bool contains(const Image& image, const hsa_dim3_t& offset, const hsa_dim3_t& range) {
  const auto fits = [](uint64_t at, uint64_t size, uint64_t limit) { return at <= limit && size <= limit - at; };
  const auto& d = image.descriptor;
  const auto one = [](uint64_t size) { return std::max<uint64_t>(1, size); };
  const Geometry geometry = *geometry_of(d.geometry);
  const bool layers = d.geometry == HSA_EXT_IMAGE_GEOMETRY_1DA;
  const uint64_t height = layers ? d.array_size : geometry.dimensions >= 2 ? d.height : 1;
  const uint64_t slices = layers ? 1 : geometry.array ? d.array_size : geometry.dimensions == 3 ? d.depth : 1;
  return fits(offset.x, range.x, d.width) && fits(offset.y, one(range.y), height) &&
         fits(offset.z, one(range.z), slices);
}

// Calls row(image's bytes, index of the row within the region, bytes).
template <typename Row>
void each_row(const Image& image, const hsa_dim3_t& offset, const hsa_dim3_t& range, Row&& row) {
  // The second coordinate of arrays of one dimension is the layer.
  const bool layers = image.descriptor.geometry == HSA_EXT_IMAGE_GEOMETRY_1DA;
  for (uint32_t z = 0; z < std::max(1u, range.z); ++z)
    for (uint32_t y = 0; y < std::max(1u, range.y); ++y) {
      const size_t slice = layers ? offset.y + y : offset.z + z, line = layers ? 0 : offset.y + y;
      row(image.data + slice * image.slice_pitch + line * image.row_pitch + offset.x * image.element_bytes, z, y,
          range.x * image.element_bytes);
    }
}

}  // namespace
}  // namespace wavejit::hsa

using namespace wavejit::hsa;

WAVEJIT_HSA_API hsa_status_t hsa_ext_image_get_capability(hsa_agent_t agent, hsa_ext_image_geometry_t geometry,
                                                          const hsa_ext_image_format_t* format, uint32_t* mask) {
  return entry([&] {
    Agent* a = nullptr;
    if (const hsa_status_t status = gpu(agent, a); status != HSA_STATUS_SUCCESS) return status;
    if (!format || !mask || !geometry_of(geometry)) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    *mask = format_of(*format)
                ? HSA_EXT_IMAGE_CAPABILITY_READ_ONLY | HSA_EXT_IMAGE_CAPABILITY_WRITE_ONLY |
                      HSA_EXT_IMAGE_CAPABILITY_READ_WRITE | HSA_EXT_IMAGE_CAPABILITY_ACCESS_INVARIANT_DATA_LAYOUT
                : HSA_EXT_IMAGE_CAPABILITY_NOT_SUPPORTED;
    return HSA_STATUS_SUCCESS;
  });
}
WAVEJIT_HSA_API hsa_status_t hsa_ext_image_get_capability_with_layout(hsa_agent_t agent,
                                                                      hsa_ext_image_geometry_t geometry,
                                                                      const hsa_ext_image_format_t* format,
                                                                      hsa_ext_image_data_layout_t, uint32_t* mask) {
  return hsa_ext_image_get_capability(agent, geometry, format, mask);
}

WAVEJIT_HSA_API hsa_status_t hsa_ext_image_data_get_info_with_layout(
    hsa_agent_t agent, const hsa_ext_image_descriptor_t* descriptor, hsa_access_permission_t,
    hsa_ext_image_data_layout_t, size_t row_pitch, size_t slice_pitch, hsa_ext_image_data_info_t* info) {
  return entry([&] {
    Agent* a = nullptr;
    if (const hsa_status_t status = gpu(agent, a); status != HSA_STATUS_SUCCESS) return status;
    if (!descriptor || !info) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    Extent extent;
    const hsa_status_t status = extent_of(*descriptor, row_pitch, slice_pitch, extent);
    if (status != HSA_STATUS_SUCCESS) return status;
    info->size = extent.bytes();
    info->alignment = kAlignment;
    return HSA_STATUS_SUCCESS;
  });
}
WAVEJIT_HSA_API hsa_status_t hsa_ext_image_data_get_info(hsa_agent_t agent,
                                                         const hsa_ext_image_descriptor_t* descriptor,
                                                         hsa_access_permission_t permission,
                                                         hsa_ext_image_data_info_t* info) {
  return hsa_ext_image_data_get_info_with_layout(agent, descriptor, permission, HSA_EXT_IMAGE_DATA_LAYOUT_LINEAR, 0, 0,
                                                 info);
}

WAVEJIT_HSA_API hsa_status_t hsa_ext_image_create_with_layout(hsa_agent_t agent,
                                                              const hsa_ext_image_descriptor_t* descriptor,
                                                              const void* data, hsa_access_permission_t,
                                                              hsa_ext_image_data_layout_t, size_t row_pitch,
                                                              size_t slice_pitch, hsa_ext_image_t* image) {
  return entry([&] {
    Agent* a = nullptr;
    if (const hsa_status_t status = gpu(agent, a); status != HSA_STATUS_SUCCESS) return status;
    if (!descriptor || !image) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    return create(*a, *descriptor, data, row_pitch, slice_pitch, image);
  });
}
WAVEJIT_HSA_API hsa_status_t hsa_ext_image_create(hsa_agent_t agent, const hsa_ext_image_descriptor_t* descriptor,
                                                  const void* data, hsa_access_permission_t permission,
                                                  hsa_ext_image_t* image) {
  return hsa_ext_image_create_with_layout(agent, descriptor, data, permission, HSA_EXT_IMAGE_DATA_LAYOUT_LINEAR, 0, 0,
                                          image);
}
// With a descriptor that a graphics driver has made, of tiled memory.
WAVEJIT_HSA_API hsa_status_t hsa_amd_image_create(hsa_agent_t, const hsa_ext_image_descriptor_t*,
                                                  const hsa_amd_image_descriptor_t*, const void*,
                                                  hsa_access_permission_t, hsa_ext_image_t*) {
  return entry([] { return not_implemented("hsa_amd_image_create", kFormatUnsupported); });
}
WAVEJIT_HSA_API hsa_status_t hsa_ext_image_destroy(hsa_agent_t agent, hsa_ext_image_t image) {
  return entry([&] {
    if (!agent_of(agent)) return HSA_STATUS_ERROR_INVALID_AGENT;
    return images().take(image.handle) ? HSA_STATUS_SUCCESS : HSA_STATUS_ERROR_INVALID_ARGUMENT;
  });
}

WAVEJIT_HSA_API hsa_status_t hsa_ext_image_import(hsa_agent_t agent, const void* from, size_t row_pitch,
                                                  size_t slice_pitch, hsa_ext_image_t handle,
                                                  const hsa_ext_image_region_t* region) {
  return entry([&] {
    if (!agent_of(agent)) return HSA_STATUS_ERROR_INVALID_AGENT;
    const std::shared_ptr<Image> image = images().find(handle.handle);
    if (!from || !image || !region || !contains(*image, region->offset, region->range))
      return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    const size_t pitch = std::max(row_pitch, region->range.x * image->element_bytes);
    const size_t slice = std::max(slice_pitch, pitch * std::max(1u, region->range.y));
    each_row(*image, region->offset, region->range, [&](uint8_t* to, size_t z, size_t y, size_t bytes) {
      copy_bytes(to, static_cast<const uint8_t*>(from) + z * slice + y * pitch, bytes);
    });
    return HSA_STATUS_SUCCESS;
  });
}
WAVEJIT_HSA_API hsa_status_t hsa_ext_image_export(hsa_agent_t agent, hsa_ext_image_t handle, void* to, size_t row_pitch,
                                                  size_t slice_pitch, const hsa_ext_image_region_t* region) {
  return entry([&] {
    if (!agent_of(agent)) return HSA_STATUS_ERROR_INVALID_AGENT;
    const std::shared_ptr<Image> image = images().find(handle.handle);
    if (!to || !image || !region || !contains(*image, region->offset, region->range))
      return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    const size_t pitch = std::max(row_pitch, region->range.x * image->element_bytes);
    const size_t slice = std::max(slice_pitch, pitch * std::max(1u, region->range.y));
    each_row(*image, region->offset, region->range, [&](const uint8_t* from, size_t z, size_t y, size_t bytes) {
      copy_bytes(static_cast<uint8_t*>(to) + z * slice + y * pitch, from, bytes);
    });
    return HSA_STATUS_SUCCESS;
  });
}
WAVEJIT_HSA_API hsa_status_t hsa_ext_image_copy(hsa_agent_t agent, hsa_ext_image_t from_handle,
                                                const hsa_dim3_t* from_offset, hsa_ext_image_t to_handle,
                                                const hsa_dim3_t* to_offset, const hsa_dim3_t* range) {
  return entry([&] {
    if (!agent_of(agent)) return HSA_STATUS_ERROR_INVALID_AGENT;
    const std::shared_ptr<Image> from = images().find(from_handle.handle), to = images().find(to_handle.handle);
    if (!from || !to || !from_offset || !to_offset || !range || from->element_bytes != to->element_bytes ||
        !contains(*from, *from_offset, *range) || !contains(*to, *to_offset, *range))
      return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    each_row(*from, *from_offset, *range, [&](const uint8_t* source, uint32_t z, uint32_t y, size_t bytes) {
      const hsa_dim3_t at{to_offset->x, to_offset->y + y, to_offset->z + z};
      each_row(*to, at, hsa_dim3_t{range->x, 1, 1},
               [&](uint8_t* target, uint32_t, uint32_t, size_t) { copy_bytes(target, source, bytes); });
    });
    return HSA_STATUS_SUCCESS;
  });
}
// `value`: four components, of 32 bits each, as a kernel would store them.
WAVEJIT_HSA_API hsa_status_t hsa_ext_image_clear(hsa_agent_t agent, hsa_ext_image_t handle, const void* value,
                                                 const hsa_ext_image_region_t* region) {
  return entry([&] {
    if (!agent_of(agent)) return HSA_STATUS_ERROR_INVALID_AGENT;
    const std::shared_ptr<Image> image = images().find(handle.handle);
    if (!value || !image || !region || !contains(*image, region->offset, region->range))
      return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    const Format format = *format_of(image->descriptor.format);
    const wavejit::format::Layout layout = wavejit::format::image_layout_of(format.data_format);
    uint32_t given[4], components[4];
    std::memcpy(given, value, sizeof given);
    wavejit::format::select_back(given, format.selects, components);
    uint8_t texel[16];
    wavejit::format::write_element(texel, layout, format.number, components, layout.components);
    each_row(*image, region->offset, region->range, [&](uint8_t* to, size_t, size_t, size_t bytes) {
      for (size_t at = 0; at < bytes; at += image->element_bytes) std::memcpy(to + at, texel, image->element_bytes);
    });
    return HSA_STATUS_SUCCESS;
  });
}

// An address mode as the descriptor's CLAMP_X, _Y and _Z have it.
static std::optional<uint32_t> clamp_of(hsa_ext_sampler_addressing_mode32_t mode) {
  switch (mode) {
    case HSA_EXT_SAMPLER_ADDRESSING_MODE_UNDEFINED:
    case HSA_EXT_SAMPLER_ADDRESSING_MODE_CLAMP_TO_EDGE:
      return 2;
    case HSA_EXT_SAMPLER_ADDRESSING_MODE_CLAMP_TO_BORDER:
      return 6;
    case HSA_EXT_SAMPLER_ADDRESSING_MODE_REPEAT:
      return 0;
    case HSA_EXT_SAMPLER_ADDRESSING_MODE_MIRRORED_REPEAT:
      return 1;
    default:
      return std::nullopt;
  }
}

// Each dimension has an address mode of its own.
WAVEJIT_HSA_API hsa_status_t hsa_ext_sampler_create_v2(hsa_agent_t agent,
                                                       const hsa_ext_sampler_descriptor_v2_t* descriptor,
                                                       hsa_ext_sampler_t* out) {
  return entry([&] {
    Agent* a = nullptr;
    if (const hsa_status_t status = gpu(agent, a); status != HSA_STATUS_SUCCESS) return status;
    if (!descriptor || !out) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    auto sampler = std::make_shared<Sampler>();
    auto& w = sampler->words;
    for (unsigned i = 0; i < 3; ++i) {
      const auto clamp = clamp_of(descriptor->address_modes[i]);
      if (!clamp) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
      w[0] |= *clamp << (3 * i);
    }
    if (descriptor->coordinate_mode == HSA_EXT_SAMPLER_COORDINATE_MODE_UNNORMALIZED) w[0] |= 1u << 15;
    w[1] = 0xfffu << 12;  // any level of detail
    if (descriptor->filter_mode == HSA_EXT_SAMPLER_FILTER_MODE_LINEAR) w[2] = 1u << 20 | 1u << 22 | 2u << 24;
    out->handle = samplers().add(std::move(sampler));
    return HSA_STATUS_SUCCESS;
  });
}
WAVEJIT_HSA_API hsa_status_t hsa_ext_sampler_create(hsa_agent_t agent, const hsa_ext_sampler_descriptor_t* descriptor,
                                                    hsa_ext_sampler_t* out) {
  if (!descriptor) return is_open() ? HSA_STATUS_ERROR_INVALID_ARGUMENT : HSA_STATUS_ERROR_NOT_INITIALIZED;
  const auto mode = descriptor->address_mode;
  const hsa_ext_sampler_descriptor_v2_t each{descriptor->coordinate_mode, descriptor->filter_mode, {mode, mode, mode}};
  return hsa_ext_sampler_create_v2(agent, &each, out);
}
WAVEJIT_HSA_API hsa_status_t hsa_ext_sampler_destroy(hsa_agent_t agent, hsa_ext_sampler_t sampler) {
  return entry([&] {
    if (!agent_of(agent)) return HSA_STATUS_ERROR_INVALID_AGENT;
    return samplers().take(sampler.handle) ? HSA_STATUS_SUCCESS : HSA_STATUS_ERROR_INVALID_ARGUMENT;
  });
}
