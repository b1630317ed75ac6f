// A small data set in its own folder, prepared as the trainer does it.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "trainer/batches/batch.h"
#include "trainer/model/config.h"
#include "trainer/options/options.h"
#include "trainer/store/sample_store.h"

namespace bp::trainer::test {

// 150 texts of different lengths, made of a few words, with the labels "no" and "yes": 120 for
// train, 15 for dev and 15 for test.
class SmallData : public ::testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;

  [[nodiscard]] std::string path(const std::string& name) const { return folder_ + "/" + name; }
  [[nodiscard]] const std::string& store_path() const { return store_; }

  // A model with two layers and a hidden size of 16.
  [[nodiscard]] static EncoderSpec config(const SampleStore& store, double dropout);
  [[nodiscard]] static RunSettings options();

 private:
  std::string folder_;
  std::string store_;
};

}  // namespace bp::trainer::test
