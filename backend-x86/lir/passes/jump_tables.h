// Jumps through tables in front of trees of comparisons.
#pragma once

#include "backend-x86/lir/function.h"

namespace wavejit::backend::lir {

// For allocated functions. A tree of comparisons of one register of 32 bits with small numbers, and of nothing else, gets a jump
// through a table in front of it; the tree stays for numbers beyond the table. That takes two general registers whose contents
// nobody reads. A tree whose branches nothing predicts costs more than the one jump. Returns the number of tables, which are
// in Function::jump_tables then.
uint32_t make_jump_tables(Function& function);

}  // namespace wavejit::backend::lir
