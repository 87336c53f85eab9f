#include "opencl_peer.h"

#define CL_TARGET_OPENCL_VERSION 120
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <fmt/format.h>

#include <fstream>
#include <map>
#include <sstream>

namespace wavejit::kernels {
namespace {

struct Device {
  cl_context context = nullptr;
  cl_command_queue queue = nullptr;
  cl_device_id id = nullptr;
  std::string name;
  std::string error;
};

// The first CPU device of any platform, opened once per process and never closed.
const Device& device() {
  static const Device kDevice = [] {
    Device d;
    cl_platform_id platforms[8];
    cl_uint count = 0;
    if (clGetPlatformIDs(8, platforms, &count) != CL_SUCCESS || count == 0) {
      d.error = "no OpenCL platform (apt-get install pocl-opencl-icd)";
      return d;
    }
    for (cl_uint i = 0; i < std::min<cl_uint>(count, 8) && d.id == nullptr; ++i)
      if (clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_CPU, 1, &d.id, nullptr) != CL_SUCCESS) d.id = nullptr;
    if (d.id == nullptr) {
      d.error = "no OpenCL CPU device";
      return d;
    }
    char name[256] = {};
    clGetDeviceInfo(d.id, CL_DEVICE_NAME, sizeof name - 1, name, nullptr);
    d.name = name;
    cl_int status = CL_SUCCESS;
    d.context = clCreateContext(nullptr, 1, &d.id, nullptr, nullptr, &status);
    if (status == CL_SUCCESS) d.queue = clCreateCommandQueue(d.context, d.id, 0, &status);
    if (status != CL_SUCCESS) d.error = fmt::format("OpenCL error {} while opening {}", status, d.name);
    return d;
  }();
  return kDevice;
}

bool failed(cl_int status, const char* what, std::string* why) {
  if (status == CL_SUCCESS) return false;
  if (why != nullptr) *why = fmt::format("{}: OpenCL error {}", what, status);
  return true;
}

cl_image_format image_format(ImageFormat format) {
  switch (format) {
    case ImageFormat::kRgbaUnorm8:
      return {CL_RGBA, CL_UNORM_INT8};
    case ImageFormat::kRgbaUint8:
      return {CL_RGBA, CL_UNSIGNED_INT8};
    case ImageFormat::kRF32:
      return {CL_R, CL_FLOAT};
    default:
      return {CL_RGBA, CL_FLOAT};
  }
}

cl_mem create_memory(cl_context context, const Buffer& buffer, cl_int* status) {
  if (buffer.image.format == ImageFormat::kNone)
    return clCreateBuffer(context, CL_MEM_READ_WRITE, std::max<size_t>(buffer.bytes.size(), 1), nullptr, status);
  const cl_image_format format = image_format(buffer.image.format);
  cl_image_desc shape{};
  shape.image_type = CL_MEM_OBJECT_IMAGE2D;
  shape.image_width = buffer.image.width;
  shape.image_height = buffer.image.height;
  return clCreateImage(context, CL_MEM_READ_WRITE, &format, &shape, nullptr, status);
}

}  // namespace

struct OpenClRun::Impl {
  KernelCase kernel_case;
  cl_program program = nullptr;
  std::vector<cl_mem> buffers;
  std::vector<cl_kernel> kernels;  // one per launch, arguments already set
};

std::string OpenClRun::device_name() {
  return device().error.empty() ? device().name : device().error;
}

std::unique_ptr<OpenClRun> OpenClRun::create(const KernelCase& kernel_case, const std::string& source_dir,
                                             std::string* why) {
  const Device& d = device();
  if (!d.error.empty()) {
    *why = d.error;
    return nullptr;
  }
  std::unique_ptr<OpenClRun> run(new OpenClRun);
  run->impl_ = std::make_unique<Impl>();
  Impl& impl = *run->impl_;
  impl.kernel_case = kernel_case;

  std::string path = source_dir + "/" + kernel_case.source_path();
  std::ifstream file(path);
  if (!file) {
    *why = "cannot read " + path;
    return nullptr;
  }
  std::stringstream content;
  content << file.rdbuf();
  std::string text = content.str();
  const char* source = text.c_str();
  cl_int status = CL_SUCCESS;
  impl.program = clCreateProgramWithSource(d.context, 1, &source, nullptr, &status);
  if (failed(status, "clCreateProgramWithSource", why)) return nullptr;
  status = clBuildProgram(impl.program, 1, &d.id, "", nullptr, nullptr);
  if (status != CL_SUCCESS) {
    std::string log(16384, '\0');
    clGetProgramBuildInfo(impl.program, d.id, CL_PROGRAM_BUILD_LOG, log.size(), log.data(), nullptr);
    *why = fmt::format("clBuildProgram({}): OpenCL error {}\n{}", path, status, log.c_str());
    return nullptr;
  }
  for (const Buffer& buffer : kernel_case.buffers) {
    impl.buffers.push_back(create_memory(d.context, buffer, &status));
    if (failed(status, "creating a buffer or an image", why)) return nullptr;
  }
  for (const Launch& launch : kernel_case.launches) {
    cl_kernel kernel = clCreateKernel(impl.program, launch.kernel.c_str(), &status);
    if (failed(status, "clCreateKernel", why)) return nullptr;
    impl.kernels.push_back(kernel);
    for (size_t i = 0; i < launch.args.size(); ++i) {
      const Arg& arg = launch.args[i];
      cl_uint index = static_cast<cl_uint>(i);
      switch (arg.kind) {
        case Arg::Kind::kBuffer:
          if (arg.offset != 0) {
            *why = "buffer offsets are not expressible in OpenCL 1.2";
            return nullptr;
          }
          status = clSetKernelArg(kernel, index, sizeof(cl_mem), &impl.buffers[arg.buffer]);
          break;
        case Arg::Kind::kImage:
          status = clSetKernelArg(kernel, index, sizeof(cl_mem), &impl.buffers[arg.buffer]);
          break;
        case Arg::Kind::kScalar:
          status = clSetKernelArg(kernel, index, arg.scalar.size(), arg.scalar.data());
          break;
        case Arg::Kind::kLocal:
          status = clSetKernelArg(kernel, index, arg.local_bytes, nullptr);
          break;
      }
      if (failed(status, "clSetKernelArg", why)) return nullptr;
    }
  }
  if (!run->reset(why)) return nullptr;
  return run;
}

OpenClRun::~OpenClRun() {
  if (impl_ == nullptr) return;
  for (cl_kernel kernel : impl_->kernels) clReleaseKernel(kernel);
  for (cl_mem buffer : impl_->buffers)
    if (buffer != nullptr) clReleaseMemObject(buffer);
  if (impl_->program != nullptr) clReleaseProgram(impl_->program);
}

bool OpenClRun::reset(std::string* why) {
  for (size_t i = 0; i < impl_->buffers.size(); ++i) {
    const auto& [name, bytes, image] = impl_->kernel_case.buffers[i];
    if (bytes.empty()) continue;
    if (image.format != ImageFormat::kNone) {
      const size_t origin[3] = {}, region[3] = {image.width, image.height, 1};
      const cl_int status = clEnqueueWriteImage(device().queue, impl_->buffers[i], CL_TRUE, origin, region, 0, 0,
                                                bytes.data(), 0, nullptr, nullptr);
      if (failed(status, "clEnqueueWriteImage", why)) return false;
      continue;
    }
    cl_int status = clEnqueueWriteBuffer(device().queue, impl_->buffers[i], CL_TRUE, 0, bytes.size(), bytes.data(), 0,
                                         nullptr, nullptr);
    if (failed(status, "clEnqueueWriteBuffer", why)) return false;
  }
  return true;
}

bool OpenClRun::launch(std::string* why) {
  for (size_t i = 0; i < impl_->kernels.size(); ++i) {
    const Launch& launch = impl_->kernel_case.launches[i];
    size_t global[3] = {launch.global[0], launch.global[1], launch.global[2]};
    size_t local[3] = {launch.local[0], launch.local[1], launch.local[2]};
    cl_int status =
        clEnqueueNDRangeKernel(device().queue, impl_->kernels[i], 3, nullptr, global, local, 0, nullptr, nullptr);
    if (failed(status, "clEnqueueNDRangeKernel", why)) return false;
  }
  return !failed(clFinish(device().queue), "clFinish", why);
}

bool OpenClRun::read(std::vector<Buffer>* buffers, std::string* why) {
  *buffers = impl_->kernel_case.buffers;
  for (size_t i = 0; i < impl_->buffers.size(); ++i) {
    auto& [name, bytes, image] = (*buffers)[i];
    if (bytes.empty()) continue;
    if (image.format != ImageFormat::kNone) {
      const size_t origin[3] = {}, region[3] = {image.width, image.height, 1};
      const cl_int status = clEnqueueReadImage(device().queue, impl_->buffers[i], CL_TRUE, origin, region, 0, 0,
                                               bytes.data(), 0, nullptr, nullptr);
      if (failed(status, "clEnqueueReadImage", why)) return false;
      continue;
    }
    cl_int status = clEnqueueReadBuffer(device().queue, impl_->buffers[i], CL_TRUE, 0, bytes.size(), bytes.data(), 0,
                                        nullptr, nullptr);
    if (failed(status, "clEnqueueReadBuffer", why)) return false;
  }
  return true;
}

}  // namespace wavejit::kernels
