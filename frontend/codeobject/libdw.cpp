#include "frontend/codeobject/libdw.h"

#include <dlfcn.h>

#include <cstdio>
#include <optional>

namespace wavejit::codeobject {
namespace {

template <class Function>
bool find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

std::optional<Libdw> load() {
  Libdw f{};
  // RTLD_LOCAL: the program may have another libelf. Symbols of libelf are found through libdw's dependencies.
  void* const library = dlopen("libdw.so.1", RTLD_LAZY | RTLD_LOCAL);
  if (library && find(library, "elf_version", f.elf_version) && find(library, "elf_memory", f.elf_memory) &&
      find(library, "elf_end", f.elf_end) && find(library, "dwarf_begin_elf", f.dwarf_begin_elf) &&
      find(library, "dwarf_end", f.dwarf_end) && find(library, "dwarf_get_units", f.dwarf_get_units) &&
      find(library, "dwarf_getsrclines", f.dwarf_getsrclines) &&
      find(library, "dwarf_onesrcline", f.dwarf_onesrcline) && find(library, "dwarf_lineaddr", f.dwarf_lineaddr) &&
      find(library, "dwarf_lineendsequence", f.dwarf_lineendsequence) &&
      find(library, "dwarf_linesrc", f.dwarf_linesrc) && find(library, "dwarf_lineno", f.dwarf_lineno))
    return f;
  std::fprintf(stderr,
               "wavejit: messages have no source lines: libdw.so.1 cannot be loaded (Debian's package libdw1)\n");
  return std::nullopt;
}

}  // namespace

const Libdw* libdw() {
  static const std::optional<Libdw> functions = load();
  return functions ? &*functions : nullptr;
}

}  // namespace wavejit::codeobject
