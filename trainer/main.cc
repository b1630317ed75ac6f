// bert_train: see docs/bert_train.md, or bert_train --help.
#include "bp/trainer/run.h"

int main(int argc, char** argv) { bp::run_bert_train(argc, argv); }
