#include "tools/library_folder.h"

#include <fmt/format.h>
#include <sys/auxv.h>

#include "tools/command.h"

namespace wavejit::tools {

namespace fs = std::filesystem;

fs::path library_folder() {
  std::error_code error;
  fs::path command = fs::read_symlink("/proc/self/exe", error);
  if (error)  // no /proc: what was given to execve
    if (const auto* const name = reinterpret_cast<const char*>(getauxval(AT_EXECFN)))
      command = fs::canonical(name, error);
  const fs::path self = command.parent_path();
  for (const fs::path& folder : {self / "hsa", self.parent_path() / WAVEJIT_LIBDIR / "wavejit"})
    if (fs::exists(folder / "libhsa-runtime64.so.1", error)) return folder;
  throw InputError(fmt::format("There is no libhsa-runtime64.so.1 that belongs to {}/wavejit.", self.string()));
}

}  // namespace wavejit::tools
