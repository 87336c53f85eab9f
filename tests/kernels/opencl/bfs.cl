// One level of breadth-first search: the frontier is a queue; unvisited neighbours are claimed with compare-and-swap and
// appended to the next queue with an atomic counter.
kernel void bfs_level(global const uint* restrict row_start, global const uint* restrict neighbours,
                      global volatile int* distance, global const uint* restrict queue, global uint* restrict next_queue,
                      global volatile uint* queue_sizes, int level) {
  uint i = get_global_id(0);
  if (i >= queue_sizes[level]) return;
  uint node = queue[i];
  for (uint e = row_start[node]; e < row_start[node + 1]; ++e) {
    uint neighbour = neighbours[e];
    if (atomic_cmpxchg(&distance[neighbour], -1, level + 1) == -1)
      next_queue[atomic_inc(&queue_sizes[level + 1])] = neighbour;
  }
}
