// Which guest code makes the difference when it is translated, found by bisection.
#pragma once

#include <functional>
#include <string>

#include "frontend/lift/lifter.h"
#include "runtime/translate/module.h"

namespace wavejit::runtime::shadow {

enum class Agreement : uint8_t { same, different, unknown };

// How a run in which only this code is translated and all other interpreted compares with the interpreter's.
using TryPart = std::function<Agreement(const lift::CodeRange& part)>;

struct Culprit {
  enum class Kind : uint8_t {
    code,  // there is a difference when `code` alone is translated, but neither without its first instruction nor, of all
           // code up to its end, without its last one
    no_code,  // there is one with nothing translated
    gone,     // there is none with everything translated
    unknown,  // an answer was; if there is a difference when `code` is translated, it is not empty
  };
  Kind kind = Kind::unknown;
  lift::CodeRange code;
};

// `all`: multiples of 4. Asks some 2 log2(instructions) times.
[[nodiscard]] Culprit find_culprit(const lift::CodeRange& all, const TryPart& try_part);

// The executable segments and what is between them.
[[nodiscard]] lift::CodeRange all_code(const codeobject::CodeObject& object);

// As a sentence.
[[nodiscard]] std::string describe(const Culprit& culprit, const Module& module);

}  // namespace wavejit::runtime::shadow
