// Variables of the environment: what counts as on, off and a number.
#include "internal/environment.h"

#include <gtest/gtest.h>

namespace wavejit::test {
namespace {

constexpr const char* kName = "WAVEJIT_TEST_OF_THE_ENVIRONMENT";

class Environment : public testing::Test {
 protected:
  void TearDown() override { unsetenv(kName); }
  static void set(const char* value) { setenv(kName, value, 1); }
};

TEST_F(Environment, Switches) {
  for (const bool otherwise : {false, true}) {
    unsetenv(kName);
    EXPECT_EQ(environment_switch(kName, otherwise), otherwise);
    for (const char* on : {"1", "on", "yes", "true"}) {
      set(on);
      EXPECT_TRUE(environment_switch(kName, otherwise)) << on;
    }
    for (const char* off : {"0", "off", "no", "false"}) {
      set(off);
      EXPECT_FALSE(environment_switch(kName, otherwise)) << off;
    }
    for (const char* neither : {"", "2", "maybe", "On", "on "}) {
      set(neither);
      EXPECT_EQ(environment_switch(kName, otherwise), otherwise) << neither;
    }
  }
}

TEST_F(Environment, Numbers) {
  EXPECT_EQ(environment_number(kName, 7), 7u);
  set("18446744073709551615");
  EXPECT_EQ(environment_number(kName, 7), UINT64_MAX);
  EXPECT_EQ(environment_number(kName, 7, UINT32_MAX), 7u);
  set("9007199254740993");  // no double
  EXPECT_EQ(environment_number(kName, 7), 9007199254740993u);
  for (const char* wrong : {"", "-1", "1.5", "1e3", "inf", "18446744073709551616", "3 ", " 3", "0x10"}) {
    set(wrong);
    EXPECT_EQ(environment_number(kName, 7), 7u) << wrong;
  }
}

TEST_F(Environment, WhatIsWrongIsSaid) {
  set("maybe");
  testing::internal::CaptureStderr();
  EXPECT_TRUE(environment_switch(kName, true));
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "wavejit: WAVEJIT_TEST_OF_THE_ENVIRONMENT: 'maybe' is neither 'on' nor 'off'.\n");
}

}  // namespace
}  // namespace wavejit::test
