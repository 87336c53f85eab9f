// Where code objects come from: readers of memory or files, and copies as HSA 1.0 has them.
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cctype>
#include <cstring>

#include "runtime/hsa/loader_state.h"
#include "runtime/hsa/status.h"

namespace wavejit::hsa {

Reader::~Reader() {
  if (mapping) munmap(mapping, image.size());
}

namespace {

// The name of a file, with every character but those of [/a-zA-Z0-9._~-] as %XX; empty if it has none.
std::string encoded_path(hsa_file_t file) {
  char path[4096];
  const ssize_t length = readlink(fmt::format("/proc/self/fd/{}", file).c_str(), path, sizeof path);
  std::string text;
  for (ssize_t i = 0; i < length; ++i) {
    const auto c = static_cast<unsigned char>(path[i]);
    const bool is_plain = std::isalnum(c) || std::strchr("/._~-", c);
    text += is_plain ? std::string(1, path[i]) : fmt::format("%{:02X}", c);
  }
  return text.starts_with('/') ? text : std::string();
}

// URIs of code objects: hsa_ven_amd_loader.h, HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_URI.
std::string uri_of(std::span<const uint8_t> memory) {
  return fmt::format("memory://{}#offset=0x{:x}&size={}", getpid(), reinterpret_cast<uint64_t>(memory.data()),
                     memory.size());
}
std::string uri_of(hsa_file_t file, size_t offset, std::span<const uint8_t> image) {
  const std::string path = encoded_path(file);
  return path.empty() ? uri_of(image) : fmt::format("file://{}#offset={}&size={}", path, offset, image.size());
}

}  // namespace

hsa_status_t reader_from_file_part(hsa_file_t file, size_t offset, size_t bytes, hsa_code_object_reader_t* out) {
  return entry([&] {
    if (!out || bytes == 0) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    auto reader = std::make_shared<Reader>();
    reader->copy.resize(bytes);
    if (pread(file, reader->copy.data(), bytes, static_cast<off_t>(offset)) != static_cast<ssize_t>(bytes))
      return HSA_STATUS_ERROR_INVALID_FILE;
    reader->image = reader->copy;
    reader->uri = uri_of(file, offset, reader->image);
    out->handle = state().readers.add(std::move(reader));
    return HSA_STATUS_SUCCESS;
  });
}

}  // namespace wavejit::hsa

using namespace wavejit::hsa;

WAVEJIT_HSA_API hsa_status_t hsa_code_object_reader_create_from_memory(const void* image, size_t bytes,
                                                                       hsa_code_object_reader_t* out) {
  return entry([&] {
    if (!image || bytes == 0 || !out) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    auto reader = std::make_shared<Reader>();
    reader->image = {static_cast<const uint8_t*>(image), bytes};
    reader->uri = uri_of(reader->image);
    out->handle = state().readers.add(std::move(reader));
    return HSA_STATUS_SUCCESS;
  });
}
WAVEJIT_HSA_API hsa_status_t hsa_code_object_reader_create_from_file(hsa_file_t file, hsa_code_object_reader_t* out) {
  return entry([&] {
    if (!out) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    struct stat info{};
    if (fstat(file, &info) != 0 || info.st_size <= 0) return HSA_STATUS_ERROR_INVALID_FILE;
    const auto bytes = static_cast<size_t>(info.st_size);
    void* mapping = mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, file, 0);
    if (mapping == MAP_FAILED) return HSA_STATUS_ERROR_INVALID_FILE;
    auto reader = std::make_shared<Reader>();
    reader->mapping = mapping;
    reader->image = {static_cast<const uint8_t*>(mapping), bytes};
    reader->uri = uri_of(file, 0, reader->image);
    out->handle = state().readers.add(std::move(reader));
    return HSA_STATUS_SUCCESS;
  });
}
WAVEJIT_HSA_API hsa_status_t hsa_code_object_reader_destroy(hsa_code_object_reader_t reader) {
  return entry([&] {
    return state().readers.take(reader.handle) ? HSA_STATUS_SUCCESS : HSA_STATUS_ERROR_INVALID_CODE_OBJECT_READER;
  });
}

// The image may be freed or changed after the call, unlike that of a reader.
WAVEJIT_HSA_API hsa_status_t hsa_code_object_deserialize(void* image, size_t bytes, const char*,
                                                         hsa_code_object_t* out) {
  return entry([&] {
    if (!image || bytes == 0 || !out) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    auto object = std::make_shared<Reader>();
    const auto* const begin = static_cast<const uint8_t*>(image);
    object->copy.assign(begin, begin + bytes);
    object->image = object->copy;
    object->uri = uri_of(object->image);
    out->handle = state().code_objects.add(std::move(object));
    return HSA_STATUS_SUCCESS;
  });
}
WAVEJIT_HSA_API hsa_status_t hsa_code_object_destroy(hsa_code_object_t object) {
  return entry([&] {
    return state().code_objects.take(object.handle) ? HSA_STATUS_SUCCESS : HSA_STATUS_ERROR_INVALID_CODE_OBJECT;
  });
}
