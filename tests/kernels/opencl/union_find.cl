// Connected components: every edge hooks the larger root below the smaller one, with compare-and-swap and path halving;
// then every node looks up its root. A component's label is its smallest node.
uint find_root(global volatile uint* parent, uint node) {
  uint up = parent[node];
  while (up != node) {
    uint next = parent[up];
    if (next != up) parent[node] = next;
    node = up;
    up = next;
  }
  return node;
}

kernel void union_find_hook(global const uint2* restrict edges, global volatile uint* restrict parent,
                            uint edge_count) {
  uint i = get_global_id(0);
  if (i >= edge_count) return;
  uint a = find_root(parent, edges[i].x);
  uint b = find_root(parent, edges[i].y);
  while (a != b) {
    uint low = min(a, b), high = max(a, b);
    uint seen = atomic_cmpxchg(&parent[high], high, low);
    if (seen == high) break;
    a = find_root(parent, seen);  // no longer a root
    b = find_root(parent, low);
  }
}

kernel void union_find_flatten(global const uint* restrict parent, global uint* restrict label, uint node_count) {
  uint i = get_global_id(0);
  if (i >= node_count) return;
  uint node = i;
  while (parent[node] != node) node = parent[node];
  label[i] = node;
}
