#include "trainer/commands/run_precision.h"

#include <algorithm>
#include <string_view>

#include "base/input_error.h"
#include "base/options/setting.h"
#include "base/text.h"
#include "bp/collective.h"
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

bool has_bf16(const RankDevice& rank_device) {
  return rank_device.gpu < 0 ? has_bf16_instructions() : rank_device.has_bf16;
}

Precision precision_of_evaluation(Communicator& world,
                                  Precision asked,
                                  const RankDevice& rank_device) {
  if (asked != Precision::automatic) return asked;
  return agree_on_precision(world, "", has_bf16(rank_device));
}

void choose_precision(Communicator& world,
                      RunSettings& settings,
                      const RunFolder* folder,
                      const Say& say) {
  const bool chooses = settings.precision == Precision::automatic;
  if (chooses) {
    settings.precision = agree_on_precision(
        world, folder == nullptr ? "" : saved_precision(*folder, settings.resume),
        has_bf16(settings.rank_device));
    set(settings.settings, {"precision", std::string(name_of(settings.precision)), "auto"});
  }
  const bool is_bf16 = settings.precision == Precision::bf16;
  if (!chooses && !is_bf16) return;
  const bool on_cpu = settings.rank_device.gpu < 0;
  say(concat("precision ", name_of(settings.precision), chooses ? ", chosen by auto" : "",
             is_bf16 && on_cpu ? concat(": ", description_of(bf16_products())) : ""));
}

}  // namespace bp::trainer
