// OpenCL programs compiled at run time, on AMD's OpenCL (rocm-opencl-icd), which sits on the HSA runtime. Results are compared
// with the host's. Returns 77 where AMD's platform is not installed.
#define CL_TARGET_OPENCL_VERSION 200
#include <CL/cl.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#define CHECK(condition)                                                  \
  do {                                                                    \
    if (!(condition)) {                                                   \
      std::printf("%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
      std::exit(1);                                                       \
    }                                                                     \
  } while (0)
#define CL(call)                                                                  \
  do {                                                                            \
    const cl_int cl_status = (call);                                              \
    if (cl_status != CL_SUCCESS) {                                                \
      std::printf("%s:%d: %s: error %d\n", __FILE__, __LINE__, #call, cl_status); \
      std::exit(1);                                                               \
    }                                                                             \
  } while (0)

namespace {

constexpr const char* kSource = R"(
kernel void saxpy(float a, global const float* x, global float* y) {
  const size_t i = get_global_id(0);
  y[i] = a * x[i] + y[i];
}
// Sums of groups, in local memory whose size the host gives.
kernel void sums(global const uint* in, global uint* out, local uint* tile) {
  const uint l = get_local_id(0);
  tile[l] = in[get_global_id(0)];
  for (uint n = get_local_size(0) / 2; n != 0; n /= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (l < n) tile[l] += tile[l + n];
  }
  if (l == 0) out[get_group_id(0)] = tile[0];
}
kernel void transpose(read_only image2d_t in, write_only image2d_t out, sampler_t sampler) {
  const int2 at = (int2)(get_global_id(0), get_global_id(1));
  write_imageui(out, at.yx, read_imageui(in, sampler, at) + (uint4)(0, 0, 0, 1));
}
kernel void count(volatile global uint* counter) { atomic_inc(counter); }
kernel void functions(global const float* x, global float* y) {
  const size_t i = get_global_id(0);
  y[i] = sqrt(x[i]) + native_recip(1.0f + x[i]) + pow(x[i], 1.5f) + sin(x[i]);
}
)";

// An object of OpenCL that is released at the end of its scope.
template <typename T, cl_int(CL_API_CALL* Release)(T)>
struct Owned {
  T value = nullptr;
  explicit Owned(T v) : value(v) {}
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  ~Owned() { Release(value); }
  operator T() const { return value; }
};
using Buffer = Owned<cl_mem, clReleaseMemObject>;
using Kernel = Owned<cl_kernel, clReleaseKernel>;
using Queue = Owned<cl_command_queue, clReleaseCommandQueue>;

struct Setup {
  cl_context context;
  cl_program program;
};

cl_mem buffer(const Setup& s, size_t bytes, void* data = nullptr) {
  cl_int status;
  cl_mem memory =
      clCreateBuffer(s.context, CL_MEM_READ_WRITE | (data ? CL_MEM_COPY_HOST_PTR : 0), bytes, data, &status);
  CL(status);
  return memory;
}
cl_kernel kernel(const Setup& s, const char* name) {
  cl_int status;
  cl_kernel k = clCreateKernel(s.program, name, &status);
  CL(status);
  return k;
}
cl_command_queue queue(const Setup& s, cl_device_id device) {
  cl_int status;
  const cl_queue_properties properties[] = {CL_QUEUE_PROPERTIES, CL_QUEUE_PROFILING_ENABLE, 0};
  cl_command_queue q = clCreateCommandQueueWithProperties(s.context, device, properties, &status);
  CL(status);
  return q;
}
template <typename T>
void set(cl_kernel k, cl_uint index, const T& value) {
  CL(clSetKernelArg(k, index, sizeof value, &value));
}
cl_mem memory_of(const Buffer& b) {
  return b;
}

void saxpy(const Setup& s, cl_command_queue q) {
  const size_t n = 100'000;
  std::vector<float> x(n), y(n), out(n);
  for (size_t i = 0; i < n; ++i) x[i] = static_cast<float>(i), y[i] = 1.0f / static_cast<float>(i + 1);
  const Buffer dx(buffer(s, n * 4, x.data())), dy(buffer(s, n * 4));
  const Kernel k(kernel(s, "saxpy"));
  set(k, 0, 2.0f);
  set(k, 1, memory_of(dx));
  set(k, 2, memory_of(dy));
  CL(clEnqueueWriteBuffer(q, dy, CL_FALSE, 0, n * 4, y.data(), 0, nullptr, nullptr));
  CL(clEnqueueNDRangeKernel(q, k, 1, nullptr, &n, nullptr, 0, nullptr, nullptr));
  CL(clEnqueueReadBuffer(q, dy, CL_TRUE, 0, n * 4, out.data(), 0, nullptr, nullptr));
  for (size_t i = 0; i < n; ++i) CHECK(out[i] == 2.0f * x[i] + y[i] || out[i] == std::fma(2.0f, x[i], y[i]));
}

void local_memory(const Setup& s, cl_command_queue q) {
  const size_t n = 64 * 1024, group = 256;
  std::vector<cl_uint> in(n), out(n / group);
  for (size_t i = 0; i < n; ++i) in[i] = static_cast<cl_uint>(i * 7);
  const Buffer din(buffer(s, n * 4, in.data())), dout(buffer(s, out.size() * 4));
  const Kernel k(kernel(s, "sums"));
  set(k, 0, memory_of(din));
  set(k, 1, memory_of(dout));
  CL(clSetKernelArg(k, 2, group * 4, nullptr));
  CL(clEnqueueNDRangeKernel(q, k, 1, nullptr, &n, &group, 0, nullptr, nullptr));
  void* mapped = nullptr;
  cl_int status;
  mapped = clEnqueueMapBuffer(q, dout, CL_TRUE, CL_MAP_READ, 0, out.size() * 4, 0, nullptr, nullptr, &status);
  CL(status);
  std::memcpy(out.data(), mapped, out.size() * 4);
  CL(clEnqueueUnmapMemObject(q, dout, mapped, 0, nullptr, nullptr));
  CL(clFinish(q));
  for (size_t g = 0; g < out.size(); ++g) {
    cl_uint sum = 0;
    for (size_t i = 0; i < group; ++i) sum += in[g * group + i];
    CHECK(out[g] == sum);
  }
}

void images(const Setup& s, cl_command_queue q, cl_device_id device) {
  cl_bool supported = CL_FALSE;
  CL(clGetDeviceInfo(device, CL_DEVICE_IMAGE_SUPPORT, sizeof supported, &supported, nullptr));
  if (!supported) {
    std::printf("  this device has no images\n");
    return;
  }
  const size_t width = 96, height = 64;
  std::vector<cl_uchar> in(width * height * 4), out(in.size());
  for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<cl_uchar>(i * 31 % 251);
  const cl_image_format format{CL_RGBA, CL_UNSIGNED_INT8};
  cl_image_desc shape{};
  shape.image_type = CL_MEM_OBJECT_IMAGE2D;
  shape.image_width = width;
  shape.image_height = height;
  cl_int status;
  const Buffer source(
      clCreateImage(s.context, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, &format, &shape, in.data(), &status));
  CL(status);
  shape.image_width = height;
  shape.image_height = width;
  const Buffer target(clCreateImage(s.context, CL_MEM_WRITE_ONLY, &format, &shape, nullptr, &status));
  CL(status);
  const cl_sampler_properties properties[] = {CL_SAMPLER_NORMALIZED_COORDS,
                                              CL_FALSE,
                                              CL_SAMPLER_ADDRESSING_MODE,
                                              CL_ADDRESS_CLAMP,
                                              CL_SAMPLER_FILTER_MODE,
                                              CL_FILTER_NEAREST,
                                              0};
  cl_sampler sampler = clCreateSamplerWithProperties(s.context, properties, &status);
  CL(status);
  const Kernel k(kernel(s, "transpose"));
  set(k, 0, memory_of(source));
  set(k, 1, memory_of(target));
  set(k, 2, sampler);
  const size_t global[] = {width, height}, origin[] = {0, 0, 0}, region[] = {height, width, 1};
  CL(clEnqueueNDRangeKernel(q, k, 2, nullptr, global, nullptr, 0, nullptr, nullptr));
  CL(clEnqueueReadImage(q, target, CL_TRUE, origin, region, 0, 0, out.data(), 0, nullptr, nullptr));
  for (size_t y = 0; y < height; ++y)
    for (size_t x = 0; x < width; ++x)
      for (size_t c = 0; c < 4; ++c)
        CHECK(out[(x * height + y) * 4 + c] == static_cast<cl_uchar>(in[(y * width + x) * 4 + c] + (c == 3)));
  CL(clReleaseSampler(sampler));
}

// Commands of two queues in an order that only events give, behind an event of the host's.
void events(const Setup& s, cl_command_queue one, cl_command_queue two) {
  const size_t n = 4096, rounds = 20;
  std::vector<float> x(n, 1.0f), y(n, 0.0f), out(n);
  const Buffer dx(buffer(s, n * 4, x.data())), dy(buffer(s, n * 4, y.data()));
  const Kernel k(kernel(s, "saxpy"));
  set(k, 0, 1.0f);
  set(k, 1, memory_of(dx));
  set(k, 2, memory_of(dy));
  cl_int status;
  cl_event last = clCreateUserEvent(s.context, &status), start = last;
  CL(status);
  CL(clRetainEvent(start));
  for (size_t i = 0; i < rounds; ++i) {
    cl_event next;
    CL(clEnqueueNDRangeKernel(i % 2 ? two : one, k, 1, nullptr, &n, nullptr, 1, &last, &next));
    CL(clReleaseEvent(last));
    last = next;
  }
  CL(clFlush(one));
  CL(clFlush(two));
  CL(clGetEventInfo(last, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, nullptr));
  CHECK(status > CL_COMPLETE);
  CL(clSetUserEventStatus(start, CL_COMPLETE));
  CL(clWaitForEvents(1, &last));
  cl_ulong began = 0, ended = 0;
  CL(clGetEventProfilingInfo(last, CL_PROFILING_COMMAND_START, sizeof began, &began, nullptr));
  CL(clGetEventProfilingInfo(last, CL_PROFILING_COMMAND_END, sizeof ended, &ended, nullptr));
  CHECK(began != 0 && ended >= began);
  CL(clEnqueueReadBuffer(one, dy, CL_TRUE, 0, n * 4, out.data(), 1, &last, nullptr));
  for (const float value : out) CHECK(value == static_cast<float>(rounds));
  CL(clReleaseEvent(last));
  CL(clReleaseEvent(start));
}

void atomics(const Setup& s, cl_command_queue one, cl_command_queue two) {
  cl_uint zero = 0, result = 0;
  const Buffer counter(buffer(s, 4, &zero));
  const Kernel k(kernel(s, "count"));
  set(k, 0, memory_of(counter));
  const size_t n = 10'000;
  for (const cl_command_queue q : {one, two})
    CL(clEnqueueNDRangeKernel(q, k, 1, nullptr, &n, nullptr, 0, nullptr, nullptr));
  for (const cl_command_queue q : {one, two}) CL(clFinish(q));
  CL(clEnqueueReadBuffer(one, counter, CL_TRUE, 0, 4, &result, 0, nullptr, nullptr));
  CHECK(result == 2 * n);
}

void functions(const Setup& s, cl_command_queue q) {
  const size_t n = 5000;
  std::vector<float> x(n), out(n);
  for (size_t i = 0; i < n; ++i) x[i] = static_cast<float>(i) * 0.01f;
  const Buffer dx(buffer(s, n * 4, x.data())), dy(buffer(s, n * 4));
  const Kernel k(kernel(s, "functions"));
  set(k, 0, memory_of(dx));
  set(k, 1, memory_of(dy));
  CL(clEnqueueNDRangeKernel(q, k, 1, nullptr, &n, nullptr, 0, nullptr, nullptr));
  CL(clEnqueueReadBuffer(q, dy, CL_TRUE, 0, n * 4, out.data(), 0, nullptr, nullptr));
  for (size_t i = 0; i < n; ++i) {
    const double v = x[i], wanted = std::sqrt(v) + 1 / (1 + v) + std::pow(v, 1.5) + std::sin(v);
    CHECK(std::abs(out[i] - wanted) <= 1e-5 * (1 + std::abs(wanted)));
  }
}

cl_platform_id amd_platform() {
  cl_uint count = 0;
  if (clGetPlatformIDs(0, nullptr, &count) != CL_SUCCESS || count == 0) return nullptr;
  std::vector<cl_platform_id> all(count);
  CL(clGetPlatformIDs(count, all.data(), nullptr));
  for (const cl_platform_id p : all) {
    char name[256] = {};
    CL(clGetPlatformInfo(p, CL_PLATFORM_NAME, sizeof name, name, nullptr));
    if (std::strstr(name, "AMD Accelerated Parallel Processing")) return p;
  }
  return nullptr;
}

}  // namespace

int main() {
  const cl_platform_id platform = amd_platform();
  if (!platform) {
    std::printf("AMD's OpenCL is not installed (package rocm-opencl-icd): skipped\n");
    return 77;
  }
  cl_uint count = 0;
  CL(clGetDeviceIDs(platform, CL_DEVICE_TYPE_GPU, 0, nullptr, &count));
  std::vector<cl_device_id> devices(count);
  CL(clGetDeviceIDs(platform, CL_DEVICE_TYPE_GPU, count, devices.data(), nullptr));
  cl_int status;
  Setup s{};
  s.context = clCreateContext(nullptr, count, devices.data(), nullptr, nullptr, &status);
  CL(status);
  const char* source = kSource;
  s.program = clCreateProgramWithSource(s.context, 1, &source, nullptr, &status);
  CL(status);
  // A program with an error says where it is.
  const char* bad = "kernel void k(global int* p) { p[0] = undeclared; }";
  cl_program wrong = clCreateProgramWithSource(s.context, 1, &bad, nullptr, &status);
  CL(status);
  CHECK(clBuildProgram(wrong, 1, devices.data(), "", nullptr, nullptr) == CL_BUILD_PROGRAM_FAILURE);
  std::string log(10'000, '\0');
  CL(clGetProgramBuildInfo(wrong, devices[0], CL_PROGRAM_BUILD_LOG, log.size(), log.data(), nullptr));
  CHECK(log.find("undeclared") != std::string::npos);
  CL(clReleaseProgram(wrong));

  CL(clBuildProgram(s.program, count, devices.data(), "-cl-std=CL2.0", nullptr, nullptr));
  for (const cl_device_id device : devices) {
    char name[256] = {};
    CL(clGetDeviceInfo(device, CL_DEVICE_NAME, sizeof name, name, nullptr));
    const Queue one(queue(s, device)), two(queue(s, device));
    saxpy(s, one);
    local_memory(s, one);
    images(s, two, device);
    events(s, one, two);
    atomics(s, one, two);
    functions(s, two);
    std::printf("%s: right\n", name);
  }
  // Queues of two devices.
  if (count > 1) {
    const Queue one(queue(s, devices[0])), two(queue(s, devices[1]));
    events(s, one, two);
    std::printf("two devices: right\n");
  }
  CL(clReleaseProgram(s.program));
  CL(clReleaseContext(s.context));
}
