// Memory instructions: global, flat with apertures, scratch in its three forms, LDS limits, buffers, atomics, faults.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <csetjmp>
#include <csignal>
#include <cstring>

#include "tests/interp/machine.h"

namespace wavejit::test {
namespace {

class Memory : public testing::TestWithParam<isa::Target> {
 protected:
  Machine m{GetParam()};
  std::vector<uint32_t> buffer = std::vector<uint32_t>(1024);

  bool gfx8() const { return GetParam() == isa::Target::gfx803; }
  std::string global() const { return gfx8() ? "flat" : "global"; }
  std::string off() const { return gfx8() ? "" : ", off"; }
  uint64_t address(size_t dword) const { return reinterpret_cast<uint64_t>(buffer.data() + dword); }
};
INSTANTIATE_TEST_SUITE_P(Targets, Memory, testing::ValuesIn(compute_targets()),
                         [](const auto& info) { return std::string(isa::to_string(info.param)); });

TEST_P(Memory, LoadsOfEveryWidth) {
  Random random(1);
  SCOPED_TRACE("seed 1");
  for (uint32_t& word : buffer) word = random.bits32();
  const auto* bytes = reinterpret_cast<const uint8_t*>(buffer.data());
  for (const uint64_t exec : {~0ull, 0x123456789abcdef0ull}) {
    for (unsigned l = 0; l < kWaveSize; ++l) {
      m.set_v64(0, l, address(0) + 7 * l);  // unaligned
      m.set_v64(2, l, address(0) + 4 * l);  // contiguous
      for (unsigned r = 4; r < 20; ++r) m.v(r)[l] = 0xeeeeeeee;
    }
    m.wave().set_exec(exec);
    const std::string g = global(), o = off();
    ASSERT_EQ(m.run(g + "_load_ubyte v4, v[0:1]" + o + "\n" + g + "_load_sbyte v5, v[0:1]" + o + "\n" + g +
                    "_load_ushort v6, v[0:1]" + o + "\n" + g + "_load_sshort v7, v[0:1]" + o + "\n" + g +
                    "_load_dword v8, v[0:1]" + o + "\n" + g + "_load_dwordx2 v[10:11], v[0:1]" + o + "\n" + g +
                    "_load_dwordx4 v[12:15], v[0:1]" + o + "\n" + g + "_load_dword v9, v[2:3]" + o + "\n" + g +
                    "_load_dwordx3 v[16:18], v[2:3]" + o),
              ExitReason::kEnd)
        << m.error().message;
    for (unsigned l = 0; l < kWaveSize; ++l) {
      const auto word = [&](size_t at) {
        uint32_t v;
        std::memcpy(&v, bytes + at, 4);
        return (exec >> l & 1) != 0 ? v : 0xeeeeeeee;
      };
      const size_t at = 7 * l;
      if ((exec >> l & 1) != 0) {
        EXPECT_EQ(m.v(4)[l], bytes[at]);
        EXPECT_EQ(m.v(5)[l], static_cast<uint32_t>(static_cast<int8_t>(bytes[at])));
        EXPECT_EQ(m.v(6)[l], word(at) & 0xffff);
        EXPECT_EQ(m.v(7)[l], static_cast<uint32_t>(static_cast<int16_t>(word(at))));
      }
      EXPECT_EQ(m.v(8)[l], word(at));
      EXPECT_EQ(m.v(9)[l], word(4 * l));
      for (unsigned k = 0; k < 2; ++k) EXPECT_EQ(m.v(10 + k)[l], word(at + 4 * k));
      for (unsigned k = 0; k < 4; ++k) EXPECT_EQ(m.v(12 + k)[l], word(at + 4 * k));
      for (unsigned k = 0; k < 3; ++k) EXPECT_EQ(m.v(16 + k)[l], word(4 * l + 4 * k));
      EXPECT_EQ(m.v(19)[l], 0xeeeeeeee);
    }
  }
}

TEST_P(Memory, StoresTouchOnlyActiveLanes) {
  const uint64_t exec = 0x8000000000000ff1ull;
  m.wave().set_exec(exec);
  for (unsigned l = 0; l < kWaveSize; ++l) {
    m.set_v64(0, l, address(4 * l));
    for (unsigned k = 0; k < 4; ++k) m.v(4 + k)[l] = 100 * k + l;
  }
  std::fill(buffer.begin(), buffer.end(), 7u);
  ASSERT_EQ(m.run(global() + "_store_dwordx4 v[0:1], v[4:7]" + off()), ExitReason::kEnd);
  for (unsigned l = 0; l < kWaveSize; ++l)
    for (unsigned k = 0; k < 4; ++k) EXPECT_EQ(buffer[4 * l + k], (exec >> l & 1) != 0 ? 100 * k + l : 7);
  for (size_t i = 256; i < buffer.size(); ++i) EXPECT_EQ(buffer[i], 7u);
}

TEST_P(Memory, FlatReachesLdsAndScratch) {
  for (unsigned l = 0; l < kWaveSize; ++l) {
    // A third of the lanes each: LDS, scratch, ordinary memory.
    const uint64_t where = l % 3 == 0   ? (static_cast<uint64_t>(kSharedApertureHi) << 32) + 8 * l
                           : l % 3 == 1 ? (static_cast<uint64_t>(kPrivateApertureHi) << 32) + 16
                                        : address(2 * l);
    m.set_v64(0, l, where);
    m.set_v64(2, l, 0x1111111100000000ull + l);
  }
  ASSERT_EQ(m.run("flat_store_dwordx2 v[0:1], v[2:3]\ns_waitcnt 0\nflat_load_dwordx2 v[4:5], v[0:1]\nflat_load_ubyte "
                  "v6, v[0:1]"),
            ExitReason::kEnd);
  for (unsigned l = 0; l < kWaveSize; ++l) {
    EXPECT_EQ(m.v64(4, l), 0x1111111100000000ull + l);
    EXPECT_EQ(m.v(6)[l], l);
    uint32_t low;
    if (l % 3 == 0) {
      std::memcpy(&low, m.lds().data() + 8 * l, 4);
    } else if (l % 3 == 1) {
      std::memcpy(&low, m.scratch() + 16 / 4 * 256 + 4 * l, 4);  // swizzled
    } else {
      low = buffer[2 * l];
    }
    EXPECT_EQ(low, l);
  }
}

TEST_P(Memory, BufferScratchUsesTheDescriptor) {
  m.set_scratch_descriptor(0);
  m.s(4) = 64 * 12;  // soffset: wave-level bytes, i.e. 12 bytes per lane
  for (unsigned l = 0; l < kWaveSize; ++l) {
    m.v(0)[l] = 4 * (l % 5);
    m.v(1)[l] = 1000 + l;
    m.v(2)[l] = 2000 + l;
  }
  ASSERT_EQ(
      m.run("buffer_store_dword v1, v0, s[0:3], s4 offen offset:8\nbuffer_store_byte v2, off, s[0:3], 0 offset:101\n"
            "buffer_load_dword v5, v0, s[0:3], s4 offen offset:8\nbuffer_load_ubyte v6, off, s[0:3], 0 offset:101"),
      ExitReason::kEnd);
  for (unsigned l = 0; l < kWaveSize; ++l) {
    EXPECT_EQ(m.v(5)[l], 1000 + l);
    EXPECT_EQ(m.v(6)[l], (2000 + l) & 255);
    const unsigned byte = 12 + 4 * (l % 5) + 8;
    uint32_t word;
    std::memcpy(&word, m.scratch() + byte / 4 * 256 + 4 * l, 4);
    EXPECT_EQ(word, 1000 + l);
    EXPECT_EQ(m.scratch()[101 / 4 * 256 + 4 * l + 101 % 4], (2000 + l) & 255);
  }
}

TEST_P(Memory, BufferRangeChecks) {
  for (size_t i = 0; i < buffer.size(); ++i) buffer[i] = static_cast<uint32_t>(i);
  // Raw: 40 bytes.
  m.s(0) = static_cast<uint32_t>(address(0));
  m.s(1) = static_cast<uint32_t>(address(0) >> 32);
  m.s(2) = 40;
  m.s(3) = 0x00027000;
  // Stride 16, 5 records, which GFX8 counts in bytes unless the buffer is swizzled.
  m.s(8) = m.s(0);
  m.s(9) = m.s(1) | 16u << 16;
  m.s(10) = isa::family_of(GetParam()) == isa::Family::gfx8 ? 80 : 5;
  m.s(11) = 0x00027000;
  for (unsigned l = 0; l < kWaveSize; ++l) {
    m.v(0)[l] = 4 * l;
    m.v(1)[l] = l;
    m.v(4)[l] = m.v(5)[l] = 77;
  }
  ASSERT_EQ(m.run("buffer_load_dword v4, v0, s[0:3], 0 offen\nbuffer_load_dword v5, v1, s[8:11], 0 idxen offset:4\n"
                  "s_mov_b32 s20, 36\ns_mov_b32 s21, 8\ns_buffer_load_dwordx2 s[22:23], s[0:3], "
                  "0x24\ns_buffer_load_dword s24, s[0:3], s21"),
            ExitReason::kEnd);
  for (unsigned l = 0; l < kWaveSize; ++l) {
    EXPECT_EQ(m.v(4)[l], l < 10 ? l : 0);
    EXPECT_EQ(m.v(5)[l], l < 5 ? 4 * l + 1 : 0);
  }
  EXPECT_EQ(m.s(22), 9u);
  EXPECT_EQ(m.s(23), 0u);
  EXPECT_EQ(m.s(24), 2u);
}

TEST_P(Memory, LdsOutOfRange) {
  std::fill(m.lds().begin(), m.lds().end(), 0x55);
  m.wave().lds_size = 64;  // the rest must not change
  for (unsigned l = 0; l < kWaveSize; ++l) {
    m.v(0)[l] = l < 32 ? 4 * l : 0xffffff00u + 4 * l;
    m.v(1)[l] = l + 1;
  }
  ASSERT_EQ(
      m.run("s_mov_b32 m0, -1\nds_write_b32 v0, v1\nds_read_b32 v2, v0\nds_read2_b32 v[4:5], v0 offset0:0 offset1:8\n"
            "ds_add_rtn_u32 v6, v0, v1"),
      ExitReason::kEnd);
  for (unsigned l = 0; l < kWaveSize; ++l) {
    const bool inside = l < 16;
    EXPECT_EQ(m.v(2)[l], inside ? l + 1 : 0);
    EXPECT_EQ(m.v(4)[l], inside ? l + 1 : 0);
    // 32 bytes on, the last lanes' addresses are in range: the sum has 32 bits.
    EXPECT_EQ(m.v(5)[l], l < 8 ? l + 9 : l >= 56 ? l - 55 : 0);
    EXPECT_EQ(m.v(6)[l], inside ? l + 1 : 0);
  }
  for (size_t i = 64; i < m.lds().size(); ++i) ASSERT_EQ(m.lds()[i], 0x55);
}

TEST_P(Memory, Atomics) {
  // All lanes add to one counter: returned values are a permutation of 0..63.
  for (unsigned l = 0; l < kWaveSize; ++l) {
    m.set_v64(0, l, address(0));
    m.v(2)[l] = 1;
    m.set_v64(4, l, address(2));
    m.set_v64(6, l, l * 0x100000001ull);
    m.set_v64(8, l, address(4));
    m.v(10)[l] = l;       // new value
    m.v(11)[l] = l == 9;  // compare value: memory is 1 until lane 9 swaps
  }
  buffer[4] = 1;
  const std::string g = global(), o = off();
  ASSERT_EQ(m.run(g + "_atomic_add v3, v[0:1], v2" + o + " glc\n" + g + "_atomic_umax_x2 v[4:5], v[6:7]" + o + "\n" +
                  g + "_atomic_cmpswap v12, v[8:9], v[10:11]" + o + " glc\n"),
            ExitReason::kEnd)
      << m.error().message;
  std::vector<uint32_t> old(m.v(3), m.v(3) + kWaveSize);
  std::sort(old.begin(), old.end());
  for (unsigned l = 0; l < kWaveSize; ++l) EXPECT_EQ(old[l], l);
  EXPECT_EQ(buffer[0], 64u);
  EXPECT_EQ(buffer[2], 63u);
  EXPECT_EQ(buffer[3], 63u);
  EXPECT_EQ(buffer[4], 9u);
  for (unsigned l = 0; l < kWaveSize; ++l) EXPECT_EQ(m.v(12)[l], l <= 9 ? 1u : 9u);
}

sigjmp_buf landing;
uint64_t fault_at = 0;
void on_segv(int, siginfo_t* info, void*) {
  fault_at = reinterpret_cast<uint64_t>(info->si_addr);
  siglongjmp(landing, 1);
}

TEST_P(Memory, HostFaultsNameTheLane) {
  auto* page = static_cast<uint8_t*>(mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(page, MAP_FAILED);
  ASSERT_EQ(mprotect(page + 4096, 4096, PROT_NONE), 0);
  struct sigaction action{}, previous{};
  action.sa_sigaction = on_segv;
  action.sa_flags = SA_SIGINFO | SA_NODEFER;
  sigaction(SIGSEGV, &action, &previous);
  for (const bool contiguous : {true, false}) {
    for (unsigned l = 0; l < kWaveSize; ++l) {
      const uint64_t base = reinterpret_cast<uint64_t>(page) + 4096;
      m.set_v64(0, l, contiguous ? base - 40 * 4 + 4 * l : l == 17 ? base + 12 : base - 8);
    }
    const std::string source = "s_nop 0\n" + global() + "_store_dword v[0:1], v2" + off();
    if (sigsetjmp(landing, 1) == 0) {
      (void)m.run(source);
      ADD_FAILURE() << "no fault";
    }
    EXPECT_EQ(m.wave().pc, m.code_base() + 4);
    EXPECT_EQ(m.wave().fault_write, 1u);
    // Neighbouring dwords are stored by one copy, which may reach any of those behind the page first.
    const unsigned lane = interp::find_fault_lane(m.wave(), fault_at);
    EXPECT_EQ(lane, contiguous ? 40 + (fault_at - reinterpret_cast<uint64_t>(page) - 4096) / 4 : 17);
    EXPECT_LT(lane, kWaveSize);
  }
  sigaction(SIGSEGV, &previous, nullptr);
  munmap(page, 8192);
}

TEST_P(Memory, NonCanonicalAddressesAreReported) {
  for (unsigned l = 0; l < kWaveSize; ++l) m.set_v64(0, l, l == 5 ? 0x1234567812345678ull : address(0));
  EXPECT_EQ(m.run(global() + "_load_dword v2, v[0:1]" + off()), ExitReason::kFault);
  EXPECT_EQ(m.wave().fault_lane, 5u);
  EXPECT_EQ(m.wave().fault_address, 0x1234567812345678ull);
  EXPECT_EQ(m.wave().fault_write, 0u);
  EXPECT_EQ(m.wave().pc, m.code_base());
}

TEST_P(Memory, ScratchBeyondItsSizeFaults) {
  for (unsigned l = 0; l < kWaveSize; ++l)
    m.set_v64(0, l,
              (static_cast<uint64_t>(kPrivateApertureHi) << 32) + (l == 3 ? Machine::kScratchBytesPerLane - 2 : 0));
  EXPECT_EQ(m.run("flat_store_dword v[0:1], v2"), ExitReason::kFault);
  EXPECT_EQ(m.wave().fault_lane, 3u);
  EXPECT_EQ(m.wave().fault_write, 1u);
}

TEST(MemoryGfx9, ScalarBaseOffsetsAndD16) {
  Machine m(isa::Target::gfx90a);
  std::vector<uint32_t> buffer(256);
  for (size_t i = 0; i < buffer.size(); ++i) buffer[i] = 0x89ab0000u + static_cast<uint32_t>(i);
  const auto base = reinterpret_cast<uint64_t>(buffer.data());
  m.wave().set_sgpr64(4, base + 64);
  for (unsigned l = 0; l < kWaveSize; ++l) {
    m.v(0)[l] = 4 * l;
    m.v(1)[l] = m.v(2)[l] = m.v(3)[l] = 0x12345678;
    m.v(5)[l] = 8 * (l % 16);
  }
  ASSERT_EQ(
      m.run("global_load_dword v4, v0, s[4:5] offset:-64\nglobal_load_short_d16 v1, v0, s[4:5] offset:-62\n"
            "global_load_sbyte_d16_hi v2, v0, s[4:5] offset:-61\nglobal_load_ubyte_d16_hi v3, v0, s[4:5] offset:-61\n"
            "scratch_store_dword v5, v4, off offset:16\ns_mov_b32 s6, 24\nscratch_load_dword v6, v5, off offset:16\n"
            "scratch_load_short_d16_hi v7, off, s6 offset:-8"),
      ExitReason::kEnd);
  for (unsigned l = 0; l < kWaveSize; ++l) {
    EXPECT_EQ(m.v(4)[l], buffer[l]);
    EXPECT_EQ(m.v(1)[l], 0x89abu);  // GFX90A clears the other half
    EXPECT_EQ(m.v(2)[l], 0xff890000u);
    EXPECT_EQ(m.v(3)[l], 0x00890000u);
    EXPECT_EQ(m.v(6)[l], buffer[l]);
    if (l % 16 == 0) {
      EXPECT_EQ(m.v(7)[l], buffer[l] << 16);
    }
  }
}

}  // namespace
}  // namespace wavejit::test
