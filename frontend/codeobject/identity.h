// Which version a code object has and which target it is for, without loading it.
#pragma once

#include <vector>

#include "frontend/codeobject/code_object.h"
#include "frontend/codeobject/elf_file.h"

namespace wavejit::codeobject {

struct CodeObjectIdentity {
  unsigned version = 0;  // 2..6
  TargetId target;
};

// Fails for ELF files that are not linked amdhsa code objects. `notes` are those of `elf`.
[[nodiscard]] Expected<CodeObjectIdentity> identify_code_object(const ElfFile& elf, const std::vector<ElfNote>& notes);

}  // namespace wavejit::codeobject
