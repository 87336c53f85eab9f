#include "codeobject_entries.h"

#include <algorithm>

#include "frontend/codeobject/containers.h"
#include "frontend/codeobject/metadata.h"
#include "internal/check.h"

namespace wavejit::fuzz {
namespace {

using namespace codeobject;  // NOLINT: this file is about nothing else

uint64_t sum_of(std::span<const uint8_t> bytes) {
  uint64_t sum = 0;
  for (const uint8_t byte : bytes) sum += byte;
  return sum;
}

void check_error(const Error& error) {
  WAVEJIT_CHECK(error.code != ErrorCode::kOk && !error.message.empty());
}

bool inside_code(const CodeObject& object, uint64_t address, uint64_t size) {
  for (const auto& code : object.code()) {
    const auto begin = reinterpret_cast<uint64_t>(code.data());
    if (address >= begin && size <= code.size() && address - begin <= code.size() - size) return true;
  }
  return false;
}

// Touches everything that a user of the object may touch.
void check_object(const CodeObject& object) {
  WAVEJIT_CHECK(object.version() >= 2 && object.version() <= 6);
  WAVEJIT_CHECK(parse_target_id(object.target().to_string()).has_value() || object.version() >= 4);
  volatile uint64_t sink = 0;
  uint64_t budget = 1u << 20;  // kernels may overlap, and .bss of an accepted object may be large
  for (size_t i = 0; i < object.kernel_names().size(); ++i) {
    const KernelName& name = object.kernel_names()[i];
    const auto decoded = object.kernel(i);
    // Several kernels may have a name; the one that is found may be malformed.
    for (const std::string_view wanted : {name.name, name.symbol}) {
      const auto found = object.find_kernel(wanted);
      WAVEJIT_CHECK(found.has_value() || found.error().code == ErrorCode::kBadCodeObject);
    }
    WAVEJIT_CHECK(object.kernel_at(name.object).has_value());
    if (!decoded) {
      check_error(decoded.error());
      WAVEJIT_CHECK(decoded.error().kernel == name.name);
      continue;
    }
    const Kernel& kernel = **decoded;
    WAVEJIT_CHECK(kernel.name == name.name && kernel.symbol == name.symbol && kernel.object == name.object);
    WAVEJIT_CHECK(object.descriptor(i).entry == kernel.descriptor.entry);
    WAVEJIT_CHECK(object.function_at(kernel.descriptor.entry).has_value());
    WAVEJIT_CHECK(inside_code(object, kernel.descriptor.entry, kernel.code_size));
    WAVEJIT_CHECK(kernel.descriptor.entry % 4 == 0);
    const uint64_t code_size = std::min<uint64_t>(kernel.code_size, budget);
    budget -= code_size;
    sink = sink + sum_of({reinterpret_cast<const uint8_t*>(kernel.descriptor.entry), code_size});
    for (const KernelArg& arg : kernel.args) {
      WAVEJIT_CHECK(uint64_t{arg.offset} + arg.size <= kernel.descriptor.kernarg_size);
    }
  }
  for (const Variable& variable : object.variables()) {
    const uint64_t size = std::min(variable.size, budget);
    budget -= size;
    auto* bytes = reinterpret_cast<uint8_t*>(variable.address);
    sink = sink + sum_of({bytes, size});
    if (variable.writable && size != 0) *bytes = static_cast<uint8_t>(*bytes + 1);
  }
  const auto missing = object.find_kernel("no such kernel\x01");
  if (!missing) check_error(missing.error());
}

Expected<std::vector<KernelMetadata>> parse_msgpack(ByteView bytes) {
  std::vector<KernelNote> notes;
  if (auto found = find_msgpack_kernels(bytes, 0, notes); !found) return forward_error(std::move(found));
  std::vector<KernelMetadata> kernels;
  for (const KernelNote& note : notes) {
    auto kernel = read_msgpack_kernel(note);
    if (!kernel) return forward_error(std::move(kernel));
    kernels.push_back(*std::move(kernel));
  }
  return kernels;
}

bool load_and_check(std::span<const uint8_t> bytes) {
  const auto object = CodeObject::load(bytes);
  if (!object) {
    check_error(object.error());
    return false;
  }
  check_object(**object);
  return true;
}

}  // namespace

bool fuzz_container(std::span<const uint8_t> input) {
  const auto container = Container::parse(input);
  if (!container) {
    check_error(container.error());
    return false;
  }
  WAVEJIT_CHECK(!(*container)->entries().empty());
  unsigned loads = 0;
  for (const ContainerEntry& entry : (*container)->entries()) {
    if (++loads > 4) break;
    load_and_check(entry.bytes);
  }
  const TargetId device{.processor = "gfx906", .xnack = FeatureSetting::off, .sramecc = FeatureSetting::on};
  const auto selected = (*container)->select(device);
  if (!selected) check_error(selected.error());
  return true;
}

bool fuzz_code_object(std::span<const uint8_t> input) {
  return load_and_check(input);
}

bool fuzz_metadata(std::span<const uint8_t> input) {
  if (input.empty()) return false;
  const auto note = input.subspan(1);
  const auto kernels = input[0] % 2 == 0 ? parse_msgpack(note) : parse_yaml_metadata(note, 0);
  if (!kernels) {
    check_error(kernels.error());
    return false;
  }
  for (const KernelMetadata& kernel : *kernels) {
    for (const KernelArg& arg : kernel.args) {
      WAVEJIT_CHECK(uint64_t{arg.offset} + arg.size <= kernel.kernarg_size);
      WAVEJIT_CHECK(!to_string(arg.kind).empty());
    }
  }
  return true;
}

}  // namespace wavejit::fuzz
