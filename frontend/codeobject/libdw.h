// elfutils' libdw, loaded when a source line is first asked for: wavejit runs without it, then messages have no lines.
#pragma once

#include <elfutils/libdw.h>
#include <libelf.h>

namespace wavejit::codeobject {

// The functions of libdw and of libelf, which libdw loads, that wavejit calls.
struct Libdw {
  decltype(&::elf_version) elf_version;
  decltype(&::elf_memory) elf_memory;
  decltype(&::elf_end) elf_end;
  decltype(&::dwarf_begin_elf) dwarf_begin_elf;
  decltype(&::dwarf_end) dwarf_end;
  decltype(&::dwarf_get_units) dwarf_get_units;
  decltype(&::dwarf_getsrclines) dwarf_getsrclines;
  decltype(&::dwarf_onesrcline) dwarf_onesrcline;
  decltype(&::dwarf_lineaddr) dwarf_lineaddr;
  decltype(&::dwarf_lineendsequence) dwarf_lineendsequence;
  decltype(&::dwarf_linesrc) dwarf_linesrc;
  decltype(&::dwarf_lineno) dwarf_lineno;
};

// The library's functions; null if the system has no libdw.so.1. The first call that finds none says so on stderr, once
// a process. The library stays loaded. Thread-safe.
[[nodiscard]] const Libdw* libdw();

}  // namespace wavejit::codeobject
