#include "trainer/report/predictions.h"

#include <cerrno>
#include <cstdio>

#include "bp/error.h"
#include "comm/base/text.h"

namespace bp::trainer {
namespace {

std::string probability_text(float probability) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6f", static_cast<double>(probability));
  return text;
}

}  // namespace

std::string csv_field(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) {
    return std::string(text);
  }
  std::string out = "\"";
  for (const char c : text) {
    out += c;
    if (c == '"') {
      out += '"';
    }
  }
  return out + '"';
}

PredictionsWriter::PredictionsWriter(const std::string& path,
                                     const std::vector<std::string>& labels)
    : path_(path), part_(path + ".part"), out_(part_, std::ios::binary | std::ios::trunc) {
  if (!out_) {
    throw Error(ErrorCode::io, concat("cannot create ", part_, ": ", error_text(errno)));
  }
  out_ << "sample_id,text_id,label,prediction";
  for (const std::string& label : labels) {
    labels_.push_back(csv_field(label));
    out_ << ',' << csv_field("p_" + label);
  }
  out_ << '\n';
}

PredictionsWriter::~PredictionsWriter() {
  if (out_.is_open()) {
    out_.close();
    std::remove(part_.c_str());
  }
}

void PredictionsWriter::add(const Prediction& prediction) {
  if (prediction.sample_id <= last_id_) {
    throw Error(ErrorCode::invalid_argument,
                concat("prediction of sample ", prediction.sample_id, " after that of sample ",
                       last_id_, ": each sample stands once, in order"));
  }
  if (prediction.probabilities.size() != labels_.size()) {
    throw Error(
        ErrorCode::invalid_argument,
        concat("prediction of sample ", prediction.sample_id, " has ",
               prediction.probabilities.size(), " probabilities for ", labels_.size(), " labels"));
  }
  last_id_ = prediction.sample_id;
  out_ << prediction.sample_id << ',' << prediction.text_id << ',';
  if (prediction.label >= 0) {
    out_ << labels_.at(static_cast<std::size_t>(prediction.label));
  }
  out_ << ',' << labels_.at(static_cast<std::size_t>(prediction.prediction));
  for (const float probability : prediction.probabilities) {
    out_ << ',' << probability_text(probability);
  }
  out_ << '\n';
}

void PredictionsWriter::finish() {
  out_.close();
  if (!out_ || std::rename(part_.c_str(), path_.c_str()) != 0) {
    const std::string reason = error_text(errno);
    std::remove(part_.c_str());
    throw Error(ErrorCode::io, concat("cannot write ", path_, ": ", reason));
  }
}

}  // namespace bp::trainer
