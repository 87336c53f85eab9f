// Compiled as native.cpp is.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "native_divergent.h"

namespace wavejit::perf {

using kernels::KernelCase;

void lz_decode(const KernelCase& c, Buffers& buffers) {
  const uint8_t* packed = buffers[0].bytes.data();
  const uint32_t* packed_start = buffers[1].as<uint32_t>().data();
  uint8_t* text = buffers[2].bytes.data();
  const uint32_t* text_start = buffers[3].as<uint32_t>().data();
  uint32_t* sizes = buffers[4].as<uint32_t>().data();
  const uint32_t blocks = scalar<uint32_t>(c, 5);
  for (uint32_t block = 0; block < blocks; ++block) {
    const uint8_t* in = packed + packed_start[block];
    const uint8_t* end = packed + packed_start[block + 1];
    uint8_t* out = text + text_start[block];
    auto length_of = [&](size_t length) {
      if (length != 15) return length;
      uint8_t more;
      do {
        more = *in++;
        length += more;
      } while (more == 255);
      return length;
    };
    while (true) {
      const uint8_t token = *in++;
      const size_t literals = length_of(token >> 4);
      std::memcpy(out, in, literals);
      in += literals;
      out += literals;
      if (in >= end) break;
      uint16_t offset;
      std::memcpy(&offset, in, 2);
      in += 2;
      const size_t length = length_of(token & 15) + 4;
      if (offset >= length)
        std::memcpy(out, out - offset, length);
      else
        for (size_t k = 0; k < length; ++k) out[k] = out[k - offset];
      out += length;
    }
    sizes[block] = static_cast<uint32_t>(out - (text + text_start[block]));
  }
}

void row_hash(const KernelCase& c, Buffers& buffers) {
  const uint8_t* __restrict bytes = buffers[0].bytes.data();
  const uint32_t* __restrict row_start = buffers[1].as<uint32_t>().data();
  uint32_t* __restrict hashes = buffers[2].as<uint32_t>().data();
  const uint32_t rows = scalar<uint32_t>(c, 3);
  for (uint32_t row = 0; row < rows; ++row) {
    uint32_t hash = 2166136261u;
    for (uint32_t k = row_start[row]; k < row_start[row + 1]; ++k) hash = (hash ^ bytes[k]) * 16777619u;
    hash = (hash ^ (hash >> 16)) * 0x85ebca6bu;
    hash = (hash ^ (hash >> 13)) * 0xc2b2ae35u;
    hashes[row] = hash ^ (hash >> 16);
  }
}

void sptrsv(const KernelCase&, Buffers& buffers) {
  const uint32_t* __restrict row_start = buffers[1].as<uint32_t>().data();
  const uint32_t* __restrict columns = buffers[2].as<uint32_t>().data();
  const float* __restrict values = buffers[3].as<float>().data();
  const float* __restrict inverse_diagonal = buffers[4].as<float>().data();
  const float* __restrict b = buffers[5].as<float>().data();
  float* __restrict x = buffers[6].as<float>().data();
  const size_t rows = buffers[6].as<float>().size();
  for (size_t row = 0; row < rows; ++row) {
    float sum = b[row];
    for (uint32_t i = row_start[row]; i < row_start[row + 1]; ++i) sum -= values[i] * x[columns[i]];
    x[row] = sum * inverse_diagonal[row];
  }
}

void byte_code(const KernelCase& c, Buffers& buffers) {
  enum { kHalt, kLdi, kAddi, kAdd, kSub, kMul, kRem, kXor, kAnd, kShr, kLoad, kStore, kJmp, kBz, kBnz, kBlt };
  struct Instruction {
    uint8_t operation, d, a, b;
  };
  const Instruction* code = reinterpret_cast<const Instruction*>(buffers[0].bytes.data());
  const uint32_t* program_start = buffers[1].as<uint32_t>().data();
  const uint32_t* inputs = buffers[2].as<uint32_t>().data();
  uint32_t* results = buffers[3].as<uint32_t>().data();
  const uint32_t fuel = scalar<uint32_t>(c, 4), n = scalar<uint32_t>(c, 5);
  for (uint32_t i = 0; i < n; ++i) {
    uint32_t r[8] = {}, memory[16] = {};
    r[1] = inputs[i];
    const Instruction* pc = code + program_start[i];
    uint32_t steps = 0;
    for (bool running = true; running && steps < fuel; ++steps) {
      const Instruction op = *pc++;
      const uint32_t a = op.a & 7, b = op.b & 7;
      const auto near = static_cast<int8_t>(op.b);
      uint32_t& d = r[op.d & 7];
      switch (op.operation) {
        case kHalt:
          running = false;
          break;
        case kLdi:
          d = op.a | static_cast<uint32_t>(op.b) << 8;
          break;
        case kAddi:
          d = r[a] + static_cast<uint32_t>(near);
          break;
        case kAdd:
          d = r[a] + r[b];
          break;
        case kSub:
          d = r[a] - r[b];
          break;
        case kMul:
          d = r[a] * r[b];
          break;
        case kRem:
          d = r[b] != 0 ? r[a] % r[b] : r[a];
          break;
        case kXor:
          d = r[a] ^ r[b];
          break;
        case kAnd:
          d = r[a] & r[b];
          break;
        case kShr:
          d = r[a] >> (op.b & 31);
          break;
        case kLoad:
          d = memory[(r[a] + op.b) & 15];
          break;
        case kStore:
          memory[(r[a] + op.b) & 15] = d;
          break;
        case kJmp:
          pc += near;
          break;
        case kBz:
          if (d == 0) pc += near;
          break;
        case kBnz:
          if (d != 0) pc += near;
          break;
        case kBlt:
          if (d < r[a]) pc += near;
          break;
        default:
          break;
      }
    }
    results[2 * i] = r[0];
    results[2 * i + 1] = steps;
  }
}

void quadrature(const KernelCase& c, Buffers& buffers) {
  struct Interval {
    float start, width, f_start, f_middle, f_end, simpson;
  };
  const float* parameters = buffers[0].as<float>().data();
  const float* ranges = buffers[1].as<float>().data();
  float* integrals = buffers[2].as<float>().data();
  uint32_t* evaluations = buffers[3].as<uint32_t>().data();
  const float tolerance = scalar<float>(c, 4);
  const uint32_t n = scalar<uint32_t>(c, 5);
  for (uint32_t i = 0; i < n; ++i) {
    const float height = parameters[4 * i], sharpness = parameters[4 * i + 1];
    const float centre = parameters[4 * i + 2], slope = parameters[4 * i + 3];
    auto integrand = [=](float x) {
      const float d = x - centre;
      return height / (1.0f + sharpness * d * d) + slope * x;
    };
    Interval stack[20];
    uint32_t top = 0, evaluated = 3;
    const float low = ranges[2 * i], width = ranges[2 * i + 1] - low;
    Interval now = {low, width, integrand(low), integrand(low + 0.5f * width), integrand(low + width), 0};
    now.simpson = width / 6 * (now.f_start + 4 * now.f_middle + now.f_end);
    const float narrowest = width * 0x1p-19f, widest = width * 0x1p-3f;
    float sum = 0;
    while (true) {
      const float half = 0.5f * now.width;
      const float f_left = integrand(now.start + 0.5f * half), f_right = integrand(now.start + 1.5f * half);
      const float left = half / 6 * (now.f_start + 4 * f_left + now.f_middle);
      const float right = half / 6 * (now.f_middle + 4 * f_right + now.f_end);
      const float difference = left + right - now.simpson;
      evaluated += 2;
      const bool good = now.width <= widest && std::fabs(difference) <= 15 * tolerance * now.width;
      if (good || now.width <= narrowest) {
        sum += left + right + difference / 15;
        if (top == 0) break;
        now = stack[--top];
      } else {
        stack[top++] = {now.start + half, half, now.f_middle, f_right, now.f_end, right};
        now = {now.start, half, now.f_start, f_left, now.f_middle, left};
      }
    }
    integrals[i] = sum;
    evaluations[i] = evaluated;
  }
}

void rejection(const KernelCase& c, Buffers& buffers) {
  const uint32_t* seeds = buffers[0].as<uint32_t>().data();
  const uint32_t* shapes = buffers[1].as<uint32_t>().data();
  int32_t* moments = buffers[2].as<int32_t>().data();
  const uint32_t wanted = scalar<uint32_t>(c, 3), n = scalar<uint32_t>(c, 4);
  for (uint32_t i = 0; i < n; ++i) {
    uint32_t state = seeds[i];
    const uint32_t p = shapes[2 * i], q = shapes[2 * i + 1];
    int32_t xx = 0, yy = 0, xy = 0, draws = 0;
    for (uint32_t k = 0; k < wanted; ++k) {
      int32_t x, y;
      do {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        x = static_cast<int32_t>(state >> 20) - 2048;
        y = static_cast<int32_t>((state >> 8) & 4095) - 2048;
        ++draws;
      } while (static_cast<uint32_t>(x * x) * p + static_cast<uint32_t>(y * y) * q > (1u << 22));
      xx += x * x;
      yy += y * y;
      xy += x * y;
    }
    moments[4 * i] = xx;
    moments[4 * i + 1] = yy;
    moments[4 * i + 2] = xy;
    moments[4 * i + 3] = draws;
  }
}

void edit_distance(const KernelCase& c, Buffers& buffers) {
  const uint8_t* left = buffers[0].bytes.data();
  const uint32_t* left_start = buffers[1].as<uint32_t>().data();
  const uint8_t* right = buffers[2].bytes.data();
  const uint32_t* right_start = buffers[3].as<uint32_t>().data();
  uint32_t* distances = buffers[4].as<uint32_t>().data();
  const uint32_t n = scalar<uint32_t>(c, 5);
  for (uint32_t i = 0; i < n; ++i) {
    const uint8_t* a = left + left_start[i];
    const uint8_t* a_end = left + left_start[i + 1];
    const uint8_t* b = right + right_start[i];
    const uint8_t* b_end = right + right_start[i + 1];
    for (; a != a_end && b != b_end && *a == *b; ++a) ++b;
    for (; a != a_end && b != b_end && a_end[-1] == b_end[-1]; --a_end) --b_end;
    const size_t b_length = static_cast<size_t>(b_end - b);
    uint32_t row[65];
    for (uint32_t k = 0; k <= b_length; ++k) row[k] = k;
    for (; a != a_end; ++a) {
      uint32_t diagonal = row[0], before = diagonal + 1;
      row[0] = before;
      for (size_t k = 0; k < b_length; ++k) {
        const uint32_t above = row[k + 1];
        before = std::min(std::min(above, before) + 1, diagonal + (*a != b[k] ? 1 : 0));
        row[k + 1] = before;
        diagonal = above;
      }
    }
    distances[i] = row[b_length];
  }
}

}  // namespace wavejit::perf
