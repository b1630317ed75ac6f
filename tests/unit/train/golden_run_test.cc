// A store and a checkpoint of an earlier version (tests/golden/run/make) are read, and the
// checkpoint is written again byte for byte.
// docs/acceptance.md, Runs: A store and a checkpoint of an earlier version are read.
#include <gmock/gmock.h>
#include <torch/optim/optimizer.h>

#include <fstream>
#include <iterator>
#include <string>

#include "tests/support/classify_data.h"
#include "tests/support/places.h"
#include "tests/support/scratch.h"
#include "trainer/checkpoint/checkpoint_state.h"
#include "trainer/checkpoint/manifest.h"
#include "trainer/checkpoint/snapshot.h"
#include "trainer/commands/model_source.h"
#include "trainer/optim/optimizer.h"
#include "trainer/store/sample_store.h"
#include "trainer/tasks/classify/classifier_head.h"

namespace bp::trainer {
namespace {

using ::testing::ElementsAre;

const std::string kStore = kSourceDir + "/tests/golden/run/reviews.store";
const std::string kCheckpoint = kSourceDir + "/tests/golden/run/checkpoint";

std::string bytes_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// docs/features.md, Input: A binary file of samples, labels and splits, with one writer | the
// store, an SQLite file: `--store`
TEST(GoldenRun, ItsStoreIsRead) {
  const SampleStore store = SampleStore::open(kStore);
  store.verify();
  EXPECT_EQ(store.identity(), "6920b156ceaa6f2c363a1949cff1bcd9");
  EXPECT_EQ(store.size(Split::train), 20);
  EXPECT_EQ(store.size(Split::dev), 2);
  EXPECT_EQ(store.size(Split::test), 4);
  EXPECT_THAT(store.names(), ElementsAre("no", "yes"));
  const Sample sample = store.load(Split::train, 0);
  EXPECT_EQ(sample.text_id, 1);
  EXPECT_EQ(store.text(1, Split::train), "bad");
  EXPECT_THAT(sample.token_ids, ElementsAre(2, 6, 19, 20, 3));
}

TEST(GoldenRun, ItsCheckpointIsReadAndWrittenAgainByteForByte) {
  EXPECT_EQ(damage_of(kCheckpoint), "");
  const std::string manifest = bytes_of(kCheckpoint + "/manifest.json");
  EXPECT_EQ(to_json(parse_manifest(manifest)), manifest);
  const std::string text = bytes_of(kCheckpoint + "/state.json");
  const CheckpointState state = parse_state(text);
  EXPECT_EQ(to_json(state), text);
  EXPECT_EQ(state.step, 3);
  EXPECT_EQ(state.store, SampleStore::open(kStore).identity());

  const ModelSource source = find_model(kCheckpoint, *classify());
  Bert model(source.config, make_classifier_head, Precision::fp32, 7);
  const RunSettings options;
  const auto optimizer = make_optimizer(model.parameters(), options);
  restore(kCheckpoint, model, optimizer.get());
  Snapshot snapshot(model, moment_names(options));
  snapshot.take(model, *optimizer);
  const Scratch scratch;
  snapshot.write(scratch.path());
  for (const std::string name : {"/model.safetensors", "/optimizer.safetensors"}) {
    EXPECT_TRUE(bytes_of(scratch.path() + name) == bytes_of(kCheckpoint + name)) << name;
  }
}

TEST(GoldenRun, ItsModelIsLoaded) {
  const ModelSource source = find_model(kCheckpoint, *classify());
  const auto model = load_model(source);
  EXPECT_EQ(model->config().hidden, 8);
  check_samples(SampleStore::open(kStore), source, *classify());
}

}  // namespace
}  // namespace bp::trainer
