// The golden model of pre-training, which transformers wrote (tests/golden/pretrain).
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "tests/support/places.h"
#include "tests/unit/model/golden_tensors.h"
#include "trainer/model/bert.h"
#include "trainer/model/weights.h"
#include "trainer/tasks/pretrain/pretrain_head.h"

namespace bp::trainer {

inline const std::string kGoldenPretrain = kSourceDir + "/tests/golden/pretrain";

class GoldenPretrain : public ::testing::Test {
 protected:
  GoldenPretrain() {
    targets_.masked = vector_of<std::int32_t>(expected_.at("masked"));
    targets_.positions = vector_of<std::int64_t>(expected_.at("positions"));
    targets_.ids = vector_of<std::int64_t>(expected_.at("masked_ids"));
    targets_.next_sentence = vector_of<std::int64_t>(expected_.at("next_sentence"));
    batch_.rows = 5;
    batch_.length = 13;
    batch_.token_ids = vector_of<std::int64_t>(expected_.at("ids"));
    batch_.token_types = vector_of<std::int64_t>(expected_.at("types"));
    batch_.lengths = vector_of<std::int32_t>(expected_.at("lengths"));
    batch_.sample_ids = {0, 1, 2, 3, 4};
  }

  [[nodiscard]] HeadMaker both() {
    return [this](const EncoderSpec& config, Parameters& parameters) {
      return make_pretrain_head(
          config, parameters, [this](const Batch& batch) { return targets_of(batch); }, true);
    };
  }
  [[nodiscard]] HeadMaker masked() {
    return [this](const EncoderSpec& config, Parameters& parameters) {
      return make_pretrain_head(
          config, parameters, [this](const Batch& batch) { return targets_of(batch); }, false);
    };
  }
  [[nodiscard]] std::unique_ptr<Bert> with_both(Precision precision = Precision::fp32) {
    return loaded(both(), precision);
  }
  [[nodiscard]] std::unique_ptr<Bert> masked_only() { return loaded(masked(), Precision::fp32); }

  // The samples' ids are their numbers in the golden batch, by which part_of()'s are found.
  [[nodiscard]] PretrainTargets targets_of(const Batch& batch) const {
    PretrainTargets found;
    found.masked_per_sample = masked_per_sample_;
    for (const std::int64_t id : batch.sample_ids) {
      const auto row = static_cast<std::size_t>(id);
      const auto begin = static_cast<std::size_t>(std::accumulate(
          targets_.masked.begin(), targets_.masked.begin() + id, std::ptrdiff_t{0}));
      found.masked.push_back(targets_.masked[row]);
      found.next_sentence.push_back(targets_.next_sentence[row]);
      for (std::size_t i = begin; i < begin + static_cast<std::size_t>(targets_.masked[row]); ++i) {
        found.positions.push_back(targets_.positions[i]);
        found.ids.push_back(targets_.ids[i]);
      }
    }
    return found;
  }

  [[nodiscard]] Batch part_of(const std::vector<int>& rows) const {
    Batch part;
    part.rows = static_cast<int>(rows.size());
    part.length = batch_.length;
    for (const int row : rows) {
      const std::ptrdiff_t begin = std::ptrdiff_t{row} * batch_.length;
      const auto append = [&](const auto& from, auto& to) {
        to.insert(to.end(), from.begin() + begin, from.begin() + begin + batch_.length);
      };
      append(batch_.token_ids, part.token_ids);
      append(batch_.token_types, part.token_types);
      part.lengths.push_back(batch_.lengths[static_cast<std::size_t>(row)]);
      part.sample_ids.push_back(row);
    }
    return part;
  }

  std::map<std::string, at::Tensor> expected_ =
      read_tensors(kGoldenPretrain + "/expected.safetensors");
  Batch batch_;
  PretrainTargets targets_;
  double masked_per_sample_ = 0;

 private:
  [[nodiscard]] static std::unique_ptr<Bert> loaded(const HeadMaker& head, Precision precision) {
    auto model =
        std::make_unique<Bert>(read_config(kGoldenPretrain + "/config.json"), head, precision, 1);
    const LoadReport report = load_weights(*model, kGoldenPretrain + "/model.safetensors");
    EXPECT_TRUE(report.complete());
    return model;
  }
};

}  // namespace bp::trainer
