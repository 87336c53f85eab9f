// The table of CPUs: which row a CPU has, what is decided by it, and that no decision changes results or is forgotten by the cache.
#include "backend-x86/host_table.h"

#include <algorithm>
#include <cstdlib>
#include <set>

#include "runner.h"

namespace wavejit::backend {
namespace {

TEST(HostTable, RowsHaveNamesOfTheirOwn) {
  std::set<std::string_view> names;
  for (const HostRow& row : host_rows()) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    EXPECT_FALSE(row.source.empty()) << row.name;
    EXPECT_EQ(row.gather16 == 0, row.scatter16 == 0) << row.name;
  }
  EXPECT_EQ(host_rows().front().name, "unknown");
  for (const HostModels& models : host_models()) EXPECT_TRUE(names.contains(models.row)) << models.row;
  for (const HostRow& row : host_rows().subspan(1))
    EXPECT_TRUE(std::ranges::count(host_models(), row.name, &HostModels::row)) << row.name;
}

TEST(HostTable, ModelsDoNotOverlap) {
  const auto models = host_models();
  for (size_t i = 0; i < models.size(); ++i) {
    EXPECT_LE(models[i].first, models[i].last) << models[i].row;
    for (size_t j = i + 1; j < models.size(); ++j) {
      const HostModels &a = models[i], &b = models[j];
      if (a.vendor != b.vendor || a.family != b.family) continue;
      EXPECT_TRUE(a.last < b.first || b.last < a.first)
          << a.row << " " << b.row << std::hex << " " << a.first << " " << b.first;
    }
  }
}

// By the signature that CPUID gives in EAX, of processors that were sold.
TEST(HostTable, FindsKnownCpus) {
  struct Known {
    HostVendor vendor;
    uint32_t signature;
    std::string_view row;
  };
  constexpr auto kAmd = HostVendor::amd, kIntel = HostVendor::intel;
  constexpr Known kKnown[] = {
      {kAmd, 0x800f11, "zen"},
      {kAmd, 0x800f82, "zen"},
      {kAmd, 0x830f10, "zen2"},
      {kAmd, 0x870f10, "zen2"},
      {kAmd, 0xa00f11, "zen3"},
      {kAmd, 0xa20f12, "zen3"},
      {kAmd, 0xa10f11, "zen4"},
      {kAmd, 0xa60f12, "zen4"},
      {kAmd, 0xb40f40, "zen5"},
      {kAmd, 0xb00f21, "zen5"},
      {kIntel, 0x306f2, "haswell"},
      {kIntel, 0x406f1, "broadwell"},
      {kIntel, 0x506e3, "skylake"},
      {kIntel, 0xa0655, "skylake"},
      {kIntel, 0x50654, "skylake-x"},
      {kIntel, 0x50657, "skylake-x"},
      {kIntel, 0x606a6, "ice-lake"},
      {kIntel, 0x806c1, "ice-lake"},
      {kIntel, 0xa0671, "ice-lake"},
      {kIntel, 0x806f8, "sapphire-rapids"},
      {kIntel, 0xc06f2, "sapphire-rapids"},
      {kIntel, 0x90672, "alder-lake"},
      {kIntel, 0xb0671, "alder-lake"},
      {kIntel, 0xb06e0, "gracemont"},
      {kIntel, 0xa06a4, "meteor-lake"},
      {kIntel, 0xa06f3, "crestmont"},
      {kIntel, 0xc0662, "arrow-lake"},
      {kIntel, 0x206d7, "unknown"},
      {kAmd, 0x600f20, "unknown"},
      {HostVendor::other, 0x506e3, "unknown"},
  };
  for (const Known& known : kKnown) {
    const uint32_t base = known.signature >> 8 & 15;
    const uint32_t family = base == 15 ? 15 + (known.signature >> 20 & 255) : base;
    const uint32_t model = (known.signature >> 4 & 15) | (known.signature >> 16 & 15) << 4;
    EXPECT_EQ(find_host({known.vendor, family, model}).name, known.row) << std::hex << known.signature;
  }
}

TEST(HostTable, Choices) {
  const auto choices = [](std::string_view name, bool sampling) {
    return choose_for(*std::ranges::find(host_rows(), name, &HostRow::name), sampling);
  };
  EXPECT_EQ(choices("unknown", false), HostChoices{});
  EXPECT_EQ(choices("skylake-x", false), HostChoices{});
  EXPECT_EQ(choices("skylake-x", true), (HostChoices{.gather8 = false, .gather16 = false}));
  EXPECT_FALSE(choices("zen2", false).gather8);
  EXPECT_TRUE(choices("zen3", false).gather8);
  EXPECT_EQ(choices("zen4", false), HostChoices{});
  EXPECT_FALSE(choices("alder-lake", false).gather8);
  HostRow slow = host_rows().front();
  slow.scatter16 = 2 * cycles_of_single_stores(16);
  EXPECT_EQ(choose_for(slow, false), (HostChoices{.scatter16 = false}));
  EXPECT_TRUE(tells_of_slow_gathers("Mitigation: Microcode"));
  EXPECT_TRUE(tells_of_slow_gathers("Unknown: Dependent on hypervisor status"));
  EXPECT_FALSE(tells_of_slow_gathers("Not affected"));
  EXPECT_FALSE(tells_of_slow_gathers("Vulnerable: No microcode"));
}

TEST(HostTable, FollowsTheEnvironment) {
  const char* name = std::getenv("WAVEJIT_HOST");
  EXPECT_EQ(host().named, name != nullptr);
  if (name != nullptr) {
    EXPECT_EQ(host().row->name, name);
    EXPECT_EQ(host().choices, choose_for(*host().row, host().row->sampling));
  }
}

TEST(HostTable, ChoicesDifferInTheirBits) {
  std::set<uint32_t> seen;
  for (unsigned i = 0; i < 8; ++i)
    seen.insert(bits_of({.gather8 = (i & 1) != 0, .gather16 = (i & 2) != 0, .scatter16 = (i & 4) != 0}));
  EXPECT_EQ(seen.size(), 8u);
  EXPECT_EQ(host_identity().back(), bits_of(host().choices));
}

// Lanes that load a dword each at addresses of registers, and store it there.
class HostChoice : public testing::TestWithParam<Tier> {
 protected:
  void SetUp() override {
    if (!host_supports(GetParam())) GTEST_SKIP() << "the CPU has no " << to_string(GetParam());
  }
  static std::string listing(const CompileOptions& with) {
    Straight f;
    const auto row = [&](unsigned r) { return f.b.op_typed(ir::Op::get_vgpr, ir::kV32, {}, 0, r); };
    ir::Inst* address = f.b.op(ir::Op::pack64, {row(0), row(1)});
    const ir::MemAttr mem{.form = ir::AddressForm::vector64};
    f.b.op_typed(ir::Op::set_vgpr, ir::kNone, {f.b.load(ir::kV32, mem, {f.b.mask(~0ull), address})}, 0, 2);
    f.b.store(mem, {f.b.mask(~0ull), address, row(3)});
    f.end();
    CompileOptions options = with;
    options.listing = ListingKind::x86;
    const auto code = compile(f.function, options);
    EXPECT_TRUE(code.has_value());
    return code ? (*code)->listing() : "";
  }
};
INSTANTIATE_TEST_SUITE_P(Tiers, HostChoice, testing::ValuesIn(kTiers), [](const auto& info) {
  return info.param == Tier::avx2 ? std::string("avx2") : std::string("avx512");
});

TEST_P(HostChoice, SelectsInstructions) {
  const auto has = [](const std::string& text, const char* word) { return text.find(word) != std::string::npos; };
  const bool wide = GetParam() == Tier::avx512;
  const std::string all = listing({.tier = GetParam(), .choices = {}});
  EXPECT_TRUE(has(all, "vpgather"));
  EXPECT_EQ(has(all, "vpscatter"), wide);
  const HostChoices none{.gather8 = false, .gather16 = false, .scatter16 = false};
  const std::string single = listing({.tier = GetParam(), .choices = none});
  EXPECT_FALSE(has(single, "vpgather"));
  EXPECT_FALSE(has(single, "vpscatter"));
  EXPECT_TRUE(has(single, "vpinsrd"));
  // Each is of its own tier and direction.
  EXPECT_EQ(has(listing({.tier = GetParam(), .choices = {.gather8 = false}}), "vpgather"), wide);
  EXPECT_EQ(has(listing({.tier = GetParam(), .choices = {.gather16 = false}}), "vpgather"), !wide);
  EXPECT_TRUE(has(listing({.tier = GetParam(), .choices = {.scatter16 = false}}), "vpgather"));
  // Switched off by name they are single on every CPU.
  OptimisationSet without;
  without.remove(Optimisation::gathers);
  without.remove(Optimisation::scatters);
  EXPECT_EQ(listing({.tier = GetParam(), .optimisations = without, .choices = {}}), single);
}

}  // namespace
}  // namespace wavejit::backend
