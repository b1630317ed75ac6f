// eval and predict give the CPU's numbers on a GPU.
#include <gmock/gmock.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "tests/e2e/gpu/gpu_runs.h"
#include "tests/e2e/task_data.h"

namespace bp::trainer {
namespace {

using test::read;
using ::testing::HasSubstr;

class GpuScoring : public test::GpuRuns<GpuScoring> {
 protected:
  static void SetUpTestSuite() {
    make_folder();
    ::setenv("FAKE_CUDA_DEVICES", "2", 1);
    const auto write = [](const std::string& name, void (*rows)(std::ofstream&)) {
      std::ofstream file(path(name));
      rows(file);
    };
    write("pairs.csv", test::write_pairs);
    write("sums.csv", test::write_sums);
    write("names.conll", test::write_names);
    const std::string training = "--limit 120 --max-length 32 --steps 6 --batch 16 --device cpu ";
    run_together(
        bert_train(concat("pairs.csv --text premise --text2 hypothesis --run pairs ", training)),
        bert_train(concat("sums.csv --task regress --run sums ", training)),
        bert_train(concat("names.conll --task tokens --run names ", training)));
  }
};

// Fields that are not numbers must be equal. Numbers have six digits in the files, so rounding can
// add 1e-5 to their difference.
void expect_near_fields(const std::string& expected, const std::string& found) {
  std::istringstream left(expected);
  std::istringstream right(found);
  for (std::string a, b; std::getline(left, a, ',') && std::getline(right, b, ',');) {
    if (a == b) continue;
    char* end = nullptr;
    const double number = std::strtod(a.c_str(), &end);
    ASSERT_NE(end, a.c_str()) << a << " and " << b;
    ASSERT_NEAR(std::strtod(b.c_str(), nullptr), number, 2e-5) << a << " and " << b;
  }
}

// docs/acceptance.md, Devices: eval and predict on a GPU give the CPU's numbers.
TEST_F(GpuScoring, PredictsAndScoresAsTheCpu) {
  struct Scored {
    const char* run;
    const char* data;
  };
  for (const auto& [run, data] :
       {Scored{"pairs", "pairs.csv"}, Scored{"sums", "sums.csv"}, Scored{"names", "names.conll"}}) {
    SCOPED_TRACE(run);
    const auto command = [&](const std::string& action, const std::string& device) {
      return bert_train(concat(action, " ", run, " ", data, " --limit 100 --device ", device,
                               " --out ", run, ".", action, ".", device, ".csv"));
    };
    const auto result = [&](const std::string& name) {
      return read(path(concat(run, ".", name, ".csv")));
    };
    run_together(command("eval", "cpu"), command("eval", "cuda"), command("predict", "cuda"),
                 bprun("-n 2", concat("eval ", run, " ", data, " --limit 100 --device cuda --out ",
                                      run, ".ranks.csv")));
    EXPECT_GT(result("eval.cpu").size(), 1000U);
    expect_near_fields(result("eval.cpu"), result("eval.cuda"));
    EXPECT_EQ(result("predict.cuda"), result("eval.cuda"));
    EXPECT_EQ(result("ranks"), result("eval.cuda"));
  }
}

TEST_F(GpuScoring, EstimatesWhatARunNeeds) {
  const std::string output = output_of(
      bert_train("estimate pairs.csv --text premise --text2 hypothesis --limit 120 --max-length 32 "
                 "--measured-steps 2 --device cuda"));
  EXPECT_THAT(output, HasSubstr("ms a step"));
}

}  // namespace
}  // namespace bp::trainer
