#include "trainer/commands/run_precision.h"

#include <algorithm>
#include <string_view>

#include "base/options/setting.h"
#include "base/text.h"
#include "bp/collective.h"
#include "trainer/commands/command_line.h"
#include "trainer/data/input_error.h"
#include "trainer/run/resume.h"

namespace bp::trainer {
namespace {

constexpr std::string_view kSaved = "saved ";

}  // namespace

// A refusal is reported later, when the run compares all of its options with the checkpoint.
std::string saved_precision(const RunFolder& folder, const std::string& resume) {
  try {
    const ResumePoint point = choose_resume_point(folder, resume, [](const std::string&) {});
    return value_of(point.state.options, "precision");
  } catch (const InputError&) {
    return "";
  }
}

std::string precision_wish(const std::string& saved, bool has_bf16_instructions) {
  if (!saved.empty()) return concat(kSaved, saved);
  return std::string(name_of(fastest_precision(has_bf16_instructions)));
}

Precision chosen_precision(const std::vector<std::string>& wishes) {
  for (const Precision one : {Precision::fp32, Precision::fp16, Precision::bf16}) {
    if (wishes.front() == concat(kSaved, name_of(one))) return one;
  }
  const std::string bf16 = precision_wish("", true);
  return fastest_precision(
      std::ranges::all_of(wishes, [&](const std::string& wish) { return wish == bf16; }));
}

Precision agree_on_precision(Communicator& world, const std::string& saved, bool has_bf16) {
  const std::string own = precision_wish(world.rank() == 0 ? saved : "", has_bf16);
  return chosen_precision(all_gather_object(world, own, {.name = "precision"}));
}

bool has_bf16(const Options& options) {
  return options.gpu < 0 ? has_bf16_instructions() : options.gpu_has_bf16;
}

Precision precision_of_evaluation(Communicator& world, const Options& options) {
  if (options.precision != Precision::automatic) return options.precision;
  return agree_on_precision(world, "", has_bf16(options));
}

void choose_precision(Communicator& world,
                      Options& options,
                      const RunFolder* folder,
                      const Say& say) {
  const bool chooses = options.precision == Precision::automatic;
  if (chooses) {
    options.precision =
        agree_on_precision(world, folder == nullptr ? "" : saved_precision(*folder, options.resume),
                           has_bf16(options));
    set(options.settings, {"precision", std::string(name_of(options.precision)), "auto"});
  }
  const bool is_bf16 = options.precision == Precision::bf16;
  if (!chooses && !is_bf16) return;
  say(concat("precision ", name_of(options.precision), chooses ? ", chosen by auto" : "",
             is_bf16 && options.gpu < 0 ? concat(": ", description_of(bf16_products())) : ""));
}

}  // namespace bp::trainer
