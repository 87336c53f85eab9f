/* Lists the kernels of a code object and, if "vector_add" is among them, runs it:
 * out[i] = a[i ^ 1] + b[i] + weights[n & 3], with weights = {0.5, 1.5, 2.5, 3.5}, in work-groups of 64. */
#include <stdio.h>
#include <wavejit/wavejit.h>

enum { kItems = 256 };

static int fail(const char* what) {
  const wavejit_error* error = wavejit_last_error();
  fprintf(stderr, "%s: %s: %s\n", what, wavejit_status_string(wavejit_error_status(error)), wavejit_error_message(error));
  return 1;
}

int main(int argc, char** argv) {
  wavejit_module* module = NULL;
  wavejit_kernel* kernel = NULL;
  wavejit_launch_options options = wavejit_launch_options_default();
  wavejit_launch_stats stats = wavejit_launch_stats_default();
  static float a[kItems], b[kItems], out[kItems];
  const int32_t n = kItems;
  size_t i;

  if (argc != 2) {
    fprintf(stderr, "usage: %s CODE_OBJECT\n", argv[0]);
    return 2;
  }
  if (wavejit_module_load_file(argv[1], NULL, &module) != WAVEJIT_OK) return fail(argv[1]);
  printf("wavejit %s, code object for %s\n", wavejit_version_string(), wavejit_module_target(module));
  for (i = 0; i < wavejit_module_kernel_count(module); ++i) printf("  %s\n", wavejit_module_kernel_name(module, i));

  if (wavejit_kernel_create(module, "vector_add", &kernel) != WAVEJIT_OK) return fail("kernel");
  for (i = 0; i < kItems; ++i) {
    a[i] = (float)i;
    b[i] = 2.0f * (float)i;
  }
  if (wavejit_kernel_set_arg_pointer(kernel, 0, a) != WAVEJIT_OK) return fail("a");
  if (wavejit_kernel_set_arg_pointer(kernel, 1, b) != WAVEJIT_OK) return fail("b");
  if (wavejit_kernel_set_arg_pointer(kernel, 2, out) != WAVEJIT_OK) return fail("out");
  if (wavejit_kernel_set_arg(kernel, 3, &n, sizeof n) != WAVEJIT_OK) return fail("n");
  options.global[0] = kItems;
  if (wavejit_launch(kernel, &options, &stats) != WAVEJIT_OK) return fail("launch");
  for (i = 0; i < kItems; ++i) {
    const float expected = a[i ^ 1] + b[i] + 0.5f;
    if (out[i] != expected) {
      fprintf(stderr, "out[%zu] is %g, not %g\n", i, (double)out[i], (double)expected);
      return 1;
    }
  }
  printf("vector_add: %u items right, %s %s\n", (unsigned)kItems, wavejit_engine_string(stats.engine),
         wavejit_isa_string(stats.isa));
  wavejit_kernel_destroy(kernel);
  wavejit_module_destroy(module);
  return 0;
}
