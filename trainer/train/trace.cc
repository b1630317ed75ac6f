#include "trainer/train/trace.h"

#include <ATen/core/Tensor.h>

#include <filesystem>
#include <string_view>
#include <system_error>

#include <nlohmann/json.hpp>

#include "bp/error.h"
#include "comm/base/text.h"
#include "trainer/data/hash.h"

namespace bp::trainer {
namespace {

std::string hash_parameters(const Bert& model) {
  Hash hash;
  for (const auto& [name, parameter] : model.parameters()) {
    hash.add({static_cast<const char*>(parameter.const_data_ptr()), parameter.nbytes()});
  }
  return hash.hex();
}

}  // namespace

Trace::Trace(const std::string& folder, int rank) {
  if (folder.empty()) return;
  path_ = concat(folder, "/rank-", rank, ".jsonl");
  std::error_code ignored;  // opening the file tells
  std::filesystem::create_directories(folder, ignored);
  out_.open(path_);
  if (!out_) throw Error(ErrorCode::io, concat("cannot create the trace ", path_));
}

void Trace::write(const StepBatches& step, double loss, const Bert& model) {
  if (path_.empty()) return;
  nlohmann::ordered_json line;
  line["step"] = step.step + 1;
  line["samples"] = nlohmann::json::array();
  for (const Batch& batch : step.micro_batches) line["samples"].push_back(batch.sample_ids);
  line["loss"] = loss;
  line["parameters"] = hash_parameters(model);
  out_ << line.dump() << '\n' << std::flush;
  if (!out_) throw Error(ErrorCode::io, concat("cannot write the trace ", path_));
}

}  // namespace bp::trainer
