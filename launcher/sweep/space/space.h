// Holds SPACE.yaml, the space that a sweep searches, as data. docs/sweep.md describes the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "launcher/sweep/space/metric.h"
#include "launcher/sweep/space/value.h"

namespace bp::launcher::sweep {

// One axis of the product: one parameter, or several that change together (`zip`).
struct Dimension {
  enum class Kind : std::uint8_t {
    choice,      // a row of `rows`; all zipped dimensions are choices
    range,       // low, low + step, ... up to high
    uniform,     // a real number from low to high
    loguniform,  // the same, but its logarithm is uniform
    integer,     // a whole number from low to high, both included
  };

  Kind kind = Kind::choice;
  std::vector<std::string> names = {};        // one, or those of the zip
  std::vector<std::vector<Value>> rows = {};  // each with one value for each name
  double low = 0;
  double high = 0;
  double step = 0;
  bool whole = false;  // range: all three numbers are whole
  int line = 0;        // of SPACE, from 1

  // The number of values; 0 if they cannot be counted (uniform, loguniform).
  [[nodiscard]] std::size_t size() const;
  // The values of the names for position `i` < size().
  [[nodiscard]] std::vector<Value> values(std::size_t i) const;
};

// A parameter is part of a trial only if each of its conditions holds: the trial has the parameter
// `name`, with one of the values.
struct Condition {
  std::string name = {};
  std::vector<Value> values = {};
};

enum class SamplerKind : std::uint8_t { grid, random, tpe };
enum class Spread : std::uint8_t { host, any };  // a trial's slots on one host, or over several

struct Block {
  std::string name = {};                  // "" if the file has no blocks
  std::vector<std::string> program = {};  // empty: that of the command line
  SamplerKind sampler = SamplerKind::grid;
  int trials = 0;  // of random and tpe, without repeats
  int slots = 1;
  Spread spread = Spread::host;
  int repeat = 1;
  std::string repeat_option = {};  // gets seed, seed + 1, ... if repeat > 1
  std::uint64_t seed = 1;
  std::vector<Dimension> dimensions = {};
  std::map<std::string, std::vector<Condition>> when = {};
  int line = 0;
};

struct StopSpec {
  enum class Rule : std::uint8_t { none, asha, median };
  enum class Unit : std::uint8_t { reports, steps };
  Rule rule = Rule::none;
  Unit unit = Unit::reports;
  std::int64_t min = 1;  // asha: the first rung; median: no trial is stopped before
  int factor = 3;        // asha
  int trials = 5;        // median: the least number of other trials to compare with
};

struct Space {
  std::string metric = {};  // "" if the file does not say
  std::optional<Direction> direction = {};
  StopSpec stop = {};
  std::vector<Block> blocks = {};  // at least one
};

// Throws invalid_argument with one line that begins "SPACE.yaml, line 7: ". `name` is what errors
// call the text.
[[nodiscard]] Space parse_space(const std::string& text, const std::string& name);

// Returns the dimension with this name, or nullptr.
[[nodiscard]] const Dimension* find_dimension(const Block& block, const std::string& name);

// Removes the parameters whose conditions do not hold.
[[nodiscard]] Parameters active_parameters(const Block& block, Parameters parameters);

}  // namespace bp::launcher::sweep
