#include "runtime/symbols.h"

#include <cxxabi.h>
#include <fmt/format.h>

#include <cstdlib>
#include <memory>

namespace wavejit::runtime {
namespace {

struct Place {
  std::string_view name;  // empty when no symbol is known
  uint64_t begin = 0;
};

Place find_symbol(const codeobject::CodeObject& object, uint64_t pc) {
  Place place;
  for (const codeobject::FunctionSymbol& f : object.functions())
    if (f.address <= pc && (place.name.empty() || f.address > place.begin)) place = {f.name, f.address};
  for (const codeobject::Kernel& k : object.kernels())
    if (k.descriptor.entry <= pc && k.descriptor.entry >= place.begin) place = {k.name, k.descriptor.entry};
  return place;
}

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
  const Place place = find_symbol(object, pc);
  return place.name.empty() ? fmt::format("{:#x}", pc) : with_offset(place.name, pc - place.begin);
}

std::string describe_place(const codeobject::CodeObject& object, uint64_t pc) {
  const Place place = find_symbol(object, pc);
  std::string text =
      place.name.empty() ? std::string("unknown code") : with_offset(demangled(place.name), pc - place.begin);
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
