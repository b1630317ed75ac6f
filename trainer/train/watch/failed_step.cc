#include "trainer/train/watch/failed_step.h"

#include <cstddef>
#include <exception>
#include <fstream>
#include <iterator>

#include "base/input_error.h"
#include "base/refuse.h"
#include "base/text.h"
#include "trainer/report/json_fields.h"

namespace bp::trainer {
namespace {

constexpr int kFailedStepFormat = 1;

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

void require_consistent(const FailedRank& rank) {
  for (const Batch& batch : rank.batches) require_consistent(batch);
}

}  // namespace

void fields(auto& json, Of<BatchArray> auto& it) {
  json.plain("width", it.width);
  json.plain("sizes", it.sizes);
  json.maybe("reals", it.reals);
  if (it.reals.empty()) json.plain("integers", it.integers);
}

void fields(auto& json, Of<Batch> auto& it) {
  json.plain("rows", it.rows);
  json.plain("length", it.length);
  json.plain("token_ids", it.token_ids);
  json.plain("lengths", it.lengths);
  json.plain("sample_ids", it.sample_ids);
  json.plain("text_ids", it.text_ids);
  json.plain("token_types", it.token_types);
  json("arrays", it.arrays);
}

void fields(auto& json, Of<FailedRank> auto& it) {
  json.plain("rank", it.rank);
  json("host", it.host);
  json("batches", it.batches);
}

void fields(auto& json, Of<FailedStepFile> auto& it) {
  json("step", it.step);
  json("what", it.what);
  json.plain("seed", it.seed);
  json.plain("recomputed_layers", it.recomputed_layers);
  json.plain("loss_scale", it.loss_scale);
  json.plain("nominal_weight", it.nominal_weight);
  json("frozen", it.frozen);
  json("ranks", it.ranks);
}

std::string to_json(const FailedRank& rank) {
  return json_of(rank).dump(-1, ' ', false, Json::error_handler_t::replace);
}

FailedRank read_failed_rank(const std::string& json) {
  FailedRank rank;
  read_fields(parse_own(json), rank);
  require_consistent(rank);
  return rank;
}

std::string to_json(const FailedStepFile& step) {
  JsonWriter json;
  json("format", kFailedStepFormat);
  fields(json, step);
  return json.take().dump(-1, ' ', false, Json::error_handler_t::replace) + '\n';
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
    const Json json = parse_own(text);
    if (const std::int64_t format = count_at(json, "format"); format != kFailedStepFormat) {
      refuse(concat("its format is ", format, ", and this program knows ", kFailedStepFormat));
    }
    FailedStepFile step;
    read_fields(json, step);
    if (step.step < 1) refuse("steps count from 1");
    for (const FailedRank& rank : step.ranks) require_consistent(rank);
    return step;
  } catch (const std::exception& error) {
    throw InputError(65, concat(path, " is damaged: ", error.what()),
                     "bert_train wrote it when the step failed; train again to get another one");
  }
}

}  // namespace bp::trainer
