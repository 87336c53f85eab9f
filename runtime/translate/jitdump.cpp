#include "runtime/translate/jitdump.h"

#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>

#include "internal/pages.h"
#include "internal/per_process.h"

namespace wavejit::runtime {
namespace {

struct FileHeader {
  uint32_t magic = 0x4a695444;
  uint32_t version = 1;
  uint32_t bytes = sizeof(FileHeader);
  uint32_t machine = EM_X86_64;
  uint32_t unused = 0;
  uint32_t process = 0;
  uint64_t time = 0;
  uint64_t flags = 0;
};
static_assert(sizeof(FileHeader) == 40);

// Behind it the name with its zero, and the code.
struct CodeHeader {
  uint32_t kind = 0;  // JIT_CODE_LOAD
  uint32_t bytes = 0;
  uint64_t time = 0;
  uint32_t process = 0, thread = 0;
  uint64_t virtual_address = 0, address = 0;
  uint64_t code_bytes = 0;
  uint64_t number = 0;
};
static_assert(sizeof(CodeHeader) == 56);

// As `perf record -k CLOCK_MONOTONIC` counts.
uint64_t now() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(time.tv_nsec);
}

const char* directory() {
  const char* value = std::getenv("WAVEJIT_JITDUMP");
  return value != nullptr && *value != 0 ? value : nullptr;
}

class JitDump {
 public:
  void add(std::span<const uint8_t> code, std::string_view name) {
    const std::lock_guard lock(mutex_);
    if (!began_) begin();
    if (file_ < 0) return;
    const std::string text(name);
    const auto address = reinterpret_cast<uintptr_t>(code.data());
    CodeHeader header{.bytes = static_cast<uint32_t>(sizeof(CodeHeader) + text.size() + 1 + code.size()),
                      .time = now(),
                      .process = static_cast<uint32_t>(getpid()),
                      .thread = static_cast<uint32_t>(gettid()),
                      .virtual_address = address,
                      .address = address,
                      .code_bytes = code.size(),
                      .number = number_++};
    const iovec parts[] = {{&header, sizeof header},
                           {const_cast<char*>(text.c_str()), text.size() + 1},
                           {const_cast<uint8_t*>(code.data()), code.size()}};
    wrote(writev(file_, parts, 3), header.bytes);
  }

 private:
  void begin() {
    began_ = true;
    path_ = fmt::format("{}/jit-{}.dump", directory(), getpid());
    file_ = open(path_.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (file_ < 0) return give_up("cannot be created");
    const FileHeader header{.process = static_cast<uint32_t>(getpid()), .time = now()};
    wrote(write(file_, &header, sizeof header), sizeof header);
    if (file_ < 0) return;
    // perf finds the file by this mapping.
    if (mmap(nullptr, kPage, PROT_READ | PROT_EXEC, MAP_PRIVATE, file_, 0) == MAP_FAILED)
      give_up("cannot be mapped as code");
  }
  void wrote(ssize_t bytes, size_t wanted) {
    if (bytes == static_cast<ssize_t>(wanted)) return;
    if (bytes >= 0) errno = ENOSPC;  // not all of it
    give_up("cannot be written");
  }
  void give_up(const char* why) {
    std::fprintf(stderr, "wavejit: WAVEJIT_JITDUMP: %s %s: %s\n", path_.c_str(), why, std::strerror(errno));
    if (file_ >= 0) close(file_);
    file_ = -1;
  }

  std::mutex mutex_;
  bool began_ = false;
  int file_ = -1;
  uint64_t number_ = 0;
  std::string path_;
};

}  // namespace

bool writes_jitdump() {
  return directory() != nullptr;
}

void add_to_jitdump(std::span<const uint8_t> code, std::string_view name) {
  PerProcess<JitDump>::get().add(code, name);
}

}  // namespace wavejit::runtime
