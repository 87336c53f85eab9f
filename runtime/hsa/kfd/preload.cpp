// The library that `wavejit exec` preloads: it redirects paths of the kernel driver's files to the synthetic tree
// (driver_tree.h), in every function of the C library by which programs and the C++ and Python libraries open, list and
// examine files. Paths that the tree does not have go to the host. Without kTreeVariable nothing is redirected.
//
// It is loaded into every child process too, so it needs nothing but the C library.
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <array>

#include "runtime/hsa/client_quirks.h"
#include "runtime/hsa/kfd/tree_prefixes.h"

#define WAVEJIT_KFD_API extern "C" __attribute__((visibility("default")))

namespace {

using wavejit::hsa::CommandQuirk;
using wavejit::hsa::kCommandQuirks;
using wavejit::hsa::kTreePrefixes;
using wavejit::hsa::kTreeVariable;

// Of the tree's directory; empty: there is none. Read once, before the program's own code runs.
std::array<char, 512> tree_directory;
size_t tree_length = 0;
bool tree_known = false;

__attribute__((constructor)) void read_variable() {
  if (tree_known) return;
  tree_known = true;
  const char* directory = getenv(kTreeVariable);
  if (!directory || directory[0] != '/') return;
  const size_t length = strlen(directory);
  if (length >= tree_directory.size()) return;
  memcpy(tree_directory.data(), directory, length + 1);
  tree_length = length;
}

// A path argument, replaced by one in the tree if that has it.
class Redirected {
 public:
  explicit Redirected(const char* path) : path_(path) {
    if (!tree_known) read_variable();  // another library's constructor may be earlier
    if (tree_length == 0 || !path || path[0] != '/' || !normalise(path) || !has_prefix()) return;
    // Not through the C library: its functions are these ones.
    struct stat status;
    const int before = errno;
    if (syscall(SYS_newfstatat, AT_FDCWD, buffer_.data(), &status, AT_SYMLINK_NOFOLLOW) == 0) path_ = buffer_.data();
    errno = before;
  }
  operator const char*() const { return path_; }
  [[nodiscard]] bool is_in_tree() const { return path_ == buffer_.data(); }

 private:
  // The tree's directory and the path, without repeated slashes and "." components.
  bool normalise(const char* path) {
    memcpy(buffer_.data(), tree_directory.data(), tree_length);
    size_t at = tree_length;
    while (*path) {
      const bool dot = path[0] == '/' && path[1] == '.' && (path[2] == '/' || path[2] == 0);
      if (dot || (path[0] == '/' && path[1] == '/')) {
        path += dot ? 2 : 1;
        continue;
      }
      if (at + 1 >= buffer_.size()) return false;
      buffer_[at++] = *path++;
    }
    if (at > tree_length && buffer_[at - 1] == '/') --at;
    buffer_[at] = 0;
    return true;
  }
  [[nodiscard]] bool has_prefix() const {
    const char* const path = buffer_.data() + tree_length;
    for (const char* prefix : kTreePrefixes) {
      const size_t length = strlen(prefix);
      if (strncmp(path, prefix, length) == 0 && (path[length] == 0 || path[length] == '/')) return true;
    }
    return false;
  }

  const char* path_;
  // Small, because handlers of signals open files too, on stacks of 8 KiB. Longer paths are none of the tree's.
  std::array<char, 1024> buffer_;
};

// The function of this name in the library behind. Several threads may look for it at once.
template <typename Function>
Function* next(Function*& cached, const char* name) {
  Function* found = __atomic_load_n(&cached, __ATOMIC_ACQUIRE);
  if (!found) {
    found = reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
    __atomic_store_n(&cached, found, __ATOMIC_RELEASE);
  }
  return found;
}

mode_t mode_of(int flags, va_list arguments) {
  return (flags & (O_CREAT | __O_TMPFILE)) != 0 ? va_arg(arguments, mode_t) : 0;
}

}  // namespace

// NOLINTBEGIN(bugprone-reserved-identifier, readability-identifier-naming): these are the C library's functions

// Defines `real`, the next function of this name.
#define WAVEJIT_NEXT(name)              \
  static decltype(name)* cached_##name; \
  auto* const real = next(cached_##name, #name)

#define WAVEJIT_OPEN(name)                                     \
  WAVEJIT_KFD_API int name(const char* path, int flags, ...) { \
    WAVEJIT_NEXT(name);                                        \
    va_list arguments;                                         \
    va_start(arguments, flags);                                \
    const mode_t mode = mode_of(flags, arguments);             \
    va_end(arguments);                                         \
    return real(Redirected(path), flags, mode);                \
  }
WAVEJIT_OPEN(open)
WAVEJIT_OPEN(open64)

#define WAVEJIT_OPENAT(name)                                               \
  WAVEJIT_KFD_API int name(int folder, const char* path, int flags, ...) { \
    WAVEJIT_NEXT(name);                                                    \
    va_list arguments;                                                     \
    va_start(arguments, flags);                                            \
    const mode_t mode = mode_of(flags, arguments);                         \
    va_end(arguments);                                                     \
    return real(folder, Redirected(path), flags, mode);                    \
  }
WAVEJIT_OPENAT(openat)
WAVEJIT_OPENAT(openat64)

// Those with checks, that _FORTIFY_SOURCE puts in the place of the others, and those of C libraries before 2.33 are not in
// headers.
extern "C" {
int __open_2(const char*, int);
int __open64_2(const char*, int);
int __openat_2(int, const char*, int);
int __openat64_2(int, const char*, int);
int __xstat(int, const char*, struct stat*);
int __xstat64(int, const char*, struct stat64*);
int __lxstat(int, const char*, struct stat*);
int __lxstat64(int, const char*, struct stat64*);
int __fxstatat(int, int, const char*, struct stat*, int);
int __fxstatat64(int, int, const char*, struct stat64*, int);
ssize_t __readlink_chk(const char*, char*, size_t, size_t);
ssize_t __readlinkat_chk(int, const char*, char*, size_t, size_t);
char* __realpath_chk(const char*, char*, size_t);
}

// name(TYPE of the result, (parameters), (arguments)): the parameter `path` is redirected.
#define WAVEJIT_PATH(result, name, parameters, ...) \
  WAVEJIT_KFD_API result name parameters {          \
    WAVEJIT_NEXT(name);                             \
    const Redirected redirected(path);              \
    return real(__VA_ARGS__);                       \
  }
WAVEJIT_PATH(int, __open_2, (const char* path, int flags), redirected, flags)
WAVEJIT_PATH(int, __open64_2, (const char* path, int flags), redirected, flags)
WAVEJIT_PATH(int, __openat_2, (int folder, const char* path, int flags), folder, redirected, flags)
WAVEJIT_PATH(int, __openat64_2, (int folder, const char* path, int flags), folder, redirected, flags)
WAVEJIT_PATH(FILE*, fopen, (const char* path, const char* mode), redirected, mode)
WAVEJIT_PATH(FILE*, fopen64, (const char* path, const char* mode), redirected, mode)
WAVEJIT_PATH(DIR*, opendir, (const char* path), redirected)
WAVEJIT_PATH(int, scandir,
             (const char* path, struct dirent*** names, int (*filter)(const struct dirent*),
              int (*compare)(const struct dirent**, const struct dirent**)),
             redirected, names, filter, compare)
WAVEJIT_PATH(int, scandir64,
             (const char* path, struct dirent64*** names, int (*filter)(const struct dirent64*),
              int (*compare)(const struct dirent64**, const struct dirent64**)),
             redirected, names, filter, compare)
WAVEJIT_PATH(int, stat, (const char* path, struct stat* out) noexcept, redirected, out)
WAVEJIT_PATH(int, stat64, (const char* path, struct stat64* out) noexcept, redirected, out)
WAVEJIT_PATH(int, lstat, (const char* path, struct stat* out) noexcept, redirected, out)
WAVEJIT_PATH(int, lstat64, (const char* path, struct stat64* out) noexcept, redirected, out)
WAVEJIT_PATH(int, fstatat, (int folder, const char* path, struct stat* out, int flags) noexcept, folder, redirected,
             out, flags)
WAVEJIT_PATH(int, fstatat64, (int folder, const char* path, struct stat64* out, int flags) noexcept, folder, redirected,
             out, flags)
WAVEJIT_PATH(int, statx, (int folder, const char* path, int flags, unsigned mask, struct statx* out) noexcept, folder,
             redirected, flags, mask, out)
WAVEJIT_PATH(int, __xstat, (int version, const char* path, struct stat* out), version, redirected, out)
WAVEJIT_PATH(int, __xstat64, (int version, const char* path, struct stat64* out), version, redirected, out)
WAVEJIT_PATH(int, __lxstat, (int version, const char* path, struct stat* out), version, redirected, out)
WAVEJIT_PATH(int, __lxstat64, (int version, const char* path, struct stat64* out), version, redirected, out)
WAVEJIT_PATH(int, __fxstatat, (int version, int folder, const char* path, struct stat* out, int flags), version, folder,
             redirected, out, flags)
WAVEJIT_PATH(int, __fxstatat64, (int version, int folder, const char* path, struct stat64* out, int flags), version,
             folder, redirected, out, flags)
WAVEJIT_PATH(int, access, (const char* path, int mode) noexcept, redirected, mode)
WAVEJIT_PATH(int, eaccess, (const char* path, int mode) noexcept, redirected, mode)
WAVEJIT_PATH(int, euidaccess, (const char* path, int mode) noexcept, redirected, mode)
WAVEJIT_PATH(int, faccessat, (int folder, const char* path, int mode, int flags) noexcept, folder, redirected, mode,
             flags)
WAVEJIT_PATH(ssize_t, readlink, (const char* path, char* out, size_t bytes) noexcept, redirected, out, bytes)
WAVEJIT_PATH(ssize_t, readlinkat, (int folder, const char* path, char* out, size_t bytes) noexcept, folder, redirected,
             out, bytes)
WAVEJIT_PATH(ssize_t, __readlink_chk, (const char* path, char* out, size_t bytes, size_t most), redirected, out, bytes,
             most)
WAVEJIT_PATH(ssize_t, __readlinkat_chk, (int folder, const char* path, char* out, size_t bytes, size_t most), folder,
             redirected, out, bytes, most)
WAVEJIT_PATH(FILE*, freopen, (const char* path, const char* mode, FILE* file), redirected, mode, file)
WAVEJIT_PATH(FILE*, freopen64, (const char* path, const char* mode, FILE* file), redirected, mode, file)
// ls -l looks at attributes.
WAVEJIT_PATH(ssize_t, getxattr, (const char* path, const char* name, void* value, size_t bytes) noexcept, redirected,
             name, value, bytes)
WAVEJIT_PATH(ssize_t, lgetxattr, (const char* path, const char* name, void* value, size_t bytes) noexcept, redirected,
             name, value, bytes)
WAVEJIT_PATH(ssize_t, listxattr, (const char* path, char* names, size_t bytes) noexcept, redirected, names, bytes)
WAVEJIT_PATH(ssize_t, llistxattr, (const char* path, char* names, size_t bytes) noexcept, redirected, names, bytes)

// The C library's own calls of opendir() and the like do not come here, but glob() takes functions for them.
#define WAVEJIT_GLOB(name, type, readdir_of, stat_of, lstat_of)                                            \
  WAVEJIT_KFD_API int name(const char* pattern, int flags, int (*failed)(const char*, int), type* paths) { \
    WAVEJIT_NEXT(name);                                                                                    \
    if (!tree_known) read_variable();                                                                      \
    if (tree_length != 0 && paths != nullptr && (flags & GLOB_ALTDIRFUNC) == 0) {                          \
      flags |= GLOB_ALTDIRFUNC;                                                                            \
      paths->gl_opendir = [](const char* path) { return static_cast<void*>(opendir(path)); };              \
      paths->gl_readdir = [](void* folder) { return readdir_of(static_cast<DIR*>(folder)); };              \
      paths->gl_closedir = [](void* folder) { closedir(static_cast<DIR*>(folder)); };                      \
      paths->gl_stat = stat_of;                                                                            \
      paths->gl_lstat = lstat_of;                                                                          \
    }                                                                                                      \
    return real(pattern, flags, failed, paths);                                                            \
  }
WAVEJIT_GLOB(glob, glob_t, readdir, stat, lstat)
WAVEJIT_GLOB(glob64, glob64_t, readdir64, stat64, lstat64)

// The result is the path that the program may use, not that of the tree.
static char* without_tree(char* resolved) {
  if (resolved && tree_length != 0 && strncmp(resolved, tree_directory.data(), tree_length) == 0 &&
      resolved[tree_length] == '/')
    memmove(resolved, resolved + tree_length, strlen(resolved + tree_length) + 1);
  return resolved;
}
WAVEJIT_KFD_API char* realpath(const char* path, char* out) noexcept {
  // The first version of the function does not allocate a result.
  auto* const real = reinterpret_cast<decltype(realpath)*>(dlvsym(RTLD_NEXT, "realpath", "GLIBC_2.3"));
  const Redirected redirected(path);
  char* const resolved = real(redirected, out);
  return redirected.is_in_tree() ? without_tree(resolved) : resolved;
}
WAVEJIT_KFD_API char* __realpath_chk(const char* path, char* out, size_t bytes) {
  WAVEJIT_NEXT(__realpath_chk);
  const Redirected redirected(path);
  char* const resolved = real(redirected, out, bytes);
  return redirected.is_in_tree() ? without_tree(resolved) : resolved;
}

WAVEJIT_KFD_API FILE* popen(const char* command, const char* type) {
  WAVEJIT_NEXT(popen);
  for (const CommandQuirk& quirk : kCommandQuirks)
    if (tree_length != 0 && command && strcmp(command, quirk.command) == 0) command = quirk.replacement;
  return real(command, type);
}

// NOLINTEND(bugprone-reserved-identifier, readability-identifier-naming)
