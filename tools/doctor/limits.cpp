// Limits of the process and of its control group, and what the kernel or a security policy forbids.
#include <fmt/format.h>
#include <linux/perf_event.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "tools/doctor/finding.h"
#include "wavejit/wavejit.hpp"

namespace wavejit::tools::doctor {
namespace {

// Each thread that runs work-groups reserves 4 GiB of address space for local memory (runtime/memory/arena.cpp) and some for scratch.
constexpr uint64_t kAddressSpacePerThread = uint64_t{5} << 30;
constexpr uint64_t kMemory = uint64_t{512} << 20;
// Each allocation of a device takes two mappings.
constexpr uint64_t kMappings = 16'384;
constexpr uint64_t kSharedMemory = uint64_t{64} << 20;

uint64_t limit_of(__rlimit_resource resource) {
  rlimit limit{};
  return getrlimit(resource, &limit) == 0 ? limit.rlim_cur : RLIM_INFINITY;
}

Finding address_space() {
  const uint64_t limit = limit_of(RLIMIT_AS);
  if (limit == RLIM_INFINITY) return fine("limits.address-space", "The address space is not limited.");
  const std::string text = fmt::format("The address space is limited to {}.", format_bytes(limit));
  const uint32_t threads = wavejit_default_threads();
  // One more for the program and its devices' memory.
  const uint64_t wanted = kAddressSpacePerThread * (threads + 1);
  if (limit >= wanted) return fine("limits.address-space", text);
  return problem("limits.address-space",
                 fmt::format("{} Kernels on {} threads reserve up to {}, most of which is never used.", text, threads,
                             format_bytes(wanted)),
                 "Run 'ulimit -v unlimited', or remove the limit from /etc/security/limits.conf.");
}

Finding locked_memory() {
  const uint64_t limit = limit_of(RLIMIT_MEMLOCK);
  return fine("limits.locked-memory",
              fmt::format("Locked memory is {}; pinned memory of HIP does not need it.",
                          limit == RLIM_INFINITY ? "not limited" : "limited to " + format_bytes(limit)));
}

Finding mappings(const SystemView& system) {
  const auto limit = system.read_number("/proc/sys/vm/max_map_count");
  if (!limit) return note("limits.mappings", "/proc/sys/vm/max_map_count cannot be read.");
  const std::string text = fmt::format("A process may have {} mappings of memory (vm.max_map_count).", *limit);
  if (*limit >= kMappings) return fine("limits.mappings", text);
  return problem("limits.mappings", text + " Each allocation on a device takes two.",
                 "Run 'sysctl -w vm.max_map_count=65530' as root of the host.");
}

// ------------------------------------------------------------------------------------------------ control groups

// Folders of the process's control group and those above it, for a controller of version 1, or of version 2.
std::vector<std::string> group_folders(const SystemView& system, std::string_view controller) {
  std::vector<std::string> folders;
  const auto add = [&](const std::string& base, std::string group) {
    // In a container the path may be that of the host: what does not exist is no limit.
    for (; group.size() > 1; group.erase(group.rfind('/'))) folders.push_back(base + group);
    folders.push_back(base);
  };
  for (const std::string& line : system.lines("/proc/self/cgroup")) {
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::vector<std::string> controllers = split(line.substr(first + 1, second - first - 1), ',');
    if (controllers.empty())
      add("/sys/fs/cgroup", line.substr(second + 1));
    else if (std::ranges::find(controllers, controller) != controllers.end())
      add(fmt::format("/sys/fs/cgroup/{}", controller), line.substr(second + 1));
  }
  return folders;
}

Finding group_memory(const SystemView& system) {
  uint64_t limit = UINT64_MAX;
  for (const std::string& folder : group_folders(system, "memory"))
    for (const char* file : {"/memory.max", "/memory.limit_in_bytes"})
      limit = std::min(limit, system.read_number(folder + file).value_or(UINT64_MAX));
  const uint64_t have = static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  if (limit >= have)
    return fine("limits.group-memory",
                fmt::format("The control group does not limit memory; the machine has {}.", format_bytes(have)));
  const std::string text = fmt::format("The control group limits memory to {}.", format_bytes(limit));
  if (limit < kMemory)
    return problem("limits.group-memory", text + " The kernel ends programs that need more.",
                   "Give the container more (docker run --memory 2g), or the unit (MemoryMax=).");
  return note(
      "limits.group-memory", text + " Devices present what the machine has.",
      "Programs that take all of a device's memory need a device with less: 'wavejit boards PROCESSOR --json', set "
      "memory_mib, 'wavejit exec --board FILE'.");
}

Finding group_cpus(const SystemView& system) {
  double limit = 0;
  const auto take = [&](uint64_t quota, uint64_t period) {
    if (period == 0) return;
    const double cpus = static_cast<double>(quota) / static_cast<double>(period);
    if (limit == 0 || cpus < limit) limit = cpus;
  };
  for (const std::string& folder : group_folders(system, "cpu")) {
    if (const auto both = system.read(folder + "/cpu.max")) {  // "200000 100000", or "max 100000"
      const std::vector<std::string> fields = split(*both, ' ');
      if (fields.size() == 2 && to_number(fields[0])) take(*to_number(fields[0]), to_number(fields[1]).value_or(0));
    }
    if (const auto quota = system.read_number(folder + "/cpu.cfs_quota_us"))
      take(*quota, system.read_number(folder + "/cpu.cfs_period_us").value_or(0));
  }
  const uint32_t threads = wavejit_default_threads();
  if (limit == 0 || limit >= threads)
    return fine("limits.group-cpus",
                fmt::format("Kernels run on {} threads; the control group allows as many.", threads));
  return note("limits.group-cpus",
              fmt::format("Kernels run on {} threads, but the control group allows {:.3g} CPUs: threads are held back.",
                          threads, limit),
              fmt::format("Use 'wavejit exec --threads {}', or set WAVEJIT_THREADS.",
                          std::max(1u, static_cast<unsigned>(limit))));
}

// ------------------------------------------------------------------------------------------------ memory that is shared

Finding shared_memory(const SystemView& system) {
  constexpr const char* kRemedy =
      "Mount a tmpfs there; in Docker, 'docker run --shm-size 1g'. RCCL and Open MPI use it, wavejit itself does not.";
  struct statvfs info{};
  if (statvfs(system.host_path("/dev/shm").c_str(), &info) != 0)
    return problem("limits.shm", fmt::format("/dev/shm cannot be used: {}.", std::strerror(errno)), kRemedy);
  if (access(system.host_path("/dev/shm").c_str(), W_OK) != 0)
    return problem("limits.shm", fmt::format("/dev/shm cannot be written to: {}.", std::strerror(errno)), kRemedy);
  const uint64_t bytes = uint64_t{info.f_blocks} * info.f_frsize;
  const std::string text = fmt::format("/dev/shm has {}.", format_bytes(bytes));
  return bytes > kSharedMemory ? fine("limits.shm", text) : note("limits.shm", text, kRemedy);
}

// What may be the reason why a system call or a mapping is refused.
std::string suspects(const SystemView& system) {
  std::string text;
  for (const std::string& line : system.lines("/proc/self/status"))
    if (line.starts_with("Seccomp:") && !line.ends_with("0")) text += " A seccomp filter is in force.";
  if (system.read("/sys/fs/selinux/enforce").value_or("") == "1") text += " SELinux enforces its policy.";
  return text;
}

Finding memory_files(const SystemView& system) {
  const int file = memfd_create("wavejit-doctor", MFD_CLOEXEC);
  if (file < 0)
    return problem(
        "limits.memfd", fmt::format("memfd_create fails: {}.{}", std::strerror(errno), suspects(system)),
        "Allow memfd_create (in the container's seccomp profile): registered, virtual and shared memory need it.");
  close(file);
  return fine("limits.memfd", "Memory can be mapped at several addresses (memfd_create).");
}

// Translated code is written through one mapping and executed through another; asmjit falls back to a mapping that is
// both.
Finding executable_memory(const SystemView& system) {
  static constexpr uint8_t kCode[] = {0xb8, 0x2a, 0, 0, 0, 0xc3};  // mov eax, 42; ret
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  int error = 0;
  const auto runs = [&](void* memory) {
    if (memory == MAP_FAILED) {
      error = errno;
      return false;
    }
    const bool right = reinterpret_cast<int (*)()>(memory)() == 42;
    munmap(memory, page);
    return right;
  };
  const auto refused = [&] {
    return problem(
        "limits.executable-memory",
        fmt::format("Memory that was written cannot be executed: {}.{}", std::strerror(error), suspects(system)),
        "Allow it: SELinux 'setsebool -P deny_execmem 0', systemd MemoryDenyWriteExecute=no, a seccomp profile "
        "that lets mmap have PROT_EXEC. Until then only 'wavejit run --engine interp' and "
        "WAVEJIT_ENGINE=interp work.");
  };
  const int file = memfd_create("wavejit-doctor", MFD_CLOEXEC);
  if (file < 0) {
    void* memory = mmap(nullptr, page, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory != MAP_FAILED) std::memcpy(memory, kCode, sizeof kCode);
    if (!runs(memory)) return refused();
  } else {
    const bool written =
        write(file, kCode, sizeof kCode) == sizeof kCode && ftruncate(file, static_cast<off_t>(page)) == 0;
    const bool right = written && runs(mmap(nullptr, page, PROT_READ | PROT_EXEC, MAP_SHARED, file, 0));
    close(file);
    if (!right) return refused();
  }
  return fine("limits.executable-memory", "Memory that was written can be executed.");
}

// ------------------------------------------------------------------------------------------------ not needed

Finding performance_counters(const SystemView& system) {
  perf_event_attr attributes{};
  attributes.size = sizeof attributes;
  attributes.type = PERF_TYPE_SOFTWARE;
  attributes.config = PERF_COUNT_SW_TASK_CLOCK;
  attributes.exclude_kernel = 1;
  const auto file = static_cast<int>(syscall(SYS_perf_event_open, &attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC));
  if (file >= 0) {
    close(file);
    return fine("limits.perf-event", "perf can measure programs (perf_event_open).");
  }
  return note(
      "limits.perf-event",
      fmt::format("perf_event_open fails: {} (kernel.perf_event_paranoid is {}). perf cannot measure programs; nothing "
                  "else needs it.",
                  std::strerror(errno), system.read("/proc/sys/kernel/perf_event_paranoid").value_or("unknown")));
}

Finding user_namespaces(const SystemView& system) {
  const bool none = system.read_number("/proc/sys/user/max_user_namespaces").value_or(1) == 0 ||
                    system.read_number("/proc/sys/kernel/unprivileged_userns_clone").value_or(1) == 0;
  if (!none) return fine("limits.user-namespaces", "The kernel has user namespaces.");
  return note("limits.user-namespaces",
              "User namespaces are switched off. Containers without root need them; wavejit does not.");
}

}  // namespace

Findings check_limits(const SystemView& system) {
  return {address_space(),        locked_memory(),           mappings(system),
          group_memory(system),   group_cpus(system),        shared_memory(system),
          memory_files(system),   executable_memory(system), performance_counters(system),
          user_namespaces(system)};
}

Findings check_container(const SystemView& system) {
  const auto kind = [&]() -> std::string {
    if (system.exists("/.dockerenv")) return "Docker";
    if (system.exists("/run/.containerenv")) return "Podman";
    if (system.exists("/run/systemd/container")) return system.read("/run/systemd/container").value_or("a container");
    const std::string groups = system.read("/proc/1/cgroup").value_or("");
    for (const char* name : {"docker", "kubepods", "lxc", "containerd"})
      if (groups.find(name) != std::string::npos) return name;
    return {};
  }();
  if (kind.empty()) return {fine("container.kind", "No container was recognised.")};
  return {fine("container.kind",
               fmt::format("This is a container ({}). wavejit needs no privileges and no devices in it.", kind))};
}

}  // namespace wavejit::tools::doctor
