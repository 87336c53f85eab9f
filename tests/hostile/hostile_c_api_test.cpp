// The drivers with bytes of fixed seeds; at length: scripts/fuzz.sh --hostile.
#include "seeds.h"

namespace wavejit::hostile {
namespace {

TEST(Hostile, CApiCalls) {
  run(call_c_api, 30, 600);
}

}  // namespace
}  // namespace wavejit::hostile
