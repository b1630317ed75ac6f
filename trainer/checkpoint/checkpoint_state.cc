#include "trainer/checkpoint/checkpoint_state.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/text.h"
#include "bp/error.h"
#include "trainer/report/evaluation_json.h"

namespace bp::trainer {
namespace {

constexpr int kStateFormat = 1;

// to_object() writes a value that is not finite as null.
double read_number(const Json& value) {
  return value.is_null() ? std::numeric_limits<double>::quiet_NaN() : value.get<double>();
}
double read_number(const Json& json, const char* key) { return read_number(json.at(key)); }

Json to_array(const std::vector<EpochFigures>& epochs) {
  Json list = Json::array();
  for (const EpochFigures& one : epochs) {
    Json sums = Json::object();
    for (const Figure& figure : one.sums) {
      sums[figure.name] = {number(figure.sum), number(figure.weight)};
    }
    list.push_back({{"epoch", one.epoch}, {"sums", std::move(sums)}});
  }
  return list;
}

std::vector<EpochFigures> read_epoch_figures(const Json& list) {
  std::vector<EpochFigures> epochs;
  for (const Json& entry : list) {
    EpochFigures& one = epochs.emplace_back();
    one.epoch = entry.at("epoch");
    for (const auto& [name, sums] : entry.at("sums").items()) {
      one.sums.push_back({name, read_number(sums.at(0)), sums.at(1)});
    }
  }
  return epochs;
}

Json to_object(const RunTotals& totals) {
  Json json{{"samples", totals.samples},
            {"tokens", totals.tokens},
            {"seconds", number(totals.seconds)},
            {"seconds_exposed", number(totals.seconds_exposed)},
            {"gradient_bytes", totals.gradient_bytes},
            {"loss", number(totals.loss)},
            {"skipped_steps", totals.skipped}};
  if (!totals.figures.empty()) json["figures"] = to_array(totals.figures);
  return json;
}

// Checkpoints of older versions do not have the key.
std::int64_t count_or_0(const Json& json, const char* key) {
  return json.contains(key) ? count_at(json, key) : 0;
}

RunTotals read_totals(const Json& json) {
  return {.samples = count_at(json, "samples"),
          .tokens = count_at(json, "tokens"),
          .seconds = read_number(json, "seconds"),
          .seconds_exposed = read_number(json, "seconds_exposed"),
          .gradient_bytes = count_at(json, "gradient_bytes"),
          .loss = read_number(json, "loss"),
          .skipped = count_or_0(json, "skipped_steps"),
          .figures = json.contains("figures") ? read_epoch_figures(json.at("figures"))
                                              : std::vector<EpochFigures>()};
}

Json to_object(const BestResult& best) {
  return {{"step", best.step}, {"dev", to_object(best.dev)}};
}

BestResult read_best(const Json& json) {
  return {.step = count_at(json, "step"), .dev = read_evaluation(json.at("dev"))};
}

Json to_object(const Improvement& improvement) {
  Json json{{"without", improvement.without}};
  if (improvement.best) json["best"] = *improvement.best;
  if (improvement.last) json["last"] = *improvement.last;
  return json;
}

Improvement read_improvement(const Json& json) {
  Improvement improvement{.without = count_at(json, "without")};
  if (json.contains("best")) improvement.best = json.at("best").get<double>();
  if (json.contains("last")) improvement.last = json.at("last").get<double>();
  return improvement;
}

CheckpointState read_state(const Json& json) {
  CheckpointState state;
  state.step = count_at(json, "step");
  state.skipped_in_a_row = count_or_0(json, "skipped_in_a_row");
  state.position = {count_at(json, "epoch"), count_at(json, "rows_used")};
  state.rows = count_at(json, "rows");
  if (json.contains("schedule")) {
    const Json& from = json.at("schedule");
    state.schedule_step = count_at(from, "step");
    state.schedule_position = {count_at(from, "epoch"), count_at(from, "rows_used")};
  }
  state.nominal_weight = json.at("nominal_weight");
  if (json.contains("loss_scale")) state.loss_scale = json.at("loss_scale");
  state.good_windows = count_or_0(json, "good_windows");
  if (json.contains("bucket_order")) {
    for (const Json& index : json.at("bucket_order")) state.bucket_order.push_back(index);
  }
  state.evaluation_due = json.at("evaluation_due");
  if (json.contains("dev")) state.dev = read_evaluation(json.at("dev"));
  if (json.contains("best")) state.best.push_back(read_best(json.at("best")));
  if (json.contains("next_best")) {
    for (const Json& next : json.at("next_best")) state.best.push_back(read_best(next));
  }
  if (json.contains("improvement")) state.improvement = read_improvement(json.at("improvement"));
  state.averaged = count_or_0(json, "averaged");
  if (json.contains("optimizer_state")) state.optimizer_state = json.at("optimizer_state");
  if (json.contains("elapsed")) state.elapsed = json.at("elapsed");
  state.totals = read_totals(json.at("totals"));
  state.store = json.at("store").get<std::string>();
  state.hosts = json.at("hosts").get<std::string>();
  for (const auto& [key, value] : json.at("summation").items()) {
    state.summation.emplace_back(key, value.get<std::string>());
  }
  for (const auto& [key, value] : json.at("options").items()) {
    state.options.push_back({key, value.get<std::string>(), ""});
  }
  return state;
}

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
                concat("it was trained for ", state.elapsed, " seconds, which is no time"));
  }
}

}  // namespace

std::string to_json(const CheckpointState& state) {
  Json json{{"format", kStateFormat},
            {"step", state.step},
            {"skipped_in_a_row", state.skipped_in_a_row},
            {"epoch", state.position.epoch},
            {"rows_used", state.position.used},
            {"rows", state.rows},
            {"nominal_weight", state.nominal_weight},
            {"bucket_order", state.bucket_order},
            {"evaluation_due", state.evaluation_due}};
  if (state.loss_scale != 0) {
    json["loss_scale"] = state.loss_scale;
    json["good_windows"] = state.good_windows;
  }
  if (state.schedule_step > 0) {
    json["schedule"] = {{"step", state.schedule_step},
                        {"epoch", state.schedule_position.epoch},
                        {"rows_used", state.schedule_position.used}};
  }
  if (state.dev) json["dev"] = to_object(*state.dev);
  for (const BestResult& result : state.best) {
    if (&result == &state.best.front()) {
      json["best"] = to_object(result);
    } else {
      json["next_best"].push_back(to_object(result));
    }
  }
  const Improvement& improvement = state.improvement;
  if (improvement.best || improvement.without > 0) json["improvement"] = to_object(improvement);
  if (state.averaged > 0) json["averaged"] = state.averaged;
  if (!state.optimizer_state) json["optimizer_state"] = false;
  if (state.elapsed > 0) json["elapsed"] = state.elapsed;
  json["totals"] = to_object(state.totals);
  json["store"] = state.store;
  json["hosts"] = state.hosts;
  json["summation"] = Json::object();
  for (const auto& [key, value] : state.summation) json["summation"][key] = value;
  json["options"] = Json::object();
  for (const Setting& setting : state.options) json["options"][setting.key] = setting.value;
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
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
    CheckpointState state = read_state(parsed);
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
