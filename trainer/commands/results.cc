#include "trainer/commands/results.h"

#include <cstdio>
#include <span>

#include "base/text.h"
#include "trainer/data/numbers.h"
#include "trainer/report/predictions.h"
#include "trainer/report/scores.h"
#include "trainer/report/shown_text.h"
#include "trainer/report/tables.h"

namespace bp::trainer {
namespace {

// Calls body(sample, its class or -1, its probabilities) in the store's order.
template <class Body>
void for_each(const Scored& scored, const Body& body) {
  const std::span<const float> all(scored.evaluation.probabilities);
  const std::size_t classes = scored.labels.size();
  for (std::int64_t i = 0; i < scored.store.size(scored.split); ++i) {
    const Sample sample = scored.store.load(scored.split, i);
    body(sample, class_of(sample, scored.label_map),
         all.subspan(static_cast<std::size_t>(i) * classes, classes));
  }
}

}  // namespace

std::optional<Split> judged_split(const SampleStore& store) {
  for (const Split split : {Split::test, Split::dev}) {
    if (store.size(split) > 0) return split;
  }
  return std::nullopt;
}

void print_line(const std::string& text) {
  std::fputs((text + "\n").c_str(), stdout);
  std::fflush(stdout);
}

void print_scores(const Scored& scored) {
  const Scores scores = scores_of(scored.evaluation.tally);
  if (scores.samples == 0) {
    print_line(concat(scored.name, ": no labels to compare with, ",
                      with_commas(scored.store.size(scored.split)), " samples",
                      scored.predictions.empty() ? "; --out FILE writes the predictions"
                                                 : "; predictions in " + scored.predictions));
    return;
  }
  print_line(concat(scored.name, ": accuracy ", fixed(scores.accuracy, 4), ", F1 ",
                    fixed(scores.macro.f1, 4), " (mean of classes), loss ", fixed(scores.loss, 4),
                    ", ", with_commas(scores.samples), " samples"));
  print_line(confusion_table(scored.evaluation.tally, scored.labels));
  print_line(classification_table(scores, scored.labels));
}

void write_predictions(const std::string& path, const Scored& scored) {
  PredictionsWriter writer(path, scored.labels);
  for_each(scored, [&](const Sample& sample, int label, std::span<const float> probabilities) {
    writer.add(
        {sample.sample_id, sample.text_id, label, most_probable(probabilities), probabilities});
  });
  writer.finish();
}

std::vector<WorstRow> worst_rows(const Scored& scored) {
  WorstRows worst;
  for_each(scored, [&](const Sample& sample, int label, std::span<const float> probabilities) {
    if (label < 0) return;
    worst.add({sample.sample_id, sample.text_id, label, most_probable(probabilities),
               probabilities[static_cast<std::size_t>(label)]});
  });
  for (WorstRow& row : worst.rows()) row.text = scored.store.text(row.text_id, scored.split);
  return worst.rows();
}

}  // namespace bp::trainer
