// Looks for a few patterns in lines of text by the method of Knuth, Morris and Pratt, one line per work-item. Reports
// how often they occur, overlapping ones included, and where the first of them begins (-1: nowhere).
#define PATTERN_STRIDE 16

kernel void string_match(global const uchar* restrict text, global const uint* restrict line_start,
                         constant uchar* patterns, constant uchar* failure, constant uint* pattern_length,
                         global int* restrict first, global uint* restrict matches, uint pattern_count, uint lines) {
  uint i = get_global_id(0);
  if (i >= lines) return;
  uint begin = line_start[i], end = line_start[i + 1];
  int where = -1;
  uint found = 0;
  for (uint p = 0; p < pattern_count; ++p) {
    constant uchar* pattern = patterns + p * PATTERN_STRIDE;
    constant uchar* fall_back = failure + p * PATTERN_STRIDE;
    uint length = pattern_length[p];
    uint state = 0;
    for (uint position = begin; position < end; ++position) {
      uchar letter = text[position];
      while (state > 0 && pattern[state] != letter) state = fall_back[state - 1];
      if (pattern[state] == letter) ++state;
      if (state == length) {
        int start = (int)(position + 1 - length - begin);
        if (where < 0 || start < where) where = start;
        ++found;
        state = fall_back[state - 1];
      }
    }
  }
  first[i] = where;
  matches[i] = found;
}
