#include "backend-x86/host_measure.h"

#include <asmjit/x86.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "backend-x86/compiler.h"
#include "backend-x86/encode/code_memory.h"

namespace wavejit::backend {
namespace {

namespace x86 = asmjit::x86;
using x86::Assembler;

constexpr unsigned kCopies = 8;  // of what is measured, in a loop
constexpr unsigned kRuns = 25;
constexpr double kRunNs = 40'000;
constexpr unsigned kChain = 64;  // additions, each of the result of the one before: a cycle each

// Rows of addresses, and dwords. No two of them have the same lower twelve bits, by which CPUs look for stores that loads depend
// on.
constexpr unsigned kRowLines = 16, kLines = 64;
struct alignas(4096) Memory {
  uint32_t dwords[kLines * 16];            // the first kRowLines lines are not accessed
  std::array<uint64_t, 16> rows[kCopies];  // of addresses
  alignas(64) uint32_t indices[16];
};

static_assert(sizeof(Memory::rows) == kRowLines * 64);

const x86::Gp kLeft = x86::rdi, kDwords = x86::rsi, kRows = x86::rdx;
// In vector register 0: the indices; in 1: what is stored; in 2: kDwords, eight bytes each.

void prepare(Assembler& a, unsigned lanes) {
  if (lanes == 16) {
    a.vmovdqa64(x86::zmm0, x86::zmmword_ptr(kDwords, offsetof(Memory, indices)));
    a.vmovdqa64(x86::zmm1, x86::zmm0);
    a.vpbroadcastq(x86::zmm2, kDwords);
  } else {
    a.vmovdqa(x86::ymm0, x86::ymmword_ptr(kDwords, offsetof(Memory, indices)));
    a.vmovdqa(x86::ymm1, x86::ymm0);
    a.vmovq(x86::xmm2, kDwords);
    a.vpbroadcastq(x86::ymm2, x86::xmm2);
  }
  a.lea(kRows, x86::ptr(kDwords, offsetof(Memory, rows)));
}

void gather8(Assembler& a, unsigned) {
  a.vpxor(x86::ymm3, x86::ymm3, x86::ymm3);
  a.vpcmpeqd(x86::ymm4, x86::ymm4, x86::ymm4);
  a.vpgatherdd(x86::ymm3, x86::ptr(kDwords, x86::ymm0, 2), x86::ymm4);
}

void gather16(Assembler& a, unsigned) {
  a.vpxord(x86::zmm3, x86::zmm3, x86::zmm3);
  a.kxnorw(x86::k1, x86::k0, x86::k0);
  a.k(x86::k1).vpgatherdd(x86::zmm3, x86::ptr(kDwords, x86::zmm0, 2));
}

void scatter16(Assembler& a, unsigned) {
  a.kxnorw(x86::k1, x86::k0, x86::k0);
  a.k(x86::k1).vpscatterdd(x86::ptr(kDwords, x86::zmm0, 2), x86::zmm1);
}

// The lanes' addresses in row `copy`, as MemoryAccess::stage_addresses() makes them.
void stage(Assembler& a, unsigned lanes, unsigned copy) {
  const unsigned bytes = 4 * lanes;
  const x86::Vec low = lanes == 16 ? x86::Vec(x86::zmm3) : x86::Vec(x86::ymm3),
                 high = lanes == 16 ? x86::Vec(x86::zmm4) : x86::Vec(x86::ymm4),
                 base = lanes == 16 ? x86::Vec(x86::zmm2) : x86::Vec(x86::ymm2);
  if (lanes == 16) {
    a.vextracti64x4(x86::ymm4, x86::zmm0, 1);
    a.vpmovzxdq(low, x86::ymm0);
    a.vpmovzxdq(high, x86::ymm4);
  } else {
    a.vextracti128(x86::xmm4, x86::ymm0, 1);
    a.vpmovzxdq(low, x86::xmm0);
    a.vpmovzxdq(high, x86::xmm4);
  }
  auto at = static_cast<int32_t>(copy * sizeof(Memory::rows[0]));
  for (const x86::Vec& part : {low, high}) {
    a.vpsllq(part, part, 2);
    a.vpaddq(part, part, base);
    a.vmovdqu(x86::ymmword_ptr(kRows, at), part.ymm());
    if (lanes == 16) a.vextracti64x4(x86::ymmword_ptr(kRows, at + 32), part, 1);
    at += static_cast<int32_t>(bytes);
  }
}

void load_address(Assembler& a, unsigned copy, unsigned lane) {
  a.mov(x86::rax, x86::qword_ptr(kRows, static_cast<int32_t>(copy * sizeof(Memory::rows[0]) + 8 * lane)));
}

template <unsigned kLanes>
void loads(Assembler& a, unsigned copy) {
  stage(a, kLanes, copy);
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    const x86::Xmm group = lane < 4 ? x86::xmm3 : x86::xmm4;
    load_address(a, copy, lane);
    if (lane % 4 == 0) {
      a.vmovd(group, x86::dword_ptr(x86::rax));
    } else {
      a.vpinsrd(group, group, x86::dword_ptr(x86::rax), lane % 4);
    }
    if (lane % 4 != 3 || lane < 4) continue;
    if (kLanes == 16) {
      a.vinserti32x4(x86::zmm3, x86::zmm3, group, lane / 4);
    } else {
      a.vinserti128(x86::ymm3, x86::ymm3, group, 1);
    }
  }
}

void stores16(Assembler& a, unsigned copy) {
  stage(a, 16, copy);
  for (unsigned lane = 0; lane < 16; ++lane) {
    if (lane % 4 == 0) a.vextracti32x4(x86::xmm4, x86::zmm1, lane / 4);
    load_address(a, copy, lane);
    a.vpextrd(x86::dword_ptr(x86::rax), x86::xmm4, lane % 4);
  }
}

void chain(Assembler& a, unsigned) {
  for (unsigned i = 0; i < kChain; ++i) a.add(x86::rax, kDwords);
}

using Emit = void (*)(Assembler&, unsigned copy);

// One function: a loop around kCopies of the code.
class Sample {
 public:
  static Expected<Sample> create(unsigned lanes, Emit emit) {
    asmjit::CodeHolder code;
    code.init(asmjit::Environment::host());
    Assembler a(&code);
    prepare(a, lanes);
    const asmjit::Label top = a.newLabel();
    a.bind(top);
    for (unsigned copy = 0; copy < kCopies; ++copy) emit(a, copy);
    a.dec(kLeft);
    a.jnz(top);
    a.vzeroupper();
    a.ret();
    code.flatten();
    code.resolveUnresolvedLinks();
    Expected<CodeBlock> block = CodeBlock::create(code);
    if (!block) return tl::make_unexpected(std::move(block.error()));
    return Sample(std::move(*block));
  }

  // Of one copy.
  double median_ns(Memory& memory) {
    uint64_t iterations = 1;
    while (run(memory, iterations) < kRunNs && iterations < (uint64_t{1} << 30)) iterations *= 2;
    std::array<double, kRuns> ns{};
    for (double& one : ns) one = run(memory, iterations) / static_cast<double>(iterations * kCopies);
    std::ranges::nth_element(ns, ns.begin() + kRuns / 2);
    return ns[kRuns / 2];
  }

 private:
  explicit Sample(CodeBlock block) : block_(std::move(block)) {}
  static double now() {
    timespec t{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_nsec);
  }
  double run(Memory& memory, uint64_t iterations) {
    const auto function = reinterpret_cast<void (*)(uint64_t, Memory*)>(reinterpret_cast<uintptr_t>(block_.begin()));
    const double start = now();
    function(iterations, &memory);
    return now() - start;
  }
  CodeBlock block_;
};

struct Access {
  std::string_view name;
  unsigned lanes;
  Tier tier;
  Emit instruction, single;
  double HostRow::* table;
  double (*assumed)(unsigned lanes);
  bool HostChoices::* choice;
};
constexpr Access kAccesses[] = {
    {"vpgatherdd", 8, Tier::avx2, gather8, loads<8>, &HostRow::gather8, cycles_of_single_loads, &HostChoices::gather8},
    {"vpgatherdd", 16, Tier::avx512, gather16, loads<16>, &HostRow::gather16, cycles_of_single_loads,
     &HostChoices::gather16},
    {"vpscatterdd", 16, Tier::avx512, scatter16, stores16, &HostRow::scatter16, cycles_of_single_stores,
     &HostChoices::scatter16},
};

}  // namespace

Expected<HostMeasurement> measure_host() {
  const auto memory = std::make_unique<Memory>();
  for (unsigned lane = 0; lane < 16; ++lane)
    memory->indices[lane] = (kRowLines + lane * 37 % (kLines - kRowLines)) * 16 + lane;
  HostMeasurement all;
  const auto median_ns = [&](unsigned lanes, Emit emit) -> Expected<double> {
    Expected<Sample> sample = Sample::create(lanes, emit);
    if (!sample) return tl::make_unexpected(std::move(sample.error()));
    return sample->median_ns(*memory);
  };
  const auto cycle = median_ns(8, chain);
  if (!cycle) return tl::make_unexpected(cycle.error());
  all.cycle_ns = *cycle / kChain;
  for (const Access& access : kAccesses) {
    MeasuredAccess one{.name = access.name,
                       .lanes = access.lanes,
                       .table = host().row->*access.table,
                       .assumed = access.assumed(access.lanes),
                       .by_instruction = host().choices.*access.choice,
                       .measured = {}};
    if (host_supports(access.tier)) {
      const auto instruction = median_ns(access.lanes, access.instruction),
                 single = median_ns(access.lanes, access.single);
      if (!instruction) return tl::make_unexpected(instruction.error());
      if (!single) return tl::make_unexpected(single.error());
      one.measured = {*instruction / all.cycle_ns, *single / all.cycle_ns};
    }
    all.accesses.push_back(one);
  }
  return all;
}

}  // namespace wavejit::backend
