#include <optional>

#include "comm/base/nearest.h"
#include "comm/base/text.h"
#include "trainer/data/input_error.h"
#include "trainer/train/commands.h"
#include "trainer/train/evaluate.h"
#include "trainer/train/model_source.h"
#include "trainer/train/results.h"
#include "trainer/train/run_folder.h"
#include "trainer/train/shared_data.h"

namespace bp::trainer {
namespace {

Split chosen_split(const std::string& name, const SampleStore& store) {
  if (name.empty()) {
    return judged_split(store).value_or(Split::train);
  }
  for (const Split split : {Split::train, Split::dev, Split::test}) {
    if (name != name_of(split)) continue;
    if (store.size(split) > 0) return split;
    throw InputError(65, concat("the data has no ", name, " samples"),
                     "choose another split with --on");
  }
  throw InputError(2, concat("--on: '", name, "' is none of train|dev|test"),
                   concat("did you mean '", nearest_name(name, {"train", "dev", "test"}), "'?"));
}

}  // namespace

int run_evaluate(Communicator& world, const Options& options) {
  const auto say = [&](const std::string& text) {
    if (world.rank() == 0) print_line(text);
  };
  const ModelSource source = find_model(model_folder(options.source));
  Options on_data = options;
  on_data.prepare.lower_case = source.tokenizer.lower_case;
  const SampleStore store = SampleStore::open(prepare_everywhere(world, on_data, say));
  check_samples(store, source);
  const auto model = load_model(source);
  const std::vector<int> label_map = map_labels(store, *model);
  const Split split = chosen_split(options.on, store);
  const Evaluation evaluation = evaluate(world, *model, store, split, label_map);
  if (world.rank() != 0) return 0;
  const Scored scored{evaluation, store, split, label_map, model->config().labels};
  print_scores(scored);
  if (!options.out.empty()) {
    write_predictions(options.out, scored);
    print_line("predictions  " + options.out);
  }
  return 0;
}

}  // namespace bp::trainer
