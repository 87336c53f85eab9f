// Where the libraries are that `wavejit exec` gives to programs.
#pragma once

#include <filesystem>

namespace wavejit::tools {

// The folder with libhsa-runtime64.so.1: beside the command in a build folder, ../lib/wavejit when installed. Throws
// InputError.
[[nodiscard]] std::filesystem::path library_folder();

}  // namespace wavejit::tools
