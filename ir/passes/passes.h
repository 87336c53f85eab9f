// The passes. ir/pipeline.cpp has a line about each, and its file the details.
#pragma once

#include "ir/pass.h"

namespace wavejit::ir::passes {

PassResult dce(Function& function, const PassContext& context);
PassResult peephole(Function& function, const PassContext& context);
PassResult mask_algebra(Function& function, const PassContext& context);
PassResult long_divisions(Function& function, const PassContext& context);
PassResult mask_terms(Function& function, const PassContext& context);
PassResult demanded_lanes(Function& function, const PassContext& context);
PassResult recombine(Function& function, const PassContext& context);
PassResult phi_pairs(Function& function, const PassContext& context);
PassResult uniform_phis(Function& function, const PassContext& context);
PassResult resumed_values(Function& function, const PassContext& context);
PassResult resumed_bounds(Function& function, const PassContext& context);
PassResult branch_facts(Function& function, const PassContext& context);
PassResult address(Function& function, const PassContext& context);
PassResult uniform_stores(Function& function, const PassContext& context);
PassResult cfg(Function& function, const PassContext& context);
PassResult merge_accesses(Function& function, const PassContext& context);
PassResult matrix_order(Function& function, const PassContext& context);
PassResult merge_bytes(Function& function, const PassContext& context);
PassResult state_writes(Function& function, const PassContext& context);
PassResult flatten(Function& function, const PassContext& context);
PassResult loop_bounds(Function& function, const PassContext& context);
PassResult polls(Function& function, const PassContext& context);
PassResult full_loops(Function& function, const PassContext& context);
PassResult unclamped_copies(Function& function, const PassContext& context);
PassResult licm(Function& function, const PassContext& context);
PassResult gvn(Function& function, const PassContext& context);

}  // namespace wavejit::ir::passes
