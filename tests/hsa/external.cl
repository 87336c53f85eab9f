// A variable that only the program defines.
extern global uint shared_counter;

kernel void count(global uint* out) {
  shared_counter += 5;
  out[0] = shared_counter;
}
