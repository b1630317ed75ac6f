#include "train_fixture.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/text.h"
#include "tests/support/classify_data.h"
#include "trainer/prepare/prepare.h"
#include "trainer/tasks/classify/class_config.h"

namespace bp::trainer::test {

void SmallData::SetUp() {
  folder_ = ::testing::TempDir() +
            concat("bp_train_", ::getpid(), "_",
                   ::testing::UnitTest::GetInstance()->current_test_info()->name());
  std::filesystem::create_directories(folder_);
  std::ofstream csv(path("data.csv"));
  csv << "text,label\n";
  constexpr const char* kWords[] = {"red", "blue", "green", "stone", "river", "cloud"};
  for (int row = 0; row < 150; ++row) {
    for (int word = 0; word <= row % 7; ++word) csv << kWords[(row * 5 + word * word) % 6] << ' ';
    csv << row << (row % 3 == 0 ? " not good,no\n" : " good,yes\n");
  }
  csv.close();
  PrepareOptions prepare_options;
  prepare_options.task = classify();
  prepare_options.source = path("data.csv");
  prepare_options.vocabulary_size = 100;
  prepare_options.max_length = 16;
  store_ = prepare(prepare_options, [](const std::string&) {}).store;
}

void SmallData::TearDown() { std::filesystem::remove_all(folder_); }

EncoderSpec SmallData::config(const SampleStore& store, double dropout) {
  EncoderSpec config;
  config.vocabulary = static_cast<int>(store.vocabulary().size());
  config.hidden = 16;
  config.heads = 2;
  config.intermediate = 32;
  config.positions = 16;
  config.pad_id = store.pad_id();
  config.hidden_dropout = dropout;
  config.attention_dropout = dropout;
  config.head = head_of({store.names()});
  return config;
}

RunSettings SmallData::options() {
  RunSettings options;
  options.batch = 8;
  options.steps = 20;
  options.lr = 1e-3;
  options.epsilon = 1e-6;
  options.warmup = 0;
  return options;
}

}  // namespace bp::trainer::test
