// Sequences of calls that no program should make: the host survives them, and each answer is a status of the header.
// Each function takes the bytes that decide (input.h); it aborts, or a sanitizer does, if something is wrong.
#pragma once

#include <cstdint>
#include <span>

namespace wavejit::hostile {

// libhsa-runtime64: one to three threads that share all handles, destroyed and made-up ones, wrong sizes and null pointers,
// with hsa_shut_down in between.
void call_hsa(std::span<const uint8_t> bytes);
// Packets of any contents in queues of the library.
void send_packets(std::span<const uint8_t> bytes);
// libwavejit: null pointers, structures of any size, code objects with changed bytes, launches of any shape.
void call_c_api(std::span<const uint8_t> bytes);

}  // namespace wavejit::hostile
