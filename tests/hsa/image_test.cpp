// Formats of images: which bits of an element have which component.
#include <hsa/hsa_ext_image.h>

#include <array>
#include <cstring>

#include "fixture.h"

namespace wavejit::test {
namespace {

class HsaImageTest : public HsaTest {
 protected:
  // The element of an image of one element that is filled with `colour`.
  template <typename T>
  T filled(hsa_ext_image_channel_type32_t type, hsa_ext_image_channel_order32_t order,
           const std::array<float, 4>& colour) {
    auto* memory = static_cast<uint8_t*>(allocate(4096));
    std::memset(memory, 0, 4096);
    hsa_ext_image_descriptor_t d{};
    d.geometry = HSA_EXT_IMAGE_GEOMETRY_2D;
    d.width = d.height = 1;
    d.format = {type, order};
    hsa_ext_image_t image{};
    EXPECT_EQ(hsa_ext_image_create(gpu_, &d, memory, HSA_ACCESS_PERMISSION_RW, &image), HSA_STATUS_SUCCESS);
    const hsa_ext_image_region_t whole{{0, 0, 0}, {1, 1, 1}};
    EXPECT_EQ(hsa_ext_image_clear(gpu_, image, colour.data(), &whole), HSA_STATUS_SUCCESS);
    EXPECT_EQ(hsa_ext_image_destroy(gpu_, image), HSA_STATUS_SUCCESS);
    T element;
    std::memcpy(&element, memory, sizeof element);
    return element;
  }
};

// OpenCL's CL_UNORM_INT_101010, CL_UNORM_SHORT_565 and CL_UNORM_SHORT_555.
TEST_F(HsaImageTest, PackedColoursHaveRedInTheHighestBits) {
  const auto rgb = HSA_EXT_IMAGE_CHANNEL_ORDER_RGB;
  EXPECT_EQ(filled<uint32_t>(HSA_EXT_IMAGE_CHANNEL_TYPE_UNORM_SHORT_101010, rgb, {1, 0.5f, 0, 0}),
            0x3ffu << 20 | 512u << 10);
  EXPECT_EQ(filled<uint16_t>(HSA_EXT_IMAGE_CHANNEL_TYPE_UNORM_SHORT_565, rgb, {1, 0, 0.5f, 0}), 31u << 11 | 16u);
  EXPECT_EQ(filled<uint16_t>(HSA_EXT_IMAGE_CHANNEL_TYPE_UNORM_SHORT_555, rgb, {0.5f, 1, 0, 0}), 16u << 10 | 31u << 5);
}

TEST_F(HsaImageTest, ComponentsOfAnOrderAreWhereItSays) {
  const auto type = HSA_EXT_IMAGE_CHANNEL_TYPE_UNORM_INT8;
  EXPECT_EQ(filled<uint32_t>(type, HSA_EXT_IMAGE_CHANNEL_ORDER_BGRA, {1, 0, 0, 0}), 0xff0000u);
  EXPECT_EQ(filled<uint32_t>(type, HSA_EXT_IMAGE_CHANNEL_ORDER_ARGB, {1, 0, 0, 0}), 0xff00u);
  EXPECT_EQ(filled<uint8_t>(type, HSA_EXT_IMAGE_CHANNEL_ORDER_A, {0, 0, 0, 1}), 0xffu);
  // One component for several: the first value is taken.
  EXPECT_EQ(filled<float>(HSA_EXT_IMAGE_CHANNEL_TYPE_FLOAT, HSA_EXT_IMAGE_CHANNEL_ORDER_INTENSITY, {1, 2, 3, 4}), 1.0f);
  EXPECT_EQ(filled<float>(HSA_EXT_IMAGE_CHANNEL_TYPE_FLOAT, HSA_EXT_IMAGE_CHANNEL_ORDER_LUMINANCE, {1, 2, 3, 4}), 1.0f);
}

}  // namespace
}  // namespace wavejit::test
