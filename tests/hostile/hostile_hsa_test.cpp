// The drivers with bytes of fixed seeds; at length: scripts/fuzz.sh --hostile.
#include "seeds.h"

namespace wavejit::hostile {
namespace {

TEST(Hostile, HsaCalls) {
  run(call_hsa, 60, 2000);
}
TEST(Hostile, HsaPackets) {
  run(send_packets, 60, 600);
}

}  // namespace
}  // namespace wavejit::hostile
