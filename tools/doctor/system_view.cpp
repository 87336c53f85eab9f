#include "tools/doctor/system_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>

namespace wavejit::tools::doctor {

namespace fs = std::filesystem;

fs::path SystemView::host_path(std::string_view path) const {
  return root_ / fs::path(path).relative_path();
}

std::string SystemView::inner_path(const fs::path& host) const {
  return is_own() ? host.string() : "/" + host.lexically_relative(root_).string();
}

bool SystemView::exists(std::string_view path) const {
  std::error_code error;
  return fs::exists(host_path(path), error);
}

std::optional<std::string> SystemView::read(std::string_view path) const {
  std::ifstream file(host_path(path), std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  if (!file) return std::nullopt;
  text.erase(text.find_last_not_of(" \t\r\n") + 1);
  return text;
}

std::optional<uint64_t> SystemView::read_number(std::string_view path) const {
  const auto text = read(path);
  return text ? to_number(*text) : std::nullopt;
}

std::vector<std::string> SystemView::lines(std::string_view path) const {
  return split(read(path).value_or(""), '\n');
}

std::vector<fs::path> SystemView::entries(std::string_view folder, std::string_view prefix) const {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator it(host_path(folder), error), end; !error && it != end; it.increment(error))
    if (it->path().filename().string().starts_with(prefix)) found.push_back(it->path());
  std::ranges::sort(found);
  return found;
}

std::optional<uint64_t> to_number(std::string_view text) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end == text.data()) return std::nullopt;
  return value;
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const size_t end = std::min(text.find(separator), text.size());
    if (end != 0) parts.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

std::string format_bytes(uint64_t bytes) {
  constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  auto value = static_cast<double>(bytes);
  size_t unit = 0;
  for (; value >= 1024 && unit + 1 < std::size(kUnits); ++unit) value /= 1024;
  return unit == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.1f} {}", value, kUnits[unit]);
}

}  // namespace wavejit::tools::doctor
