#include "trainer/runs/estimate.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <utility>

#include "base/report/report_table.h"
#include "base/text.h"
#include "trainer/report/json_fields.h"
#include "trainer/report/shown_text.h"

namespace bp::trainer {
namespace {

constexpr double kMillisecond = 1e-3;
constexpr std::string_view kLayer = "layer ";

std::string span_text(double seconds) {
  if (seconds < 1) return rate_text(seconds / kMillisecond) + " ms";
  if (seconds < 100) return rate_text(seconds) + " s";
  return clock_text(std::chrono::seconds(std::llround(seconds)));
}

// "1,204"
std::string count_text(std::int64_t count) {
  return count < 100 ? concat(count) : rate_text(static_cast<double>(count));
}

// Breaks a line of facts at blanks so that it fits a terminal, with the rest below the facts.
std::string wrapped_facts(const std::string& line) {
  constexpr std::size_t kWidth = 80;
  constexpr std::size_t kIndent = 10;
  std::string out;
  std::string rest = line;
  for (std::size_t blank = 0; rest.size() > kWidth;) {
    blank = rest.rfind(' ', kWidth);
    if (blank == std::string::npos || blank < kIndent) break;
    out += rest.substr(0, blank) + '\n';
    rest = std::string(kIndent, ' ') + rest.substr(blank + 1);
  }
  return out + rest;
}

// Empty if the ranks can divide nothing.
std::string shards_text(const Estimate& e) {
  if (e.shards.empty()) return "";
  const std::string facts =
      concat("shards    this job takes --shard ", name_of(e.shard),
             "; MiB that a host needs at most, without activations and the program:");
  return concat(wrapped_facts(facts), "\n", shard_table(e.shards));
}

Json shard_json(const ShardCost& cost) {
  Json json{
      {"shard", name_of(cost.shard)}, {"reduce_each", cost.reduce_each}, {"ranks", cost.ranks}};
  for (const auto& [name, bytes] : cost.figures()) json[name] = bytes;
  return json;
}

}  // namespace

MeasuredWorld mean_step(const Metrics& metrics, std::int64_t warm_up) {
  MeasuredWorld mean;
  double steps = 0;
  StepRecord before;
  for (const StepRecord& record : metrics.steps) {
    const auto count = static_cast<double>(record.step - before.step);
    const auto samples = static_cast<double>(record.samples - before.samples);
    if (before.step >= warm_up) {
      steps += count;
      mean.samples += samples;
      mean.seconds += samples / record.samples_per_s;
      mean.seconds_exposed += count * record.comm_exposed_ms * kMillisecond;
    }
    before = record;
  }
  mean.samples /= steps;
  mean.seconds /= steps;
  mean.seconds_exposed /= steps;
  return mean;
}

std::vector<ModelPart> joined_layers(const std::vector<ModelPart>& parts) {
  std::vector<ModelPart> joined;
  std::int64_t layers = 0;  // in the last one of `joined`
  std::string first;
  for (const ModelPart& part : parts) {
    const bool layer = part.name.starts_with(kLayer);
    const bool same = layer && layers > 0 && joined.back().parameters == layers * part.parameters &&
                      joined.back().trained == layers * part.trained &&
                      joined.back().rate == part.rate;
    if (same) {
      joined.back().parameters += part.parameters;
      joined.back().trained += part.trained;
      joined.back().name = concat("layers ", first, "-", part.name.substr(kLayer.size()));
      ++layers;
      continue;
    }
    joined.push_back(part);
    layers = layer ? 1 : 0;
    if (layer) first = part.name.substr(kLayer.size());
  }
  std::ranges::stable_sort(joined, std::greater{}, &ModelPart::parameters);
  return joined;
}

// The rates need a column only if they differ.
std::string parts_text(const std::vector<ModelPart>& parts) {
  const bool rates = std::ranges::any_of(parts, [](const ModelPart& p) { return p.rate != 1; });
  Table table = table_of({"part", "parameters", "trained", "frozen"});
  if (rates) table.columns.push_back({"rate factor"});
  const auto add = [&](const ModelPart& part, const std::string& rate) {
    std::vector<std::string> row = {part.name, count_text(part.parameters),
                                    count_text(part.trained),
                                    count_text(part.parameters - part.trained)};
    if (rates) row.push_back(rate);
    table.add(std::move(row));
  };
  for (const ModelPart& part : parts) add(part, part.trained > 0 ? brief(part.rate) : "-");
  add(sum_of(parts), "");
  return terminal_text(table);
}

std::string estimate_text(const Estimate& e) {
  const RankMemory& memory = e.memory;
  const std::uint64_t known = memory.weights + memory.gradients + memory.moments;
  const double epoch = e.world.seconds * static_cast<double>(e.epoch_steps);
  const double run = e.world.seconds * static_cast<double>(e.steps);
  const double exposed = 100 * e.world.seconds_exposed / e.world.seconds;
  const std::string of_memory =
      concat("memory    ", size_text(e.peak),
             e.world.ranks > 1 ? concat(", the most of ", e.world.ranks, " ranks") : "",
             " (measured): weights ", size_text(memory.weights), ", gradients ",
             size_text(memory.gradients), ", optimizer ", size_text(memory.moments),
             ", activations and the program ", size_text(e.peak - std::min(e.peak, known)));
  const std::string of_step = concat("time      ", span_text(e.world.seconds), " a step of ",
                                     brief(e.world.samples), " samples (mean of ", e.measured,
                                     "), ", fixed(exposed, 1), " % of it waiting for other ranks");
  const std::string of_run =
      concat("          ", counted(e.epoch_steps, "step"), " an epoch: ", span_text(epoch), "; ",
             counted(e.steps, "step"), " the run: ", span_text(run), "; evaluations come on top");
  const std::string of_disk =
      e.checkpoints == 0
          ? std::string("disk      no checkpoints")
          : concat("disk      ", size_text(e.checkpoint), " a checkpoint, at most ", e.checkpoints,
                   " at a time: ",
                   size_text(e.checkpoint * static_cast<std::uint64_t>(e.checkpoints)));
  return concat(wrapped_facts("model     " + e.model), "\n", parts_text(e.parts),
                wrapped_facts(of_memory), "\n", shards_text(e), wrapped_facts(of_step), "\n",
                wrapped_facts(of_run), "\n", wrapped_facts(of_disk));
}

std::string to_json(const Estimate& e) {
  Json parts = Json::array();
  for (const ModelPart& part : e.parts) parts.push_back(json_of(part));
  Json shards = Json::array();
  for (const ShardCost& cost : e.shards) shards.push_back(shard_json(cost));
  const ModelPart all = sum_of(e.parts);
  const Json json{{"model", e.model},
                  {"parameters", all.parameters},
                  {"trained", all.trained},
                  {"parts", parts},
                  {"memory",
                   {{"peak", e.peak},
                    {"weights", e.memory.weights},
                    {"gradients", e.memory.gradients},
                    {"optimizer", e.memory.moments}}},
                  {"shard", name_of(e.shard)},
                  {"shards", shards},
                  {"step",
                   {{"world", e.world.name},
                    {"ranks", e.world.ranks},
                    {"measured", e.measured},
                    {"samples", number(e.world.samples)},
                    {"seconds", number(e.world.seconds)},
                    {"seconds_exposed", number(e.world.seconds_exposed)}}},
                  {"epoch_steps", e.epoch_steps},
                  {"steps", e.steps},
                  {"checkpoint", e.checkpoint},
                  {"checkpoints", e.checkpoints}};
  return json.dump(2) + "\n";
}

MeasuredWorld parse_measured_world(const std::string& text) {
  const Json step = parse_own(text).at("step");
  return {.name = step.at("world").get<std::string>(),
          .ranks = static_cast<int>(count_at(step, "ranks")),
          .samples = step.at("samples").get<double>(),
          .seconds = step.at("seconds").get<double>(),
          .seconds_exposed = step.at("seconds_exposed").get<double>()};
}

}  // namespace bp::trainer
