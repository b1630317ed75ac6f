#include "trainer/report/summary.h"

#include <limits>
#include <utility>

#include "trainer/report/evaluation_json.h"

namespace bp::trainer {

namespace {

double number_or_nan(const Json& json, const char* key) {
  const Json& value = json.at(key);
  return value.is_null() ? std::numeric_limits<double>::quiet_NaN() : value.get<double>();
}

// A figure's own sums are not in the file, so what is read has the weight 1.
std::vector<EpochFigures> read_figures_by_epoch(const Json& list) {
  std::vector<EpochFigures> epochs;
  for (const Json& entry : list) {
    EpochFigures& one = epochs.emplace_back();
    one.epoch = number_or_nan(entry, "epoch");
    for (const auto& [name, value] : entry.at("means").items()) {
      one.sums.push_back({name, number_or_nan(entry.at("means"), name.c_str()), 1});
    }
  }
  return epochs;
}

Json to_array(const std::vector<EpochFigures>& epochs) {
  Json list = Json::array();
  for (const EpochFigures& one : epochs) {
    Json means = Json::object();
    for (const auto& [name, mean] : means_of(one.sums)) means[name] = number(mean);
    list.push_back({{"epoch", number(one.epoch)}, {"means", std::move(means)}});
  }
  return list;
}

std::vector<ModelPart> read_parts(const Json& list) {
  std::vector<ModelPart> parts;
  for (const Json& part : list) {
    parts.push_back({part.at("part"), count_at(part, "parameters"), count_at(part, "trained"),
                     number_or_nan(part, "rate")});
  }
  return parts;
}

}  // namespace

RunSummary parse_summary(const std::string& json) {
  const Json read = parse_own(json);
  const Json& train = read.at("train");
  RunSummary summary{.task = read.at("task"),
                     .model = read.at("model"),
                     .world = static_cast<int>(count_at(read, "world")),
                     .hosts = static_cast<int>(count_at(read, "hosts")),
                     .steps = count_at(read, "steps"),
                     .epochs = number_or_nan(read, "epochs"),
                     .train = {.samples_per_s = number_or_nan(train, "samples_per_s"),
                               .tokens_per_s = number_or_nan(train, "tokens_per_s"),
                               .seconds = number_or_nan(train, "seconds"),
                               .loss = number_or_nan(train, "loss")}};
  if (read.contains("device")) summary.device = read["device"];
  if (read.contains("parameters")) summary.parameters = read_parts(read["parameters"]);
  if (read.contains("figures")) summary.train.figures = read_figures_by_epoch(read["figures"]);
  if (read.contains("skipped_steps")) summary.train.skipped = count_at(read, "skipped_steps");
  if (read.contains("dev")) summary.dev = read_evaluation(read["dev"]);
  if (read.contains("test")) summary.test = read_evaluation(read["test"]);
  if (read.contains("overfit")) summary.overfit = read_evaluation(read["overfit"]);
  summary.ended = read.value("ended", "");
  summary.ended_early = read.value("ended_early", "");
  summary.best_metric = read.value("best_metric", "");
  if (read.contains("final")) {
    summary.final_weights = read["final"].at("weights");
    summary.final_step = count_at(read["final"], "step");
  }
  const Json& comm = read.at("comm");
  summary.comm = {count_at(comm, "bytes"), number_or_nan(comm, "seconds_exposed")};
  return summary;
}

std::string to_json(const RunSummary& summary) {
  Json json{{"task", summary.task},
            {"model", summary.model},
            {"world", summary.world},
            {"hosts", summary.hosts},
            {"steps", summary.steps},
            {"skipped_steps", summary.train.skipped},
            {"epochs", number(summary.epochs)},
            {"train",
             {{"samples_per_s", measured(summary.train.samples_per_s)},
              {"tokens_per_s", measured(summary.train.tokens_per_s)},
              {"seconds", measured(summary.train.seconds)},
              {"loss", number(summary.train.loss)}}}};
  if (summary.dev) {
    json["dev"] = to_object(*summary.dev);
  }
  if (summary.test) {
    json["test"] = to_object(*summary.test);
  }
  if (!summary.train.figures.empty()) json["figures"] = to_array(summary.train.figures);
  if (summary.overfit) json["overfit"] = to_object(*summary.overfit);
  if (!summary.device.empty()) json["device"] = summary.device;
  if (!summary.ended.empty()) json["ended"] = summary.ended;
  if (!summary.ended_early.empty()) json["ended_early"] = summary.ended_early;
  if (!summary.best_metric.empty()) json["best_metric"] = summary.best_metric;
  if (!summary.final_weights.empty()) {
    json["final"] = {{"weights", summary.final_weights}, {"step", summary.final_step}};
  }
  for (const ModelPart& part : summary.parameters) {
    json["parameters"].push_back({{"part", part.name},
                                  {"parameters", part.parameters},
                                  {"trained", part.trained},
                                  {"rate", number(part.rate)}});
  }
  json["comm"] = {{"bytes", summary.comm.bytes},
                  {"seconds_exposed", measured(summary.comm.seconds_exposed)}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
}

}  // namespace bp::trainer
