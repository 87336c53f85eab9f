#include "ir/types.h"

namespace wavejit::ir {

std::string to_string(Type type) {
  const char* name = "none";
  switch (type.kind) {
    case TypeKind::none:
      break;
    case TypeKind::i1:
      name = "i1";
      break;
    case TypeKind::i32:
      name = "i32";
      break;
    case TypeKind::i64:
      name = "i64";
      break;
    case TypeKind::mask:
      name = "mask";
      break;
    case TypeKind::v32:
      name = "v32";
      break;
    case TypeKind::v64:
      name = "v64";
      break;
  }
  std::string text = name;
  if (type.count != 1) text.append("x").append(std::to_string(type.count));
  return text;
}

}  // namespace wavejit::ir
