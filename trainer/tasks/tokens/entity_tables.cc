#include "trainer/tasks/tokens/entity_tables.h"

#include <cstddef>

#include "base/report/escape.h"
#include "base/text.h"
#include "trainer/data/numbers.h"

namespace bp::trainer {
namespace {

// Calls add(name, score, kind) for each type, and for the averages.
template <class Add>
void for_each_score(const EntityScores& scores, const Add& add) {
  for (std::size_t i = 0; i < scores.types.size(); ++i) {
    add(scores.types[i], scores.scores[i], Table::Row::Kind::body);
  }
  add("micro avg", scores.micro, Table::Row::Kind::foot);
  add("macro avg", scores.macro, Table::Row::Kind::foot);
  add("weighted avg", scores.weighted, Table::Row::Kind::foot);
}

}  // namespace

std::string entity_report(const EntityScores& scores, int digits) {
  Table table{.columns = {{.width = static_cast<std::size_t>(digits)}}};
  for (const char* name : {"precision", "recall", "f1-score", "support"}) {
    table.columns.push_back({.name = name, .width = 9});
  }
  for_each_score(scores,
                 [&](const std::string& name, const EntityScore& of, Table::Row::Kind kind) {
                   table.add({name, fixed(of.precision, digits), fixed(of.recall, digits),
                              fixed(of.f1, digits), std::to_string(of.support)},
                             kind);
                 });
  return terminal_text(table, {.gap = 1, .scikit = true});
}

Section entity_section(const EntityScores& scores, const std::string& split) {
  constexpr std::size_t kLongestName = 24;
  constexpr int kDigits = 3;
  Section section{.title = concat("Entities, ", split, " split"),
                  .note = "An entity is right if its type, its first word and its last word are.",
                  .table = table_of({"type", "precision", "recall", "F1", "entities"})};
  for_each_score(scores, [&](const std::string& name, const EntityScore& of,
                             Table::Row::Kind kind) {
    section.table.add({shortened(repaired_utf8(name), kLongestName), fixed(of.precision, kDigits),
                       fixed(of.recall, kDigits), fixed(of.f1, kDigits), with_commas(of.support)},
                      kind);
  });
  return section;
}

std::string entities_csv(const EntityScores& scores) {
  constexpr int kDigits = 6;
  Table table = table_of({"type", "precision", "recall", "f1", "support"});
  for_each_score(scores,
                 [&](const std::string& name, const EntityScore& of, Table::Row::Kind kind) {
                   table.add({name, fixed(of.precision, kDigits), fixed(of.recall, kDigits),
                              fixed(of.f1, kDigits), concat(of.support)},
                             kind);
                 });
  return csv_text(table);
}

}  // namespace bp::trainer
