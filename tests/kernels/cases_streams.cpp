// Kernels whose lanes each work through a stream of their own, as long as it is.
#include <array>
#include <cstring>
#include <set>

#include "case_util.h"
#include "cases.h"

namespace wavejit::kernels {
namespace {

// ---- text

constexpr const char* kWords[] = {
    "the",      "of",       "and",     "to",     "in",       "a",         "is",        "that",    "for",     "it",
    "with",     "as",       "was",     "on",     "be",       "by",        "this",      "are",     "from",    "at",
    "which",    "not",      "have",    "an",     "or",       "their",     "one",       "all",     "water",   "were",
    "there",    "when",     "can",     "more",   "between",  "house",     "each",      "number",  "under",   "same",
    "surface",  "through",  "table",   "line",   "pressure", "place",     "found",     "without", "several", "large",
    "river",    "measured", "winter",  "column", "northern", "different", "direction", "small",   "village", "weight",
    "moreover", "instead",  "railway", "bridge", "material", "experiment"};

// A few words make up most of a text.
const char* pick_word(Random& random) {
  const double u = random.uniform(0, 1);
  return kWords[static_cast<size_t>(u * u * static_cast<double>(std::size(kWords)))];
}

std::string prose(Random& random, uint32_t words) {
  std::string text;
  for (uint32_t i = 0; i < words; ++i) {
    text += pick_word(random);
    text += random.below(11) == 0 ? ". " : random.below(9) == 0 ? ", " : " ";
  }
  return text;
}

std::string log_line(Random& random, uint32_t second) {
  static constexpr const char* kPaths[] = {"/index.html", "/static/site.css", "/api/v1/orders/", "/api/v1/customers/",
                                           "/search?q="};
  const uint32_t path = random.below(5);
  std::string what = path == 4 ? pick_word(random) : path >= 2 ? fmt::format("{}", random.below(100000)) : "";
  return fmt::format("2019-03-07 14:{:02}:{:02}.{:03} INFO  http-worker-{} GET {}{} status={} bytes={}\n",
                     second / 60 % 60, second % 60, random.below(1000), random.below(8), kPaths[path], what,
                     random.below(20) == 0 ? 404 : 200, random.below(20000));
}

// Lines of a log, prose, a table with much padding, or base64, which hardly repeats.
std::string document(Random& random, size_t length) {
  static constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const uint32_t kind = random.below(100);
  uint32_t second = random.below(3600);
  std::string text;
  while (text.size() < length) {
    if (kind < 55) {
      text += log_line(random, second);
      second += random.below(3);
    } else if (kind < 80) {
      text += prose(random, 12);
    } else if (kind < 92) {
      text += fmt::format("| {:<24} | {:>12} |{:>60}|\n", pick_word(random), random.below(1000), "");
      if (random.below(8) == 0) text += std::string(400, '-') + "\n";
    } else {
      text += kDigits[random.below(64)];
    }
  }
  text.resize(length);
  return text;
}

// ---- LZ4

void put_length(std::vector<uint8_t>& out, size_t length) {
  for (; length >= 255; length -= 255) out.push_back(255);
  out.push_back(static_cast<uint8_t>(length));
}

// Literals and a match after them; without a match at the end of a block.
void put_sequence(std::vector<uint8_t>& out, const std::string& text, size_t literal, size_t match, size_t length,
                  size_t offset) {
  const size_t literals = match - literal, extra = length == 0 ? 0 : length - 4;
  out.push_back(static_cast<uint8_t>(std::min<size_t>(literals, 15) << 4 | std::min<size_t>(extra, 15)));
  if (literals >= 15) put_length(out, literals - 15);
  for (size_t i = literal; i < match; ++i) out.push_back(static_cast<uint8_t>(text[i]));
  if (length == 0) return;
  out.push_back(static_cast<uint8_t>(offset));
  out.push_back(static_cast<uint8_t>(offset >> 8));
  if (extra >= 15) put_length(out, extra - 15);
}

// Greedy, with the last place of each hash of four bytes. The end of a block is as the LZ4 block format wants it: no
// match begins in its last twelve bytes, and its last five are literals.
void compress(std::vector<uint8_t>& out, const std::string& text) {
  constexpr size_t kNone = ~size_t{0};
  std::array<size_t, 4096> last;
  last.fill(kNone);
  size_t literal = 0, i = 0;
  while (i + 12 < text.size()) {
    uint32_t four;
    std::memcpy(&four, &text[i], 4);
    size_t& entry = last[four * 2654435761u >> 20];
    const size_t from = std::exchange(entry, i);
    if (from == kNone || text.compare(from, 4, text, i, 4) != 0) {
      ++i;
      continue;
    }
    size_t length = 4;
    while (i + length + 5 < text.size() && text[from + length] == text[i + length]) ++length;
    put_sequence(out, text, literal, i, length, i - from);
    i += length;
    literal = i;
  }
  put_sequence(out, text, literal, text.size(), 0, 0);
}

// ---- columns of strings

struct Column {
  std::vector<uint8_t> bytes;
  std::vector<uint32_t> start = {0};
  void add(const std::string& value) {
    bytes.insert(bytes.end(), value.begin(), value.end());
    start.push_back(static_cast<uint32_t>(bytes.size()));
  }
  [[nodiscard]] std::string operator[](size_t i) const {
    return {bytes.begin() + start[i], bytes.begin() + start[i + 1]};
  }
};

// ---- programs for byte_code

enum Operation : uint8_t {
  kHalt,
  kLdi,
  kAddi,
  kAdd,
  kSub,
  kMul,
  kRem,
  kXor,
  kAnd,
  kShr,
  kLoad,
  kStore,
  kJmp,
  kBz,
  kBnz,
  kBlt
};

struct Instruction {
  uint8_t operation, d, a, b;
};

// Registers: r0 is the result, r1 the input, the others are a routine's own.
class Assembler {
 public:
  std::vector<Instruction> code;

  void put(Operation operation, int d, int a, int b) {
    code.push_back({operation, static_cast<uint8_t>(d), static_cast<uint8_t>(a), static_cast<uint8_t>(b)});
  }
  void load_constant(int d, uint32_t value) {
    put(kLdi, d, static_cast<int>(value & 255), static_cast<int>(value >> 8 & 255));
  }
  [[nodiscard]] size_t here() const { return code.size(); }
  // Forward branches get their target later.
  size_t branch(Operation operation, int d = 0, int a = 0) {
    put(operation, d, a, 0);
    return here() - 1;
  }
  void set_target(size_t branch, size_t target) { code[branch].b = static_cast<uint8_t>(target - branch - 1); }
  void branch_to(size_t target, Operation operation, int d = 0, int a = 0) {
    set_target(branch(operation, d, a), target);
  }

  // r0 += steps of the Collatz sequence from a small number.
  void collatz(uint32_t start) {
    load_constant(2, start);
    load_constant(3, 1);
    load_constant(4, 3);
    const size_t loop = here();
    put(kSub, 5, 2, 3);
    const size_t done = branch(kBz, 5);
    put(kAddi, 0, 0, 1);
    put(kAnd, 5, 2, 3);
    const size_t odd = branch(kBnz, 5);
    put(kShr, 2, 2, 1);
    branch_to(loop, kJmp);
    set_target(odd, here());
    put(kMul, 2, 2, 4);
    put(kAddi, 2, 2, 1);
    branch_to(loop, kJmp);
    set_target(done, here());
  }
  // r0 ^= sum of the greatest common divisors of r1's low bits and 1 .. count.
  void divisors(uint32_t count) {
    load_constant(2, count);
    load_constant(7, 0x3ff);
    const size_t outer = here();
    put(kAnd, 3, 1, 7);
    put(kAddi, 4, 2, 0);
    const size_t inner = here();
    const size_t done = branch(kBz, 4);
    put(kRem, 5, 3, 4);
    put(kAddi, 3, 4, 0);
    put(kAddi, 4, 5, 0);
    branch_to(inner, kJmp);
    set_target(done, here());
    put(kAdd, 6, 6, 3);
    put(kAddi, 2, 2, -1);
    branch_to(outer, kBnz, 2);
    put(kXor, 0, 0, 6);
  }
  // r0 takes in `count` numbers of a linear congruential generator.
  void generator(uint32_t count) {
    load_constant(2, count);
    load_constant(3, 20077);
    load_constant(4, 12345);
    const size_t loop = here();
    put(kMul, 1, 1, 3);
    put(kAdd, 1, 1, 4);
    put(kShr, 5, 1, 9);
    put(kXor, 0, 0, 5);
    put(kAddi, 2, 2, -1);
    branch_to(loop, kBnz, 2);
  }
  // Fills `count` words of memory from r1 and sorts them by insertion; r0 += a mix of them in order.
  void sort(uint32_t count) {
    load_constant(2, count);
    load_constant(3, 40503);
    const size_t fill = here();
    put(kMul, 1, 1, 3);
    put(kAddi, 1, 1, 77);
    put(kShr, 4, 1, 12);
    put(kAddi, 2, 2, -1);
    put(kStore, 4, 2, 0);
    branch_to(fill, kBnz, 2);
    load_constant(2, 1);
    load_constant(7, count);
    const size_t outer = here();
    put(kLoad, 3, 2, 0);
    put(kAddi, 4, 2, 0);
    const size_t inner = here();
    put(kLoad, 5, 4, -1);
    const size_t placed = branch(kBlt, 5, 3);
    put(kStore, 5, 4, 0);
    put(kAddi, 4, 4, -1);
    branch_to(inner, kBnz, 4);
    set_target(placed, here());
    put(kStore, 3, 4, 0);
    put(kAddi, 2, 2, 1);
    branch_to(outer, kBlt, 2, 7);
    load_constant(6, 31);
    const size_t mix = here();
    put(kAddi, 2, 2, -1);
    put(kLoad, 3, 2, 0);
    put(kMul, 0, 0, 6);
    put(kAdd, 0, 0, 3);
    branch_to(mix, kBnz, 2);
  }
  // r0 += the square root of some bits of r1, by subtracting odd numbers.
  void square_root(int shift) {
    put(kShr, 2, 1, shift);
    load_constant(3, 1);
    const size_t loop = here();
    const size_t done = branch(kBlt, 2, 3);
    put(kSub, 2, 2, 3);
    put(kAddi, 3, 3, 2);
    put(kAddi, 0, 0, 1);
    branch_to(loop, kJmp);
    set_target(done, here());
  }
  // r0 = r0 * 3 + 2 ^ exponent mod modulus, square and multiply.
  void power(uint32_t exponent, uint32_t modulus) {
    load_constant(2, exponent);
    load_constant(3, modulus);
    load_constant(4, 2);
    load_constant(5, 1);
    load_constant(7, 1);
    const size_t loop = here();
    const size_t done = branch(kBz, 2);
    put(kAnd, 6, 2, 7);
    const size_t even = branch(kBz, 6);
    put(kMul, 5, 5, 4);
    put(kRem, 5, 5, 3);
    set_target(even, here());
    put(kMul, 4, 4, 4);
    put(kRem, 4, 4, 3);
    put(kShr, 2, 2, 1);
    branch_to(loop, kJmp);
    set_target(done, here());
    load_constant(6, 3);
    put(kMul, 0, 0, 6);
    put(kAdd, 0, 0, 5);
  }
};

// A few routines one after another; now and then a loop without end.
std::vector<Instruction> random_program(Random& random, uint32_t effort) {
  Assembler program;
  for (uint32_t routines = 1 + random.below(3); routines > 0; --routines) {
    switch (random.below(6)) {
      case 0:
        program.collatz(2 + random.below(effort));
        break;
      case 1:
        program.divisors(1 + random.below(1 + effort / 6));
        break;
      case 2:
        program.generator(1 + random.below(effort));
        break;
      case 3:
        program.sort(2 + random.below(std::min(14u, effort)));
        break;
      case 4:
        program.square_root(static_cast<int>(20 + random.below(10)));
        break;
      default:
        program.power(random.below(60000), 3 + random.below(40000));
        break;
    }
  }
  if (random.below(50) == 0) {
    const size_t loop = program.here();
    program.put(kAddi, 0, 0, 7);
    program.branch_to(loop, kJmp);
  }
  program.put(kHalt, 0, 0, 0);
  return program.code;
}

// The result and the number of steps.
std::pair<uint32_t, uint32_t> run_program(const Instruction* pc, uint32_t input, uint32_t fuel) {
  std::array<uint32_t, 8> r = {0, input};
  std::array<uint32_t, 16> memory = {};
  for (uint32_t step = 0; step < fuel; ++step) {
    const auto [operation, to, first, second] = *pc;
    const uint32_t x = r[first % 8], y = r[second % 8];
    const int near = second < 128 ? second : second - 256;
    uint32_t& d = r[to % 8];
    ++pc;
    if (operation == kHalt) return {r[0], step + 1};
    if (operation == kLdi) d = first + 256u * second;
    if (operation == kAddi) d = x + static_cast<uint32_t>(near);
    if (operation == kAdd) d = x + y;
    if (operation == kSub) d = x - y;
    if (operation == kMul) d = x * y;
    if (operation == kRem) d = y == 0 ? x : x % y;
    if (operation == kXor) d = x ^ y;
    if (operation == kAnd) d = x & y;
    if (operation == kShr) d = x >> (second % 32);
    if (operation == kLoad) d = memory[(x + second) % 16];
    if (operation == kStore) memory[(x + second) % 16] = d;
    const bool taken = operation == kJmp || (operation == kBz && d == 0) || (operation == kBnz && d != 0) ||
                       (operation == kBlt && d < x);
    if (taken) pc += near;
  }
  return {r[0], fuel};
}

// ---- quadrature

// The integrand of quadrature.cl.
struct Resonance {
  double height, sharpness, centre, slope;
  double operator()(double x) const { return height / (1 + sharpness * (x - centre) * (x - centre)) + slope * x; }
};

double simpson(const Resonance& f, double low, double high) {
  return (high - low) / 6 * (f(low) + 4 * f(0.5 * (low + high)) + f(high));
}

struct Integral {
  double value;
  uint32_t evaluations;
};

// Of an interval whose ends and middle are evaluated, the range halved `depth` times.
Integral integrate(const Resonance& f, double low, double high, double tolerance, int depth) {
  const double middle = 0.5 * (low + high), left = simpson(f, low, middle), right = simpson(f, middle, high);
  const double difference = left + right - simpson(f, low, high);
  const bool good = depth >= 3 && std::abs(difference) <= 15 * tolerance * (high - low);
  if (good || depth == 19) return {left + right + difference / 15, 2};
  const Integral a = integrate(f, low, middle, tolerance, depth + 1);
  const Integral b = integrate(f, middle, high, tolerance, depth + 1);
  return {a.value + b.value, 2 + a.evaluations + b.evaluations};
}

// ---- edit distance

// The whole table, from the ends of the strings.
uint32_t distance_of(const std::string& a, const std::string& b) {
  std::vector<std::vector<uint32_t>> table(a.size() + 1, std::vector<uint32_t>(b.size() + 1));
  for (size_t i = a.size() + 1; i-- > 0;) {
    for (size_t j = b.size() + 1; j-- > 0;) {
      if (i == a.size() || j == b.size()) {
        table[i][j] = static_cast<uint32_t>(a.size() - i + b.size() - j);
      } else if (a[i] == b[j]) {
        table[i][j] = table[i + 1][j + 1];
      } else {
        table[i][j] = 1 + std::min({table[i + 1][j], table[i][j + 1], table[i + 1][j + 1]});
      }
    }
  }
  return table[0][0];
}

std::string with_typing_errors(Random& random, std::string text, uint32_t errors, size_t longest) {
  for (; errors > 0 && !text.empty(); --errors) {
    const size_t at = random.below(static_cast<uint32_t>(text.size()));
    const char letter = static_cast<char>('a' + random.below(26));
    switch (random.below(4)) {
      case 0:
        text[at] = letter;
        break;
      case 1:
        text.erase(at, 1);
        break;
      case 2:
        text.insert(at, 1, letter);
        break;
      default:
        if (at + 1 < text.size()) std::swap(text[at], text[at + 1]);
        break;
    }
  }
  text.resize(std::min(text.size(), longest));
  return text;
}

}  // namespace

KernelCase make_lz_decode(Size size) {
  const uint32_t blocks = size == Size::kTest ? 140 : 2500, longest = size == Size::kTest ? 640 : 1024;
  Random random(120);
  std::vector<uint8_t> packed;
  std::vector<uint32_t> packed_start = {0};
  Column text;
  for (uint32_t i = 0; i < blocks; ++i) {
    // Most blocks are full.
    const uint32_t length = random.below(4) == 0 ? longest / 4 + random.below(longest * 3 / 4) : longest;
    const std::string content = document(random, length);
    text.add(content);
    compress(packed, content);
    packed_start.push_back(static_cast<uint32_t>(packed.size()));
  }
  KernelCase c{.name = "lz_decode", .object = "lz_decode"};
  c.buffers = {make_buffer("packed", packed), make_buffer("packed_start", packed_start),
               filled_buffer("text", text.bytes.size(), uint8_t{0}), make_buffer("text_start", text.start),
               filled_buffer("sizes", blocks, 0u)};
  c.launches = {
      {.kernel = "lz_decode",
       .global = {round_up(blocks, 64), 1, 1},
       .local = {64, 1, 1},
       .args = {buffer_arg(0), buffer_arg(1), buffer_arg(2), buffer_arg(3), buffer_arg(4), scalar_arg(blocks)}}};
  c.unit = "MB";
  c.work = 1e-6 * static_cast<double>(text.bytes.size());
  c.check = [text = std::move(text), blocks](std::span<const Buffer> buffers, std::string* why) {
    std::vector<uint32_t> sizes(blocks);
    for (uint32_t i = 0; i < blocks; ++i) sizes[i] = text.start[i + 1] - text.start[i];
    return equal(buffers[4], sizes, why) && equal(buffers[2], text.bytes, why);
  };
  return c;
}

KernelCase make_row_hash(Size size) {
  const uint32_t rows = size == Size::kTest ? 200 : 200000;
  Random random(121);
  Column column;
  for (uint32_t i = 0; i < rows; ++i) {
    // Names of a few words, some cells empty, a few long notes.
    const uint32_t kind = random.below(100);
    if (kind < 10) {
      column.add("");
    } else if (kind < 97) {
      column.add(prose(random, 1 + random.below(1 + random.below(8))));
    } else {
      column.add(prose(random, 12 + random.below(20)));
    }
  }
  KernelCase c{.name = "row_hash", .object = "row_hash"};
  c.buffers = {make_buffer("bytes", column.bytes), make_buffer("row_start", column.start),
               filled_buffer("hashes", rows, 0u)};
  c.launches = {{.kernel = "row_hash",
                 .global = {round_up(rows, 256), 1, 1},
                 .local = {256, 1, 1},
                 .args = {buffer_arg(0), buffer_arg(1), buffer_arg(2), scalar_arg(rows)}}};
  c.unit = "MB";
  c.work = 1e-6 * static_cast<double>(column.bytes.size());
  c.check = [column = std::move(column), rows](std::span<const Buffer> buffers, std::string* why) {
    std::vector<uint32_t> want(rows);
    for (uint32_t i = 0; i < rows; ++i) {
      uint64_t hash = 0x811c9dc5;
      for (const char byte : column[i]) {
        hash ^= static_cast<uint8_t>(byte);
        hash = ((hash << 24) + hash * 0x193) & 0xffffffffu;  // the prime is 2^24 + 0x193
      }
      hash = (hash ^ (hash >> 16)) * 0x85ebca6bu & 0xffffffffu;
      hash = (hash ^ (hash >> 13)) * 0xc2b2ae35u & 0xffffffffu;
      want[i] = static_cast<uint32_t>(hash ^ (hash >> 16));
    }
    return equal(buffers[2], want, why);
  };
  return c;
}

KernelCase make_sptrsv(Size size) {
  const uint32_t blocks = size == Size::kTest ? 150 : 16384, longest = size == Size::kTest ? 16 : 48;
  Random random(122);
  std::vector<uint32_t> block_start = {0}, row_start = {0}, columns;
  std::vector<float> values;
  for (uint32_t block = 0; block < blocks; ++block) {
    const uint32_t first = block_start.back(), rows = 1 + random.below(4 + random.below(longest - 4));
    for (uint32_t row = 0; row < rows; ++row) {
      std::set<uint32_t> in_row;  // mostly near the diagonal
      for (uint32_t k = random.below(8); k > 0 && row > 0; --k)
        in_row.insert(row - 1 - random.below(1 + random.below(row)));
      for (const uint32_t column : in_row) {
        columns.push_back(first + column);
        values.push_back(static_cast<float>(random.uniform(-1, 1) / static_cast<double>(in_row.size())));
      }
      row_start.push_back(static_cast<uint32_t>(columns.size()));
    }
    block_start.push_back(first + rows);
  }
  const uint32_t rows = block_start.back();
  KernelCase c{.name = "sptrsv", .object = "sptrsv"};
  c.buffers = {make_buffer("block_start", block_start),
               make_buffer("row_start", row_start),
               make_buffer("columns", columns),
               make_buffer("values", values),
               make_buffer("inverse_diagonal", random_floats(rows, 0.5, 1, 123)),
               make_buffer("b", random_floats(rows, -1, 1, 124)),
               filled_buffer("x", rows, 77.0f)};
  c.launches = {{.kernel = "sptrsv",
                 .global = {round_up(blocks, 64), 1, 1},
                 .local = {64, 1, 1},
                 .args = {buffer_arg(0), buffer_arg(1), buffer_arg(2), buffer_arg(3), buffer_arg(4), buffer_arg(5),
                          buffer_arg(6), scalar_arg(blocks)}}};
  c.check = [rows](std::span<const Buffer> buffers, std::string* why) {
    // All blocks at once, by columns: a component that is known leaves the right-hand sides below it.
    struct Entry {
      uint32_t row;
      double value;
    };
    std::vector<std::vector<Entry>> below(rows);
    for (uint32_t row = 0; row < rows; ++row) {
      for (uint32_t i = buffers[1].as<uint32_t>()[row]; i < buffers[1].as<uint32_t>()[row + 1]; ++i)
        below[buffers[2].as<uint32_t>()[i]].push_back({row, static_cast<double>(buffers[3].as<float>()[i])});
    }
    std::vector<double> want(buffers[5].as<float>().begin(), buffers[5].as<float>().end());
    for (uint32_t column = 0; column < rows; ++column) {
      want[column] *= static_cast<double>(buffers[4].as<float>()[column]);
      for (const Entry& entry : below[column]) want[entry.row] -= entry.value * want[column];
    }
    return close<float>(buffers[6], want, [](size_t) { return 2e-6; }, why);
  };
  c.unit = "GFLOP";
  c.work = 1e-9 * (2.0 * static_cast<double>(columns.size()) + rows);
  return c;
}

KernelCase make_byte_code(Size size) {
  const uint32_t n = size == Size::kTest ? 100 : 2000, fuel = size == Size::kTest ? 250 : 1500;
  Random random(125);
  std::vector<Instruction> code;
  std::vector<uint32_t> program_start;
  for (uint32_t i = 0; i < n; ++i) {
    program_start.push_back(static_cast<uint32_t>(code.size()));
    const std::vector<Instruction> program = random_program(random, size == Size::kTest ? 8 : 60);
    code.insert(code.end(), program.begin(), program.end());
  }
  const std::vector<uint32_t> inputs = random_integers<uint32_t>(n, 126);
  std::vector<uint32_t> want;
  KernelCase c{.name = "byte_code", .object = "byte_code"};
  for (uint32_t i = 0; i < n; ++i) {
    const auto [result, steps] = run_program(&code[program_start[i]], inputs[i], fuel);
    want.insert(want.end(), {result, steps});
    c.work += 1e-6 * steps;
  }
  c.buffers = {make_buffer("code", code), make_buffer("program_start", program_start), make_buffer("inputs", inputs),
               filled_buffer("results", size_t{n} * 2, 0u)};
  c.launches = {
      {.kernel = "byte_code",
       .global = {round_up(n, 64), 1, 1},
       .local = {64, 1, 1},
       .args = {buffer_arg(0), buffer_arg(1), buffer_arg(2), buffer_arg(3), scalar_arg(fuel), scalar_arg(n)}}};
  c.check = [want](std::span<const Buffer> buffers, std::string* why) { return equal(buffers[3], want, why); };
  c.unit = "Mops";
  return c;
}

KernelCase make_quadrature(Size size) {
  const uint32_t n = size == Size::kTest ? 100 : 8192;
  const float tolerance = size == Size::kTest ? 1e-4f : 1e-5f;  // for a unit of length
  Random random(127);
  std::vector<float> parameters, ranges;
  for (uint32_t i = 0; i < n; ++i) {
    const double low = random.uniform(-4, 0), high = low + random.uniform(0.5, 8);
    // The range is so many times as wide as half the resonance.
    const double wide = std::exp2(random.uniform(-1, size == Size::kTest ? 4 : 7));
    const double sharpness = wide * wide / ((high - low) * (high - low));
    for (const double value : {random.uniform(0.5, 2), sharpness, random.uniform(-4, 4), random.uniform(-0.5, 0.5)})
      parameters.push_back(static_cast<float>(value));
    for (const double value : {low, high}) ranges.push_back(static_cast<float>(value));
  }
  std::vector<double> want(n);
  std::vector<uint32_t> counts(n);
  KernelCase c{.name = "quadrature", .object = "quadrature"};
  for (uint32_t i = 0; i < n; ++i) {
    const float* p = &parameters[size_t{i} * 4];
    const Resonance f = {p[0], p[1], p[2], p[3]};
    const double low = ranges[size_t{i} * 2], high = ranges[size_t{i} * 2 + 1];
    const Integral integral = integrate(f, low, high, static_cast<double>(tolerance), 0);
    want[i] = integral.value;
    counts[i] = 3 + integral.evaluations;
    c.work += 1e-6 * counts[i];
  }
  c.buffers = {make_buffer("parameters", parameters), make_buffer("ranges", ranges),
               filled_buffer("integrals", n, 0.0f), filled_buffer("evaluations", n, 0u)};
  c.launches = {
      {.kernel = "quadrature",
       .global = {round_up(n, 64), 1, 1},
       .local = {64, 1, 1},
       .args = {buffer_arg(0), buffer_arg(1), buffer_arg(2), buffer_arg(3), scalar_arg(tolerance), scalar_arg(n)}}};
  c.check = [want, counts, n, tolerance](std::span<const Buffer> buffers, std::string* why) {
    // Single precision may halve an interval whose error is about the tolerance, or not, unlike the reference.
    uint32_t different = 0;
    for (uint32_t i = 0; i < n; ++i) {
      const uint32_t got = buffers[3].as<uint32_t>()[i];
      if (got == counts[i]) continue;
      ++different;
      if (std::max(got, counts[i]) - std::min(got, counts[i]) > 8)
        return fail(why, fmt::format("evaluations[{}] = {}, expected {}", i, got, counts[i]));
    }
    if (different > n / 50) return fail(why, fmt::format("{} of {} counts of evaluations differ", different, n));
    return close<float>(buffers[2], want, [=](size_t) { return static_cast<double>(tolerance); }, why);
  };
  c.unit = "Mevaluations";
  return c;
}

KernelCase make_rejection(Size size) {
  const uint32_t n = size == Size::kTest ? 150 : 16384, wanted = size == Size::kTest ? 6 : 64;
  Random random(128);
  std::vector<uint32_t> seeds(n), shapes;
  std::vector<int32_t> want;
  for (uint32_t& seed : seeds) seed = static_cast<uint32_t>(random.next()) | 1;
  KernelCase c{.name = "rejection", .object = "rejection"};
  for (uint32_t i = 0; i < n; ++i) {
    // From circles, which fill most of the square, to thin ellipses.
    const uint32_t narrow = 1 + random.below(1 + random.below(30)), wide = 1 + random.below(2);
    shapes.insert(shapes.end(), {i % 2 == 0 ? narrow : wide, i % 2 == 0 ? wide : narrow});
    int32_t sums[4] = {};
    uint32_t state = seeds[i];
    for (uint32_t accepted = 0; accepted < wanted; ++sums[3]) {
      state ^= state << 13;
      state ^= state >> 17;
      state ^= state << 5;
      const int64_t x = int64_t{state / 1048576} - 2048, y = int64_t{state / 256 % 4096} - 2048;
      const int64_t p = shapes[size_t{i} * 2], q = shapes[size_t{i} * 2 + 1];
      if (p * x * x + q * y * y > 4194304) continue;
      sums[0] += static_cast<int32_t>(x * x);
      sums[1] += static_cast<int32_t>(y * y);
      sums[2] += static_cast<int32_t>(x * y);
      ++accepted;
    }
    want.insert(want.end(), std::begin(sums), std::end(sums));
    c.work += 1e-6 * sums[3];
  }
  c.buffers = {make_buffer("seeds", seeds), make_buffer("shapes", shapes), filled_buffer("moments", size_t{n} * 4, 0)};
  c.launches = {{.kernel = "rejection",
                 .global = {round_up(n, 64), 1, 1},
                 .local = {64, 1, 1},
                 .args = {buffer_arg(0), buffer_arg(1), buffer_arg(2), scalar_arg(wanted), scalar_arg(n)}}};
  c.check = [want](std::span<const Buffer> buffers, std::string* why) { return equal(buffers[2], want, why); };
  c.unit = "Mdraws";
  return c;
}

KernelCase make_edit_distance(Size size) {
  const uint32_t n = size == Size::kTest ? 100 : 16384;
  const size_t longest = size == Size::kTest ? 14 : 64;
  Random random(129);
  Column left, right;
  KernelCase c{.name = "edit_distance", .object = "edit_distance"};
  std::vector<uint32_t> want(n);
  for (uint32_t i = 0; i < n; ++i) {
    const auto name = [&] { return prose(random, 1 + random.below(1 + random.below(8))).substr(0, longest); };
    const std::string a = name();
    // Most pairs are candidates for the same name.
    const uint32_t kind = random.below(20);
    const std::string b = kind == 0   ? a
                          : kind < 14 ? with_typing_errors(random, a, 1 + random.below(4), longest)
                                      : name();
    left.add(a);
    right.add(b);
    want[i] = distance_of(a, b);
    c.work += 1e-6 * static_cast<double>(a.size() * b.size());
  }
  c.buffers = {make_buffer("left", left.bytes), make_buffer("left_start", left.start),
               make_buffer("right", right.bytes), make_buffer("right_start", right.start),
               filled_buffer("distances", n, 0u)};
  c.launches = {{.kernel = "edit_distance",
                 .global = {round_up(n, 64), 1, 1},
                 .local = {64, 1, 1},
                 .args = {buffer_arg(0), buffer_arg(1), buffer_arg(2), buffer_arg(3), buffer_arg(4), scalar_arg(n)}}};
  c.check = [want](std::span<const Buffer> buffers, std::string* why) { return equal(buffers[4], want, why); };
  c.unit = "Mcells";
  return c;
}

}  // namespace wavejit::kernels
