#include "trainer/report/summary.h"

#include "trainer/report/evaluation_json.h"

namespace bp::trainer {

std::string to_json(const RunSummary& summary) {
  Json json{{"task", summary.task},
            {"model", summary.model},
            {"world", summary.world},
            {"hosts", summary.hosts},
            {"steps", summary.steps},
            {"skipped_steps", summary.train.skipped},
            {"epochs", number(summary.epochs)},
            {"train",
             {{"samples_per_s", measured(summary.train.samples_per_s)},
              {"tokens_per_s", measured(summary.train.tokens_per_s)},
              {"seconds", measured(summary.train.seconds)},
              {"loss", number(summary.train.loss)}}}};
  if (summary.dev) {
    json["dev"] = to_object(*summary.dev);
  }
  if (summary.test) {
    json["test"] = to_object(*summary.test);
  }
  json["comm"] = {{"bytes", summary.comm.bytes},
                  {"seconds_exposed", measured(summary.comm.seconds_exposed)}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
}

}  // namespace bp::trainer
