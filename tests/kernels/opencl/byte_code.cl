// A register machine: eight registers, sixteen words of memory, branches to and fro. One work-item runs one program
// until it halts or has used up its fuel. An instruction is four bytes: operation and three operands.
enum { HALT, LDI, ADDI, ADD, SUB, MUL, REM, XOR, AND, SHR, LOAD, STORE, JMP, BZ, BNZ, BLT };

kernel void byte_code(global const uchar4* restrict code, global const uint* restrict program_start,
                      global const uint* restrict inputs, global uint2* restrict results, uint fuel, uint n) {
  uint i = get_global_id(0);
  if (i >= n) return;
  uint r[8], memory[16];
  for (int k = 0; k < 8; ++k) r[k] = 0;
  for (int k = 0; k < 16; ++k) memory[k] = 0;
  r[1] = inputs[i];
  uint pc = program_start[i], steps = 0;
  bool running = true;
  while (running && steps < fuel) {
    uchar4 op = code[pc++];
    uint d = op.y & 7, a = op.z & 7, b = op.w & 7;
    int near = (int)(char)op.w;  // a branch's distance or a small constant
    ++steps;
    switch (op.x) {
      case HALT: running = false; break;
      case LDI: r[d] = op.z | (uint)op.w << 8; break;
      case ADDI: r[d] = r[a] + (uint)near; break;
      case ADD: r[d] = r[a] + r[b]; break;
      case SUB: r[d] = r[a] - r[b]; break;
      case MUL: r[d] = r[a] * r[b]; break;
      case REM: r[d] = r[b] != 0 ? r[a] % r[b] : r[a]; break;
      case XOR: r[d] = r[a] ^ r[b]; break;
      case AND: r[d] = r[a] & r[b]; break;
      case SHR: r[d] = r[a] >> (op.w & 31); break;
      case LOAD: r[d] = memory[(r[a] + op.w) & 15]; break;
      case STORE: memory[(r[a] + op.w) & 15] = r[d]; break;
      case JMP: pc += (uint)near; break;
      case BZ: if (r[d] == 0) pc += (uint)near; break;
      case BNZ: if (r[d] != 0) pc += (uint)near; break;
      case BLT: if (r[d] < r[a]) pc += (uint)near; break;
    }
  }
  results[i] = (uint2)(r[0], steps);
}
