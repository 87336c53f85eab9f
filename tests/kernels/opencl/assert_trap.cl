// Doubles its input; bad data executes a trap, which the host must see as an error.
kernel void assert_trap(global const int* restrict in, global int* restrict out, int limit) {
  uint i = get_global_id(0);
  int value = in[i];
  if (value > limit) __builtin_trap();
  out[i] = value * 2;
}
