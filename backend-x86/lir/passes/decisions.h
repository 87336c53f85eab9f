// Branches on comparisons of a register with a number, for passes that lead control past them.
#pragma once

#include <optional>
#include <vector>

#include "backend-x86/lir/function.h"

namespace wavejit::backend::lir {

[[nodiscard]] bool is_jump(const Node& node);  // to a label
// Whether the node is a jump, a branch or a call whose target is a label.
[[nodiscard]] bool goes_to_label(const Node& node);
[[nodiscard]] std::optional<x86::CondCode> condition_of(const Node& node);  // of a branch
// The first node from here on that is code; null: none.
[[nodiscard]] Node* next_code(Node* node);
// What follows a node, if only the node leads there.
[[nodiscard]] Node* next_behind(const Node& node);
// The node in front of another one, past comments; null: none.
[[nodiscard]] Node* before(const Node& node);

// The label directly behind the node, or a new one that is put there.
[[nodiscard]] asmjit::Label label_behind(Function& function, Node& node);

// A comparison of a register of 32 or 64 bits with a number, or its test, and the branch behind it.
struct Decision {
  const Node* compare;
  Node* branch;
  x86::CondCode condition;
  int64_t number;
};
// Of a comparison; nothing for other nodes, and for null.
[[nodiscard]] std::optional<Decision> decision_of(Node* compare);
// Whether the condition holds behind a comparison of a with b in so many bytes. Nothing for those of flags that are not looked at.
[[nodiscard]] std::optional<bool> holds(x86::CondCode condition, int64_t a, int64_t b, uint32_t bytes);

// Whether nothing that is executed from the node on reads flags before it writes all that conditions depend on.
[[nodiscard]] bool flags_are_dead(const Node* node, const Function& function);

}  // namespace wavejit::backend::lir
