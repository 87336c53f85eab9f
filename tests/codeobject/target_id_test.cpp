#include "frontend/codeobject/processors.h"
#include "support.h"

namespace wavejit::codeobject::test {
namespace {

TargetId id(std::string_view text) {
  auto parsed = parse_target_id(text);
  EXPECT_TRUE(parsed.has_value()) << text;
  return parsed ? *parsed : TargetId{};
}

TEST(TargetId, ParsesAndPrintsCanonically) {
  EXPECT_EQ(id("gfx906").to_string(), "gfx906");
  EXPECT_EQ(id("gfx908:xnack-:sramecc+").to_string(), "gfx908:sramecc+:xnack-");
  EXPECT_EQ(id("amdgcn-amd-amdhsa--gfx90a:xnack+").to_string(), "gfx90a:xnack+");
  EXPECT_EQ(id("amdgcn-amd-amdhsa-unknown-gfx900").to_string(), "gfx900");
  EXPECT_EQ(id("gfx9-4-generic:sramecc-").to_string(), "gfx9-4-generic:sramecc-");
  EXPECT_EQ(id("gfx803").xnack, FeatureSetting::unsupported);
  EXPECT_EQ(id("gfx900").xnack, FeatureSetting::any);
  EXPECT_EQ(id("gfx900").sramecc, FeatureSetting::unsupported);
}

TEST(TargetId, RejectsWhatIsNotOne) {
  for (const char* text :
       {"", "gfx", "gfx999", "gfx906:", "gfx906:xnack", "gfx906:xnack+:xnack+", "gfx906:xnack+:xnack-", "gfx803:xnack+",
        "gfx900:sramecc+", "gfx906:wave32+", "gfx906 ", "GFX906", "amdgcn-amd-amdhsa--"}) {
    auto parsed = parse_target_id(text);
    ASSERT_FALSE(parsed.has_value()) << text;
    EXPECT_EQ(parsed.error().code, ErrorCode::kTargetMismatch) << text;
  }
  EXPECT_TRUE(parse_target_id_any_processor("gfx1999").has_value());
}

TEST(TargetId, Compatibility) {
  const auto fits = [](const char* code, const char* device) { return compatible(id(code), id(device)); };
  EXPECT_TRUE(fits("gfx906", "gfx906:xnack+"));
  EXPECT_TRUE(fits("gfx906", "gfx906:sramecc+:xnack-"));
  EXPECT_TRUE(fits("gfx906:xnack-", "gfx906:sramecc+:xnack-"));
  EXPECT_TRUE(fits("gfx906:xnack-", "gfx906"));  // a device without a stated setting takes both
  EXPECT_FALSE(fits("gfx906:xnack+", "gfx906:xnack-"));
  EXPECT_FALSE(fits("gfx906:sramecc-:xnack+", "gfx906:sramecc+:xnack+"));
  EXPECT_FALSE(fits("gfx900", "gfx906"));
  EXPECT_TRUE(fits("gfx9-generic", "gfx906"));
  EXPECT_TRUE(fits("gfx9-generic:xnack-", "gfx900:xnack-"));
  EXPECT_FALSE(fits("gfx9-generic", "gfx908"));
  EXPECT_FALSE(fits("gfx906", "gfx9-generic"));
  EXPECT_TRUE(fits("gfx9-4-generic", "gfx942"));
}

TEST(TargetId, EncodingOfEachVersion) {
  const auto flags = [](unsigned version, uint32_t e_flags) {
    auto target = target_id_from_flags(version, e_flags);
    return target ? target->to_string() : "error: " + target.error().message;
  };
  EXPECT_EQ(flags(3, 0x02f), "gfx906:sramecc-:xnack-");
  EXPECT_EQ(flags(3, 0x12f), "gfx906:sramecc-:xnack+");
  EXPECT_EQ(flags(3, 0x32f), "gfx906:sramecc+:xnack+");
  EXPECT_EQ(flags(3, 0x02a), "gfx803");
  EXPECT_EQ(flags(4, 0x52f), "gfx906");
  EXPECT_EQ(flags(4, 0xe30), "gfx908:sramecc+:xnack-");
  EXPECT_EQ(flags(5, 0xb3f), "gfx90a:sramecc-:xnack+");
  EXPECT_EQ(flags(5, 0x0f0).substr(0, 6), "error:");
  EXPECT_EQ(target_id_from_flags(6, 0x01000151)->generic_version, 1u);
  EXPECT_EQ(target_id_from_flags(6, 0x01000151)->to_string(), "gfx9-generic");

  const auto v2 = [](uint32_t major, uint32_t minor, uint32_t stepping) {
    auto target = v2_target_id(major, minor, stepping);
    return target ? target->to_string() : "error";
  };
  EXPECT_EQ(v2(8, 0, 3), "gfx803");
  EXPECT_EQ(v2(8, 0, 0), "gfx802");
  EXPECT_EQ(v2(8, 0, 1), "gfx801:xnack+");
  EXPECT_EQ(v2(9, 0, 0), "gfx900:xnack-");
  EXPECT_EQ(v2(9, 0, 1), "gfx900:xnack+");
  EXPECT_EQ(v2(9, 0, 6), "gfx906:sramecc-:xnack-");
  EXPECT_EQ(v2(9, 0, 7), "gfx906:sramecc-:xnack+");
  EXPECT_EQ(v2(9, 0, 12), "gfx90c:xnack-");
  EXPECT_EQ(v2(7, 0, 1), "gfx701");
  EXPECT_EQ(v2(4, 0, 0), "error");
  EXPECT_EQ(v2(9, 0, 255), "error");
}

TEST(TargetId, ProcessorTableIsConsistent) {
  std::vector<uint32_t> machs;
  for (const Processor& processor : all_processors()) {
    EXPECT_EQ(find_processor(processor.name), &processor);
    EXPECT_EQ(find_processor_by_mach(processor.mach), &processor) << "mach used twice: " << processor.name;
    if (processor.unified_vgprs) {
      EXPECT_TRUE(processor.agprs) << processor.name;
    }
  }
}

}  // namespace
}  // namespace wavejit::codeobject::test
