// Complex 256-point FFTs (Stockham, radix 2) in local memory, one transform per work-group of 128.
// twiddles[j] = exp(-2 pi i j / 256).
#define POINTS 256

kernel __attribute__((reqd_work_group_size(POINTS / 2, 1, 1))) void fft_lds(global float2* restrict data,
                                                                            constant float2* twiddles) {
  local float2 ping[POINTS];
  local float2 pong[POINTS];
  uint l = get_local_id(0);
  global float2* mine = data + get_group_id(0) * POINTS;
  ping[l] = mine[l];
  ping[l + POINTS / 2] = mine[l + POINTS / 2];
  barrier(CLK_LOCAL_MEM_FENCE);
  local float2* from = ping;
  local float2* to = pong;
  for (uint span = 1; span < POINTS; span <<= 1) {
    uint j = l & (span - 1);
    float2 w = twiddles[j * (POINTS / 2 / span)];
    float2 a = from[l];
    float2 b = from[l + POINTS / 2];
    float2 bw = (float2)(b.x * w.x - b.y * w.y, b.x * w.y + b.y * w.x);
    uint where = ((l - j) << 1) + j;
    to[where] = a + bw;
    to[where + span] = a - bw;
    barrier(CLK_LOCAL_MEM_FENCE);
    local float2* t = from;
    from = to;
    to = t;
  }
  mine[l] = from[l];
  mine[l + POINTS / 2] = from[l + POINTS / 2];
}
