// Look-ups in an unbalanced binary search tree: one key per work-item, as many steps as its node is deep.
typedef struct {
  int key;
  int left, right;  // indices of nodes, or -1
  int value;
} Node;

kernel void tree_lookup(global const Node* restrict nodes, global const int* restrict keys, global int* restrict values,
                        global uint* restrict steps, int root, uint n) {
  uint i = get_global_id(0);
  if (i >= n) return;
  int key = keys[i];
  int node = root;
  int value = -1;
  uint visited = 0;
  while (node >= 0) {
    ++visited;
    int node_key = nodes[node].key;
    if (key == node_key) {
      value = nodes[node].value;
      break;
    }
    node = key < node_key ? nodes[node].left : nodes[node].right;
  }
  values[i] = value;
  steps[i] = visited;
}
