#include "base/text.h"
#include "bp/error.h"
#include "trainer/commands/commands.h"
#include "trainer/commands/model_source.h"
#include "trainer/commands/results.h"
#include "trainer/data/input_error.h"
#include "trainer/data/look_up.h"
#include "trainer/model/onnx_graph.h"

namespace bp::trainer {

int run_export(Communicator& world, const Options& options) {
  if (world.rank() != 0) return 0;
  require_writable(options.out);
  const ModelSource source = find_model(options.scored, *options.task, options.extensions);
  const auto model = load_model(source);
  model->merge_adapters();
  OnnxGraph graph(model->parameters(), options.int8 ? OnnxNumbers::int8 : OnnxNumbers::fp32);
  try {
    model->add_to(graph);
    graph.metadata("task", source.task_name);
    graph.metadata("config.json", config_json(model->config()));
    graph.write(options.out);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::invalid_argument) throw;
    throw InputError(2, concat(source.name, ": ", error.what()),
                     "bert_train export writes models of one text or a pair of texts: classify, "
                     "regress and tokens");
  }
  print_line(concat("wrote ", options.out, ": ", options.int8 ? "int8" : "fp32",
                    ", inputs input_ids, attention_mask, token_type_ids; output logits"));
  return 0;
}

}  // namespace bp::trainer
