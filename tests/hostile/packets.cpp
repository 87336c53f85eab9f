// AQL packets of any contents. A queue processes each, or calls back with an error and does nothing more; it can always be
// destroyed, and a new one works.
#include <hsa/hsa_ext_amd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "calls.h"
#include "hsa_program.h"
#include "input.h"

namespace wavejit::hostile {
namespace {

constexpr uint32_t kPackets = 16;

struct Sender {
  Input& input;
  const HsaProgram& program;
  const LoadedKernels& kernels;
  hsa_queue_t* queue = nullptr;
  hsa_signal_t live{}, dead{};

  uint64_t signal() {
    switch (input.below(8)) {
      case 0:
        return input.word();
      case 1:
        return dead.handle;
      case 2:
        return live.handle + input.byte();
      case 3:
        return queue->doorbell_signal.handle;
      case 4:  // memory that is no signal
        return reinterpret_cast<uint64_t>(program.block) + 64 * input.byte();
      case 5:
        return input.number();
      case 6:
        return live.handle;
      default:
        return 0;
    }
  }
  // Of what kernels may access, or of nothing: never of what the process needs.
  uint64_t address() {
    switch (input.below(6)) {
      case 0:
        return 0;
      case 1:
        return input.word() | uint64_t{1} << 48;  // not canonical
      case 2:
        return input.number() & 0xffff;
      case 3:
        return ~uint64_t{input.byte()};
      default:
        return reinterpret_cast<uint64_t>(program.block) + 8 * input.byte() +
               (input.flag() ? HsaProgram::kBlock - 1024 : 0);
    }
  }
  uint64_t kernel() {
    const uint64_t real = kernels.objects[input.below(kernels.objects.size())];
    switch (input.below(8)) {
      case 0:
        return input.number();
      case 1:
        return real + input.byte();
      case 2:
        return reinterpret_cast<uint64_t>(program.block);
      default:
        return real;
    }
  }
  uint16_t header() {
    switch (input.below(8)) {
      case 0:
        return static_cast<uint16_t>(input.number());
      case 1:
      case 2:
        return HSA_PACKET_TYPE_BARRIER_AND | (input.flag() ? 1 << HSA_PACKET_HEADER_BARRIER : 0);
      case 3:
        return HSA_PACKET_TYPE_BARRIER_OR;
      case 4:
        return HSA_PACKET_TYPE_VENDOR_SPECIFIC;
      case 5:
        return static_cast<uint16_t>(HSA_PACKET_TYPE_KERNEL_DISPATCH | input.byte() << 8);
      default:
        return HSA_PACKET_TYPE_KERNEL_DISPATCH;
    }
  }

  void fill_dispatch(hsa_kernel_dispatch_packet_t& packet) {
    const bool sane = input.below(4) != 0;
    packet.setup = sane ? static_cast<uint16_t>(1 + input.below(3)) : static_cast<uint16_t>(input.number());
    uint16_t* const group[3] = {&packet.workgroup_size_x, &packet.workgroup_size_y, &packet.workgroup_size_z};
    uint32_t* const grid[3] = {&packet.grid_size_x, &packet.grid_size_y, &packet.grid_size_z};
    for (unsigned i = 0; i < 3; ++i) {
      *group[i] = input.below(4) != 0 ? static_cast<uint16_t>(i == 0 ? 64 : 1) : static_cast<uint16_t>(input.number());
      *grid[i] = input.below(6) != 0 ? 1u + input.byte() % (i == 0 ? 256 : 3) : static_cast<uint32_t>(input.number());
    }
    packet.private_segment_size = input.flag() ? 0 : static_cast<uint32_t>(input.number());
    packet.group_segment_size = input.flag() ? 0 : static_cast<uint32_t>(input.number());
    packet.kernel_object = kernel();
    // The arguments: pointers, or the kernarg segment itself is none.
    auto* arguments = reinterpret_cast<uint64_t*>(program.block + 1024 * input.below(8));
    for (int i = 0; i < 4; ++i) arguments[i] = address();
    packet.kernarg_address = input.below(4) != 0 ? arguments : reinterpret_cast<void*>(address());
    packet.completion_signal = {signal()};
    packet.reserved0 = static_cast<uint16_t>(input.byte());
  }
  void fill_barrier(hsa_barrier_and_packet_t& packet) {
    for (hsa_signal_t& s : packet.dep_signal) s = {signal()};
    packet.completion_signal = {signal()};
  }
  void fill_vendor(hsa_amd_barrier_value_packet_t& packet) {
    packet.header.AmdFormat = input.flag() ? uint8_t{HSA_AMD_PACKET_TYPE_BARRIER_VALUE} : input.byte();
    packet.signal = {signal()};
    packet.value = static_cast<hsa_signal_value_t>(input.number());
    packet.mask = static_cast<hsa_signal_value_t>(input.number());
    packet.cond = static_cast<uint32_t>(input.flag() ? input.below(4) : input.number());
    packet.completion_signal = {signal()};
  }

  void send() {
    alignas(64) uint8_t packet[64] = {};
    const uint16_t type = header();
    if (input.below(8) == 0) {
      for (uint8_t& b : packet) b = input.byte();
      // What a kernel then writes to must not be the process's own memory.
      auto* dispatch = reinterpret_cast<hsa_kernel_dispatch_packet_t*>(packet);
      dispatch->kernarg_address = reinterpret_cast<void*>(address());
    } else {
      switch (type & 0xff) {
        case HSA_PACKET_TYPE_BARRIER_AND:
        case HSA_PACKET_TYPE_BARRIER_OR:
          fill_barrier(*reinterpret_cast<hsa_barrier_and_packet_t*>(packet));
          break;
        case HSA_PACKET_TYPE_VENDOR_SPECIFIC:
          fill_vendor(*reinterpret_cast<hsa_amd_barrier_value_packet_t*>(packet));
          break;
        default:
          fill_dispatch(*reinterpret_cast<hsa_kernel_dispatch_packet_t*>(packet));
      }
    }
    const uint64_t index = hsa_queue_add_write_index_scacq_screl(queue, 1);
    auto* slot = static_cast<uint8_t*>(queue->base_address) + 64 * (index % queue->size);
    std::memcpy(slot + 2, packet + 2, 62);
    std::atomic_ref(*reinterpret_cast<uint16_t*>(slot)).store(type, std::memory_order_release);
    hsa_signal_store_screlease(queue->doorbell_signal,
                               static_cast<hsa_signal_value_t>(input.below(8) ? index : input.number()));
  }
};

void require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "packets: %s\n", what);
  std::abort();
}

// A queue of the same process does what it is told.
void expect_works(const LoadedKernels& kernels) {
  hsa_queue_t* queue = nullptr;
  hsa_signal_t done{};
  require(hsa_queue_create(hsa_program().gpu, kPackets, HSA_QUEUE_TYPE_MULTI, nullptr, nullptr, 0, 0, &queue) ==
              HSA_STATUS_SUCCESS,
          "no queue");
  require(hsa_signal_create(1, 0, nullptr, &done) == HSA_STATUS_SUCCESS, "no signal");
  hsa_barrier_and_packet_t barrier{};
  barrier.completion_signal = done;
  std::memcpy(static_cast<uint8_t*>(queue->base_address) + 2, reinterpret_cast<uint8_t*>(&barrier) + 2, 62);
  hsa_queue_add_write_index_scacq_screl(queue, 1);
  std::atomic_ref(*static_cast<uint16_t*>(queue->base_address))
      .store(HSA_PACKET_TYPE_BARRIER_AND, std::memory_order_release);
  hsa_signal_store_screlease(queue->doorbell_signal, 0);
  require(hsa_signal_wait_scacquire(done, HSA_SIGNAL_CONDITION_EQ, 0, UINT64_MAX, HSA_WAIT_STATE_BLOCKED) == 0,
          "no end");
  require(hsa_queue_destroy(queue) == HSA_STATUS_SUCCESS && hsa_signal_destroy(done) == HSA_STATUS_SUCCESS, "no end");
  require(!kernels.objects.empty(), "no kernels");
}

}  // namespace

void send_packets(std::span<const uint8_t> bytes) {
  Input input(bytes);
  setenv("WAVEJIT_ON_FAULT", "error", 1);  // what a kernel does there is part of the game
  require(hsa_init() == HSA_STATUS_SUCCESS, "hsa_init");
  static const LoadedKernels& kernels = *new LoadedKernels(load_kernels());
  Sender sender{.input = input, .program = hsa_program(), .kernels = kernels};
  struct Error {
    std::atomic<int> count{0};
    bool destroys = false;
  } error;
  error.destroys = input.below(8) == 0;
  require(hsa_queue_create(
              sender.program.gpu, kPackets, static_cast<hsa_queue_type32_t>(input.below(3)),
              [](hsa_status_t status, hsa_queue_t* queue, void* data) {
                auto& e = *static_cast<Error*>(data);
                require(status != HSA_STATUS_SUCCESS, "an error that is none");
                check_status(status, "queue");
                if (e.destroys) check_status(hsa_queue_destroy(queue), "destroying in the callback");
                e.count.fetch_add(1);
              },
              &error, UINT32_MAX, UINT32_MAX, &sender.queue) == HSA_STATUS_SUCCESS,
          "no queue");
  require(hsa_signal_create(static_cast<hsa_signal_value_t>(input.below(3)), 0, nullptr, &sender.live) ==
                  HSA_STATUS_SUCCESS &&
              hsa_signal_create(1, 0, nullptr, &sender.dead) == HSA_STATUS_SUCCESS &&
              hsa_signal_destroy(sender.dead) == HSA_STATUS_SUCCESS,
          "no signal");
  // One that destroys its own queue gets a single packet: the queue's memory may be gone afterwards.
  const unsigned count = error.destroys ? 1 : 1 + static_cast<unsigned>(input.below(kPackets));
  hsa_queue_t* const queue = sender.queue;
  for (unsigned i = 0; i < count && !input.is_empty(); ++i) sender.send();
  // Some of the packets' time, so that they are not all dropped: none of them is waited for.
  for (int i = 0; i < 4; ++i)
    (void)hsa_signal_wait_scacquire(sender.live, HSA_SIGNAL_CONDITION_EQ, INT64_MIN, 200'000, HSA_WAIT_STATE_BLOCKED);
  const hsa_status_t destroyed = hsa_queue_destroy(queue);
  require(destroyed == HSA_STATUS_SUCCESS || (error.destroys && destroyed == HSA_STATUS_ERROR_INVALID_QUEUE),
          "destroying the queue");
  if (destroyed != HSA_STATUS_SUCCESS)
    while (error.count == 0) {
    }
  require(error.count <= 1, "two errors");
  check_status(hsa_signal_destroy(sender.live), "hsa_signal_destroy");
  expect_works(kernels);
  require(hsa_shut_down() == HSA_STATUS_SUCCESS, "hsa_shut_down");
}

}  // namespace wavejit::hostile
