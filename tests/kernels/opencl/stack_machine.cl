// A byte-code interpreter: a data-dependent switch in a loop, with an operand stack in scratch. Programs differ per lane.
kernel void stack_machine(global const uchar* restrict programs, global const int* restrict inputs,
                          global int* restrict out, uint program_length, uint n) {
  uint i = get_global_id(0);
  if (i >= n) return;
  int stack[8];
  for (int k = 0; k < 8; ++k) stack[k] = k + 1;
  uint sp = 4;
  int acc = inputs[i];
  for (uint pc = 0; pc < program_length; ++pc) {
    uchar code = programs[i * program_length + pc];
    uint operand = code >> 4;
    switch (code & 15) {
      case 0: stack[sp & 7] = acc; sp++; break;
      case 1: sp--; acc += stack[sp & 7]; break;
      case 2: sp--; acc -= stack[sp & 7]; break;
      case 3: sp--; acc *= stack[sp & 7] | 1; break;
      case 4: acc ^= (int)(operand << 7); break;
      case 5: acc = (int)((uint)acc << (operand & 7)); break;
      case 6: acc >>= operand & 7; break;
      case 7: if (acc < 0) pc += operand & 3; break;
      case 8: acc = ~acc; break;
      case 9: stack[operand & 7] = acc; break;
      case 10: acc = stack[operand & 7]; break;
      case 11: acc = acc > stack[operand & 7] ? acc : stack[operand & 7]; break;
      case 12: acc = acc / (int)(operand + 1); break;
      case 13: if (acc & 1) { out[i] = acc ^ (int)sp; return; } break;
      case 14: acc += (int)popcount((uint)stack[(sp + operand) & 7]); break;
      default: acc = (int)rotate((uint)acc, operand); break;
    }
  }
  out[i] = acc + (int)sp;
}
