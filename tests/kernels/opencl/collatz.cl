// Length and peak of the Collatz sequence of each number: loops whose length differs from lane to lane.
kernel void collatz(global const uint* restrict start, global uint* restrict steps, global ulong* restrict peak, uint n) {
  uint i = get_global_id(0);
  if (i >= n) return;
  ulong value = start[i];
  ulong highest = value;
  uint count = 0;
  while (value > 1) {
    if (value & 1)
      value = 3 * value + 1;
    else
      value >>= 1;
    highest = max(highest, value);
    ++count;
  }
  steps[i] = count;
  peak[i] = highest;
}
