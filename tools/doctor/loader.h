// What the dynamic loader makes of a library.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace wavejit::tools::doctor {

struct LoadedLibraries {
  bool listed = false;                                     // the loader gave a list
  std::vector<std::pair<std::string, std::string>> found;  // name, path
  std::vector<std::string> missing;
};

// The libraries that the loader takes for `library` in a program that `wavejit exec` starts, whose folder of libraries is
// `first`.
[[nodiscard]] LoadedLibraries libraries_of(const std::filesystem::path& library, const std::filesystem::path& first);

}  // namespace wavejit::tools::doctor
