// Finding code objects inside what users have: raw ELF files, clang offload bundles (plain and compressed), and host
// executables or shared libraries with a .hip_fatbin section of many bundles.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "frontend/codeobject/code_object.h"
#include "internal/error.h"

namespace wavejit::codeobject {

struct ContainerEntry {
  TargetId target;
  std::string triple;              // bundle entry id as written, or synthesised for raw ELF
  uint32_t bundle_index = 0;       // which bundle of the file
  std::span<const uint8_t> bytes;  // the ELF image; points into the Container
};

// All AMDGPU code objects in a file. Owns or maps the bytes that its entries point to. Immutable, thread-safe.
class Container {
 public:
  [[nodiscard]] static Expected<std::shared_ptr<const Container>> open(const std::string& path);          // mmap
  [[nodiscard]] static Expected<std::shared_ptr<const Container>> parse(std::span<const uint8_t> bytes);  // copies
  virtual ~Container() = default;
  [[nodiscard]] virtual std::string_view kind()
      const = 0;  // "ELF code object", "offload bundle", "HIP fat binary", ...
  [[nodiscard]] virtual std::span<const ContainerEntry> entries() const = 0;
  // Entries that may run on `device`, best match first (explicit feature settings before "any"). kTargetMismatch when
  // none; the message lists what the file has.
  [[nodiscard]] virtual Expected<std::vector<const ContainerEntry*>> select(const TargetId& device) const = 0;
};

}  // namespace wavejit::codeobject
