#include "trainer/train/bug_report.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>

#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "base/text.h"
#include "bp/collective.h"
#include "bp/error.h"
#include "trainer/data/input_error.h"
#include "trainer/data/whole_file.h"
#include "trainer/report/json.h"
#include "trainer/train/bug_folder.h"
#include "trainer/train/step_loss.h"

namespace bp::trainer {
namespace {

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
