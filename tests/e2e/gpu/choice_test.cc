// Which device --device chooses, and how it says that there is no GPU.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/e2e/gpu/gpu_runs.h"
#include "tests/support/places.h"

namespace bp::trainer {
namespace {

namespace fs = std::filesystem;
using test::Ended;
using test::read;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class DeviceOption : public test::GpuRuns<DeviceOption> {
 protected:
  static void SetUpTestSuite() {
    prepare_pairs();
    fs::create_directory(path("nothing"));
    // The loader of libraries searches no further.
    std::ofstream(path("nothing/libcuda.so.1")) << "no library";
    fs::create_directory(path("driver"));
    fs::create_symlink(test::kFakeGpuDir + "/libcuda.so.1", path("driver/libcuda.so.1"));
    std::ofstream(path("driver/libtorch_cuda.so")) << "no library";
  }
  void TearDown() override { fs::remove_all(path("r")); }

  static constexpr const char* kNoDriver = "LD_LIBRARY_PATH=nothing ";
  static constexpr const char* kOnCpu = "computing on the CPU although there are GPUs: ";

  static std::string training(const std::string& device) {
    return concat(kData, "--steps 2 --batch 8 --run r --device ", device);
  }
  // Returns whether one rank alone has printed an error.
  static bool is_said_once(const std::string& output) {
    const std::size_t at = output.find("] bert_train: ");
    return at != std::string::npos && at == output.rfind("] bert_train: ");
  }
  // Expects that the command ends with this line and without a run.
  static void expect_refused(const std::string& command, const std::string& reason) {
    SCOPED_TRACE(command);
    const Ended ended = in_folder(command);
    EXPECT_EQ(ended.code, 69);
    EXPECT_EQ(ended.output, concat("bert_train: --device cuda: ", reason,
                                   "; --device cpu trains without a GPU\n"));
    EXPECT_FALSE(fs::exists(path("r")));
  }
};

// docs/acceptance.md, Devices: bert_train takes the GPU and says so.
TEST_F(DeviceOption, AutoTakesTheGpuAndSaysSo) {
  const std::string output = output_of(bert_train(training("auto --precision auto")));
  EXPECT_THAT(output, HasSubstr("1 rank on fake GPU (16.0 GiB)\n"));
  EXPECT_THAT(output, HasSubstr("precision bf16, chosen by auto\n"))
      << "the GPU has instructions for bf16";
}

// docs/features.md, Launching: Several GPUs in one process | A rank uses one GPU. A process that
// leaves GPUs idle says so, with the command that uses all.
TEST_F(DeviceOption, OneProcessSaysWhichGpusItLeavesIdle) {
  const std::string train = bert_train(training("auto"));
  EXPECT_THAT(output_of("FAKE_CUDA_DEVICES=4 " + train),
              HasSubstr("1 rank on fake GPU (16.0 GiB)\n3 other GPUs are idle; a rank for each "
                        "trains on all: bprun -n 4 --gpus all bert_train ...\n"));
  fs::remove_all(path("r"));
  EXPECT_THAT(output_of(train), Not(HasSubstr("idle")));
}

TEST_F(DeviceOption, AutoTakesTheCpuWhereThereIsNoGpu) {
  for (const char* without : {kNoDriver, "FAKE_CUDA_DEVICES=0 ", "CUDA_VISIBLE_DEVICES= "}) {
    SCOPED_TRACE(without);
    const std::string output = output_of(without + bert_train(training("auto")));
    EXPECT_THAT(output, HasSubstr("96 samples, 1 rank\n"));
    EXPECT_THAT(output, Not(HasSubstr("GPU")));
    fs::remove_all(path("r"));
  }
}

// docs/acceptance.md, Devices: bert_train says why it does not use a GPU.
TEST_F(DeviceOption, AutoSaysWhyItDoesNotUseAGpu) {
  const std::string output =
      output_of("BP_MODEL_KERNELS=nothing/code.so " + bert_train(training("auto")));
  EXPECT_THAT(output, HasSubstr("96 samples, 1 rank\n"));
  EXPECT_THAT(output, HasSubstr(concat(kOnCpu, "the plugin does not load: nothing/code.so: ")));
}

// docs/acceptance.md, Devices: `--device cuda` without a GPU is refused in one line.
TEST_F(DeviceOption, CudaWithoutAGpuIsRefusedInOneLine) {
  const std::string train = bert_train(training("cuda"));
  expect_refused(kNoDriver + train, "there is no NVIDIA driver (libcuda.so.1)");
  expect_refused("FAKE_CUDA_DEVICES=0 " + train, "NVIDIA's driver shows no GPU to this process");
  expect_refused("LD_LIBRARY_PATH=driver " + train,
                 "LibTorch's CUDA does not load: driver/libtorch_cuda.so: file too short");
  expect_refused("FAKE_CUDA_FAIL=cudaGetDeviceCount:1:35 " + train,
                 "LibTorch's CUDA finds no GPU; NVIDIA's driver may be too old for it");
  expect_refused("BP_MODEL_KERNELS=nothing/code.so " + train,
                 "the plugin does not load: nothing/code.so: cannot open shared object file: No "
                 "such file or directory");
}

TEST_F(DeviceOption, MoreRanksThanGpusAreRefusedInOneLine) {
  const Ended ended = in_folder(bprun("-n 4", training("cuda")));
  EXPECT_EQ(ended.code, 69) << ended.output;
  const std::string text =
      "] bert_train: --device cuda: rank 0: the 4 ranks of this host see 1 GPU; bprun --gpus all "
      "--share-gpus lets them share; --device cpu trains without a GPU\n";
  EXPECT_THAT(ended.output, HasSubstr(text));
  EXPECT_TRUE(is_said_once(ended.output)) << ended.output;
  const Ended none = in_folder(concat(kNoDriver, bprun("-n 4", training("cuda"))));
  EXPECT_EQ(none.code, 69) << none.output;
  EXPECT_THAT(none.output, HasSubstr("rank 0: there is no NVIDIA driver"));
  EXPECT_EQ(none.output.find("] bert_train: "), none.output.rfind("] bert_train: ")) << none.output;
}

TEST_F(DeviceOption, RanksShareAGpuAsTheHintSays) {
  const std::string output =
      output_of(concat("FAKE_NVML=\"fake|17179869184|0|0|\" ",
                       bprun("-n 2 --gpus all --share-gpus", training("cuda"))));
  EXPECT_THAT(output, HasSubstr("2 ranks on fake GPU (16.0 GiB)\n"));
  EXPECT_THAT(algorithms("r"), ElementsAre("staged"));
  fs::remove_all(path("r"));
  EXPECT_THAT(output_of("CUDA_VISIBLE_DEVICES=0 " + bprun("-n 2", training("cuda"))),
              HasSubstr("2 ranks on fake GPU (16.0 GiB)\n"));
}

TEST_F(DeviceOption, AllRanksTakeTheCpuIfOneHasNoGpu) {
  const std::string program = with("[ $RANK = 1 ] && export LD_LIBRARY_PATH=nothing");
  const std::string output = output_of(
      concat("FAKE_CUDA_DEVICES=2 " + kBinDir + "/bprun -n 2 ", program, training("auto")));
  EXPECT_THAT(output, HasSubstr("96 samples, 2 ranks\n"));
  EXPECT_THAT(output, HasSubstr(concat(kOnCpu, "rank 1: there is no NVIDIA driver")));
  fs::remove_all(path("r"));
  const Ended refused = in_folder(
      concat("FAKE_CUDA_DEVICES=2 " + kBinDir + "/bprun -n 2 ", program, training("cuda")));
  EXPECT_EQ(refused.code, 69) << refused.output;
  EXPECT_THAT(refused.output, HasSubstr("--device cuda: rank 1: there is no NVIDIA driver"));
}

}  // namespace
}  // namespace bp::trainer
