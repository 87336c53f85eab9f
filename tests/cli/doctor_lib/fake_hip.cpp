// Stands for a libamdhip64.so.5 of another ROCm: it needs libhsa-runtime64.so.1.
extern "C" int hsa_init();
extern "C" int hipGetDeviceCount(int*) {
  return hsa_init();
}
