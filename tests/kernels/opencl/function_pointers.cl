// Indirect calls: every lane picks its own function from a table, so one wave calls several.
#pragma OPENCL EXTENSION __cl_clang_function_pointers : enable

typedef uint (*Operation)(uint, uint);

__attribute__((noinline)) uint op_add(uint a, uint b) { return a + b; }
__attribute__((noinline)) uint op_mix(uint a, uint b) { return (a ^ (b << 5)) * 0x9e3779b1u; }
__attribute__((noinline)) uint op_mul_hi(uint a, uint b) { return mul_hi(a, b | 0x80000001u); }
__attribute__((noinline)) uint op_loop(uint a, uint b) {
  uint r = 1;
  for (uint i = 0; i < (b & 7); ++i) r = r * a + i;
  return r;
}

constant Operation kTable[4] = {op_add, op_mix, op_mul_hi, op_loop};

kernel void function_pointers(global const uint* restrict program, global const uint* restrict in,
                              global uint* restrict out, uint steps, uint n) {
  uint i = get_global_id(0);
  if (i >= n) return;
  uint value = in[i];
  uint word = program[i];
  for (uint s = 0; s < steps; ++s) {
    value = kTable[word & 3](value, i + s);
    word = (word >> 2) | (word << 30);
  }
  out[i] = value;
}
