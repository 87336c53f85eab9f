#include "backend-x86/helpers/chunk_access.h"

#include <array>
#include <cstddef>

extern "C" {
// The multiples of a lane's bytes: of 1, 2, 4, 8, 12 and 16.
#define STEPS(n) {0, (n), 2 * (n), 3 * (n), 4 * (n), 5 * (n), 6 * (n), 7 * (n)}
[[gnu::visibility("hidden"), gnu::used]] alignas(32) extern const uint64_t wavejit_lane_steps[6][8] = {
    STEPS(1), STEPS(2), STEPS(4), STEPS(8), STEPS(12), STEPS(16)};
#undef STEPS
// The linker's names for the section that the functions are in.
// NOLINTNEXTLINE(bugprone-reserved-identifier)
[[gnu::visibility("hidden")]] extern const std::byte __start_wavejit_chunk_access[], __stop_wavejit_chunk_access[];
}

namespace wavejit::backend {
namespace {

// The offsets in the text below.
static_assert(offsetof(ChunkAccess, mask) == 0 && offsetof(ChunkAccess, index) == 32 &&
              offsetof(ChunkAccess, base) == 96 && offsetof(ChunkAccess, displacement) == 104 &&
              offsetof(ChunkAccess, nothing) == 112 && offsetof(ChunkAccess, addresses) == 128 &&
              offsetof(ChunkAccess, values) == 192 && offsetof(ChunkAccess, saved) == 320);

// Behind what BEGIN has pushed: the return address, and the address that the caller has pushed.
constexpr size_t kReturn = 24, kAccess = 32, kFormBits = 63;

// RDI: the ChunkAccess. YMM0, YMM1: the addresses, lanes off included. YMM4: the mask, ECX: the same as bits. Without lanes
// to label 9. A contiguous access goes to label 8 with the addresses not yet there, others go on here. `steps` is the place of
// the lane's bytes in wavejit_lane_steps.
#define BEGIN_GENERAL                   \
  "push %rdi\n push %rax\n push %rcx\n" \
  "mov 32(%rsp), %rdi\n mov %edi, %eax\n and $-64, %rdi\n"
#define BEGIN_VECTORS(steps)                                                                 \
  "vmovdqu %ymm0, 320(%rdi)\n vmovdqu %ymm1, 352(%rdi)\n vmovdqu %ymm2, 384(%rdi)\n"         \
  "vmovdqu %ymm3, 416(%rdi)\n vmovdqu %ymm4, 448(%rdi)\n"                                    \
  "test $32, %al\n jz 1f\n"                                                                  \
  "vpcmpeqd %ymm4, %ymm4, %ymm4\n vmovdqu %ymm4, (%rdi)\n mov $255, %ecx\n jmp 2f\n"         \
  "1: vmovdqu (%rdi), %ymm4\n vmovmskps %ymm4, %ecx\n test %ecx, %ecx\n jz 9f\n"             \
  "2: vpbroadcastq 104(%rdi), %ymm2\n"                                                       \
  "test $24, %al\n jnz 3f\n"                                                                 \
  "vpbroadcastq 96(%rdi), %ymm3\n vpaddq %ymm3, %ymm2, %ymm2\n"                              \
  "test $4, %al\n jnz 4f\n"                                                                  \
  "vpmovzxdq 32(%rdi), %ymm0\n vpmovzxdq 48(%rdi), %ymm1\n jmp 5f\n"                         \
  "4: vpmovsxdq 32(%rdi), %ymm0\n vpmovsxdq 48(%rdi), %ymm1\n"                               \
  "5: and $3, %eax\n jz 6f\n vmovd %eax, %xmm3\n"                                            \
  "vpsllq %xmm3, %ymm0, %ymm0\n vpsllq %xmm3, %ymm1, %ymm1\n jmp 6f\n"                       \
  "3: test $16, %al\n jnz 7f\n"                                                              \
  "vmovdqu 32(%rdi), %ymm3\n vmovdqu 64(%rdi), %ymm1\n"                                      \
  "vperm2i128 $0x20, %ymm1, %ymm3, %ymm0\n vperm2i128 $0x31, %ymm1, %ymm3, %ymm1\n jmp 6f\n" \
  "7: vpbroadcastq 96(%rdi), %ymm3\n vpaddq %ymm3, %ymm2, %ymm2\n"                           \
  "vpaddq 64*" steps                                                                         \
  "+wavejit_lane_steps(%rip), %ymm2, %ymm0\n"                                                \
  "vpaddq 64*" steps                                                                         \
  "+32+wavejit_lane_steps(%rip), %ymm2, %ymm1\n jmp 8f\n"                                    \
  "6: vpaddq %ymm2, %ymm0, %ymm0\n vpaddq %ymm2, %ymm1, %ymm1\n"
#define BEGIN(steps) BEGIN_GENERAL BEGIN_VECTORS(steps)

// For loads of several dwords a lane: to label 10 with the address in RAX if the active lanes share one, to label 11 if all lanes
// are on and groups of four lie each in one piece. The addresses are in memory afterwards.
#define FIND_PATTERNS(steps)                                                     \
  "vmovdqu %ymm0, 128(%rdi)\n vmovdqu %ymm1, 160(%rdi)\n"                        \
  "tzcnt %ecx, %eax\n mov 128(%rdi,%rax,8), %rax\n"                              \
  "vmovq %rax, %xmm2\n vpbroadcastq %xmm2, %ymm2\n"                              \
  "vpcmpeqq %ymm2, %ymm0, %ymm3\n vpcmpeqq %ymm2, %ymm1, %ymm2\n"                \
  "vshufps $0x88, %ymm2, %ymm3, %ymm3\n vpermq $0xd8, %ymm3, %ymm3\n"            \
  "vptest %ymm4, %ymm3\n jc 10f\n"                                               \
  "cmp $255, %ecx\n jne 8f\n"                                                    \
  "vpermq $0, %ymm0, %ymm2\n vpsubq %ymm2, %ymm0, %ymm2\n"                       \
  "vpcmpeqq 64*" steps                                                           \
  "+wavejit_lane_steps(%rip), %ymm2, %ymm2\n"                                    \
  "vpermq $0, %ymm1, %ymm3\n vpsubq %ymm3, %ymm1, %ymm3\n"                       \
  "vpcmpeqq 64*" steps                                                           \
  "+wavejit_lane_steps(%rip), %ymm3, %ymm3\n"                                    \
  "vpand %ymm2, %ymm3, %ymm3\n vmovmskpd %ymm3, %eax\n cmp $15, %eax\n je 11f\n" \
  "jmp 12f\n"

// Lanes that are off get a harmless address. All addresses go to memory.
#define STORE_ADDRESSES                                                   \
  "8: cmp $255, %ecx\n je 1f\n"                                           \
  "vpxor %xmm2, %xmm2, %xmm2\n vmovdqu %xmm2, 112(%rdi)\n"                \
  "lea 112(%rdi), %rax\n vmovq %rax, %xmm2\n vpbroadcastq %xmm2, %ymm2\n" \
  "vpmovsxdq (%rdi), %ymm3\n vblendvpd %ymm3, %ymm0, %ymm2, %ymm0\n"      \
  "vpmovsxdq 16(%rdi), %ymm3\n vblendvpd %ymm3, %ymm1, %ymm2, %ymm1\n"    \
  "1: vmovdqu %ymm0, 128(%rdi)\n vmovdqu %ymm1, 160(%rdi)\n"              \
  "12:\n"

#define LANE(i) "mov 128+8*" #i "(%rdi), %rax\n"

#define END                                                                              \
  "13: vmovdqu 320(%rdi), %ymm0\n vmovdqu 352(%rdi), %ymm1\n vmovdqu 384(%rdi), %ymm2\n" \
  "vmovdqu 416(%rdi), %ymm3\n vmovdqu 448(%rdi), %ymm4\n"                                \
  "pop %rcx\n pop %rax\n pop %rdi\n ret $8\n"

#define STORE_VALUES2 "vmovdqu %ymm0, 192(%rdi)\n vmovdqu %ymm1, 224(%rdi)\n"
#define STORE_VALUES4 STORE_VALUES2 "vmovdqu %ymm2, 256(%rdi)\n vmovdqu %ymm3, 288(%rdi)\n"

#define STUB(name, text)                                                          \
  __attribute__((naked, noinline, section("wavejit_chunk_access"))) void name() { \
    __asm__(text);                                                                \
  }

// Lanes in ascending order everywhere, so that the first one that faults is the first one accessed, and of lanes that store to
// one address the last one wins.

#define PICK_NARROW(insert, i) LANE(i) insert " $" #i ", (%rax), %xmm0, %xmm0\n"
#define LOAD_NARROW(steps, insert)                                                                                   \
  BEGIN(steps)                                                                                                       \
  STORE_ADDRESSES "vpxor %xmm0, %xmm0, %xmm0\n" PICK_NARROW(insert, 0) PICK_NARROW(insert, 1) PICK_NARROW(insert, 2) \
      PICK_NARROW(insert, 3) PICK_NARROW(insert, 4) PICK_NARROW(insert, 5) PICK_NARROW(insert, 6)                    \
          PICK_NARROW(insert, 7) "vmovdqu %xmm0, 192(%rdi)\n" END                                                    \
                                 "9: vpxor %xmm0, %xmm0, %xmm0\n vmovdqu %xmm0, 192(%rdi)\n jmp 13b"

STUB(load_1, LOAD_NARROW("0", "vpinsrb"))
STUB(load_2, LOAD_NARROW("1", "vpinsrw"))

// YMM0, YMM1: the pairs in the order of memory -> the two elements, in the order of lanes.
#define TAKE_PAIRS_APART                                                      \
  "vshufps $0x88, %ymm1, %ymm0, %ymm2\n vshufps $0xdd, %ymm1, %ymm0, %ymm1\n" \
  "vpermq $0xd8, %ymm2, %ymm0\n vpermq $0xd8, %ymm1, %ymm1\n" STORE_VALUES2 "jmp 13b\n"

STUB(load_8,
     BEGIN("3") FIND_PATTERNS("3")
     // A contiguous access under a mask.
     "8: testb $16, 32(%rsp)\n"
     "jz 8f\n"
     "vmovdqu %ymm0, 128(%rdi)\n vmovdqu %ymm1, 160(%rdi)\n vmovq %xmm0, %rax\n"
     "vpunpckldq %ymm4, %ymm4, %ymm2\n vpunpckhdq %ymm4, %ymm4, %ymm3\n"
     "vperm2i128 $0x20, %ymm3, %ymm2, %ymm0\n vperm2i128 $0x31, %ymm3, %ymm2, %ymm1\n"
     "vpmaskmovd (%rax), %ymm0, %ymm0\n vpmaskmovd 32(%rax), %ymm1, %ymm1\n"
     "jmp 14f\n"
     STORE_ADDRESSES LANE(0) "vmovq (%rax), %xmm0\n" LANE(1) "vmovhps (%rax), %xmm0, %xmm0\n"  //
     LANE(2) "vmovq (%rax), %xmm1\n" LANE(3) "vmovhps (%rax), %xmm1, %xmm1\n"                                //
     LANE(4) "vmovq (%rax), %xmm2\n" LANE(5) "vmovhps (%rax), %xmm2, %xmm2\n"                                //
     LANE(6) "vmovq (%rax), %xmm3\n" LANE(7) "vmovhps (%rax), %xmm3, %xmm3\n"
     "vinserti128 $1, %xmm2, %ymm0, %ymm0\n vinserti128 $1, %xmm3, %ymm1, %ymm1\n"
     "vshufps $0x88, %ymm1, %ymm0, %ymm2\n vshufps $0xdd, %ymm1, %ymm0, %ymm1\n vmovdqa %ymm2, %ymm0\n"  //
     STORE_VALUES2 END
     // One address.
     "10: vpbroadcastq (%rax), %ymm1\n vpshufd $0xa0, %ymm1, %ymm0\n vpshufd $0xf5, %ymm1, %ymm1\n"
     "vpand %ymm4, %ymm0, %ymm0\n vpand %ymm4, %ymm1, %ymm1\n" STORE_VALUES2
     "jmp 13b\n"
     // Groups.
     "11: mov 128(%rdi), %rax\n vmovdqu (%rax), %ymm0\n mov 160(%rdi), %rax\n vmovdqu (%rax), %ymm1\n"
     "14:\n" TAKE_PAIRS_APART "9: vpxor %xmm0, %xmm0, %xmm0\n vmovdqu %ymm0, 192(%rdi)\n vmovdqu %ymm0, 224(%rdi)\n jmp 13b")

// YMM0..YMM3: the quads of lanes i and 4 + i -> the elements, the other way round likewise.
#define TRANSPOSE                                                       \
  "vpunpckldq %ymm1, %ymm0, %ymm4\n vpunpckhdq %ymm1, %ymm0, %ymm0\n"   \
  "vpunpckldq %ymm3, %ymm2, %ymm1\n vpunpckhdq %ymm3, %ymm2, %ymm2\n"   \
  "vpunpckhqdq %ymm2, %ymm0, %ymm3\n vpunpcklqdq %ymm2, %ymm0, %ymm2\n" \
  "vpunpcklqdq %ymm1, %ymm4, %ymm0\n vpunpckhqdq %ymm1, %ymm4, %ymm1\n"
#define NO_VALUES4                                                                       \
  "9: vpxor %xmm0, %xmm0, %xmm0\n vmovdqu %ymm0, 192(%rdi)\n vmovdqu %ymm0, 224(%rdi)\n" \
  "vmovdqu %ymm0, 256(%rdi)\n vmovdqu %ymm0, 288(%rdi)\n jmp 13b"
#define MASK_VALUES4                                                                    \
  "vpand %ymm4, %ymm0, %ymm0\n vpand %ymm4, %ymm1, %ymm1\n vpand %ymm4, %ymm2, %ymm2\n" \
  "vpand %ymm4, %ymm3, %ymm3\n" STORE_VALUES4 "jmp 13b\n"

STUB(load_16,
     BEGIN("5") FIND_PATTERNS("5") STORE_ADDRESSES  //
     LANE(0) "vmovdqu (%rax), %xmm0\n" LANE(1) "vmovdqu (%rax), %xmm1\n" LANE(2) "vmovdqu (%rax), %xmm2\n"  //
     LANE(3) "vmovdqu (%rax), %xmm3\n" LANE(4) "vinserti128 $1, (%rax), %ymm0, %ymm0\n"                     //
     LANE(5) "vinserti128 $1, (%rax), %ymm1, %ymm1\n" LANE(6) "vinserti128 $1, (%rax), %ymm2, %ymm2\n"      //
     LANE(7) "vinserti128 $1, (%rax), %ymm3, %ymm3\n"
     "14:\n" TRANSPOSE STORE_VALUES4 END
     "10: vbroadcasti128 (%rax), %ymm3\n vpshufd $0, %ymm3, %ymm0\n vpshufd $0x55, %ymm3, %ymm1\n"
     "vpshufd $0xaa, %ymm3, %ymm2\n vpshufd $0xff, %ymm3, %ymm3\n" MASK_VALUES4
     "11: mov 128(%rdi), %rax\n vmovdqu (%rax), %ymm0\n vmovdqu 32(%rax), %ymm2\n"
     "mov 160(%rdi), %rax\n vmovdqu (%rax), %ymm1\n vmovdqu 32(%rax), %ymm3\n"
     "vperm2i128 $0x31, %ymm1, %ymm0, %ymm4\n vperm2i128 $0x20, %ymm1, %ymm0, %ymm0\n vmovdqa %ymm4, %ymm1\n"
     "vperm2i128 $0x31, %ymm3, %ymm2, %ymm4\n vperm2i128 $0x20, %ymm3, %ymm2, %ymm2\n vmovdqa %ymm4, %ymm3\n"
     "jmp 14b\n" NO_VALUES4)

#define LOAD_THREE(i, r) LANE(i) "vmovq (%rax), %xmm" #r "\n vpinsrd $2, 8(%rax), %xmm" #r ", %xmm" #r "\n"
#define INSERT_THREE(i, r) LOAD_THREE(i, 4) "vinserti128 $1, %xmm4, %ymm" #r ", %ymm" #r "\n"
STUB(load_12, BEGIN("4") FIND_PATTERNS("4") "11:\n" STORE_ADDRESSES LOAD_THREE(0, 0) LOAD_THREE(1, 1) LOAD_THREE(2, 2)
                  LOAD_THREE(3, 3)  //
     INSERT_THREE(4, 0) INSERT_THREE(5, 1) INSERT_THREE(6, 2) INSERT_THREE(7, 3) TRANSPOSE STORE_VALUES4 END
     "10: vpbroadcastd (%rax), %ymm0\n vpbroadcastd 4(%rax), %ymm1\n vpbroadcastd 8(%rax), %ymm2\n"
     "vpxor %xmm3, %xmm3, %xmm3\n" MASK_VALUES4 NO_VALUES4)

// Stores of one element with 32-bit offsets, as in the LDS, need no vectors: the lanes that are on, one by one.
#define PUT_AT_OFFSET(i, reg) "mov 32+4*" #i "(%rdi), %eax\n mov 192+4*" #i "(%rdi), %esi\n mov %" reg ", (%rdx,%rax)\n"
#define PUT_ELEMENT(i, reg) LANE(i) "mov 192+4*" #i "(%rdi), %ecx\n mov %" reg ", (%rax)\n"
#define STORE_ELEMENT(steps, reg, other) \
  BEGIN_GENERAL                          \
  "test $31, %al\n jnz 20f\n" \
  "mov %rdx, 320(%rdi)\n mov %rsi, 328(%rdi)\n" \
  "mov 96(%rdi), %rdx\n add 104(%rdi), %rdx\n" \
  "test $32, %al\n jz 21f\n 24:\n" \
  PUT_AT_OFFSET(0, other) PUT_AT_OFFSET(1, other) PUT_AT_OFFSET(2, other) PUT_AT_OFFSET(3, other) \
  PUT_AT_OFFSET(4, other) PUT_AT_OFFSET(5, other) PUT_AT_OFFSET(6, other) PUT_AT_OFFSET(7, other) \
  "22: mov 320(%rdi), %rdx\n mov 328(%rdi), %rsi\n pop %rcx\n pop %rax\n pop %rdi\n ret $8\n" \
  "21: vmovdqu %ymm4, 352(%rdi)\n vmovdqu (%rdi), %ymm4\n vmovmskps %ymm4, %ecx\n vmovdqu 352(%rdi), %ymm4\n" \
  "test %ecx, %ecx\n jz 22b\n cmp $255, %ecx\n je 24b\n" \
  "23: tzcnt %ecx, %eax\n mov 192(%rdi,%rax,4), %esi\n mov 32(%rdi,%rax,4), %eax\n mov %" other ", (%rdx,%rax)\n" \
  "blsr %ecx, %ecx\n jnz 23b\n jmp 22b\n" \
  "20:\n" BEGIN_VECTORS(steps) \
  STORE_ADDRESSES PUT_ELEMENT(0, reg) PUT_ELEMENT(1, reg) PUT_ELEMENT(2, reg) PUT_ELEMENT(3, reg) \
      PUT_ELEMENT(4, reg) PUT_ELEMENT(5, reg) PUT_ELEMENT(6, reg) PUT_ELEMENT(7, reg) "9:\n" END
STUB(store_1, STORE_ELEMENT("0", "cl", "sil"))
STUB(store_2, STORE_ELEMENT("1", "cx", "si"))
STUB(store_4, STORE_ELEMENT("2", "ecx", "esi"))

STUB(store_8,
     BEGIN("3") STORE_ADDRESSES
     "vmovdqu 192(%rdi), %ymm0\n vmovdqu 224(%rdi), %ymm1\n"
     "vpunpckldq %ymm1, %ymm0, %ymm2\n vpunpckhdq %ymm1, %ymm0, %ymm3\n"
     "vextracti128 $1, %ymm2, %xmm0\n vextracti128 $1, %ymm3, %xmm1\n"            //
     LANE(0) "vmovlps %xmm2, (%rax)\n" LANE(1) "vmovhps %xmm2, (%rax)\n"          //
     LANE(2) "vmovlps %xmm3, (%rax)\n" LANE(3) "vmovhps %xmm3, (%rax)\n"          //
     LANE(4) "vmovlps %xmm0, (%rax)\n" LANE(5) "vmovhps %xmm0, (%rax)\n"          //
     LANE(6) "vmovlps %xmm1, (%rax)\n" LANE(7) "vmovhps %xmm1, (%rax)\n" "9:\n" END)

#define LOAD_VALUES4                                      \
  "vmovdqu 192(%rdi), %ymm0\n vmovdqu 224(%rdi), %ymm1\n" \
  "vmovdqu 256(%rdi), %ymm2\n vmovdqu 288(%rdi), %ymm3\n" TRANSPOSE
#define PUT_QUAD(i, r) LANE(i) "vmovdqu %xmm" #r ", (%rax)\n"
#define PUT_UPPER_QUAD(i, r) LANE(i) "vextracti128 $1, %ymm" #r ", (%rax)\n"
STUB(store_16, BEGIN("5") STORE_ADDRESSES LOAD_VALUES4 PUT_QUAD(0, 0) PUT_QUAD(1, 1) PUT_QUAD(2, 2) PUT_QUAD(3, 3)
                   PUT_UPPER_QUAD(4, 0) PUT_UPPER_QUAD(5, 1) PUT_UPPER_QUAD(6, 2) PUT_UPPER_QUAD(7, 3) "9:\n" END)

#define PUT_THREE(i, r) LANE(i) "vmovlps %xmm" #r ", (%rax)\n vpextrd $2, %xmm" #r ", 8(%rax)\n"
#define PUT_UPPER_THREE(i, r) "vextracti128 $1, %ymm" #r ", %xmm4\n" PUT_THREE(i, 4)
STUB(store_12, BEGIN("4") STORE_ADDRESSES LOAD_VALUES4 PUT_THREE(0, 0) PUT_THREE(1, 1) PUT_THREE(2, 2) PUT_THREE(3, 3)
                   PUT_UPPER_THREE(4, 0) PUT_UPPER_THREE(5, 1) PUT_UPPER_THREE(6, 2) PUT_UPPER_THREE(7, 3) "9:\n" END)

}  // namespace

std::span<const uintptr_t> chunk_access_stubs() {
  static const std::array<uintptr_t, 11> stubs = [] {
    std::array<uintptr_t, 11> all{};
    size_t next = 0;
    for (void (*const stub)() :
         {load_1, load_2, load_8, load_12, load_16, store_1, store_2, store_4, store_8, store_12, store_16})
      all[next++] = reinterpret_cast<uintptr_t>(stub);
    return all;
  }();
  return stubs;
}

uintptr_t chunk_access_stub(bool load, unsigned lane_bytes) {
  const std::span<const uintptr_t> stubs = chunk_access_stubs();
  switch (lane_bytes) {
    case 1:
      return stubs[load ? 0 : 5];
    case 2:
      return stubs[load ? 1 : 6];
    case 4:
      return load ? 0 : stubs[7];
    case 8:
      return stubs[load ? 2 : 8];
    case 12:
      return stubs[load ? 3 : 9];
    case 16:
      return stubs[load ? 4 : 10];
    default:
      return 0;
  }
}

bool RunningChunkAccess::is_active(unsigned lane) const {
  return (form & ChunkAccess::all_lanes) != 0 || access->mask[lane] != 0;
}

uint64_t RunningChunkAccess::address(unsigned lane, unsigned lane_bytes) const {
  const uint64_t displacement = static_cast<uint64_t>(access->displacement);
  if ((form & ChunkAccess::wide) != 0) return access->parts[lane >> 1 & 1][(lane & 1) | lane >> 2 << 1] + displacement;
  if ((form & ChunkAccess::contiguous) != 0) return access->base + displacement + uint64_t{lane} * lane_bytes;
  uint64_t index = access->index[lane];
  if ((form & ChunkAccess::signed_index) != 0) index = static_cast<uint64_t>(int64_t{static_cast<int32_t>(index)});
  return access->base + (index << (form & ChunkAccess::shift_bits)) + displacement;
}

std::optional<RunningChunkAccess> find_chunk_access(const ucontext_t& context) {
  const auto pc = static_cast<uint64_t>(context.uc_mcontext.gregs[REG_RIP]);
  if (pc < reinterpret_cast<uint64_t>(__start_wavejit_chunk_access) ||
      pc >= reinterpret_cast<uint64_t>(__stop_wavejit_chunk_access))
    return std::nullopt;
  const auto stack = static_cast<uint64_t>(context.uc_mcontext.gregs[REG_RSP]);
  const auto word = [&](size_t offset) { return *reinterpret_cast<const uint64_t*>(stack + offset); };
  return RunningChunkAccess{.return_address = word(kReturn),
                            .access = reinterpret_cast<const ChunkAccess*>(word(kAccess) & ~uint64_t{kFormBits}),
                            .form = static_cast<uint32_t>(word(kAccess) & kFormBits)};
}

}  // namespace wavejit::backend
