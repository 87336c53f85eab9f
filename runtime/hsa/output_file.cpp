#include "runtime/hsa/output_file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "runtime/hsa/status.h"

namespace wavejit::hsa {

std::string output_file_name(const char* variable) {
  const char* value = std::getenv(variable);
  std::string text(value ? value : "");
  if (const size_t at = text.find("%p"); at != std::string::npos) text.replace(at, 2, std::to_string(getpid()));
  return text;
}

void write_output_file(const std::string& name, const std::string& text, const char* what) {
  std::FILE* file = std::fopen(name.c_str(), "we");
  const bool written = file && std::fwrite(text.data(), 1, text.size(), file) == text.size();
  if ((file && std::fclose(file) != 0) || !written)
    say(fmt::format("Cannot write {} to '{}': {}.", what, name, std::strerror(errno)));
}

}  // namespace wavejit::hsa
