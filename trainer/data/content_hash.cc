#include "trainer/data/content_hash.h"

#include <cstdint>
#include <vector>

namespace bp::trainer {
namespace {

void add_names(Hash& hash, const std::vector<std::string>& names) {
  hash.add_number(static_cast<std::int64_t>(names.size()));
  for (const std::string& name : names) {
    hash.add(name);
  }
}

void add_schema(Hash& hash, const StoreSettings& settings) {
  hash.add(settings.task);
  hash.add_number(static_cast<std::int64_t>(settings.schema.size()));
  for (const ArrayField& field : settings.schema) {
    hash.add(field.name);
    hash.add_number(static_cast<std::int64_t>(field.element));
    hash.add_number(static_cast<std::int64_t>(field.shape));
    hash.add_number(field.padding);
    hash.add_number(field.named ? 1 : 0);
    hash.add_number(field.places ? 1 : 0);
  }
}

}  // namespace

void ContentHash::add_settings(const StoreSettings& settings) {
  if (settings.version > kOlderStoreVersion) add_schema(settings_, settings);
  add_names(settings_, settings.names);
  add_names(settings_, settings.vocabulary);
  settings_.add_number(settings.lower_case ? 1 : 0);
  settings_.add_number(settings.max_length);
}

void ContentHash::add_texts(Split split, std::string_view rows) {
  texts_[static_cast<std::size_t>(split)].add_pieces(rows);
}

void ContentHash::add_samples(Split split, std::string_view rows) {
  samples_[static_cast<std::size_t>(split)].add_pieces(rows);
}

std::string ContentHash::hex() const {
  Hash all;
  all.add(settings_.hex());
  for (const Split split : kSplits) {
    all.add(texts_[static_cast<std::size_t>(split)].hex());
    all.add(samples_[static_cast<std::size_t>(split)].hex());
  }
  return all.hex();
}

}  // namespace bp::trainer
