// Levenshtein distance of two strings per work-item, without what they have in common at either end: dynamic
// programming with one row of the table in a private array.
#define LONGEST 64

kernel void edit_distance(global const uchar* restrict left, global const uint* restrict left_start,
                          global const uchar* restrict right, global const uint* restrict right_start,
                          global uint* restrict distances, uint n) {
  uint i = get_global_id(0);
  if (i >= n) return;
  global const uchar* a = left + left_start[i];
  global const uchar* b = right + right_start[i];
  uint a_length = left_start[i + 1] - left_start[i], b_length = right_start[i + 1] - right_start[i];
  while (a_length > 0 && b_length > 0 && a[0] == b[0]) {
    ++a;
    ++b;
    --a_length;
    --b_length;
  }
  while (a_length > 0 && b_length > 0 && a[a_length - 1] == b[b_length - 1]) {
    --a_length;
    --b_length;
  }
  uint row[LONGEST + 1];
  for (uint k = 0; k <= b_length; ++k) row[k] = k;
  for (uint j = 0; j < a_length; ++j) {
    uchar letter = a[j];
    uint diagonal = j, before = j + 1;
    row[0] = before;
    for (uint k = 0; k < b_length; ++k) {
      uint above = row[k + 1];
      before = min(min(above, before) + 1, diagonal + (letter != b[k] ? 1u : 0u));
      row[k + 1] = before;
      diagonal = above;
    }
  }
  distances[i] = row[b_length];
}
