// Precompiled header of the HSA runtime: HSA's own headers, in addition to what every library includes.
#pragma once

#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <thread>

#include "include/internal/precompiled.h"
