// Runs a test once for each instruction set that this machine can run: AVX-512, AVX2, ... down to
// no vectors at all.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "comm/reduce/targets.h"

namespace bp {

inline std::vector<std::int64_t> simd_targets() { return hwy::SupportedAndGeneratedTargets(); }

class SimdTest : public testing::TestWithParam<std::int64_t> {
 protected:
  void SetUp() override {
    hwy::SetSupportedTargetsForTest(GetParam());
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    hwy::ChosenTarget wanted;
    wanted.Update(GetParam());
    ASSERT_EQ(hwy::GetChosenTarget().GetIndex(), wanted.GetIndex())
        << "Highway would run another target";
  }
  void TearDown() override {
    hwy::SetSupportedTargetsForTest(0);
    hwy::GetChosenTarget().DeInit();
  }
};

inline std::string simd_name(const testing::TestParamInfo<std::int64_t>& info) {
  return hwy::TargetName(info.param);
}

}  // namespace bp
