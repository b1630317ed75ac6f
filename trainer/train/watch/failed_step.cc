#include "trainer/train/watch/failed_step.h"

#include <cstddef>
#include <exception>
#include <fstream>
#include <iterator>
#include <limits>
#include <utility>

#include "base/input_error.h"
#include "base/refuse.h"
#include "base/text.h"
#include "trainer/report/json.h"

namespace bp::trainer {
namespace {

constexpr int kFailedStepFormat = 1;

Json to_object(const BatchArray& array) {
  Json json{{"width", array.width}, {"sizes", array.sizes}};
  if (array.reals.empty()) {
    json["integers"] = array.integers;
  } else {
    json["reals"] = array.reals;  // NaN becomes null
  }
  return json;
}

BatchArray read_array(const Json& json) {
  BatchArray array;
  array.width = json.at("width");
  array.sizes = json.at("sizes").get<std::vector<std::int32_t>>();
  if (json.contains("integers")) {
    array.integers = json["integers"].get<std::vector<std::int64_t>>();
    return array;
  }
  for (const Json& value : json.at("reals")) {
    array.reals.push_back(value.is_null() ? std::numeric_limits<double>::quiet_NaN()
                                          : value.get<double>());
  }
  return array;
}

Json to_object(const Batch& batch) {
  Json arrays = Json::array();
  for (const BatchArray& array : batch.arrays) arrays.push_back(to_object(array));
  return {{"rows", batch.rows},
          {"length", batch.length},
          {"token_ids", batch.token_ids},
          {"lengths", batch.lengths},
          {"sample_ids", batch.sample_ids},
          {"text_ids", batch.text_ids},
          {"token_types", batch.token_types},
          {"arrays", std::move(arrays)}};
}

void require_consistent(const Batch& batch) {
  const auto rows = static_cast<std::size_t>(batch.rows);
  const std::size_t all = rows * static_cast<std::size_t>(batch.length);
  if (batch.rows < 1 || batch.length < 1 || batch.token_ids.size() != all ||
      batch.lengths.size() != rows || batch.sample_ids.size() != rows ||
      (!batch.token_types.empty() && batch.token_types.size() != all)) {
    refuse("the sizes of a batch contradict each other");
  }
  for (const std::int32_t length : batch.lengths) {
    if (length < 1 || length > batch.length) refuse("a sample of a batch has an impossible length");
  }
}

Batch read_batch(const Json& json) {
  Batch batch;
  batch.rows = json.at("rows");
  batch.length = json.at("length");
  batch.token_ids = json.at("token_ids").get<std::vector<std::int64_t>>();
  batch.lengths = json.at("lengths").get<std::vector<std::int32_t>>();
  batch.sample_ids = json.at("sample_ids").get<std::vector<std::int64_t>>();
  batch.text_ids = json.at("text_ids").get<std::vector<std::int64_t>>();
  batch.token_types = json.at("token_types").get<std::vector<std::int64_t>>();
  for (const Json& array : json.at("arrays")) batch.arrays.push_back(read_array(array));
  require_consistent(batch);
  return batch;
}

Json to_object(const FailedRank& rank) {
  Json batches = Json::array();
  for (const Batch& batch : rank.batches) batches.push_back(to_object(batch));
  return {{"rank", rank.rank}, {"host", rank.host}, {"batches", std::move(batches)}};
}

FailedRank read_rank(const Json& json) {
  FailedRank rank{.rank = json.at("rank"), .host = json.at("host").get<std::string>()};
  for (const Json& batch : json.at("batches")) rank.batches.push_back(read_batch(batch));
  return rank;
}

FailedStepFile read_step(const Json& json) {
  if (const std::int64_t format = count_at(json, "format"); format != kFailedStepFormat) {
    refuse(concat("its format is ", format, ", and this program knows ", kFailedStepFormat));
  }
  FailedStepFile step;
  step.step = count_at(json, "step");
  step.what = json.at("what").get<std::string>();
  step.seed = json.at("seed");
  step.recomputed_layers = json.at("recomputed_layers");
  step.loss_scale = json.at("loss_scale");
  step.nominal_weight = json.at("nominal_weight");
  step.frozen = json.at("frozen").get<std::vector<std::string>>();
  for (const Json& rank : json.at("ranks")) step.ranks.push_back(read_rank(rank));
  if (step.step < 1) refuse("steps count from 1");
  return step;
}

}  // namespace

std::string to_json(const FailedRank& rank) {
  return to_object(rank).dump(-1, ' ', false, Json::error_handler_t::replace);
}

FailedRank read_failed_rank(const std::string& json) { return read_rank(parse_own(json)); }

std::string to_json(const FailedStepFile& step) {
  Json json{{"format", kFailedStepFormat},
            {"step", step.step},
            {"what", step.what},
            {"seed", step.seed},
            {"recomputed_layers", step.recomputed_layers},
            {"loss_scale", step.loss_scale},
            {"nominal_weight", step.nominal_weight},
            {"frozen", step.frozen},
            {"ranks", Json::array()}};
  for (const FailedRank& rank : step.ranks) json["ranks"].push_back(to_object(rank));
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + '\n';
}

FailedStepFile read_failed_step(const std::string& folder) {
  const std::string path = folder + "/step.json";
  std::ifstream in(path, std::ios::binary);
  if (!in) {
    throw InputError(66, concat("cannot read ", path),
                     "name the folder of a step that failed, such as runs/r/bug/step-5");
  }
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  try {
    return read_step(parse_own(text));
  } catch (const std::exception& error) {
    throw InputError(65, concat(path, " is damaged: ", error.what()),
                     "bert_train wrote it when the step failed; train again to get another one");
  }
}

}  // namespace bp::trainer
