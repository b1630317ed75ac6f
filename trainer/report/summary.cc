#include "trainer/report/summary.h"

#include "trainer/report/json_fields.h"

namespace bp::trainer {
namespace {

struct EpochMeans {
  double epoch = 0;
  FigureMeans means = {};
};

std::vector<EpochMeans> means_by_epoch(const std::vector<EpochFigures>& figures) {
  std::vector<EpochMeans> means;
  for (const EpochFigures& one : figures) means.push_back({one.epoch, means_of(one.sums)});
  return means;
}

// A figure's own sums are not in the file, so what is read has the weight 1.
std::vector<EpochFigures> figures_of(const std::vector<EpochMeans>& means) {
  std::vector<EpochFigures> figures;
  for (const EpochMeans& one : means) {
    figures.push_back({.epoch = one.epoch});
    for (const auto& [name, mean] : one.means) figures.back().sums.push_back({name, mean, 1});
  }
  return figures;
}

}  // namespace

void fields(auto& json, Of<EpochMeans> auto& it) {
  json("epoch", it.epoch);
  json("means", it.means);
}

void fields(auto& json, Of<RunSummary> auto& it) {
  json("task", it.task);
  json("model", it.model);
  json("world", it.world);
  json("hosts", it.hosts);
  json("steps", it.steps);
  json.added("skipped_steps", it.train.skipped);
  json.maybe("split_batches", it.train.split_batches);
  json("epochs", it.epochs);
  json.group("train", [&](auto& train) {
    train("samples_per_s", Rounded(it.train.samples_per_s));
    train("tokens_per_s", Rounded(it.train.tokens_per_s));
    train("seconds", Rounded(it.train.seconds));
    train("loss", it.train.loss);
  });
  json.maybe("dev", it.dev);
  json.maybe("test", it.test);
  json.as("figures", it.train.figures, means_by_epoch, figures_of, false);
  json.maybe("overfit", it.overfit);
  json.maybe("device", it.device);
  json.maybe("ended", it.ended);
  json.maybe("ended_early", it.ended_early);
  json.maybe("best_metric", it.best_metric);
  json.group(
      "final",
      [&](auto& final) {
        final("weights", it.final_weights);
        final("step", it.final_step);
      },
      !it.final_weights.empty());
  json.maybe("parameters", it.parameters);
  json.maybe("lengths", it.lengths);
  json.group("comm", [&](auto& comm) {
    comm("bytes", it.comm.bytes);
    comm("seconds_exposed", Rounded(it.comm.seconds_exposed));
  });
}

RunSummary parse_summary(const std::string& json) {
  RunSummary summary;
  read_fields(parse_own(json), summary);
  return summary;
}

std::string to_json(const RunSummary& summary) {
  return json_of(summary).dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
}

}  // namespace bp::trainer
