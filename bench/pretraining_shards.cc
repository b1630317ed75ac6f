// Makes shards of pre-training, for bench/run_pretraining_shards.
//
//   pretraining_shards TEXT VOCAB PREFIX LENGTH MOST COPIES
//
// TEXT has a sentence in each line and blank lines between documents. Prints the counts as JSON.
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <string>
#include <thread>

#include "trainer/tasks/pretrain/make_shards.h"

int main(int argc, char** argv) {
  using bp::trainer::InstanceOptions;
  using bp::trainer::MadeShards;
  if (argc != 7) {
    std::fprintf(stderr, "usage: pretraining_shards TEXT VOCAB PREFIX LENGTH MOST COPIES\n");
    return 2;
  }
  try {
    InstanceOptions options;
    options.max_length = std::atoi(argv[4]);
    options.masks->most = std::atoi(argv[5]);
    options.copies = std::atoi(argv[6]);
    const std::string folder = std::filesystem::path(argv[3]).parent_path();
    const MadeShards made = bp::trainer::make_shards(
        {.files = {argv[1]}}, bp::trainer::Vocabulary::read(argv[2]), true, options,
        std::thread::hardware_concurrency(), {.prefix = argv[3], .temporary_folder = folder});
    std::printf(
        "{\"documents\": %lld, \"sentences\": %lld, \"tokens\": %lld, \"instances\": %lld}\n",
        static_cast<long long>(made.counts.documents),
        static_cast<long long>(made.counts.sentences), static_cast<long long>(made.counts.tokens),
        static_cast<long long>(made.counts.instances));
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "pretraining_shards: %s\n", error.what());
    return 1;
  }
}
