# Sourced by scripts that run in the project's folder. packaged_processors prints the processors that Debian's ROCm
# libraries have code for, from the table in runtime/hsa/board_table.cpp; cmake/WavejitBoards.cmake is CMake's.
packaged_processors() {
  sed -n -e '/^ *{\.processor = "gfx/{s/.*"\(gfx[0-9a-f]*\)".*/\1/;h}' -e '/^ *\.packaged = true/{g;p}' \
    runtime/hsa/board_table.cpp | grep gfx
}
