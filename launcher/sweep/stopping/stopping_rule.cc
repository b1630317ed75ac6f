#include "launcher/sweep/stopping/stopping_rule.h"

#include "launcher/sweep/stopping/asha.h"
#include "launcher/sweep/stopping/median.h"

namespace bp::launcher::sweep {
namespace {

class NeverStop : public StoppingRule {
 public:
  Decision decide(std::size_t /*trial*/, std::span<const TrialHistory> /*trials*/) const override {
    return Decision::go_on;
  }
  std::vector<std::size_t> promotable(std::span<const TrialHistory> /*trials*/) const override {
    return {};
  }
};

}  // namespace

std::unique_ptr<StoppingRule> make_stopping_rule(const StopSpec& spec, Direction direction) {
  switch (spec.rule) {
    case StopSpec::Rule::asha:
      return std::make_unique<Asha>(spec, direction);
    case StopSpec::Rule::median:
      return std::make_unique<MedianStopping>(spec, direction);
    case StopSpec::Rule::none:
      break;
  }
  return std::make_unique<NeverStop>();
}

}  // namespace bp::launcher::sweep
