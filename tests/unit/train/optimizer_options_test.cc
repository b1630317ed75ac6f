// docs/acceptance.md, Training: An option without effect on the chosen optimizer is refused.
#include "trainer/optim/optimizer_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/input_error.h"
#include "base/text.h"
#include "trainer/commands/command_line.h"

namespace bp::trainer {
namespace {

using ::testing::Contains;
using ::testing::Pair;

TrainOptions chosen(const std::vector<std::string>& more) {
  std::vector<std::string> arguments = {"data.csv"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return std::get<TrainOptions>(parse_command_line(arguments).options);
}

std::string optimizer_refusal(const std::vector<std::string>& more) {
  try {
    (void)chosen(more);
  } catch (const InputError& error) {
    EXPECT_EQ(error.exit_code(), 2);
    return concat(error.what(), " | ", error.hint());
  }
  return "";
}

TEST(OptimizerOptions, HaveDefaultsOfEachOptimizer) {
  EXPECT_EQ(optimizer_options(chosen({})).epsilon, 1e-8);
  EXPECT_EQ(optimizer_options(chosen({"--optimizer", "lamb"})).epsilon, 1e-6);
  EXPECT_EQ(optimizer_options(chosen({"--optimizer", "lion"})).beta2, 0.99);
  EXPECT_EQ(optimizer_options(chosen({"--optimizer", "adam"})).beta2, 0.999);
  const OptimizerOptions given = optimizer_options(
      chosen({"--optimizer", "adam", "--betas", "0.5,0.75", "--epsilon", "0.25"}));
  EXPECT_EQ(given.beta1, 0.5);
  EXPECT_EQ(given.beta2, 0.75);
  EXPECT_EQ(given.epsilon, 0.25);
}

TEST(OptimizerOptions, AreSettingsOfTheOptimizersThatUseThem) {
  const auto lion = optimizer_settings(chosen({"--optimizer", "lion"}));
  EXPECT_THAT(lion, Contains(Pair("betas", "0.9,0.99")));
  EXPECT_THAT(lion, Contains(Pair("epsilon", "")));
  const auto sgd = optimizer_settings(chosen({"--optimizer", "sgd", "--momentum", "0.5"}));
  EXPECT_THAT(sgd, Contains(Pair("momentum", "0.5")));
  EXPECT_THAT(sgd, Contains(Pair("betas", "")));
  EXPECT_THAT(optimizer_settings(chosen({})), Contains(Pair("epsilon", "1e-08")));
}

TEST(OptimizerOptions, WithoutEffectAreRefused) {
  EXPECT_EQ(optimizer_refusal({"--momentum", "0.9"}),
            "--momentum has no effect with --optimizer adamw | leave it out, or choose an "
            "optimizer that uses it: sgd");
  EXPECT_EQ(optimizer_refusal({"--optimizer", "lion", "--epsilon", "1e-6"}),
            "--epsilon has no effect with --optimizer lion | leave it out, or choose an optimizer "
            "that uses it: adamw, adam, lamb, adadelta");
  EXPECT_EQ(optimizer_refusal({"--optimizer", "sgd", "--nesterov"}),
            "--nesterov has no effect without momentum | add --momentum 0.9, or leave out "
            "--nesterov");
  EXPECT_EQ(optimizer_refusal({"--optimizer", "sgd", "--nesterov", "--momentum", "0.9"}), "");
}

TEST(OptimizerOptions, BetasAreTwoNumbersBelowOne) {
  for (const char* text : {"0.9", "0.9,", "0.9,1", "-0.1,0.9", "0.9,0.99,0.9", "a,b", "nan,0.9"}) {
    EXPECT_EQ(optimizer_refusal({concat("--betas=", text)}),
              concat("--betas: '", text,
                     "' is not two numbers from 0 to below 1 | the shares that the two means keep "
                     "in a step: 0.9,0.999"));
  }
  EXPECT_EQ(optimizer_refusal({"--betas", "0,0.5"}), "");
}

}  // namespace
}  // namespace bp::trainer
