// Writing checkpoints during training: one at a time. An error ends the run and leaves the last
// complete checkpoint intact.
#include "trainer/checkpoint/checkpoint_writer.h"

#include <gmock/gmock.h>

#include <future>
#include <stdexcept>

#include "base/input_error.h"
#include "bp/error.h"
#include "checkpoint_fixture.h"

namespace bp::trainer {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;

class Writer : public test::CheckpointTest {
 protected:
  static CheckpointState at(std::int64_t step) {
    CheckpointState state;
    state.step = step;
    state.rows = 100;
    return state;
  }
  static void write_files(const std::string& folder) {
    std::ofstream(folder + "/model.safetensors") << "weights";
  }
};

TEST_F(Writer, WritesOneAfterAnother) {
  CheckpointWriter writer(checkpoints().path(), {2}, std::nullopt);
  for (const int step : {10, 20, 30}) writer.start(at(step), write_files);
  EXPECT_EQ(writer.last_begun(), 30);
  writer.wait();
  EXPECT_THAT(checkpoints().steps(), ElementsAre(30, 20));
  EXPECT_EQ(damage_of(writer.path_of(30)), "");
}

TEST_F(Writer, TrainingContinuesMeanwhile) {
  CheckpointWriter writer(checkpoints().path(), {2}, std::nullopt);
  std::promise<void> trained;
  writer.start(at(10), [&](const std::string& folder) {
    write_files(folder);
    trained.get_future().wait();
  });
  writer.check();  // must not wait
  EXPECT_THAT(checkpoints().steps(), ElementsAre());
  trained.set_value();
  writer.wait();
  EXPECT_THAT(checkpoints().steps(), ElementsAre(10));
}

TEST_F(Writer, AnErrorNamesTheLastGoodOneAndLeavesIt) {
  CheckpointWriter writer(checkpoints().path(), {1}, std::nullopt);
  const auto fails = [](const std::string& folder) {
    write_files(folder);
    throw std::runtime_error("cannot write x: No space left on device");
  };
  const auto error_of = [&] {
    try {
      writer.wait();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::io);
      return std::string(error.what());
    }
    return std::string();
  };
  writer.start(at(10), fails);
  EXPECT_EQ(
      error_of(),
      "the checkpoint of step 10 failed: cannot write x: No space left on device; there is no "
      "other checkpoint yet");
  writer.start(at(20), write_files);
  writer.wait();
  writer.start(at(30), fails);
  EXPECT_THAT(error_of(), HasSubstr("; the last complete one is " + checkpoints().of_step(20)));
  EXPECT_EQ(damage_of(checkpoints().of_step(20)), "");
  EXPECT_THAT(names_in(checkpoints().path()), ElementsAre("latest", "step-20"))
      << "no part of a checkpoint may be left";
  writer.wait();  // the error is thrown only once
}

TEST(Space, IsCheckedBeforeTraining) {
  // A checkpoint of 10 million parameters takes 120 MB and 1 MB. --keep 2 needs room for four.
  require_space("r", {484'000'000, 0}, 10'000'000, {2, 1});
  require_space("r", {0, 484'000'000}, 10'000'000, {2, 1});
  try {
    require_space("r", {242'000'000, 121'000'000}, 10'000'000, {2, 1});
    ADD_FAILURE();
  } catch (const InputError& error) {
    EXPECT_EQ(error.exit_code(), 70);
    EXPECT_STREQ(error.what(),
                 "the disk of r has 242 MB left, but 4 checkpoints of 121 MB (--keep 2, the best, "
                 "and the one being written) need 363 MB more");
    EXPECT_THAT(error.hint(), EndsWith("--keep 1"));
  }
  try {
    require_space("r", {0, 0}, 10'000'000, {1, 3});
    ADD_FAILURE();
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(),
                 "the disk of r has 0 MB left, but 5 checkpoints of 121 MB (--keep 1, the 3 best, "
                 "and the one being written) need 605 MB more");
    EXPECT_THAT(error.hint(), EndsWith("--keep 1 --keep-best 1"));
  }
  try {
    require_space("r", {0, 0}, 10'000'000, {1, 2});
    ADD_FAILURE();
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("(--keep 1, the 2 best, and the one being written)"));
  }
  require_space(::testing::TempDir(), 1000, {1, 1});
}

// The checkpoint is a sparse file of 100 GB, which takes no room on the disk.
TEST_F(Writer, ExistingCheckpointsCountAsRoom) {
  const std::string run = path("run");
  fs::create_directories(run + "/checkpoints/step-1");
  const std::string file = run + "/checkpoints/step-1/model.safetensors";
  std::ofstream(file).put('x');
  constexpr std::int64_t kSize = 100'000'000'000;
  fs::resize_file(file, kSize);
  const auto free = static_cast<std::int64_t>(fs::space(run).available);
  const std::int64_t parameters = (free + kSize / 2) / (3 * 12);  // three checkpoints
  require_space(run, parameters, {1, 1});
  fs::remove(file);
  EXPECT_THROW(require_space(run, parameters, {1, 1}), InputError);
}

}  // namespace
}  // namespace bp::trainer
