#include "launcher/sweep/space/space.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "bp/error.h"

namespace bp::launcher::sweep {
namespace {

using testing::ElementsAre;
using testing::Eq;

std::string refusal(const std::string& text) {
  try {
    (void)parse_space(text, "s.yaml");
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    return error.what();
  }
  return "accepted";
}

std::vector<std::string> texts_of(const Dimension& dimension) {
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < dimension.size(); ++i) {
    texts.push_back(dimension.values(i).front().text());
  }
  return texts;
}

Dimension parameter(const std::string& value) {
  return parse_space("parameters:\n  x: " + value, "s.yaml").blocks.at(0).dimensions.at(0);
}

TEST(SweepSpace, ReadsAWholeFile) {
  const Space space = parse_space(R"(
metric: dev_accuracy
sampler: tpe
trials: 20
seed: 7
stop: {rule: asha, min: 2, factor: 4}
slots: 2
spread: any
repeat: 3
program: bert_train 'my data.csv'
parameters:
  lr: {loguniform: [1e-5, 1e-4]}
  batch: [4, 8, 16]
  schedule: [linear, polynomial]
  power: {uniform: [0.5, 2]}
zip:
  - {model: [tiny, mini], hidden: [128, 256]}
when:
  power: {schedule: polynomial}
)",
                                  "s.yaml");
  EXPECT_EQ(space.metric, "dev_accuracy");
  EXPECT_THAT(space.direction, Eq(Direction::max)) << "the name says so";
  EXPECT_EQ(space.stop.rule, StopSpec::Rule::asha);
  EXPECT_EQ(space.stop.min, 2);
  EXPECT_EQ(space.stop.factor, 4);
  ASSERT_EQ(space.blocks.size(), 1U);
  const Block& block = space.blocks[0];
  EXPECT_EQ(block.sampler, SamplerKind::tpe);
  EXPECT_EQ(block.trials, 20);
  EXPECT_EQ(block.seed, 7U);
  EXPECT_EQ(block.slots, 2);
  EXPECT_EQ(block.spread, Spread::any);
  EXPECT_EQ(block.repeat, 3);
  EXPECT_EQ(block.repeat_option, "seed");
  EXPECT_THAT(block.program, ElementsAre("bert_train", "my data.csv"));
  ASSERT_EQ(block.dimensions.size(), 5U);
  EXPECT_EQ(block.dimensions[0].kind, Dimension::Kind::loguniform);
  EXPECT_EQ(block.dimensions[0].low, 1e-5);
  EXPECT_THAT(texts_of(block.dimensions[1]), ElementsAre("4", "8", "16"));
  EXPECT_THAT(block.dimensions[4].names, ElementsAre("model", "hidden"));
  EXPECT_EQ(block.dimensions[4].values(1)[1], Value::of_integer(256));
  ASSERT_TRUE(block.when.contains("power"));
}

TEST(SweepSpace, KeepsTheTextOfValues) {
  EXPECT_THAT(texts_of(parameter("[1e-5, 0.10, true, 007, x y, '5']")),
              ElementsAre("1e-5", "0.10", "true", "007", "x y", "5"));
  EXPECT_EQ(parameter("[true]").rows[0][0].kind(), Value::Kind::boolean);
  EXPECT_EQ(parameter("['true']").rows[0][0].kind(), Value::Kind::text) << "quotes make a text";
  EXPECT_EQ(parameter("3e-5").rows[0][0].kind(), Value::Kind::real) << "one value is a constant";
}

// docs/features.md, Searches: Ranges and their product | `bprun sweep` with lists, `range` and
// `int`
TEST(SweepSpace, CountsRanges) {
  EXPECT_THAT(texts_of(parameter("{range: [1, 5, 2]}")), ElementsAre("1", "3", "5"));
  EXPECT_THAT(texts_of(parameter("{range: [0.1, 0.5, 0.1]}")),
              ElementsAre("0.1", "0.2", "0.3", "0.4", "0.5"));
  EXPECT_THAT(texts_of(parameter("{range: [-1, 0.4, 0.5]}")), ElementsAre("-1", "-0.5", "0"));
  EXPECT_THAT(texts_of(parameter("{int: [-1, 2]}")), ElementsAre("-1", "0", "1", "2"));
  EXPECT_THAT(texts_of(parameter("{range: [7, 7, 1]}")), ElementsAre("7"));
}

// docs/features.md, Searches: Mixed jobs in one pool | `blocks`
TEST(SweepSpace, GivesBlocksWhatTheTopSays) {
  const Space space = parse_space(
      "slots: 2\nrepeat: {data-seed: 2}\nblocks:\n- program: [a, b c]\n"
      "- {name: big, slots: 4, parameters: {x: [1, 2]}}",
      "s.yaml");
  ASSERT_EQ(space.blocks.size(), 2U);
  EXPECT_EQ(space.blocks[0].name, "1");
  EXPECT_THAT(space.blocks[0].program, ElementsAre("a", "b c"));
  EXPECT_EQ(space.blocks[0].slots, 2);
  EXPECT_EQ(space.blocks[1].name, "big");
  EXPECT_EQ(space.blocks[1].slots, 4);
  EXPECT_EQ(space.blocks[1].repeat_option, "data-seed");
}

TEST(SweepSpace, RefusesKeysWithTheirLine) {
  EXPECT_EQ(refusal("metric: loss\nparametres:\n  x: [1]"),
            "s.yaml, line 2: there is no 'parametres' here; did you mean parameters?");
  EXPECT_EQ(refusal("parameters:\n  x: [1]\nslots: 1\nslots: 2"),
            "s.yaml, line 4: 'slots' is given twice");
  EXPECT_EQ(refusal("parameters:\n  x: {unifrom: [1, 2]}"),
            "s.yaml, line 2: there is no 'unifrom' here; did you mean uniform?");
  EXPECT_EQ(refusal("parameters: {x: [1]}\n---\nparameters: {y: [1]}"),
            "s.yaml, line 3: a second document begins, behind ---; put all into one");
  EXPECT_EQ(refusal("stop: {rule: median, factor: 3}\nparameters: {x: 1}"),
            "s.yaml, line 1: 'factor' has no effect on this rule; remove it");
  EXPECT_EQ(refusal("blocks:\n- parameters: {x: 1}\n- parameters: {x: 1}\n  sloths: 3"),
            "s.yaml, line 4: there is no 'sloths' here; did you mean slots?");
}

TEST(SweepSpace, RefusesValuesWithTheirLine) {
  EXPECT_EQ(refusal("parameters:\n  lr: []"),
            "s.yaml, line 2: 'lr' has no values, so there is no trial");
  EXPECT_EQ(refusal("parameters:\n  a: [1]\n  x:"), "s.yaml, line 3: 'x' has no value");
  EXPECT_EQ(refusal("parameters:\n  x: [1, 2,\n    1.0]"),
            "s.yaml, line 3: 'x' has the value 1.0 twice");
  EXPECT_EQ(refusal("parameters:\n  x: {range: [1, 2]}"),
            "s.yaml, line 2: range must be [low, high, step]");
  EXPECT_EQ(refusal("parameters:\n  x: {int: [3, 2]}"),
            "s.yaml, line 2: 3 is above 2, so there is no value");
  EXPECT_EQ(refusal("parameters:\n  x: {loguniform: [0, 1]}"),
            "s.yaml, line 2: loguniform needs numbers above 0");
  EXPECT_EQ(refusal("parameters:\n  x: {uniform: [a, 1]}"),
            "s.yaml, line 2: 'uniform' must be a number, not 'a'");
  EXPECT_EQ(refusal("slots: 0\nparameters: {x: 1}"),
            "s.yaml, line 1: 'slots' must be a whole number of at least 1, not '0'");
  EXPECT_EQ(refusal("sampler: gird\nparameters: {x: 1}"),
            "s.yaml, line 1: 'sampler' must be grid, random or tpe, not 'gird'");
}

TEST(SweepSpace, RefusesWhatDoesNotFitTogether) {
  EXPECT_EQ(refusal("parameters:\n  n: 1\n  lr: {uniform: [0, 1]}"),
            "s.yaml, line 3: 'lr' has no countable values for a grid; use range or a list, or add "
            "'sampler: random' and 'trials'");
  EXPECT_EQ(refusal("sampler: random\nparameters: {x: 1}"),
            "s.yaml, line 1: random and tpe need 'trials': how many to try");
  EXPECT_EQ(
      refusal("parameters: {x: 1}\ntrials: 3"),
      "s.yaml, line 2: 'trials' has no effect on a grid; remove it, or add 'sampler: random'");
  EXPECT_EQ(refusal("metric: depth\nparameters: {x: 1}"),
            "s.yaml, line 1: add 'direction: min' or 'direction: max' for the metric depth");
  EXPECT_EQ(
      refusal("zip:\n- {a: [1, 2],\n   b: [1]}"),
      "s.yaml, line 3: 'b' has 1 values and 'a' has 2; lists of one zip need the same number");
  EXPECT_EQ(refusal("parameters: {a: 1}\nzip: [{a: [1]}]"),
            "s.yaml, line 2: 'a' is a parameter twice");
  EXPECT_EQ(refusal("repeat: 2\nparameters: {seed: [1]}"),
            "s.yaml, line 2: 'seed' is also what 'repeat' sets; write repeat: {OPTION: 2} to set "
            "another option");
  EXPECT_EQ(refusal("parameters: {a: 1}\nblocks: [{program: x}]"),
            "s.yaml, line 1: a file with blocks has its parameters in the blocks");
  EXPECT_EQ(refusal("parameters:\n  a: {range: [1, 2000, 1]}\n  b: {range: [1, 2000, 1]}"),
            "s.yaml, line 3: the grid has more than 1,000,000 trials; use sampler: random and "
            "trials: N");
  EXPECT_EQ(refusal("slots: 2"),
            "s.yaml, line 1: there are no 'parameters' and no 'blocks' to try");
}

TEST(SweepSpace, RefusesConditionsThatCannotHold) {
  const std::string parameters = "parameters: {a: [x, y], b: [1, 2]}\nwhen:\n";
  EXPECT_EQ(refusal(parameters + "  c: {a: x}"), "s.yaml, line 3: 'c' is not a parameter");
  EXPECT_EQ(refusal(parameters + "  b: {c: x}"), "s.yaml, line 3: 'c' is not a parameter");
  EXPECT_EQ(refusal(parameters + "  b: {a: z}"), "s.yaml, line 3: 'a' never is z");
  EXPECT_EQ(refusal(parameters + "  b: {a: x}\n  a: {b: 1}"),
            "s.yaml, line 4: 'a' would depend on itself");
}

TEST(SweepSpace, RefusesWhatIsNoMap) {
  EXPECT_EQ(refusal(""),
            "s.yaml, line 1: this is not a map of keys to values; it needs 'parameters'");
  EXPECT_THAT(refusal("parameters: {x: [1\nslots: 2"), testing::StartsWith("s.yaml, line "));
  EXPECT_EQ(refusal("parameters: 3"),
            "s.yaml, line 1: 'parameters' must be a map of names to values");
}

TEST(SweepValue, ComesBackFromItsLetterAndText) {
  for (const Value& value : {Value::of_boolean(false), Value::of_integer(-3), Value::of_real(5),
                             Value::of_real(1e-5), Value::of_text("5"), Value::of_text("")}) {
    const Value again = value_of(kind_letter(value), value.text());
    EXPECT_EQ(again, value);
    EXPECT_EQ(again.kind(), value.kind());
    EXPECT_EQ(again.text(), value.text());
  }
  EXPECT_EQ(Value::of_scalar("1e-5"), Value::of_real(0.00001));
  EXPECT_FALSE(Value::of_text("1") == Value::of_integer(1));
  EXPECT_THROW((void)value_of("i", "x"), Error);
}

}  // namespace
}  // namespace bp::launcher::sweep
