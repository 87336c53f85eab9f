#include "runtime/hsa/devices.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <optional>

#include "runtime/hsa/board_file.h"

namespace wavejit::hsa {

tl::expected<std::vector<Board>, std::string> boards_of_list(std::string_view list) {
  std::vector<Board> boards;
  for (size_t at = 0; at <= list.size();) {
    const size_t end = std::min(list.find(',', at), list.size());
    const std::string_view name = list.substr(at, end - at);
    const Board* board = find_board(name);
    if (!board) return tl::make_unexpected(fmt::format("'{}' is not one of {}.", name, board_names()));
    boards.push_back(*board);
    at = end + 1;
  }
  return boards;
}

tl::expected<std::vector<Board>, std::string> configured_boards() {
  const auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string_view(value ? value : "");
  };
  const std::string_view file = variable("WAVEJIT_BOARD"), list = variable("WAVEJIT_TARGET");
  if (!file.empty() && !list.empty())
    return tl::make_unexpected("WAVEJIT_BOARD and WAVEJIT_TARGET are both set; only one can name the devices.");
  if (!file.empty()) {
    auto boards = read_boards(std::string(file));
    if (!boards) return tl::make_unexpected("WAVEJIT_BOARD: " + boards.error().message);
    return std::move(*boards);
  }
  return boards_of_list(list.empty() ? kDefaultProcessor : list).map_error([](const std::string& problem) {
    return "WAVEJIT_TARGET: " + problem;
  });
}

DeviceVariables DeviceVariables::of_environment() {
  return {.rocr_visible_devices = std::getenv("ROCR_VISIBLE_DEVICES"),
          .hsa_xnack = std::getenv("HSA_XNACK"),
          .gfx_version = [](uint32_t node) -> const char* {
            const char* own = std::getenv(fmt::format("HSA_OVERRIDE_GFX_VERSION_{}", node).c_str());
            return own ? own : std::getenv("HSA_OVERRIDE_GFX_VERSION");
          }};
}

std::string uuid_of(const Board& board, uint32_t index) {
  return board.unique_id ? fmt::format("GPU-{:016x}", 0x77610000u + index) : "GPU-XX";
}

std::vector<uint32_t> visible_devices(std::string_view value, std::span<const std::string> uuids) {
  const auto upper = [](std::string_view text) {
    std::string result(text);
    for (char& c : result) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    return result;
  };
  const auto by_uuid = [&](const std::string& token) -> std::optional<long> {
    // "GPU-" and at least one digit; a UUID has 20 characters.
    if (token.size() < 5 || token.size() > 20) return {};
    std::optional<long> found;
    for (size_t i = 0; i < uuids.size(); ++i) {
      if (uuids[i] == "GPU-XX" || !upper(uuids[i]).starts_with(token)) continue;
      if (found) return {};
      found = static_cast<long>(i);
    }
    return found;
  };
  const auto by_index = [](const std::string& token) -> std::optional<long> {
    char* end = nullptr;
    const long index = std::strtol(token.c_str(), &end, 0);
    return *end == 0 && !token.empty() ? std::optional(index) : std::nullopt;
  };
  std::vector<uint32_t> chosen;
  for (size_t at = 0; at <= value.size();) {
    const size_t end = std::min(value.find(',', at), value.size());
    std::string token = upper(value.substr(at, end - at));
    token.erase(0, std::min(token.find_first_not_of(" \t"), token.size()));
    token.erase(token.find_last_not_of(" \t") + 1);
    at = end + 1;
    const std::optional<long> device = token.starts_with('G') ? by_uuid(token) : by_index(token);
    if (!device || *device < 0 || static_cast<size_t>(*device) >= uuids.size()) break;
    const auto index = static_cast<uint32_t>(*device);
    if (std::ranges::find(chosen, index) != chosen.end()) break;
    chosen.push_back(index);
  }
  return chosen;
}

tl::expected<std::vector<Device>, std::string> select_devices(std::vector<Board> boards,
                                                              const DeviceVariables& variables) {
  using codeobject::FeatureSetting;
  std::vector<Device> all;
  for (uint32_t i = 0; i < boards.size(); ++i) {
    Device device{.board = std::move(boards[i]), .index = i};
    device.uuid = uuid_of(device.board, i);
    const Board* presented = &device.board;
    if (const char* text = variables.gfx_version ? variables.gfx_version(device.node()) : nullptr) {
      GfxVersion version;
      char rest = 0;
      const bool parsed =
          std::sscanf(text, "%u.%u.%u%c", &version.major, &version.minor, &version.stepping, &rest) == 3;
      presented = parsed ? find_board(version) : nullptr;
      if (!presented)
        return tl::make_unexpected(
            fmt::format("HSA_OVERRIDE_GFX_VERSION: '{}' is not the version of a processor, as 9.0.6 is.", text));
    }
    device.target = presented->target;
    device.target_id = {.processor = presented->processor, .xnack = presented->xnack, .sramecc = presented->sramecc};
    // What the board's memory has does not change with the name of its ISA.
    if (device.target_id.sramecc != FeatureSetting::unsupported && device.board.sramecc != FeatureSetting::unsupported)
      device.target_id.sramecc = device.board.sramecc;
    all.push_back(std::move(device));
  }

  // One setting for the process: without a wish on only if all devices have it on.
  const std::string_view wish = variables.hsa_xnack ? variables.hsa_xnack : "";
  const bool usually_on =
      std::ranges::all_of(all, [](const Device& d) { return d.target_id.xnack == FeatureSetting::on; });
  const bool on = wish == "1" || (wish != "0" && usually_on);
  for (Device& device : all)
    if (device.target_id.xnack != FeatureSetting::unsupported)
      device.target_id.xnack = on ? FeatureSetting::on : FeatureSetting::off;

  if (!variables.rocr_visible_devices) return all;
  std::vector<std::string> uuids;
  for (const Device& device : all) uuids.push_back(device.uuid);
  std::vector<Device> visible;
  for (const uint32_t index : visible_devices(variables.rocr_visible_devices, uuids)) visible.push_back(all[index]);
  return visible;
}

}  // namespace wavejit::hsa
