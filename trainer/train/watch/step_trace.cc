#include "trainer/train/watch/step_trace.h"

#include <ATen/core/Tensor.h>

#include <filesystem>
#include <string_view>
#include <system_error>

#include <nlohmann/json.hpp>

#include "base/system/output_place.h"
#include "base/text.h"
#include "bp/error.h"
#include "trainer/common/hash.h"
#include "trainer/common/look_up.h"

namespace bp::trainer {
namespace {

namespace fs = std::filesystem;

std::string hash_parameters(const Bert& model) {
  Hash hash;
  for (const auto& [name, parameter] : model.parameters()) {
    const at::Tensor values = parameter.detach().cpu();
    hash.add({static_cast<const char*>(values.const_data_ptr()), values.nbytes()});
  }
  return hash.hex();
}

std::string path_of(const std::string& folder, int rank) {
  return concat(folder, "/rank-", rank, ".jsonl");
}

// Keeps the complete lines up to `last_step`, which are the first ones of the file.
void cut(const std::string& path, std::int64_t last_step) {
  if (!path_exists(path)) return;
  std::uintmax_t length = 0;
  std::ifstream in(path, std::ios::binary);
  for (std::string line; std::getline(in, line) && !in.eof(); length += line.size() + 1) {
    const auto json = nlohmann::json::parse(line, nullptr, false);
    if (!json.is_object() || json.value("step", last_step + 1) > last_step) break;
  }
  std::error_code error;
  fs::resize_file(path, length, error);
  if (error) {
    throw Error(ErrorCode::io, concat("cannot cut the trace ", path, " after step ", last_step,
                                      ": ", error.message(), " (move it to another place)"));
  }
}

}  // namespace

StepTrace::StepTrace(const std::string& folder, const Rank& rank, std::int64_t resumed_step) {
  if (folder.empty()) return;
  const OutputFolder made(folder);
  path_ = path_of(folder, rank.rank);
  cut(path_, resumed_step);
  for (int other = rank.size; rank.rank == 0 && path_exists(path_of(folder, other)); ++other) {
    cut(path_of(folder, other), resumed_step);
  }
  out_.open(path_, std::ios::app);
  if (!out_) {
    throw Error(ErrorCode::io, concat("cannot create the trace ", path_, ": ", made.why_not()));
  }
}

void StepTrace::write(const StepBatches& step, double loss, const Bert& model) {
  if (path_.empty()) return;
  nlohmann::ordered_json line;
  line["step"] = step.step + 1;
  line["samples"] = nlohmann::json::array();
  for (const Batch& batch : step.micro_batches) line["samples"].push_back(batch.sample_ids);
  line["rows"] = step.rows_of_ranks;
  line["loss"] = loss;
  line["parameters"] = hash_parameters(model);
  out_ << line.dump() << '\n' << std::flush;
  if (!out_) throw Error(ErrorCode::io, concat("cannot write the trace ", path_));
}

}  // namespace bp::trainer
