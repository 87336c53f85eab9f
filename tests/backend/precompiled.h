// Precompiled header of the backend's tests: asmjit and GoogleMock, besides what every library includes.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backend-x86/precompiled.h"
