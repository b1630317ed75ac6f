#include <cstdint>
#include <optional>

#include "base/text.h"
#include "trainer/commands/commands.h"
#include "trainer/commands/model_source.h"
#include "trainer/commands/results.h"
#include "trainer/commands/run_precision.h"
#include "trainer/data/stop_signals.h"
#include "trainer/gpu/use_gpu.h"
#include "trainer/share/evaluation_data.h"
#include "trainer/tasks/scorer.h"
#include "trainer/train/evaluate.h"
#include "trainer/train/precision_difference.h"

namespace bp::trainer {
int run_evaluate(Communicator& world, const Options& options) {
  const auto say = [&](const std::string& text) {
    if (world.rank() == 0) print_line(text);
  };
  if (world.rank() == 0) require_writable(options.out);
  const ModelSource source = find_model(options.scored, *options.task, options.extensions);
  const Precision precision = precision_of_evaluation(world, options);
  const auto model = load_model(source, device_of(options), precision);
  Options on_data = options;
  on_data.prepare.lower_case = source.tokenizer.lower_case;
  if (options.whole) {
    on_data.prepare.scored = true;
    (void)options.task->score_by(model->config());
  }
  const SampleStore store = open_evaluation_data(world, on_data, say);
  check_samples(store, source, *options.task);
  const Split split = chosen_split(options.on, store);
  const std::string name = options.whole ? options.data : name_of(split);
  if (options.seen) {
    say(concat("note: ", options.scored_run, " was trained on a part of ", name,
               "; without DATA its own test split is scored"));
  }
  if (precision != Precision::fp32 && world.rank() == 0) {
    constexpr std::int64_t kCompared = 8;  // blocks
    const auto blocks = first_blocks(*options.task, store, split, kCompared);
    say(text_of(difference_from_fp32(*model, blocks), precision));
  }
  const auto scorer = source.task->make_scorer(store.names(), model->config(), {&store, split});
  if (!evaluate(world, *model, *options.task, store, split, *scorer)) {
    say(concat("stopped on request while scoring ", name, "; nothing was written"));
    return stop_exit_code();
  }
  if (world.rank() != 0) return 0;
  if (!options.out.empty()) write_predictions(options.out, store, split, *scorer);
  print_results(*scorer, {store, split, name}, options.out);
  if (!options.out.empty()) print_line("predictions  " + options.out);
  return 0;
}

}  // namespace bp::trainer
