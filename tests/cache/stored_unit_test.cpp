// The form of translations on disk, and what tells them apart.
#include "runtime/translate/stored_unit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <set>
#include <string>

#include "cache_entry.h"

namespace wavejit::runtime {
namespace {

struct Parts {
  std::vector<uint8_t> code;
  std::vector<backend::FunctionSlot> slots;
  StoredUnit unit;
};

Parts parts() {
  Parts p;
  for (unsigned i = 0; i < 200; ++i) p.code.push_back(static_cast<uint8_t>(i));
  p.slots = {{.offset = 16, .function = 1}, {.offset = 192, .function = 0}};
  p.unit.entries = {{.guest_pc = 0x1000}, {.guest_pc = 0x2000, .resumed_only = true, .exec = 0xffff}};
  p.unit.reads_ids = false;
  p.unit.runs_through = true;
  p.unit.changed_lines = 0x781;
  p.unit.guest = {.ranges = {{0x1000, 0x1010}, {0x2000, 0x2004}}, .hash = {3, 4}};
  p.unit.image.code = p.code;
  p.unit.image.slots = p.slots;
  p.unit.image.host_instructions = 42;
  p.unit.image.fault_ranges = {{.begin = 1, .end = 5, .guest_pc = 0x1004, .first_lane = 64},
                               {.begin = 7,
                                .end = 200,
                                .guest_pc = 0x1008,
                                .first_lane = 16,
                                .lanes = 8,
                                .element_bytes = 12,
                                .lane_elements = 3,
                                .skipped_elements = 2,
                                .contiguous = true,
                                .write = true,
                                .lane_in_state = true,
                                .misaligned = true,
                                .paired_order = true}};
  return p;
}

// At an address that is a multiple of 8, with an end that ASan knows.
std::optional<StoredUnit> unpack_copy(const std::vector<uint8_t>& bytes, std::unique_ptr<uint8_t[]>& copy) {
  copy = std::make_unique<uint8_t[]>(bytes.size());
  std::memcpy(copy.get(), bytes.data(), bytes.size());
  return unpack({copy.get(), bytes.size()});
}

TEST(StoredUnit, ComesBackAsItWas) {
  const Parts p = parts();
  std::unique_ptr<uint8_t[]> copy;
  const auto unit = unpack_copy(pack(p.unit), copy);
  ASSERT_TRUE(unit);
  ASSERT_EQ(unit->entries.size(), 2u);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(unit->entries[i].guest_pc, p.unit.entries[i].guest_pc);
    EXPECT_EQ(unit->entries[i].resumed_only, p.unit.entries[i].resumed_only);
    EXPECT_EQ(unit->entries[i].exec, p.unit.entries[i].exec);
    EXPECT_EQ(unit->entries[i].block, nullptr);
  }
  EXPECT_FALSE(unit->reads_ids);
  EXPECT_TRUE(unit->runs_through);
  EXPECT_EQ(unit->changed_lines, 0x781u);
  EXPECT_EQ(unit->guest, p.unit.guest);
  EXPECT_EQ(unit->image.host_instructions, 42u);
  ASSERT_EQ(unit->image.slots.size(), 2u);
  EXPECT_EQ(unit->image.slots[1].offset, 192u);
  EXPECT_EQ(unit->image.slots[0].function, 1u);
  std::vector<uint8_t> code = p.code;
  for (const auto& slot : p.slots) std::memset(&code[slot.offset], 0, 8);
  EXPECT_TRUE(std::equal(code.begin(), code.end(), unit->image.code.begin(), unit->image.code.end()));
  ASSERT_EQ(unit->image.fault_ranges.size(), 2u);
  for (size_t i = 0; i < 2; ++i) {
    const backend::FaultRange &a = unit->image.fault_ranges[i], &b = p.unit.image.fault_ranges[i];
    const auto fields = [](const backend::FaultRange& r) {
      return std::tuple(r.begin, r.end, r.guest_pc, r.first_lane, r.lanes, r.element_bytes, r.lane_elements,
                        r.skipped_elements, r.contiguous, r.write, r.lane_in_state, r.misaligned, r.paired_order);
    };
    EXPECT_EQ(fields(a), fields(b)) << i;
  }
  // The same translation gives the same file, wherever its functions are.
  Parts elsewhere = parts();
  elsewhere.code[16] = 99;
  elsewhere.unit.image.code = elsewhere.code;
  EXPECT_EQ(pack(elsewhere.unit), pack(p.unit));
}

// The checksum is what guards files; this guards what is behind it.
TEST(StoredUnit, OtherSizesAreRefused) {
  const std::vector<uint8_t> good = pack(parts().unit);
  std::unique_ptr<uint8_t[]> copy;
  for (size_t size = 0; size < good.size() + 40; ++size) {
    std::vector<uint8_t> bad = good;
    bad.resize(size);
    EXPECT_EQ(unpack_copy(bad, copy).has_value(), size == good.size()) << size;
  }
  for (size_t field = 0; field < 20; field += 4) {
    for (const uint32_t count : {0u, 1u, 100u, 0xffffffffu}) {
      std::vector<uint8_t> bad = good;
      if (std::memcmp(&bad[field], &count, sizeof count) == 0) continue;
      std::memcpy(&bad[field], &count, sizeof count);
      EXPECT_FALSE(unpack_copy(bad, copy)) << field << " " << count;
    }
  }
}

TEST(StoredUnit, GuestCodeIsComparedByteByByte) {
  std::vector<uint8_t> code(64);
  for (size_t i = 0; i < code.size(); ++i) code[i] = static_cast<uint8_t>(i);
  const std::vector<lift::CodeRange> ranges = {{0x1004, 0x1010}, {0x1020, 0x1024}};
  const auto of = [&](const std::vector<lift::CodeRange>& r) { return guest_code(r, code, 0x1000); };
  const auto good = of(ranges);
  ASSERT_TRUE(good);
  EXPECT_EQ(of(ranges), good);
  for (size_t i = 0; i < code.size(); ++i) {
    code[i] ^= 0x10;
    EXPECT_EQ(of(ranges) == good, !((i >= 4 && i < 16) || (i >= 32 && i < 36))) << i;
    code[i] ^= 0x10;
  }
  EXPECT_NE(of({{0x1004, 0x1024}}), good);
  for (const lift::CodeRange& bad :
       {lift::CodeRange{0xffc, 0x1004}, {0x103c, 0x1044}, {0x1010, 0x100c}, {0, ~uint64_t{0}}})
    EXPECT_FALSE(of({bad})) << bad.begin;
}

TEST(StoredUnit, PlacingChecksWhatBelongsTogether) {
  const std::vector<std::function<void(Parts&)>> mistakes = {
      [](Parts& p) { p.slots[1].offset = 193; },
      [](Parts& p) { p.slots[1].offset = 0xfffffff8; },
      [](Parts& p) { p.slots[0].function = 10000; },
      [](Parts& p) { p.unit.image.fault_ranges[1].end = 201; },
      [](Parts& p) { p.unit.image.fault_ranges[1].begin = 0; },
      [](Parts& p) { p.unit.image.fault_ranges[0].end = 1; },
      [](Parts& p) { p.unit.image.code = {}; },
  };
  EXPECT_TRUE(backend::place(parts().unit.image));
  for (size_t i = 0; i < mistakes.size(); ++i) {
    Parts p = parts();
    mistakes[i](p);
    const auto placed = backend::place(p.unit.image);
    ASSERT_FALSE(placed) << i;
    EXPECT_EQ(placed.error().code, ErrorCode::kInvalidArgument) << i;
  }
}

// Units of kernels, and inputs that fuzzing found or that keep its coverage; and each of them with every byte changed.
TEST(StoredUnit, FuzzCorpusReplays) {
  unsigned accepted = 0, refused = 0;
  for (const auto& file : std::filesystem::directory_iterator(WAVEJIT_CACHE_CORPUS)) {
    SCOPED_TRACE(file.path());
    std::ifstream in(file.path(), std::ios::binary);
    std::vector<uint8_t> bytes(std::istreambuf_iterator<char>(in), {});
    (fuzz::fuzz_cache_unit(bytes) ? accepted : refused)++;
    if (bytes.size() > 2000) continue;
    for (uint8_t& byte : bytes) {
      const uint8_t before = byte;
      byte ^= 0x81;
      (fuzz::fuzz_cache_unit(bytes) ? accepted : refused)++;
      byte = before;
    }
  }
  EXPECT_GE(accepted, 1000u);  // code may be anything
  EXPECT_GE(refused, 50u);
}

TEST(StoredUnit, EverythingTellsIdentitiesApart) {
  ASSERT_FALSE(build_id().empty());
  struct Given {
    lift::LiftOptions options;
    backend::Tier tier = backend::Tier::avx2;
    std::vector<std::string> disabled;
    bool poll_all_loops = false;
  };
  using Change = std::function<void(Given&)>;
  const std::vector<uint8_t> code(64);
  std::vector<uint8_t> other_code = code;
  other_code[63] = 1;
  const auto identity = [&](const std::vector<Change>& changes) {
    Given g;
    g.options.code = code;
    for (const Change& change : changes) change(g);
    return identity_of(g.options, g.tier, g.disabled, g.poll_all_loops);
  };
  const auto shape = [](auto&& change) {
    return [change](Given& g) {
      if (!g.options.shape) g.options.shape.emplace();
      change(*g.options.shape);
    };
  };
  using Shape = lift::DispatchShape;
  const std::vector<Change> changes = {
      [](Given&) {},
      [&](Given& g) { g.options.code = other_code; },
      [](Given& g) { g.tier = backend::Tier::avx512; },
      [](Given& g) { g.disabled = {"a", "b"}; },
      [](Given& g) { g.disabled = {"ab"}; },
      [](Given& g) { g.poll_all_loops = true; },
      [](Given& g) { g.options.target = isa::Target::gfx90a; },
      [](Given& g) { g.options.entry_pc = 8; },
      [](Given& g) { g.options.code = g.options.code.first(60); },
      [](Given& g) { g.options.entry_pc = g.options.code_base = 8; },
      [](Given& g) { g.options.mode = 8; },
      [](Given& g) { g.options.exec_full = true; },
      [](Given& g) { g.options.exec_at_entries = 8; },
      [](Given& g) { g.options.is_kernel_entry = true; },
      [](Given& g) { g.options.count_instructions = true; },
      [](Given& g) { g.options.lds_size = 0; },
      [](Given& g) { g.options.lds_size = 8; },
      [](Given& g) { g.options.scratch_srd_sgpr = 8; },
      [](Given& g) { g.options.scratch_srd_at_entries = true; },
      [](Given& g) { g.options.scratch_srd_behind_calls = true; },
      shape([](Shape&) {}),
      shape([](Shape& s) { s.workgroup = {1, 8, 1}; }),
      shape([](Shape& s) { s.workgroup = {8, 1, 1}; }),
      shape([](Shape& s) { s.id_dimensions = 3; }),
      shape([](Shape& s) { s.packed_ids = true; }),
      shape([](Shape& s) { s.last_wave = true; }),
      shape([](Shape& s) { s.group_id_sgpr[1] = 8; }),
      shape([](Shape& s) { s.dispatch_packet_sgpr = 8; }),
      shape([](Shape& s) { s.kernarg_sgpr = 8; }),
      shape([](Shape& s) { s.kernarg = {{8, 4, 0}}; }),
      shape([](Shape& s) { s.kernarg = {{8, 8, 0}}; }),
      shape([](Shape& s) { s.kernarg = {{8, 8, 1}}; }),
      shape([](Shape& s) { s.kernarg = {{8, 8, 1}, {16, 8, 1}}; }),
  };
  std::set<std::string> seen;
  for (size_t i = 0; i < changes.size(); ++i) {
    const std::vector<uint8_t> bytes = identity({changes[i]});
    EXPECT_TRUE(seen.emplace(bytes.begin(), bytes.end()).second) << i;
    EXPECT_EQ(identity({changes[i]}), identity({changes[i], [](Given& g) { g.options.name = "n"; }})) << i;
  }
}

}  // namespace
}  // namespace wavejit::runtime
