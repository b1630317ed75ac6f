#include "trainer/report/counters_json.h"

#include <cmath>
#include <cstdint>

namespace bp::trainer {
namespace {

// Rounds seconds to microseconds, which is precise enough.
Json to_microseconds(double seconds) { return number(std::round(seconds * 1e6) / 1e6); }

// Adds a total or a kind: both have the same numbers.
template <class Counted>
void add_counted(Json& json, const Counted& counted) {
  json["operations"] = counted.operations;
  json["bytes"] = counted.bytes;
  json["seconds_busy"] = to_microseconds(counted.seconds_busy);
  json["seconds_waiting"] = to_microseconds(counted.seconds_waiting);
}

template <class Counted>
void read_counted(const Json& json, Counted& counted) {
  counted.operations = static_cast<std::uint64_t>(count_at(json, "operations"));
  counted.bytes = static_cast<std::uint64_t>(count_at(json, "bytes"));
  counted.seconds_busy = json.at("seconds_busy").get<double>();
  counted.seconds_waiting = json.at("seconds_waiting").get<double>();
}

}  // namespace

Json to_json(const Counters& counters) {
  Json json;
  add_counted(json, counters);
  json["kinds"] = Json::array();
  for (const Counters::Kind& kind : counters.kinds) {
    Json& entry = json["kinds"].emplace_back();
    entry["operation"] = kind.operation;
    entry["algorithm"] = kind.algorithm;
    add_counted(entry, kind);
  }
  return json;
}

Counters read_counters(const Json& json) {
  Counters counters;
  read_counted(json, counters);
  for (const Json& entry : json.at("kinds")) {
    Counters::Kind& kind = counters.kinds.emplace_back();
    kind.operation = entry.at("operation");
    kind.algorithm = entry.at("algorithm");
    read_counted(entry, kind);
  }
  return counters;
}

}  // namespace bp::trainer
