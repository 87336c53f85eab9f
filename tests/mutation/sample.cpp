// One place or more for each operator, and places where there must be none: read by tool_test.py, not compiled.
#define CHECK(condition) ((condition) ? void() : __builtin_trap())

namespace sample {

struct Values {
  void reserve(int size);
  void push_back(int value);
  int& back();
};

struct Pair {
  int lo;
  int hi;
};

constexpr int kTable[] = {1, 2, 3};
void record(int first, int second);

constexpr int never(int x) {
  return x < 3 ? x + 1 : 0;
}

bool between(int x, const Pair& range) {
  return range.lo <= x && x < range.hi;
}

int clamp(int x, const Pair& range) {
  CHECK(range.lo < range.hi);
  static constexpr int kStep = 7;
  if (x < range.lo) return range.lo;
  if constexpr (kStep > 3) x -= kStep;
  return x;
}

unsigned high_bits(unsigned value, unsigned shift) {
  value &= 0xff00;
  switch (shift) {
    case 5:
      return value >> shift;
    default:
      break;
  }
  return value & ~shift;
}

void fill(Values& values, int a, int b) {
  values.reserve(4);
  for (int i = 0; i < a - b; ++i) values.push_back(kTable[i]);
  record(a, b);
  values.back() = 9;
}

}  // namespace sample
