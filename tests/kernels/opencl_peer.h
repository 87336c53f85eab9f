// Runs kernel cases written in OpenCL C on the machine's OpenCL CPU device (PoCL): it checks the kernels and their host
// references without any part of wavejit, and it is the peer in the benchmarks.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kernel_case.h"

namespace wavejit::kernels {

// One case built and with its buffers on the device. Not thread-safe.
class OpenClRun {
 public:
  // Compiles the case's source (found below source_dir); null with the reason in *why when that is not possible.
  static std::unique_ptr<OpenClRun> create(const KernelCase& kernel_case, const std::string& source_dir,
                                           std::string* why);
  ~OpenClRun();
  OpenClRun(const OpenClRun&) = delete;
  OpenClRun& operator=(const OpenClRun&) = delete;

  // Gives every buffer its initial content again.
  bool reset(std::string* why);
  // All launches of the case, to their end.
  bool launch(std::string* why);
  // The buffers' contents now.
  bool read(std::vector<Buffer>* buffers, std::string* why);

  static std::string device_name();

 private:
  OpenClRun() = default;
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace wavejit::kernels
