// Precompiled for the backend: asmjit, besides what every library includes.
#pragma once

#include <asmjit/x86.h>

#include "include/internal/precompiled.h"
