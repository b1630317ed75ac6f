#include "trainer/checkpoint/checkpoint_state.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/text.h"
#include "bp/error.h"
#include "trainer/report/json_fields.h"

namespace bp::trainer {
namespace {

constexpr int kStateFormat = 1;

void check(const CheckpointState& state) {
  const EpochPosition& at = state.position;
  const bool possible = state.step >= 0 && at.epoch >= 0 && at.used >= 0 &&
                        (at.used < state.rows || at.used == 0) &&
                        std::isfinite(state.nominal_weight) && state.nominal_weight >= 0;
  if (!possible) {
    throw Error(
        ErrorCode::invalid_argument,
        concat("step ", state.step, ", epoch ", at.epoch, ", row ", at.used, " of ", state.rows,
               " and nominal weight ", state.nominal_weight, " are not a position in a run"));
  }
  if (!std::isfinite(state.loss_scale) || state.loss_scale < 0) {
    throw Error(ErrorCode::invalid_argument,
                concat("the loss scale is ", state.loss_scale, ", not a positive number or 0"));
  }
  if (!std::isfinite(state.elapsed) || state.elapsed < 0) {
    throw Error(ErrorCode::invalid_argument,
                concat("it was trained for ", state.elapsed, " seconds, which is not a time"));
  }
}

// Each with its weight.
Named<std::vector<double>> sums_by_name(const std::vector<Figure>& figures) {
  Named<std::vector<double>> sums;
  for (const Figure& figure : figures) sums.push_back({figure.name, {figure.sum, figure.weight}});
  return sums;
}

std::vector<Figure> figures_of(const Named<std::vector<double>>& sums) {
  std::vector<Figure> figures;
  for (const auto& [name, sum] : sums) figures.push_back({name, sum.at(0), sum.at(1)});
  return figures;
}

Named<std::string> values_by_key(const std::vector<Setting>& settings) {
  Named<std::string> values;
  for (const Setting& setting : settings) values.emplace_back(setting.key, setting.value);
  return values;
}

std::vector<Setting> settings_of(const Named<std::string>& values) {
  std::vector<Setting> settings;
  for (const auto& [key, value] : values) settings.push_back({key, value, ""});
  return settings;
}

// The best one has a key of its own.
void best_fields(JsonWriter& json, const std::vector<BestResult>& best) {
  if (best.empty()) return;
  json("best", best.front());
  json.maybe("next_best", std::vector<BestResult>(best.begin() + 1, best.end()));
}
void best_fields(JsonReader& json, std::vector<BestResult>& best) {
  std::optional<BestResult> first;
  json.maybe("best", first);
  json.maybe("next_best", best);
  if (first) best.insert(best.begin(), *first);
}

}  // namespace

void fields(auto& json, Of<EpochFigures> auto& it) {
  json("epoch", Real(it.epoch));
  json.as("sums", it.sums, sums_by_name, figures_of);
}

void fields(auto& json, Of<RunTotals> auto& it) {
  json("samples", it.samples);
  json("tokens", it.tokens);
  json("seconds", it.seconds);
  json("seconds_exposed", it.seconds_exposed);
  json("gradient_bytes", it.gradient_bytes);
  json("loss", it.loss);
  json.added("skipped_steps", it.skipped);
  json.maybe("split_batches", it.split_batches);
  json.maybe("figures", it.figures);
}

void fields(auto& json, Of<RowShares> auto& it) {
  json("from_step", it.from_step);
  json("rows", it.rows);
}

void fields(auto& json, Of<BestResult> auto& it) {
  json("step", it.step);
  json("dev", it.dev);
}

void fields(auto& json, Of<CheckpointState> auto& it) {
  json("step", it.step);
  json.added("skipped_in_a_row", it.skipped_in_a_row);
  json("epoch", it.position.epoch);
  json("rows_used", it.position.used);
  json("rows", it.rows);
  json("nominal_weight", Real(it.nominal_weight));
  json.added("bucket_order", it.bucket_order);
  json.maybe("steps_of_round", it.steps_of_round);
  json.maybe("shares", it.shares);
  json("evaluation_due", it.evaluation_due);
  json.maybe("loss_scale", Real(it.loss_scale));
  json.maybe("good_windows", it.good_windows);
  json.group(
      "schedule",
      [&](auto& schedule) {
        schedule("step", it.schedule_step);
        schedule("epoch", it.schedule_position.epoch);
        schedule("rows_used", it.schedule_position.used);
      },
      it.schedule_step > 0);
  json.maybe("dev", it.dev);
  best_fields(json, it.best);
  json.group(
      "improvement",
      [&](auto& improvement) {
        improvement("without", it.improvement.without);
        improvement.maybe("best", it.improvement.best);
        improvement.maybe("last", it.improvement.last);
      },
      it.improvement.best || it.improvement.without > 0);
  json.maybe("averaged", it.averaged);
  json.maybe("optimizer_state", it.optimizer_state, true);
  json.maybe("elapsed", Real(it.elapsed));
  json("totals", it.totals);
  json("store", it.store);
  json("hosts", it.hosts);
  json("summation", it.summation);
  json.as("options", it.options, values_by_key, settings_of);
}

std::string to_json(const CheckpointState& state) {
  JsonWriter json;
  json("format", kStateFormat);
  fields(json, state);
  return json.take().dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
}

CheckpointState parse_state(const std::string& json) {
  try {
    const Json parsed = parse_own(json);
    const std::int64_t format = count_at(parsed, "format");
    if (format != kStateFormat) {
      throw Error(ErrorCode::invalid_argument, concat("its format is ", format,
                                                      ", and this program "
                                                      "knows ",
                                                      kStateFormat));
    }
    CheckpointState state;
    read_fields(parsed, state);
    check(state);
    return state;
  } catch (const Json::exception& error) {
    throw Error(ErrorCode::invalid_argument, error.what());
  }
}

std::vector<std::int64_t> steps_of(const std::vector<BestResult>& best) {
  std::vector<std::int64_t> steps;
  for (const BestResult& result : best) steps.push_back(result.step);
  return steps;
}

void rank_result(std::vector<BestResult>& best,
                 const BestResult& result,
                 const MainScore& main,
                 int most) {
  const auto behind = std::ranges::find_if(
      best, [&](const BestResult& other) { return better(result.dev, other.dev, main); });
  best.insert(behind, result);
  best.resize(std::min(best.size(), static_cast<std::size_t>(most)));
}

void rank_again(std::vector<BestResult>& best, const MainScore& main) {
  const std::vector<BestResult> unranked = std::exchange(best, {});
  for (const BestResult& result : unranked) {
    rank_result(best, result, main, static_cast<int>(unranked.size()));
  }
}

}  // namespace bp::trainer
