// bert_train export, through the program that users run. tests/oracle/onnx compares the numbers of
// its files with transformers, by onnxruntime.
// docs/acceptance.md, Models: An exported model has the same logits in onnxruntime to 1e-5, and in
// int8 an accuracy within 0.5 points.
#include <gmock/gmock.h>

#include <filesystem>

#include "tests/e2e/trained_run.h"
#include "tests/support/places.h"

namespace bp::trainer {
namespace {

using test::Ended;
using test::read;
using ::testing::HasSubstr;
using ::testing::Not;

class Export : public test::TrainedRun {};

TEST_F(Export, WritesOneFileAndNothingElse) {
  const auto before = names();
  const Ended ended = bert_train("export r --out m.onnx");
  EXPECT_EQ(ended.code, 0);
  EXPECT_EQ(
      ended.output,
      "wrote m.onnx: fp32, inputs input_ids, attention_mask, token_type_ids; output logits\n");
  EXPECT_THAT(read(path("m.onnx")), HasSubstr("LayerNormalization"));
  EXPECT_EQ(bert_train("export r/checkpoints/best --int8 --out small.onnx").code, 0);
  EXPECT_LT(std::filesystem::file_size(path("small.onnx")) * 2,
            std::filesystem::file_size(path("m.onnx")));
  EXPECT_EQ(bert_train("export r --checkpoint latest --out again.onnx").code, 0);
  EXPECT_EQ(read(path("again.onnx")), read(path("m.onnx"))) << "the run ended with that checkpoint";
  for (const char* file : {"m.onnx", "small.onnx", "again.onnx"})
    std::filesystem::remove(path(file));
  EXPECT_EQ(names(), before);
}

TEST_F(Export, WritesModelOnnxWithoutAName) {
  EXPECT_EQ(in_folder("mkdir -p sub && cd sub && " + kBinDir + "/bert_train export ../r").code, 0);
  EXPECT_TRUE(std::filesystem::exists(path("sub/model.onnx")));
  std::filesystem::remove_all(path("sub"));
}

TEST_F(Export, RefusesWhatItCannotWrite) {
  const auto before = names();
  const Ended nowhere = bert_train("export r --out no/such/folder/m.onnx");
  EXPECT_EQ(nowhere.code, 2);
  EXPECT_THAT(nowhere.output, HasSubstr("--out: cannot write no/such/folder/m.onnx: its folder "
                                        "does not exist\nhint: name a file in a folder"));
  const Ended missing = bert_train("export nothing --out m.onnx");
  EXPECT_EQ(missing.code, 66);
  EXPECT_THAT(missing.output, HasSubstr("nothing"));
  const Ended full = in_folder("ulimit -f 8; " + kBinDir + "/bert_train export r --out m.onnx");
  EXPECT_EQ(full.code, 70);
  EXPECT_THAT(full.output, HasSubstr("cannot write m.onnx"));
  const Ended typo = bert_train("export r --int4");
  EXPECT_EQ(typo.code, 2);
  EXPECT_THAT(typo.output, HasSubstr("did you mean '--int8'?"));
  const Ended checkpoint = bert_train("export r --checkpoint bets");
  EXPECT_EQ(checkpoint.code, 2);
  EXPECT_THAT(checkpoint.output, HasSubstr("did you mean 'best'?"));
  EXPECT_EQ(names(), before) << "nothing half-written stays";
}

}  // namespace
}  // namespace bp::trainer
