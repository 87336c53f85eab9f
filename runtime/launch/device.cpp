#include "runtime/launch/device.h"

namespace wavejit::runtime {

Device& Device::of_process() {
  static Device& device = *new Device;  // never destroyed: worker threads may outlive static destruction
  return device;
}

}  // namespace wavejit::runtime
