// Addresses whose 32-bit arithmetic wraps, carries or turns negative in the middle of a wave; both sides are mapped, so
// a wrong idea of the address reads or writes the wrong word instead of faulting. And LDS addresses beyond the
// allocation.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <iterator>
#include <map>

#include "lockstep_case.h"
#include "test_kernels.h"

namespace wavejit::test {
namespace {

constexpr int64_t k2Gi = int64_t{1} << 31, k4Gi = int64_t{1} << 32;
constexpr int64_t kWindow = 128 * 1024;  // accessible on each side of every interesting place
constexpr uint64_t kSomeLanes = 0xfff0f0f100ff1234;

// Address space around an origin on a 4 GiB boundary, accessible where the cases go.
class Space {
 public:
  Space() {
    constexpr uint64_t kBytes = 5 * k4Gi;
    memory_ = mmap(nullptr, kBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory_ == MAP_FAILED) return;
    bytes_ = kBytes;
    origin_ = (reinterpret_cast<uint64_t>(memory_) + 3 * k4Gi - 1) & ~static_cast<uint64_t>(k4Gi - 1);
    for (const int64_t place : kPlaces)
      if (mprotect(at(place - kWindow), 2 * kWindow, PROT_READ | PROT_WRITE) != 0) origin_ = 0;
  }
  ~Space() {
    if (bytes_ != 0) munmap(memory_, bytes_);
  }
  Space(const Space&) = delete;
  Space& operator=(const Space&) = delete;

  [[nodiscard]] bool ok() const { return origin_ != 0; }
  [[nodiscard]] uint8_t* at(int64_t offset) const {
    return reinterpret_cast<uint8_t*>(origin_ + static_cast<uint64_t>(offset));
  }
  // Every byte tells where it is.
  void fill() const {
    for (size_t i = 0; i < std::size(kPlaces); ++i) fill_window(i);
  }
  // The offsets whose bytes `write` changes, with the value that it wrote; every byte is as filled afterwards.
  [[nodiscard]] std::map<int64_t, uint8_t> changes_by(const std::function<void()>& write) const {
    write();
    std::map<int64_t, uint8_t> changes;
    for (size_t i = 0; i < std::size(kPlaces); ++i) {
      const int64_t first = kPlaces[i] - kWindow;
      if (std::memcmp(at(first), filled()[i].data(), 2 * kWindow) == 0) continue;
      for (int64_t o = first; o < kPlaces[i] + kWindow; ++o)
        if (*at(o) != byte_at(o)) changes[o] = *at(o);
      fill_window(i);
    }
    return changes;
  }
  [[nodiscard]] static uint8_t byte_at(int64_t offset) {
    return static_cast<uint8_t>(static_cast<uint64_t>(offset) * 0x9e3779b97f4a7c15u >> 56);
  }

  static constexpr int64_t kPlaces[] = {-k4Gi, -k2Gi, 0, 0x4000000, k2Gi, k4Gi};

 private:
  // What the windows are filled with.
  static const std::vector<std::vector<uint8_t>>& filled() {
    static const std::vector<std::vector<uint8_t>> windows = [] {
      std::vector<std::vector<uint8_t>> all;
      for (const int64_t place : kPlaces) {
        std::vector<uint8_t>& window = all.emplace_back(2 * kWindow);
        for (int64_t o = 0; o < 2 * kWindow; ++o) window[static_cast<size_t>(o)] = byte_at(place - kWindow + o);
      }
      return all;
    }();
    return windows;
  }
  void fill_window(size_t index) const {
    std::memcpy(at(kPlaces[index] - kWindow), filled()[index].data(), 2 * kWindow);
  }

  void* memory_ = nullptr;
  uint64_t bytes_ = 0;
  uint64_t origin_ = 0;
};

struct AddressCase {
  std::string name;
  std::string code;  // leaves the address in v[10:11]; s[4:5] = base, v0 = lane, v2 = 4 * lane
  std::function<int64_t(int64_t lane)> offset;  // from the origin
  int64_t base = 0;                             // s[4:5], from the origin
  bool gfx9_only = false;
};

uint32_t u32(int64_t value) {
  return static_cast<uint32_t>(value);
}
int64_t s32(int64_t value) {
  return static_cast<int32_t>(static_cast<uint32_t>(value));
}

// v[10:11] = base + sign-extended v4.
constexpr const char* kSigned =
    "  v_ashrrev_i32_e32 v5, 31, v4\n  v_mov_b32_e32 v11, s5\n  add_co v10, s4, v4\n  addc v11, v5, v11\n";

// The address of 4 * lane + start, three times advanced by a step whose halves are inline constants. What is read on the
// way is also read by addresses of which nothing is known; v20 changes if it is not the same. The sum wraps around among the
// first 16 lanes, which is a register in AVX-512: nothing is known of its addresses in front of the loop.
std::string stepped(const std::string& start, const std::string& extended, const char* low, const char* high) {
  return fmt::format(R"(
  ds_bpermute_b32 v14, v2, v2
  s_waitcnt lgkmcnt(0)
  v_mov_b32_e32 v3, {0}
  addu v4, v3, v14
{1}
  v_mov_b32_e32 v14, v10
  v_mov_b32_e32 v15, v11
  v_mov_b32_e32 v3, {0}
  addu v4, v3, v2
{1}
  s_mov_b32 s8, 3
1:
  flat_load_dword v12, v[10:11]
  flat_load_dword v13, v[14:15]
  s_waitcnt vmcnt(0) lgkmcnt(0)
  subu v12, v12, v13
  addu v20, v20, v12
  add_co v10, {2}, v10
  addc v11, {3}, v11
  add_co v14, {2}, v14
  addc v15, {3}, v15
  s_sub_u32 s8, s8, 1
  s_cmp_lg_u32 s8, 0
  s_cbranch_scc1 1b
)",
                     start, extended, low, high);
}

std::vector<AddressCase> address_cases() {
  const std::string zero_extended = "  at 10, 4\n", sign_extended = kSigned;
  const std::string high = "  v_mov_b32_e32 v3, 0xffffff80\n  addu v4, v3, v2\n";
  const std::string middle = "  v_mov_b32_e32 v3, 0x7fffff80\n  addu v4, v3, v2\n";
  return {
      {"contiguous", "  at 10, 2\n", [](int64_t l) { return 4 * l; }},
      {"offset_wraps_at_4g", high + zero_extended, [](int64_t l) -> int64_t { return u32(0xffffff80 + 4 * l); }},
      {"offset_turns_negative", middle + sign_extended, [](int64_t l) { return s32(0x7fffff80 + 4 * l); }},
      {"offset_passes_2g", middle + zero_extended, [](int64_t l) { return 0x7fffff80 + 4 * l; }},
      {"offset_passes_minus_2g", "  v_mov_b32_e32 v3, 0x80000080\n  subu v4, v3, v2\n" + sign_extended,
       [](int64_t l) { return s32(0x80000080 - 4 * l); }},
      {"index_shifted_out",
       "  v_mov_b32_e32 v3, 0x3fffffe0\n  addu v4, v3, v0\n  v_lshlrev_b32_e32 v4, 2, v4\n" + zero_extended,
       [](int64_t l) -> int64_t { return u32((0x3fffffe0 + l) * 4); }},
      {"index_shifted_in_64_bits",
       "  v_mov_b32_e32 v3, 0x3fffffe0\n  addu v4, v3, v0\n  v_mov_b32_e32 v5, 0\n  v_lshlrev_b64 v[4:5], 2, v[4:5]\n"
       "  v_mov_b32_e32 v11, s5\n  add_co v10, s4, v4\n  addc v11, v5, v11\n",
       [](int64_t l) { return (0x3fffffe0 + l) * 4; }},
      {"negative_index",
       "  v_mov_b32_e32 v3, 32\n  subu v4, v0, v3\n  v_ashrrev_i32_e32 v5, 31, v4\n  v_lshlrev_b64 v[4:5], 2, v[4:5]\n"
       "  v_mov_b32_e32 v11, s5\n  add_co v10, s4, v4\n  addc v11, v5, v11\n",
       [](int64_t l) { return 4 * (l - 32); }},
      {"difference_wraps", "  v_mov_b32_e32 v3, 0x80\n  subu v4, v3, v2\n" + zero_extended,
       [](int64_t l) -> int64_t { return u32(128 - 4 * l); }},
      {"descending", "  v_mov_b32_e32 v3, 0xfc\n  subu v4, v3, v2\n" + zero_extended,
       [](int64_t l) { return 252 - 4 * l; }},
      {"descending_by_12", "  v_mul_lo_u32 v4, v0, -12\n" + sign_extended, [](int64_t l) { return -12 * l; }},
      {"descending_by_12_wraps", "  v_mul_lo_u32 v4, v0, -12\n" + zero_extended,
       [](int64_t l) -> int64_t { return u32(-12 * l); }},
      {"descending_by_8_signed_24",
       "  v_mov_b32_e32 v3, 32\n  subu v4, v0, v3\n  v_mul_i32_i24_e32 v4, -8, v4\n" + sign_extended,
       [](int64_t l) { return -8 * (l - 32); }},
      {"product_wraps", "  s_mov_b32 s8, 0x80000004\n  v_mul_lo_u32 v4, v0, s8\n" + zero_extended,
       [](int64_t l) -> int64_t { return u32(l * 0x80000004); }},
      {"factor_wraps_at_24_bits",
       "  v_mov_b32_e32 v3, 0xffffe0\n  addu v4, v3, v0\n  v_mul_u32_u24_e32 v4, 4, v4\n" + zero_extended,
       [](int64_t l) { return ((0xffffe0 + l) & 0xffffff) * 4; }},
      {"mad_wraps_at_24_bits",
       "  v_mov_b32_e32 v3, 0xffffe0\n  addu v4, v3, v0\n  v_mad_u32_u24 v4, v4, 4, 16\n" + zero_extended,
       [](int64_t l) { return ((0xffffe0 + l) & 0xffffff) * 4 + 16; }},
      {"masked_index",
       "  v_mov_b32_e32 v3, 48\n  addu v4, v3, v0\n  v_and_b32_e32 v4, 63, v4\n"
       "  v_lshlrev_b32_e32 v4, 2, v4\n" +
           zero_extended,
       [](int64_t l) { return ((l + 48) & 63) * 4; }},
      {"sixteen_bits",
       "  v_mov_b32_e32 v3, 0xff80\n  v_mov_b32_e32 v4, 0\n  v_add_u16_e32 v4, v3, v2\n" + zero_extended,
       [](int64_t l) { return (0xff80 + 4 * l) & 0xffff; }},
      {"reversed_by_xor", "  v_xor_b32_e32 v4, 0xfc, v2\n" + zero_extended, [](int64_t l) { return 4 * (63 - l); }},
      {"xor_within_quads", "  v_xor_b32_e32 v4, 8, v2\n" + zero_extended, [](int64_t l) { return (4 * l) ^ 8; }},
      {"or_merges", "  v_or_b32_e32 v4, 0x88, v2\n" + zero_extended, [](int64_t l) { return (4 * l) | 0x88; }},
      {"reversed_bits", "  v_bfrev_b32_e32 v4, v0\n  v_lshrrev_b32_e32 v4, 24, v4\n" + zero_extended,
       [](int64_t l) {
         int64_t r = 0;
         for (int b = 0; b < 8; ++b) r |= (l >> b & 1) << (7 - b);
         return r;
       }},
      {"clamped", "  v_mov_b32_e32 v3, 0x64\n  v_min_u32_e32 v4, v3, v2\n  v_max_i32_e32 v4, 12, v4\n" + zero_extended,
       [](int64_t l) { return std::max<int64_t>(std::min<int64_t>(4 * l, 100), 12); }},
      {"thirds",
       "  s_mov_b32 s8, 0x55555556\n  v_mul_hi_u32 v4, v0, s8\n  v_lshlrev_b32_e32 v4, 2, v4\n" + zero_extended,
       [](int64_t l) { return l / 3 * 4; }},
      {"unaligned", "  v_or_b32_e32 v4, 2, v2\n" + zero_extended, [](int64_t l) { return 4 * l + 2; }},
      {"shifted_right", "  v_lshrrev_b32_e32 v4, 1, v2\n  v_and_b32_e32 v4, -4, v4\n" + zero_extended,
       [](int64_t l) { return (2 * l) & ~int64_t{3}; }},
      {"two_dimensional",
       "  v_and_b32_e32 v4, 7, v0\n  v_lshrrev_b32_e32 v3, 3, v0\n  v_mul_u32_u24_e32 v3, 0x64, v3\n"
       "  v_lshlrev_b32_e32 v4, 2, v4\n  addu v4, v3, v4\n" +
           zero_extended,
       [](int64_t l) { return l % 8 * 4 + l / 8 * 100; }},
      {"base_carries", "  at 10, 2\n", [](int64_t l) { return 4 * l - 128; }, -128},
      {"carry_dropped", "  v_mov_b32_e32 v11, s5\n  v_mov_b32_e32 v3, s4\n  addu v10, v3, v2\n",
       [](int64_t l) { return 4 * l - 128 - (l >= 32 ? k4Gi : 0); }, -128},
      {"borrow_dropped", "  v_mov_b32_e32 v11, s5\n  v_mov_b32_e32 v3, s4\n  subu v10, v3, v2\n",
       [](int64_t l) { return 128 - 4 * l + (l > 32 ? k4Gi : 0); }, 128},
      {"address_in_a_loop",
       "  v_mov_b32_e32 v4, 0xffffff00\n  addu v4, v4, v2\n  v_mov_b32_e32 v3, 32\n  s_mov_b32 s8, 3\n1:\n"
       "  addu v4, v4, v3\n  s_sub_u32 s8, s8, 1\n  s_cmp_lg_u32 s8, 0\n  s_cbranch_scc1 1b\n" +
           zero_extended,
       [](int64_t l) -> int64_t { return u32(0xffffff00 + 4 * l + 96); }},
      {"signed_address_stepped", stepped("0x7fffffe0", sign_extended, "32", "0"),
       [](int64_t l) { return s32(0x7fffffe0 + 4 * l) + 96; }},
      {"unsigned_address_stepped", stepped("0xffffffe0", zero_extended, "-32", "-1"),
       [](int64_t l) -> int64_t { return u32(0xffffffe0 + 4 * l) - int64_t{96}; }},
      {"lshl_add_wraps", "  v_mov_b32_e32 v3, 0xffffff80\n  v_lshl_add_u32 v4, v0, 2, v3\n" + zero_extended,
       [](int64_t l) -> int64_t { return u32(0xffffff80 + 4 * l); }, 0, true},
      {"mad_64", "  v_mov_b32_e32 v3, 12\n  v_mad_u64_u32 v[10:11], s[8:9], v0, v3, s[4:5]\n",
       [](int64_t l) { return 12 * l; }, 0, true},
      {"mad_64_signed",
       "  v_mov_b32_e32 v3, 32\n  subu v4, v0, v3\n  v_mov_b32_e32 v3, 12\n"
       "  v_mad_i64_i32 v[10:11], s[8:9], v4, v3, s[4:5]\n",
       [](int64_t l) { return 12 * (l - 32); }, 0, true},
  };
}

constexpr unsigned kOutWords = 8 * 64;

// Loads bytes, dwords and quads with all lanes and with some.
KernelSource load_kernel(const AddressCase& c, std::string_view target) {
  return {.name = "load_" + c.name,
          .body = lockstep_macros(target) + R"(
.macro store_out slot, reg
  v_lshlrev_b32_e32 v59, 2, v0
  v_mov_b32_e32 v62, \slot*256
  addu v59, v59, v62
  v_mov_b32_e32 v61, s7
  add_co v60, s6, v59
  addc v61, 0, v61
  put 60, \reg
.endm
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  v_lshlrev_b32_e32 v2, 2, v0
  v_mov_b32_e32 v20, -1
  s_waitcnt lgkmcnt(0)
)" + c.code +
                  fmt::format(R"(
  flat_load_ubyte v12, v[10:11]
  flat_load_dword v13, v[10:11]
  flat_load_dwordx4 v[16:19], v[10:11]
  s_waitcnt vmcnt(0) lgkmcnt(0)
  s_mov_b32 exec_lo, {:#x}
  s_mov_b32 exec_hi, {:#x}
  flat_load_dword v20, v[10:11]
  s_waitcnt vmcnt(0) lgkmcnt(0)
  s_mov_b64 exec, -1
  store_out 0, 12
  store_out 1, 13
  store_out 2, 16
  store_out 3, 17
  store_out 4, 18
  store_out 5, 19
  store_out 6, 20
.purgem store_out
)",
                              static_cast<uint32_t>(kSomeLanes), static_cast<uint32_t>(kSomeLanes >> 32)),
          .args = {{"base"}, {"out"}}};
}

// Stores lane + 1 as dwords with all lanes, then lane + 101 as bytes with some.
KernelSource store_kernel(const AddressCase& c, std::string_view target) {
  return {.name = "store_" + c.name,
          .body = lockstep_macros(target) + R"(
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  v_lshlrev_b32_e32 v2, 2, v0
  s_waitcnt lgkmcnt(0)
)" + c.code +
                  fmt::format(R"(
  v_mov_b32_e32 v3, 1
  addu v12, v0, v3
  flat_store_dword v[10:11], v12
  s_waitcnt vmcnt(0) lgkmcnt(0)
  s_mov_b32 exec_lo, {:#x}
  s_mov_b32 exec_hi, {:#x}
  v_mov_b32_e32 v3, 0x65
  addu v12, v0, v3
  flat_store_byte v[10:11], v12
)",
                              static_cast<uint32_t>(kSomeLanes), static_cast<uint32_t>(kSomeLanes >> 32)),
          .args = {{"base"}, {"out"}}};
}

uint32_t dword_at(int64_t offset) {
  uint32_t value = 0;
  for (unsigned i = 0; i < 4; ++i) value |= uint32_t{Space::byte_at(offset + i)} << (8 * i);
  return value;
}

class Addresses : public testing::TestWithParam<std::string> {};

std::vector<AddressCase> cases_for(const std::string& target) {
  std::vector<AddressCase> cases = address_cases();
  if (is_gfx8(target)) std::erase_if(cases, [](const AddressCase& c) { return c.gfx9_only; });
  return cases;
}

// Macros may be defined once per assembly.
std::string without_macros(const std::string& body, std::string_view target) {
  return body.substr(lockstep_macros(target).size());
}

Module load_all(const std::string& target, KernelSource (*make)(const AddressCase&, std::string_view)) {
  std::vector<KernelSource> kernels;
  for (const AddressCase& c : cases_for(target)) {
    kernels.push_back(make(c, target));
    if (kernels.size() > 1) kernels.back().body = without_macros(kernels.back().body, target);
  }
  return load(target, kernels);
}

TEST_P(Addresses, LoadsSeeTheRightWords) {
  const std::string& target = GetParam();
  const Space space;
  if (!space.ok()) GTEST_SKIP() << "the host does not reserve 20 GiB of address space";
  space.fill();
  const Module module = load_all(target, load_kernel);
  for (const AddressCase& c : cases_for(target)) {
    for (const TestEngine& engine : some_engines(target)) {
      SCOPED_TRACE(c.name + " " + describe(engine));
      Kernel kernel = module.kernel("load_" + c.name);
      Buffer<uint32_t> out(kOutWords);
      kernel.set_arg_pointer(0, space.at(c.base));
      kernel.set_arg_pointer(1, out.data());
      (void)kernel.launch(launch_options(engine, 64, 64));
      for (int64_t l = 0; l < 64; ++l) {
        const int64_t offset = c.offset(l);
        ASSERT_EQ(out[static_cast<size_t>(l)], Space::byte_at(offset)) << "byte of lane " << l;
        for (unsigned i = 0; i < 5; ++i)
          ASSERT_EQ(out[64 + i * 64 + static_cast<size_t>(l)], dword_at(offset + (i == 0 ? 0 : 4 * (int64_t{i} - 1))))
              << (i == 0 ? "dword" : "part of a quad") << " of lane " << l;
        const bool active = kSomeLanes >> l & 1;
        ASSERT_EQ(out[6 * 64 + static_cast<size_t>(l)], active ? dword_at(offset) : ~0u) << "some lanes, lane " << l;
      }
    }
  }
}

// By offset.
using Bytes = std::map<int64_t, uint8_t>;

// Those of `bytes` that are not in `others`, with the same value.
Bytes without(const Bytes& bytes, const Bytes& others) {
  Bytes rest;
  std::set_difference(bytes.begin(), bytes.end(), others.begin(), others.end(), std::inserter(rest, rest.end()));
  return rest;
}

TEST_P(Addresses, StoresHitTheRightWords) {
  const std::string& target = GetParam();
  const Space space;
  if (!space.ok()) GTEST_SKIP() << "the host does not reserve 20 GiB of address space";
  space.fill();
  const Module module = load_all(target, store_kernel);
  for (const AddressCase& c : cases_for(target)) {
    for (const TestEngine& engine : some_engines(target)) {
      SCOPED_TRACE(c.name + " " + describe(engine));
      Kernel kernel = module.kernel("store_" + c.name);
      kernel.set_arg_pointer(0, space.at(c.base));
      kernel.set_arg_pointer(1, nullptr);
      const auto changes = space.changes_by([&] { (void)kernel.launch(launch_options(engine, 64, 64)); });
      Bytes expected;
      for (unsigned l = 0; l < 64; ++l)
        for (unsigned i = 0; i < 4; ++i) expected[c.offset(l) + i] = static_cast<uint8_t>((l + 1) >> (8 * i));
      for (unsigned l = 0; l < 64; ++l)
        if (kSomeLanes >> l & 1) expected[c.offset(l)] = static_cast<uint8_t>(l + 101);
      std::erase_if(expected, [](const auto& byte) { return Space::byte_at(byte.first) == byte.second; });
      EXPECT_EQ(without(changes, expected), Bytes{}) << "written";
      EXPECT_EQ(without(expected, changes), Bytes{}) << "not written";
    }
  }
}

// SGPR base, 32-bit VGPR offset, signed immediate: the offset is unsigned and the sum has 64 bits.
TEST_P(Addresses, ScalarBaseForms) {
  const std::string& target = GetParam();
  if (is_gfx8(target)) GTEST_SKIP() << "GFX8 has no global_load";
  const Space space;
  if (!space.ok()) GTEST_SKIP() << "the host does not reserve 20 GiB of address space";
  space.fill();
  const struct {
    const char* name;
    uint32_t start;
    int immediate;
    int64_t (*offset)(int64_t lane);
  } kForms[] = {
      {"plain", 0, 0, [](int64_t l) { return 4 * l; }},
      {"wraps", 0xffffff80, 0, [](int64_t l) -> int64_t { return u32(0xffffff80 + 4 * l); }},
      {"wraps_positive", 0xffffff80, 2048,
       [](int64_t l) -> int64_t { return u32(0xffffff80 + 4 * l) + int64_t{2048}; }},
      {"wraps_negative", 0xffffff80, -4096,
       [](int64_t l) -> int64_t { return u32(0xffffff80 + 4 * l) - int64_t{4096}; }},
      {"sign_bit", 0x7fffff80, -64, [](int64_t l) { return 0x7fffff80 + 4 * l - 64; }},
      {"below_base", 0, -256, [](int64_t l) { return 4 * l - 256; }},
  };
  std::vector<KernelSource> kernels;
  for (const auto& f : kForms)
    kernels.push_back(
        {.name = f.name,
         .body = (kernels.empty() ? lockstep_macros(target) : "") + fmt::format(R"(
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  v_lshlrev_b32_e32 v2, 2, v0
  v_mov_b32_e32 v3, {:#x}
  addu v4, v3, v2
  s_waitcnt lgkmcnt(0)
  global_load_dword v12, v4, s[4:5] offset:{}
  s_waitcnt vmcnt(0)
  global_store_dword v2, v12, s[6:7]
  v_xor_b32_e32 v12, -1, v12
  global_store_dword v4, v12, s[4:5] offset:{}
)",
                                                                                f.start, f.immediate, f.immediate),
         .args = {{"base"}, {"out"}}});
  const Module module = load(target, kernels);
  for (const auto& f : kForms) {
    for (const TestEngine& engine : some_engines(target)) {
      SCOPED_TRACE(std::string(f.name) + " " + describe(engine));
      Kernel kernel = module.kernel(f.name);
      Buffer<uint32_t> out(64);
      kernel.set_arg_pointer(0, space.at(0));
      kernel.set_arg_pointer(1, out.data());
      (void)kernel.launch(launch_options(engine, 64, 64));
      for (int64_t l = 0; l < 64; ++l) {
        const int64_t offset = f.offset(l);
        ASSERT_EQ(out[static_cast<size_t>(l)], dword_at(offset)) << "lane " << l;
        uint32_t stored;
        std::memcpy(&stored, space.at(offset), 4);
        ASSERT_EQ(stored, ~dword_at(offset)) << "lane " << l;
      }
      for (int64_t l = 0; l < 64; ++l)
        for (unsigned i = 0; i < 4; ++i) *space.at(f.offset(l) + i) = Space::byte_at(f.offset(l) + i);
    }
  }
}

// Neighbouring bytes by offsets that differ: 32 bits of each sum count, so that some lanes' bytes go on at the base.
// All lanes without a sign, then some lanes with one.
TEST_P(Addresses, NeighbouringBytesByOffset) {
  const std::string& target = GetParam();
  if (is_gfx8(target)) GTEST_SKIP() << "GFX8 has no global_load";
  const Space space;
  if (!space.ok()) GTEST_SKIP() << "the host does not reserve 20 GiB of address space";
  space.fill();
  std::string loads, stores;
  for (unsigned k = 0; k < 8; ++k) {
    loads += fmt::format("  v_add_u32_e32 v5, {0}, v4\n  global_load_ubyte v{1}, v5, s[4:5] offset:16\n", k, 10 + k);
    stores += fmt::format("  global_store_dword v2, v{}, s[6:7] offset:{}\n", 10 + k, k * 256);
  }
  loads += fmt::format("  s_mov_b32 exec_lo, {:#x}\n  s_mov_b32 exec_hi, {:#x}\n", static_cast<uint32_t>(kSomeLanes),
                       static_cast<uint32_t>(kSomeLanes >> 32));
  for (unsigned k = 0; k < 4; ++k) {
    loads += fmt::format("  v_add_u32_e32 v5, {0}, v4\n  global_load_sbyte v{1}, v5, s[4:5]\n", 8 + k, 18 + k);
    stores += fmt::format("  global_store_dword v2, v{}, s[6:7] offset:{}\n", 18 + k, (8 + k) * 256);
  }
  const Module module = load(target, {{.name = "bytes",
                                       .body = lockstep_macros(target) + R"(
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  v_lshlrev_b32_e32 v2, 2, v0
  v_mov_b32_e32 v18, 7
  v_mov_b32_e32 v19, 7
  v_mov_b32_e32 v20, 7
  v_mov_b32_e32 v21, 7
  s_waitcnt lgkmcnt(0)
  global_load_dword v4, v2, s[6:7]
  s_waitcnt vmcnt(0)
)" + loads + "  s_mov_b64 exec, -1\n  s_waitcnt vmcnt(0)\n" +
                                               stores,
                                       .args = {{"base"}, {"out"}}}});
  for (const uint32_t start : {0x40u, 0xfffffc00u, 0xffffffc0u, 0xffffff80u}) {
    for (const TestEngine& engine : some_engines(target)) {
      SCOPED_TRACE(fmt::format("from {:#x} {}", start, describe(engine)));
      Kernel kernel = module.kernel("bytes");
      Buffer<uint32_t> out(12 * 64);
      const auto offset = [&](unsigned lane) { return start + lane * 37 % 64; };
      for (unsigned l = 0; l < 64; ++l) out[l] = offset(l);
      kernel.set_arg_pointer(0, space.at(0));
      kernel.set_arg_pointer(1, out.data());
      (void)kernel.launch(launch_options(engine, 64, 64));
      for (unsigned l = 0; l < 64; ++l) {
        for (unsigned k = 0; k < 12; ++k) {
          const int64_t place = u32(int64_t{offset(l)} + k);
          uint32_t want = Space::byte_at(place + (k < 8 ? 16 : 0));
          if (k >= 8) want = (kSomeLanes >> l & 1) ? u32(static_cast<int8_t>(want)) : 7;
          ASSERT_EQ(out[k * 64 + l], want) << "byte " << k << " of lane " << l;
        }
      }
    }
  }
}

// Addresses from 384 on in 512 bytes: the upper half of the lanes is beyond the end. And below zero, and beyond 2^32.
TEST_P(Addresses, LdsBeyondTheEnd) {
  const std::string& target = GetParam();
  const KernelSource source{.name = "lds",
                            .body = lockstep_macros(target) + R"(
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  s_mov_b32 m0, -1
  v_lshlrev_b32_e32 v2, 2, v0
  s_waitcnt lgkmcnt(0)
  // 512 bytes of known content, as two halves
  v_or_b32_e32 v5, 0x1000, v0
  v_or_b32_e32 v6, 0x2000, v0
  ds_write_b32 v2, v5
  ds_write_b32 v2, v6 offset:256
  v_mov_b32_e32 v3, 0x180
  addu v4, v2, v3
  v_mov_b32_e32 v3, 0x80
  subu v7, v2, v3
  v_mov_b32_e32 v10, -1
  v_mov_b32_e32 v12, -1
  v_mov_b32_e32 v13, -1
  ds_read_b32 v10, v4
  ds_read_b64 v[12:13], v4
  ds_read2_b32 v[14:15], v4 offset0:0 offset1:24
  ds_read_u8 v16, v4 offset:1
  ds_read_b32 v17, v7 offset:0x80
  ds_read_b32 v18, v2 offset:65000
  s_waitcnt lgkmcnt(0)
  ds_write_b32 v4, v0
  ds_add_rtn_u32 v19, v4, v0 offset:4
  ds_write_b32 v7, v0
  s_waitcnt lgkmcnt(0)
  ds_read_b32 v20, v2
  ds_read_b32 v21, v2 offset:256
  s_waitcnt lgkmcnt(0)
  out_ 0, 10
  out_ 1, 12
  out_ 2, 13
  out_ 3, 14
  out_ 4, 15
  out_ 5, 16
  out_ 6, 17
  out_ 7, 18
  out_ 8, 19
  out_ 9, 20
  out_ 10, 21
)",
                            .args = {{"out"}},
                            .lds = 512};
  KernelSource k = source;
  k.body.insert(lockstep_macros(target).size(), R"(
.macro out_ slot, reg
  v_mov_b32_e32 v62, \slot*256
  addu v59, v2, v62
  put_at 59, \reg
.endm
)");
  const Module module = load(target, {k});
  for (const TestEngine& engine : some_engines(target)) {
    SCOPED_TRACE(describe(engine));
    Kernel kernel = module.kernel("lds");
    Buffer<uint32_t> out(11 * 64);
    kernel.set_args(out);
    (void)kernel.launch(launch_options(engine, 64, 64));
    uint32_t lds[128];
    for (unsigned i = 0; i < 128; ++i) lds[i] = i < 64 ? 0x1000 + i : 0x2000 + i - 64;
    const auto read = [&](uint64_t address, unsigned bytes = 4) -> uint32_t {
      return address + bytes <= 512 ? lds[address / 4] : 0;
    };
    std::array<std::array<uint32_t, 64>, 11> want{};
    for (unsigned l = 0; l < 64; ++l) {
      const uint32_t a = 384 + 4 * l;
      want[0][l] = read(a);
      // The 64-bit access is checked as a whole.
      want[1][l] = a + 8 <= 512 ? read(a) : 0;
      want[2][l] = a + 8 <= 512 ? read(a + 4) : 0;
      want[3][l] = read(a);
      want[4][l] = read(a + 96);
      want[5][l] = a + 2 <= 512 ? lds[a / 4] >> 8 & 0xff : 0;
      want[6][l] = read(4 * l);  // the sum of address and offset has 32 bits
      want[7][l] = 0;
    }
    for (unsigned l = 0; l < 32; ++l) lds[96 + l] = l;
    for (unsigned l = 0; l < 64; ++l) {
      const uint32_t a = 384 + 4 * l + 4;
      want[8][l] = read(a);
      if (a + 4 <= 512) lds[a / 4] += l;
    }
    for (unsigned l = 32; l < 64; ++l) lds[l - 32] = l;
    for (unsigned l = 0; l < 64; ++l) {
      want[9][l] = lds[l];
      want[10][l] = lds[64 + l];
    }
    for (unsigned slot = 0; slot < 11; ++slot)
      for (unsigned l = 0; l < 64; ++l)
        ASSERT_EQ(out[slot * 64 + l], want[slot][l]) << "result " << slot << " of lane " << l;
  }
}

INSTANTIATE_TEST_SUITE_P(All, Addresses, testing::Values("gfx803", "gfx906", "gfx90a"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace wavejit::test
