// Integer arithmetic and control flow that differs from lane to lane.
#include <algorithm>
#include <bit>

#include "case_util.h"
#include "cases.h"

namespace wavejit::kernels {
namespace {

// FIPS 180-4 with the constants computed from their definition: fractional parts of roots of the first primes.
struct Sha256Constants {
  uint32_t round[64];
  uint32_t initial[8];
  Sha256Constants() {
    int found = 0;
    for (uint32_t p = 2; found < 64; ++p) {
      bool prime = true;
      for (uint32_t d = 2; d * d <= p; ++d) prime &= p % d != 0;
      if (!prime) continue;
      auto fraction = [](long double v) { return static_cast<uint32_t>((v - std::floor(v)) * 4294967296.0L); };
      round[found] = fraction(std::cbrt(static_cast<long double>(p)));
      if (found < 8) initial[found] = fraction(std::sqrt(static_cast<long double>(p)));
      ++found;
    }
  }
};

std::array<uint32_t, 8> sha256_words(std::span<const uint32_t> message) {
  static const Sha256Constants kConstants;
  std::vector<uint32_t> padded(message.begin(), message.end());
  padded.push_back(0x80000000u);
  while (padded.size() % 16 != 14) padded.push_back(0);
  padded.push_back(0);
  padded.push_back(static_cast<uint32_t>(message.size() * 32));
  std::array<uint32_t, 8> h;
  std::copy(std::begin(kConstants.initial), std::end(kConstants.initial), h.begin());
  for (size_t block = 0; block < padded.size(); block += 16) {
    uint32_t w[64];
    for (int i = 0; i < 64; ++i) {
      if (i < 16) {
        w[i] = padded[block + static_cast<size_t>(i)];
        continue;
      }
      uint32_t s0 = std::rotr(w[i - 15], 7) ^ std::rotr(w[i - 15], 18) ^ (w[i - 15] >> 3);
      uint32_t s1 = std::rotr(w[i - 2], 17) ^ std::rotr(w[i - 2], 19) ^ (w[i - 2] >> 10);
      w[i] = w[i - 16] + s0 + w[i - 7] + s1;
    }
    std::array<uint32_t, 8> v = h;
    for (int i = 0; i < 64; ++i) {
      uint32_t t1 = v[7] + (std::rotr(v[4], 6) ^ std::rotr(v[4], 11) ^ std::rotr(v[4], 25)) +
                    ((v[4] & v[5]) ^ (~v[4] & v[6])) + kConstants.round[i] + w[i];
      uint32_t t2 = (std::rotr(v[0], 2) ^ std::rotr(v[0], 13) ^ std::rotr(v[0], 22)) +
                    ((v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]));
      v = {t1 + t2, v[0], v[1], v[2], v[3] + t1, v[4], v[5], v[6]};
    }
    for (int i = 0; i < 8; ++i) h[i] += v[i];
  }
  return h;
}

}  // namespace

KernelCase make_sha256(Size size) {
  const uint32_t count = size == Size::kTest ? 70 : 32768, words = 20;
  KernelCase c{.name = "sha256", .object = "sha256"};
  c.buffers = {make_buffer("messages", random_integers<uint32_t>(size_t{count} * words, 50)),
               filled_buffer("digests", size_t{count} * 8, 0u)};
  c.launches = {{.kernel = "sha256",
                 .global = {round_up(count, 64), 1, 1},
                 .local = {64, 1, 1},
                 .args = {buffer_arg(0), buffer_arg(1), scalar_arg(words), scalar_arg(count)}}};
  c.check = [=](std::span<const Buffer> buffers, std::string* why) {
    std::vector<uint32_t> want;
    for (uint32_t i = 0; i < count; ++i) {
      auto digest = sha256_words(buffers[0].as<uint32_t>().subspan(size_t{i} * words, words));
      want.insert(want.end(), digest.begin(), digest.end());
    }
    return equal(buffers[1], want, why);
  };
  c.unit = "MB";
  c.work = 4e-6 * words * count;
  return c;
}

KernelCase make_hash(Size size) {
  const uint32_t n = size == Size::kTest ? 500 : 1u << 18;
  KernelCase c{.name = "hash", .object = "hash"};
  c.buffers = {make_buffer("in", random_integers<uint32_t>(n, 51)), filled_buffer("out32", n, 0u),
               filled_buffer("out64", n, uint64_t{0})};
  c.launches = {{.kernel = "hash",
                 .global = {round_up(n, 128), 1, 1},
                 .local = {128, 1, 1},
                 .args = {buffer_arg(0), buffer_arg(1), buffer_arg(2), scalar_arg(n)}}};
  c.check = [n](std::span<const Buffer> buffers, std::string* why) {
    auto in = buffers[0].as<uint32_t>();
    std::vector<uint32_t> want32(n);
    std::vector<uint64_t> want64(n);
    for (uint32_t i = 0; i < n; ++i) {
      uint32_t h = 0x2a;
      uint64_t acc = 0x27d4eb2f165667c5u + i;
      for (uint32_t k = 0; k < 8; ++k) {
        uint32_t w = in[(i + k * 97) % n];
        h = std::rotl(h ^ (std::rotl(w * 0xcc9e2d51u, 15) * 0x1b873593u), 13) * 5 + 0xe6546b64u;
        acc = std::rotl(acc ^ (uint64_t{w} * 0x9e3779b185ebca87u), 23) * 0xc2b2ae3d27d4eb4fu + 0x165667b19e3779f9u;
      }
      h ^= 32;
      h = (h ^ (h >> 16)) * 0x85ebca6bu;
      h = (h ^ (h >> 13)) * 0xc2b2ae35u;
      want32[i] = h ^ (h >> 16);
      acc = (acc ^ (acc >> 33)) * 0xc2b2ae3d27d4eb4fu;
      want64[i] = acc ^ (acc >> 29);
    }
    return equal(buffers[1], want32, why) && equal(buffers[2], want64, why);
  };
  c.unit = "Mhashes";
  c.work = 1e-6 * n;
  return c;
}

KernelCase make_crc32(Size size) {
  const uint32_t n = size == Size::kTest ? 128 : 16384, stride = size == Size::kTest ? 21 : 128;
  Random random(52);
  std::vector<uint16_t> lengths(n);
  for (uint16_t& length : lengths) length = static_cast<uint16_t>(random.below(stride + 1));
  KernelCase c{.name = "crc32", .object = "crc32"};
  c.buffers = {make_buffer("data", random_integers<uint8_t>(size_t{n} * stride, 53)), make_buffer("lengths", lengths),
               filled_buffer("out", n, 0u)};
  c.launches = {{.kernel = "crc32",
                 .global = {n, 1, 1},
                 .local = {64, 1, 1},
                 .args = {buffer_arg(0), buffer_arg(1), buffer_arg(2), scalar_arg(stride)}}};
  c.check = [=](std::span<const Buffer> buffers, std::string* why) {
    std::vector<uint32_t> want(n);
    for (uint32_t i = 0; i < n; ++i) {
      uint32_t crc = ~0u;  // bit by bit, without a table
      for (uint32_t k = 0; k < lengths[i]; ++k) {
        crc ^= buffers[0].bytes[size_t{i} * stride + k];
        for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ (0xedb88320u & (0u - (crc & 1u)));
      }
      want[i] = ~crc;
    }
    return equal(buffers[2], want, why);
  };
  c.unit = "MB";
  for (uint16_t length : lengths) c.work += 1e-6 * length;
  return c;
}

KernelCase make_collatz(Size size) {
  const uint32_t n = size == Size::kTest ? 300 : 65536;
  std::vector<uint32_t> start(n);
  for (uint32_t i = 0; i < n; ++i) start[i] = i + 1;
  KernelCase c{.name = "collatz", .object = "collatz"};
  c.buffers = {make_buffer("start", start), filled_buffer("steps", n, 0u), filled_buffer("peak", n, uint64_t{0})};
  c.launches = {{.kernel = "collatz",
                 .global = {round_up(n, 64), 1, 1},
                 .local = {64, 1, 1},
                 .args = {buffer_arg(0), buffer_arg(1), buffer_arg(2), scalar_arg(n)}}};
  std::vector<uint32_t> steps(n);
  std::vector<uint64_t> peak(n);
  for (uint32_t i = 0; i < n; ++i) {
    uint64_t v = start[i];
    peak[i] = v;
    for (; v > 1; ++steps[i]) {
      v = v % 2 == 0 ? v / 2 : 3 * v + 1;
      peak[i] = std::max(peak[i], v);
    }
    c.work += 1e-6 * steps[i];
  }
  c.check = [steps, peak](std::span<const Buffer> buffers, std::string* why) {
    return equal(buffers[1], steps, why) && equal(buffers[2], peak, why);
  };
  c.unit = "Msteps";
  return c;
}

KernelCase make_u64_math(Size size) {
  const uint32_t n = size == Size::kTest ? 200 : 32768;
  std::vector<uint64_t> a = random_integers<uint64_t>(n, 54), b = random_integers<uint64_t>(n, 55);
  const uint64_t special[] = {
      0, 1, 2, ~uint64_t{0}, uint64_t{1} << 63, (uint64_t{1} << 63) - 1, uint64_t{1} << 32, 0xffffffffu};
  for (uint32_t i = 0; i < 64; ++i) {
    a[i] = special[i / 8];
    b[i] = special[i % 8];
  }
  for (uint32_t i = 64; i < n; i += 3) b[i] >>= i % 61;  // all quotient lengths
  KernelCase c{.name = "u64_math", .object = "u64_math"};
  c.buffers = {make_buffer("a", a), make_buffer("b", b), filled_buffer("out", size_t{n} * 14, uint64_t{1})};
  c.launches = {{.kernel = "u64_math",
                 .global = {round_up(n, 64), 1, 1},
                 .local = {64, 1, 1},
                 .args = {buffer_arg(0), buffer_arg(1), buffer_arg(2), scalar_arg(n)}}};
  c.check = [n](std::span<const Buffer> buffers, std::string* why) {
    __extension__ using Wide = __int128;
    __extension__ using UnsignedWide = unsigned __int128;
    std::vector<uint64_t> want(size_t{n} * 14);
    for (uint32_t i = 0; i < n; ++i) {
      uint64_t x = buffers[0].as<uint64_t>()[i], y = buffers[1].as<uint64_t>()[i];
      int64_t sx = static_cast<int64_t>(x), sy = static_cast<int64_t>(y);
      bool divisible = sy != 0 && sy != -1;
      int shift = static_cast<int>(y & 63);
      uint64_t* r = &want[size_t{i} * 14];
      r[0] = x * y;
      r[1] = static_cast<uint64_t>((static_cast<UnsignedWide>(x) * y) >> 64);
      r[2] = static_cast<uint64_t>((static_cast<Wide>(sx) * sy) >> 64);
      r[3] = y != 0 ? x / y : 0;
      r[4] = y != 0 ? x % y : 0;
      r[5] = divisible ? static_cast<uint64_t>(sx / sy) : 0;
      r[6] = divisible ? static_cast<uint64_t>(sx % sy) : 0;
      r[7] = x << shift;
      r[8] = x >> shift;
      r[9] = static_cast<uint64_t>(sx >> shift);
      r[10] = static_cast<uint64_t>(std::countl_zero(x) + (std::popcount(y) << 8));
      r[11] = static_cast<uint64_t>((sx < sy ? 1 : 0) | (x < y ? 2 : 0) | (x == y ? 4 : 0));
      r[12] = std::rotl(x, shift) + (x - y);
      r[13] = (x + y < x ? ~uint64_t{0} : x + y) ^ (x < y ? 0 : x - y);
    }
    return equal(buffers[2], want, why);
  };
  c.unit = "Mitems";
  c.work = 1e-6 * n;
  return c;
}

KernelCase make_stack_machine(Size size) {
  const uint32_t n = size == Size::kTest ? 130 : 8192, length = size == Size::kTest ? 24 : 128;
  KernelCase c{.name = "stack_machine", .object = "stack_machine"};
  c.buffers = {make_buffer("programs", random_integers<uint8_t>(size_t{n} * length, 56)),
               make_buffer("inputs", random_integers<int32_t>(n, 57)), filled_buffer("out", n, 0)};
  c.launches = {{.kernel = "stack_machine",
                 .global = {round_up(n, 64), 1, 1},
                 .local = {64, 1, 1},
                 .args = {buffer_arg(0), buffer_arg(1), buffer_arg(2), scalar_arg(length), scalar_arg(n)}}};
  c.check = [=](std::span<const Buffer> buffers, std::string* why) {
    std::vector<int32_t> want(n);
    for (uint32_t i = 0; i < n; ++i) {
      uint32_t stack[8] = {1, 2, 3, 4, 5, 6, 7, 8}, sp = 4;
      uint32_t acc = buffers[1].as<uint32_t>()[i];
      bool early = false;
      for (uint32_t pc = 0; pc < length && !early; ++pc) {
        uint8_t code = buffers[0].bytes[size_t{i} * length + pc];
        uint32_t operand = code >> 4;
        uint32_t& slot = stack[operand & 7];
        switch (code & 15) {
          case 0:
            stack[sp++ & 7] = acc;
            break;
          case 1:
            acc += stack[--sp & 7];
            break;
          case 2:
            acc -= stack[--sp & 7];
            break;
          case 3:
            acc *= stack[--sp & 7] | 1;
            break;
          case 4:
            acc ^= operand << 7;
            break;
          case 5:
            acc <<= operand & 7;
            break;
          case 6:
            acc = static_cast<uint32_t>(static_cast<int32_t>(acc) >> (operand & 7));
            break;
          case 7:
            pc += static_cast<int32_t>(acc) < 0 ? operand & 3 : 0;
            break;
          case 8:
            acc = ~acc;
            break;
          case 9:
            slot = acc;
            break;
          case 10:
            acc = slot;
            break;
          case 11:
            acc = static_cast<uint32_t>(std::max(static_cast<int32_t>(acc), static_cast<int32_t>(slot)));
            break;
          case 12:
            acc = static_cast<uint32_t>(static_cast<int32_t>(acc) / static_cast<int32_t>(operand + 1));
            break;
          case 13:
            early = (acc & 1) != 0;
            break;
          case 14:
            acc += static_cast<uint32_t>(std::popcount(stack[(sp + operand) & 7]));
            break;
          default:
            acc = std::rotl(acc, static_cast<int>(operand));
            break;
        }
      }
      want[i] = static_cast<int32_t>(early ? acc ^ sp : acc + sp);
    }
    return equal(buffers[2], want, why);
  };
  c.unit = "Mops";
  c.work = 1e-6 * n * length;
  return c;
}

}  // namespace wavejit::kernels
