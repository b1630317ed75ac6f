#include "trainer/train/watch/bug_folder.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "base/input_error.h"
#include "base/text.h"
#include "bp/collective.h"
#include "bp/error.h"
#include "bp/log.h"
#include "trainer/common/whole_file.h"
#include "trainer/model/files/safetensors.h"
#include "trainer/model/lora.h"
#include "trainer/model/weights.h"
#include "trainer/report/json.h"
#include "trainer/train/methods/step_loss.h"
#include "trainer/train/watch/anomaly.h"
#include "trainer/train/watch/gradient_check.h"

namespace bp::trainer {
namespace {

namespace fs = std::filesystem;

FailedStepFile described(const StepToKeep& step) {
  FailedStepFile file{.step = step.batches.step + 1,
                      .what = step.what,
                      .seed = step.step.seed,
                      .recomputed_layers = step.step.recomputed_layers,
                      .loss_scale = step.loss_scale,
                      .nominal_weight = step.nominal_weight};
  for (const auto& [name, parameter] : step.model.parameters()) {
    if (!parameter.requires_grad()) file.frozen.push_back(name);
  }
  return file;
}

void write_folder(const std::string& folder, const StepToKeep& step, const FailedStepFile& file) {
  fs::create_directories(folder);
  std::error_code none;  // a run of a test has no options
  fs::copy_file(step.run + "/config.yaml", folder + "/config.yaml",
                fs::copy_options::overwrite_existing, none);
  write_whole_file(folder + "/config.json", config_json(step.model.config()));
  if (const LoraConfig* const lora = step.model.lora()) {
    write_whole_file(folder + "/" + kAdapterConfigFile, adapter_config_json(*lora));
  }
  std::vector<SafetensorsItem> items;
  const NamedTensors parameters = on_cpu(step.model.parameters());
  for (const auto& [name, values] : parameters) {
    items.push_back({name, "F32", values.sizes().vec(), values.const_data_ptr()});
  }
  write_safetensors(folder + "/" + kFailedWeightsFile, std::move(items));
  write_whole_file(folder + "/step.json", to_json(file));
}

void load_parameters(const std::string& path, Bert& model) {
  const at::NoGradGuard no_grad;
  const SafetensorsReader reader(path);
  for (const auto& [name, parameter] : model.parameters()) {
    const auto& entries = reader.header().entries;
    const auto found = std::ranges::find(entries, name, &SafetensorsEntry::name);
    if (found == entries.end() || found->type != "F32" ||
        parameter.sizes() != at::IntArrayRef(found->shape)) {
      throw InputError(65, concat(path, " does not have the model's ", name),
                       "bert_train wrote it when the step failed; train again to get another one");
    }
    const at::Tensor values = parameter.detach();
    const at::Tensor read = values.cpu();
    reader.read(*found, read.mutable_data_ptr());
    if (!values.is_cpu()) values.copy_(read);
  }
  model.parameters_changed();
}

std::string count_of_bad(const at::Tensor& x) {
  return concat(" (", x.isfinite().logical_not().sum().item<std::int64_t>(), " of ", x.numel(),
                " values)");
}

// Returns the first parameter, or gradient of one, that is not finite.
std::string first_parameter(const Bert& model, bool gradients) {
  for (const auto& [name, parameter] : model.parameters()) {
    const at::Tensor x = gradients ? parameter.grad() : parameter.detach();
    if (!x.defined() || x.isfinite().all().item<bool>()) continue;
    return concat(gradients ? "the gradient of the parameter " : "the weight ", name,
                  count_of_bad(x));
  }
  return "";
}

constexpr std::size_t kMostTensors = 5;

std::string text_of(double value) { return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf"; }

// Collects the first tensors that are not finite, with the numbers of such elements.
class NotFinite {
 public:
  void look(const std::string& name, const at::Tensor& tensor) {
    if (!tensor.defined() || list_.size() >= kMostTensors) return;
    const at::Tensor x = tensor.to_dense();
    const std::int64_t nan = x.isnan().sum().item<std::int64_t>();
    const std::int64_t inf = x.isinf().sum().item<std::int64_t>();
    if (nan + inf > 0) {
      list_.push_back({{"name", name}, {"of", x.numel()}, {"nan", nan}, {"inf", inf}});
    }
  }
  [[nodiscard]] const Json& list() const { return list_; }

 private:
  Json list_ = Json::array();
};

// Returns the task's arrays, each padded and in one list.
Json arrays_of(const Batch& batch) {
  Json arrays = Json::array();
  for (const BatchArray& array : batch.arrays) {
    arrays.push_back(array.reals.empty() ? Json(array.integers) : Json(array.reals));
  }
  return arrays;
}

// Returns what a rank found in one of its batches.
Json examine(const Batch& batch, const FailedStep& failed) {
  NotFinite activations;
  TrainingStep step = failed.step;
  step.observe = [&](const std::string& name, const at::Tensor& x) { activations.look(name, x); };
  const at::NoGradGuard no_grad;
  const auto loss = step_loss(failed.model, batch, step, failed.regularization, failed.distillation)
                        .mean.item<double>();
  return {{"loss", std::isfinite(loss) ? Json(loss) : Json(text_of(loss))},
          {"sample_ids", batch.sample_ids},
          {"text_ids", batch.text_ids},
          {"lengths", batch.lengths},
          {"arrays", arrays_of(batch)},
          {"activations", activations.list()}};
}

Json examine_all(Communicator& world, const FailedStep& failed) {
  Json batches = Json::array();
  for (const Batch& batch : failed.batches.micro_batches) {
    if (batch.rows > 0) batches.push_back(examine(batch, failed));
  }
  const Topology& topology = world.topology();
  return {{"rank", world.rank()},
          {"host", topology.host_name(topology.host())},
          {"batches", std::move(batches)}};
}

Json parameters_not_finite(const Bert& model, bool gradients) {
  NotFinite found;
  for (const auto& [name, parameter] : model.parameters()) {
    found.look(name, gradients ? parameter.grad() : parameter.detach());
  }
  return found.list();
}

// "; the first tensor that is not finite: the weight bert.pooler.dense.weight"
std::string first_tensor(const Json& report) {
  const auto named = [](const char* kind, const Json& list) {
    return concat("; the first tensor that is not finite: the ", kind, " ",
                  list.front()["name"].get<std::string>());
  };
  if (!report["weights"].empty()) return named("weight", report["weights"]);
  for (const Json& rank : report["ranks"]) {
    for (const Json& batch : rank["batches"]) {
      if (!batch["activations"].empty()) return named("activation", batch["activations"]);
    }
  }
  if (!report["gradients"].empty()) return named("gradient of", report["gradients"]);
  return "";
}

// Returns why the file could not be written, or "".
std::string try_write(const std::string& path, const Json& report) {
  try {
    std::error_code ignored;  // writing the file will tell
    std::filesystem::create_directories(std::filesystem::path(path).parent_path(), ignored);
    write_whole_file(path, report.dump(2) + "\n");
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

}  // namespace

std::string keep_failed_step(Communicator& world, const StepToKeep& step) {
  const Topology& topology = world.topology();
  FailedRank mine{world.rank(), topology.host_name(topology.host()), {}};
  for (const Batch& batch : step.batches.micro_batches) {
    if (batch.rows > 0) mine.batches.push_back(batch);
  }
  const std::vector<std::string> all =
      all_gather_object(world, to_json(mine), {.name = "a failed step"});
  const std::string folder = concat(step.run, "/bug/step-", step.batches.step + 1);
  std::string written = folder;
  if (world.rank() == 0) {
    try {
      FailedStepFile file = described(step);
      for (const std::string& text : all) file.ranks.push_back(read_failed_rank(text));
      write_folder(folder, step, file);
    } catch (const std::exception& error) {
      log(LogLevel::warn, concat("the failed step is not in ", folder, ": ", error.what()));
      written.clear();
    }
  }
  broadcast_object(world, written, {.name = "folder of a failed step"});
  barrier(world);  // all ranks know it before the first one ends
  return written;
}

void examine_step(Communicator& world,
                  const TrainOptions& options,
                  const AnomalyWatch& watch,
                  const StepToKeep& step) {
  const std::int64_t number = step.batches.step + 1;
  try {
    watch.require_none(world, step.model, number);
    if (options.check_gradients > 0 && number % options.check_gradients == 0) {
      check_same_on_all_ranks(world, step.model, number);
    }
  } catch (const InputError& error) {
    StepToKeep kept = step;
    kept.what = error.what();
    const std::string folder = kept.run.empty() ? "" : keep_failed_step(world, kept);
    throw InputError(error.exit_code(), error.what(), error.hint() + replay_hint(folder));
  }
}

std::string replay_hint(const std::string& folder) {
  return folder.empty() ? "" : concat("; `bert_train replay ", folder, "` computes the step again");
}

Replay replay(const std::string& folder,
              const FailedStepFile& step,
              Bert& model,
              const Regularization& regularization,
              const Distillation* distillation) {
  load_parameters(folder + "/" + kFailedWeightsFile, model);
  for (const auto& [name, parameter] : model.parameters()) {
    at::Tensor own = parameter;
    own.requires_grad_(std::ranges::count(step.frozen, name) == 0);
  }
  Replay result;
  result.first = first_parameter(model, false);
  const auto found = [&result](const std::string& where, const std::string& what) {
    if (result.first.empty() && !what.empty()) result.first = where + what;
  };
  double weights = 0;
  for (const FailedRank& rank : step.ranks) {
    for (std::size_t i = 0; i < rank.batches.size(); ++i) {
      const std::string where = concat("rank ", rank.rank, ", batch ", i, ": ");
      TrainingStep drawn{step.seed, static_cast<std::uint64_t>(step.step - 1)};
      drawn.recomputed_layers = step.recomputed_layers;
      const AnomalyWatch watch(true);
      watch.observe(drawn);
      const Loss loss = step_loss(model, rank.batches[i], drawn, regularization, distillation);
      found(where, watch.first());
      const auto value = loss.mean.item<double>();
      if (!std::isfinite(value)) found(where, "the loss");
      (loss.mean * (loss.weight / step.nominal_weight * step.loss_scale)).backward();
      weights += loss.weight;
      found(where, watch.first());
      found(where, first_parameter(model, true));
      result.batches.push_back({rank.rank, i, rank.batches[i].rows, value});
    }
  }
  double squares = 0;
  for (const auto& [name, parameter] : model.parameters()) {
    if (parameter.grad().defined()) squares += parameter.grad().square().sum().item<double>();
  }
  result.norm = std::sqrt(squares) * step.nominal_weight / (weights * step.loss_scale);
  return result;
}

void report_not_finite(Communicator& world, const FailedStep& failed) {
  const std::int64_t step = failed.batches.step + 1;
  Json report{{"step", step},
              {"what", failed.what},
              {"value", text_of(failed.value)},
              {"loss", std::isfinite(failed.loss) ? Json(failed.loss) : Json(text_of(failed.loss))},
              {"lr", failed.lr},
              {"weights", parameters_not_finite(failed.model, false)},
              {"gradients", parameters_not_finite(failed.model, true)},
              {"ranks", Json::array()}};
  for (const std::string& text :
       all_gather_object(world, examine_all(world, failed).dump(), {.name = "bug report"})) {
    report["ranks"].push_back(Json::parse(text));
  }
  std::string text = concat("the ", failed.what, " at step ", step, " is ", text_of(failed.value),
                            failed.since, first_tensor(report));
  std::string folder;
  if (!failed.run.empty()) {
    folder = keep_failed_step(world, {failed.run, text, failed.model, failed.batches, failed.step,
                                      failed.loss_scale, failed.nominal_weight});
    const std::string path = concat(failed.run, "/bug/step-", step, ".json");
    const std::string problem = world.rank() == 0 ? try_write(path, report) : "";
    text += problem.empty() ? concat("; its samples are in ", path) : concat("; ", problem);
  }
  throw InputError(
      70, text,
      "try a lower --lr, a longer --warmup, --precision fp32 or --wire fp32" + replay_hint(folder));
}

}  // namespace bp::trainer
