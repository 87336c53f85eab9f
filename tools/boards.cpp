// `wavejit boards`: the devices that `wavejit exec` can present.
#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

#include "runtime/hsa/board_file.h"
#include "tools/command.h"

namespace wavejit::tools {
namespace {

struct BoardsOptions {
  std::vector<std::string> processors;
  bool json = false;
};

std::string memory(const hsa::Board& board) {
  return board.memory_mib == 0 ? "host" : fmt::format("{} GiB", board.memory_mib >> 10);
}

void print(const BoardsOptions& options) {
  std::vector<const hsa::Board*> boards;
  for (const std::string& name : options.processors) {
    boards.push_back(hsa::find_board(name));
    if (!boards.back()) throw InputError(fmt::format("'{}' is not one of {}.", name, hsa::board_names()));
  }
  if (boards.empty())
    for (const hsa::Board& board : hsa::all_boards()) boards.push_back(&board);
  if (options.json) {
    // One object for one processor, so that the output is a file for --board either way.
    const bool list = boards.size() != 1;
    if (list) fmt::print("[\n");
    for (const hsa::Board* board : boards)
      fmt::print("{}{}\n", hsa::to_json(*board), list && board != boards.back() ? "," : "");
    if (list) fmt::print("]\n");
    return;
  }
  fmt::print("{:9} {:6} {:>4} {:>5} {:>9}  {}\n", "processor", "chip", "CUs", "MHz", "memory", "product");
  for (const hsa::Board* b : boards)
    fmt::print("{:9} {:#06x} {:4} {:5} {:>9}  {}\n", b->processor, b->chip_id, b->compute_units, b->clock_mhz,
               memory(*b), b->name);
}

}  // namespace

void add_boards(CLI::App& app) {
  auto options = std::make_shared<BoardsOptions>();
  CLI::App* command = app.add_subcommand("boards", "List the devices that 'wavejit exec' can present");
  command->add_option("processor", options->processors, "Only these (default: all)");
  command->add_flag("--json", options->json, "All properties, as a file for 'wavejit exec --board'");
  command->callback([options] { print(*options); });
}

}  // namespace wavejit::tools
