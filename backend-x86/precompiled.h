// Precompiled header of the backend: asmjit, in addition to what every library includes.
#pragma once

#include <asmjit/x86.h>

#include "include/internal/precompiled.h"
