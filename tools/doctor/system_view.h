// Files of the system that `wavejit doctor` looks at, below a folder that stands for /.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace wavejit::tools::doctor {

class SystemView {
 public:
  explicit SystemView(std::filesystem::path root) : root_(std::move(root)) {}

  // Whether this process runs in what it looks at, so that system calls answer for it as well.
  [[nodiscard]] bool is_own() const { return root_ == "/"; }
  // An absolute path of the system, as this process opens it.
  [[nodiscard]] std::filesystem::path host_path(std::string_view path) const;
  // The path inside of the system.
  [[nodiscard]] std::string inner_path(const std::filesystem::path& host) const;

  [[nodiscard]] bool exists(std::string_view path) const;
  // Without the white space at the end; nothing if it cannot be read.
  [[nodiscard]] std::optional<std::string> read(std::string_view path) const;
  [[nodiscard]] std::optional<uint64_t> read_number(std::string_view path) const;
  [[nodiscard]] std::vector<std::string> lines(std::string_view path) const;
  // Paths of a folder's entries whose names start with `prefix`, sorted.
  [[nodiscard]] std::vector<std::filesystem::path> entries(std::string_view folder, std::string_view prefix) const;

 private:
  std::filesystem::path root_;
};

// A number at the beginning of the text.
[[nodiscard]] std::optional<uint64_t> to_number(std::string_view text);
[[nodiscard]] std::vector<std::string> split(std::string_view text, char separator);
// "12.5 MiB"
[[nodiscard]] std::string format_bytes(uint64_t bytes);

}  // namespace wavejit::tools::doctor
