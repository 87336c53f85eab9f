// Counts the solutions of the N queens problem by backtracking, one work-item for each placement of the first rows. The
// stack is in private arrays; sets of columns and diagonals are bit masks.
#define MAX_ROWS 16

kernel void nqueens(global uint* restrict counts, uint queens, uint prefix_rows, uint items) {
  uint i = get_global_id(0);
  if (i >= items) return;
  const uint all = (1u << queens) - 1;
  uint columns = 0, left = 0, right = 0;
  uint prefix = i;
  for (uint row = 0; row < prefix_rows; ++row) {
    uint queen = 1u << (prefix % queens);
    prefix /= queens;
    if (queen & (columns | left | right)) {
      counts[i] = 0;
      return;
    }
    columns |= queen;
    left = (left | queen) << 1;
    right = (right | queen) >> 1;
  }
  uint column_stack[MAX_ROWS], left_stack[MAX_ROWS], right_stack[MAX_ROWS], open_stack[MAX_ROWS];
  int depth = 0;
  column_stack[0] = columns;
  left_stack[0] = left;
  right_stack[0] = right;
  open_stack[0] = all & ~(columns | left | right);
  uint count = 0;
  while (depth >= 0) {
    uint open = open_stack[depth];
    if (open == 0) {
      --depth;
      continue;
    }
    uint queen = open & -open;
    open_stack[depth] = open ^ queen;
    columns = column_stack[depth] | queen;
    if (columns == all) {
      ++count;
      continue;
    }
    left = (left_stack[depth] | queen) << 1;
    right = (right_stack[depth] | queen) >> 1;
    ++depth;
    column_stack[depth] = columns;
    left_stack[depth] = left;
    right_stack[depth] = right;
    open_stack[depth] = all & ~(columns | left | right);
  }
  counts[i] = count;
}
