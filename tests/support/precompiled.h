// Precompiled for every test program: GoogleTest, besides what every library includes.
#pragma once

#include <gtest/gtest.h>

#include "include/internal/precompiled.h"
