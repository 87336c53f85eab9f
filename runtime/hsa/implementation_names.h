// Names of the implementations. The library exports a jump through its tables for each function (api_table.cpp), so that
// a tool can take the function's place; the function itself has the symbol wavejit_NAME. In the library's own sources
// NAME means the implementation: calls between them are not seen by tools.
//
// Included by status.h, because a function gets its symbol before it is used or defined.
#pragma once

#include <hsa/hsa_ext_finalize.h>

#include "runtime/hsa/newer_api.h"

#define WAVEJIT_IMPLEMENTATION(name) extern "C" decltype(name) name __asm__("wavejit_" #name);
#define WAVEJIT_HSA_CORE(name) WAVEJIT_IMPLEMENTATION(name)
#define WAVEJIT_HSA_AMD(name) WAVEJIT_IMPLEMENTATION(name)
#define WAVEJIT_HSA_AMD_TABLE_ONLY(name) decltype(name) name __asm__("wavejit_" #name);
#define WAVEJIT_HSA_FINALIZER(name) WAVEJIT_IMPLEMENTATION(name)
#define WAVEJIT_HSA_IMAGE(name) WAVEJIT_IMPLEMENTATION(name)
#define WAVEJIT_HSA_PC_SAMPLING(name) WAVEJIT_IMPLEMENTATION(name)
#include "runtime/hsa/api_functions.def"
#undef WAVEJIT_IMPLEMENTATION
