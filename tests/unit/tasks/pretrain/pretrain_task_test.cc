// What the task pretrain makes of the configurations of families.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/scratch.h"
#include "tests/support/task_input.h"
#include "tests/unit/data/input_error_matcher.h"
#include "trainer/model/families/family.h"
#include "trainer/prepare/prepare.h"
#include "trainer/store/sample_store.h"
#include "trainer/tasks/tasks.h"

namespace bp::trainer {
namespace {

TEST(PretrainTask, OnlyBertPredictsNextSentences) {
  const Scratch scratch;
  PrepareOptions with;
  with.task = input_with("pretrain");
  with.source = scratch.write("t.txt", "one two\ntwo one\none one\n");
  with.vocabulary = scratch.write("vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\none\ntwo\n");
  const SampleStore store = SampleStore::open(prepare(with, [](const std::string&) {}).store);
  EncoderSpec config = roberta().usual;
  make_task(*input_with("pretrain"))->configure(config, store);
  EXPECT_EQ(config.head.at("architectures"), R"(["RobertaForMaskedLM"])");
  expect_input_error(
      2, "models of the family roberta have no head that predicts next sentences", "leave out",
      [&] { make_task(*input_with("pretrain", {"--next-sentence"}))->configure(config, store); });
}

}  // namespace
}  // namespace bp::trainer
