// Tools: libraries that look at, or take the place of, functions of the HSA library (api_table.h). rocprofiler is one.
#pragma once

namespace wavejit::hsa {

// Gives the tables to the tools of the process: to librocprofiler-register, if it is there and a tool wants them, and
// otherwise to the libraries of HSA_TOOLS_LIB and to loaded ones that have a HSA_AMD_TOOL_PRIORITY. A library's
// OnLoad() runs here and may call the HSA library. Called by the first hsa_init, when the runtime is open.
void load_tools();
// Calls the tools' OnUnload() in reverse order and puts the library's own functions back. Libraries stay loaded: one of
// their functions may be what calls hsa_shut_down.
void unload_tools();

}  // namespace wavejit::hsa
