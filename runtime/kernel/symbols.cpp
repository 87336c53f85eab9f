#include "runtime/kernel/symbols.h"

#include <cxxabi.h>
#include <fmt/format.h>

#include <cstdlib>
#include <memory>

namespace wavejit::runtime {
namespace {

std::string with_offset(std::string_view name, uint64_t offset) {
  return offset == 0 ? std::string(name) : fmt::format("{}+{:#x}", name, offset);
}

}  // namespace

std::string demangled(std::string_view name) {
  const std::string mangled(name);
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status),
                                                    std::free);
  // A C name may be that of a type ("i" is int).
  return status == 0 && text && name.starts_with("_Z") ? std::string(text.get()) : mangled;
}

std::string symbolise(const codeobject::CodeObject& object, uint64_t pc) {
  const auto place = object.function_at(pc);
  return place ? with_offset(place->name, pc - place->address) : fmt::format("{:#x}", pc);
}

std::string describe_place(const codeobject::CodeObject& object, uint64_t pc) {
  const auto place = object.function_at(pc);
  std::string text = place ? with_offset(demangled(place->name), pc - place->address) : std::string("unknown code");
  text += fmt::format(" (pc {:#x}", pc);
  if (const auto line = object.source_line(pc)) text += fmt::format(", {}", *line);
  return text + ")";
}

std::span<const uint8_t> code_region(const codeobject::CodeObject& object, uint64_t pc) {
  for (const std::span<const uint8_t> region : object.code()) {
    const auto base = reinterpret_cast<uint64_t>(region.data());
    if (pc >= base && pc < base + region.size()) return region;
  }
  return {};
}

}  // namespace wavejit::runtime
