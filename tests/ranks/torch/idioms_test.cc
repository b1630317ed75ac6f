// The ways in which LibTorch's programs train: each as a plain program, and with a
// DistributedOptimizer on one rank, where all bits must be equal, and on two and three, where the
// parameters may differ by rounding. Models are of doubles, so that a missing term shows. It is
// over 400 lines because it is one table: an idiom is a row, and is compared in the same way as the
// others.
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/tanh.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/optim/optimizer.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <c10/core/InferenceMode.h>

#include "bp/torch/collective.h"
#include "bp/torch/distributed_optimizer.h"
#include "tests/support/run_ranks.h"
#include "tests/support/torch_model.h"
#include "tests/support/torch_ranks.h"

namespace bp {
namespace {

namespace autograd = torch::autograd;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::StartsWith;

using Block = std::function<at::Tensor(const at::Tensor&)>;

// The usual checkpoint of a C++ program: it keeps the input of a block alone, and computes the
// block again in the backward pass, with a backward pass of its own.
class Checkpoint : public autograd::Function<Checkpoint> {
 public:
  static at::Tensor forward(autograd::AutogradContext* ctx,
                            const at::Tensor& x,
                            const Block* block) {
    ctx->save_for_backward({x});
    ctx->saved_data["block"] = reinterpret_cast<std::int64_t>(block);
    return (*block)(x);
  }
  static autograd::variable_list backward(autograd::AutogradContext* ctx,
                                          const autograd::variable_list& gradients) {
    const auto* const block = reinterpret_cast<const Block*>(ctx->saved_data["block"].toInt());
    const at::Tensor x = ctx->get_saved_variables()[0].detach().requires_grad_();
    const at::AutoGradMode on(true);
    autograd::backward({(*block)(x)}, {gradients[0]});
    return {x.grad(), at::Tensor()};
  }
};

// Weights w0 to w3, 6 x 6, and biases b0 to b3, all different.
struct Net {
  Net() {
    for (int i = 0; i < 4; ++i) {
      const auto options = at::device(test::tensor_device()).dtype(at::kDouble);
      w.push_back((at::arange(36, options).reshape({6, 6}) * (1.3 + i)).sin().mul(0.4));
      b.push_back((at::arange(6, options) * (0.7 + i)).cos().mul(0.1));
      w.back().requires_grad_();
      b.back().requires_grad_();
      blocks.emplace_back([this, i](const at::Tensor& x) { return layer(i, x); });
    }
  }
  Net(const Net&) = delete;
  Net& operator=(const Net&) = delete;

  [[nodiscard]] at::Tensor layer(std::size_t i, const at::Tensor& x) const {
    return at::tanh(at::linear(x, w[i], b[i]));
  }
  [[nodiscard]] at::Tensor checkpointed(std::size_t i, const at::Tensor& x) const {
    return Checkpoint::apply(x, &blocks[i]);
  }
  [[nodiscard]] NamedTensors named(std::size_t from = 0, std::size_t to = 4) const {
    NamedTensors all;
    for (std::size_t i = from; i < to; ++i) {
      all.emplace_back("w" + std::to_string(i), w[i]);
      all.emplace_back("b" + std::to_string(i), b[i]);
    }
    return all;
  }
  [[nodiscard]] std::vector<at::Tensor> tensors() const {
    std::vector<at::Tensor> all = w;
    all.insert(all.end(), b.begin(), b.end());
    return all;
  }

  std::vector<at::Tensor> w;
  std::vector<at::Tensor> b;
  std::vector<Block> blocks;
};

std::vector<at::Tensor> tensors_of(const NamedTensors& named) {
  std::vector<at::Tensor> all;
  for (const auto& [name, tensor] : named) all.push_back(tensor);
  return all;
}

struct Settings {
  const char* optimizer = "sgd-momentum";
  int micro_batches = 1;
};

// An optimizer of a program, plain or distributed.
class Trainer {
 public:
  // `world`: null for a plain program.
  Trainer(Communicator* world, const NamedTensors& parameters, const Settings& settings)
      : world_(world),
        parameters_(tensors_of(parameters)),
        micro_batches_(settings.micro_batches),
        plain_(test::make_optimizer(settings.optimizer, parameters_, 0.1)),
        bare_(*plain_) {
    if (world_ == nullptr) return;
    distributed_ = std::make_unique<DistributedOptimizer>(
        *world, parameters, std::move(plain_),
        DistributedOptimizerOptions{
            .micro_batches = settings.micro_batches, .first_bucket_bytes = 1, .bucket_bytes = 400});
  }
  // This process's part of 12 rows that differ in each step.
  [[nodiscard]] at::Tensor rows(int step) const {
    const auto options = at::device(test::tensor_device()).dtype(at::kDouble);
    const at::Tensor all = ((at::arange(72, options) + 100.0 * step) * 0.9).sin().reshape({12, 6});
    return world_ == nullptr ? all : own_rows(*world_, all);
  }
  // Of a mean over 12 rows, or this rank's part of them.
  void backward(const at::Tensor& loss, bool retain_graph = false) {
    if (distributed_) {
      distributed_->backward(loss, 12.0 / world_->size(), retain_graph);
    } else {
      (micro_batches_ == 1 ? loss : loss / micro_batches_).backward({}, retain_graph);
    }
  }
  void step() {
    if (distributed_) {
      EXPECT_TRUE(distributed_->step());
    } else {
      bare_.step();
    }
    zero_grad();
  }
  void zero_grad() {
    if (distributed_) {
      distributed_->zero_grad();
    } else {
      for (const at::Tensor& parameter : parameters_) parameter.mutable_grad().reset();
    }
  }
  [[nodiscard]] torch::optim::Optimizer& bare() { return bare_; }

 private:
  Communicator* world_;
  std::vector<at::Tensor> parameters_;
  int micro_batches_;
  std::unique_ptr<torch::optim::Optimizer> plain_;
  torch::optim::Optimizer& bare_;
  std::unique_ptr<DistributedOptimizer> distributed_;
};

// Computes the loss of each step on this process's rows.
using LossOf = std::function<at::Tensor(const at::Tensor& x, int step)>;

constexpr int kSteps = 5;

void train_on(Trainer& trainer, const LossOf& loss_of) {
  for (int step = 0; step < kSteps; ++step) {
    trainer.backward(loss_of(trainer.rows(step), step));
    trainer.step();
  }
}

at::Tensor mean_of(const at::Tensor& y) { return y.square().mean(); }
at::Tensor leaf_of(const at::Tensor& x) { return x.detach().requires_grad_(); }

struct Idiom {
  const char* name;
  void (*train)(Net& net, Communicator* world);
};

// Most are one loss with one optimizer.
void train_simply(Net& net, Communicator* world, const LossOf& loss_of, Settings settings = {}) {
  Trainer trainer(world, net.named(), settings);
  train_on(trainer, loss_of);
}

constexpr Idiom kIdioms[] = {
    {"layers",
     [](Net& n, Communicator* world) {
       train_simply(n, world, [&](const at::Tensor& x, int) {
         return mean_of(n.layer(3, n.layer(2, n.layer(1, n.layer(0, x)))));
       });
     }},
    {"checkpoint behind a layer",
     [](Net& n, Communicator* world) {
       train_simply(n, world, [&](const at::Tensor& x, int) {
         return mean_of(n.layer(2, n.checkpointed(1, n.layer(0, x))));
       });
     }},
    {"checkpoint of data",
     [](Net& n, Communicator* world) {
       train_simply(n, world, [&](const at::Tensor& x, int) {
         return mean_of(n.layer(1, n.checkpointed(0, leaf_of(x))));
       });
     }},
    {"checkpoint of data, its weight used outside too",
     [](Net& n, Communicator* world) {
       train_simply(n, world, [&](const at::Tensor& x, int) {
         return mean_of(n.layer(1, n.checkpointed(0, leaf_of(x))) + at::linear(x, n.w[0]));
       });
     }},
    {"checkpoint behind a layer, its weight used outside too",
     [](Net& n, Communicator* world) {
       train_simply(n, world, [&](const at::Tensor& x, int) {
         return mean_of(at::linear(n.layer(2, n.checkpointed(1, n.layer(0, x))), n.w[1]));
       });
     }},
    {"checkpoints inside a checkpoint",
     [](Net& n, Communicator* world) {
       const Block inner = [&](const at::Tensor& x) { return n.layer(2, n.checkpointed(1, x)); };
       const Block outer = [&](const at::Tensor& x) {
         return n.layer(3, Checkpoint::apply(n.layer(0, x), &inner));
       };
       train_simply(n, world, [&](const at::Tensor& x, int) {
         return mean_of(Checkpoint::apply(leaf_of(x), &outer));
       });
     }},
    {"checkpoint in a loop of random length",
     [](Net& n, Communicator* world) {
       train_simply(n, world, [&](const at::Tensor& x, int step) {
         at::Tensor y = leaf_of(x);
         for (int i = 0; i < (step * 7 + 1) % 4 + 1; ++i) y = n.checkpointed(1, y);
         return mean_of(n.layer(0, y));
       });
     }},
    {"micro-batches of checkpoints",
     [](Net& n, Communicator* world) {
       Trainer trainer(world, n.named(), {.micro_batches = 2});
       for (int step = 0; step < kSteps; ++step) {
         for (int part = 0; part < 2; ++part) {
           const at::Tensor x = leaf_of(trainer.rows(2 * step + part));
           trainer.backward(mean_of(n.checkpointed(1, n.checkpointed(1, x))));
         }
         trainer.step();
       }
     }},
    {"gradient penalty",
     [](Net& n, Communicator* world) {
       train_simply(n, world, [&](const at::Tensor& rows, int) {
         const at::Tensor x = leaf_of(rows);
         const at::Tensor y = n.layer(1, n.layer(0, x));
         const at::Tensor slope = autograd::grad({y.sum()}, {x}, {}, true, true)[0];
         return mean_of(y) + (slope.norm(2, 1) - 1).square().mean();
       });
     }},
    {"two losses of one graph",
     [](Net& n, Communicator* world) {
       Trainer trainer(world, n.named(), {.micro_batches = 2});
       for (int step = 0; step < kSteps; ++step) {
         const at::Tensor y = n.checkpointed(1, n.layer(0, trainer.rows(step)));
         trainer.backward(mean_of(n.layer(2, y)), /*retain_graph=*/true);
         trainer.backward(n.layer(3, y).mean());
         trainer.step();
       }
     }},
    {"shared weights",
     [](Net& n, Communicator* world) {
       train_simply(n, world, [&](const at::Tensor& x, int) {
         return mean_of(at::linear(n.layer(0, n.layer(0, x)), n.w[0].t()));
       });
     }},
    {"frozen at times",
     [](Net& n, Communicator* world) {
       train_simply(n, world, [&](const at::Tensor& x, int step) {
         n.w[1].set_requires_grad(step % 2 == 0);
         return mean_of(n.layer(2, n.checkpointed(1, n.layer(0, x))));
       });
     }},
    {"layers unused at times, with momentum",
     [](Net& n, Communicator* world) {
       train_simply(n, world, [&](const at::Tensor& x, int step) {
         return mean_of(step % 3 == 0 ? n.layer(1, n.layer(0, x)) : n.layer(0, x));
       });
     }},
    {"layers unused at times, with decay",
     [](Net& n, Communicator* world) {
       train_simply(n, world,
                    [&](const at::Tensor& x, int step) {
                      return mean_of(step % 3 == 1 ? n.layer(1, n.layer(0, x)) : n.layer(0, x));
                    },
                    {.optimizer = "adamw"});
     }},
    {"hooks on weights that arrive several times",
     [](Net& n, Communicator* world) {
       n.w[1].register_hook([](const at::Tensor& gradient) { return 2 * gradient; });
       train_simply(n, world, [&](const at::Tensor& x, int step) {
         at::Tensor y = n.layer(0, x);
         for (int i = 0; i <= step; ++i) y = n.checkpointed(1, y);
         return mean_of(y + at::linear(x, n.w[1]));
       });
     }},
    {"parts without gradient",
     [](Net& n, Communicator* world) {
       train_simply(n, world, [&](const at::Tensor& x, int) {
         const at::Tensor target = [&] {
           const at::NoGradGuard no_grad;
           return n.layer(3, n.layer(0, x));
         }();
         return mean_of(n.layer(1, n.layer(0, x)) - target) +
                mean_of(n.layer(2, n.layer(0, x).detach()));
       });
     }},
    {"a group that comes later",
     [](Net& n, Communicator* world) {
       Trainer trainer(world, n.named(), {.optimizer = "sgd"});
       trainer.bare().param_groups()[0].params().resize(2);
       for (int step = 0; step < kSteps; ++step) {
         if (step == 2) trainer.bare().param_groups()[0].params().push_back(n.w[1]);
         trainer.backward(mean_of(n.layer(1, n.layer(0, trainer.rows(step)))));
         trainer.step();
       }
     }},
    {"values that the program replaces and clamps",
     [](Net& n, Communicator* world) {
       Trainer trainer(world, n.named(), {.optimizer = "adam"});
       for (int step = 0; step < kSteps; ++step) {
         trainer.backward(mean_of(n.layer(1, n.layer(0, trainer.rows(step)))));
         trainer.step();
         const at::NoGradGuard no_grad;
         n.w[0].clamp_(-0.3, 0.3);
         if (step == 1) n.w[1].set_data(n.w[1].detach() * 0.5);
       }
     }},
    {"a model in another type for a time",
     [](Net& n, Communicator* world) {
       train_simply(n, world, [&](const at::Tensor& x, int step) {
         if (step == 2) {
           const at::Tensor values = n.w[1].detach().clone();
           n.w[1].set_data(values.to(at::kFloat));
           n.w[1].set_data(values);
         }
         at::Tensor y = n.layer(0, x);
         for (int i = 0; i <= step; ++i) y = n.checkpointed(1, y);
         return mean_of(y);
       });
     }},
    {"steps in inference mode",
     [](Net& n, Communicator* world) {
       Trainer trainer(world, n.named(), {});
       for (int step = 0; step < kSteps; ++step) {
         trainer.backward(mean_of(n.layer(1, n.layer(0, trainer.rows(step)))));
         const c10::InferenceMode evaluating;
         trainer.step();
       }
     }},
    {"a schedule of the learning rate",
     [](Net& n, Communicator* world) {
       Trainer trainer(world, n.named(), {.optimizer = "rmsprop"});
       for (int step = 0; step < kSteps; ++step) {
         trainer.bare().param_groups()[0].options().set_lr(0.1 / (1 + step));
         trainer.backward(mean_of(n.layer(1, n.layer(0, trainer.rows(step)))));
         trainer.step();
       }
     }},
    {"two optimizers, the second's block checkpointed",
     [](Net& n, Communicator* world) {
       Trainer first(world, n.named(0, 1), {});
       Trainer second(world, n.named(1, 3), {.optimizer = "adam"});
       for (int step = 0; step < kSteps; ++step) {
         const auto loss = [&] { return mean_of(n.checkpointed(1, n.layer(0, first.rows(step)))); };
         second.backward(loss());
         second.step();
         first.zero_grad();
         first.backward(mean_of(n.layer(2, n.layer(1, n.layer(0, first.rows(step))))));
         first.step();
         second.zero_grad();
       }
     }},
    {"two optimizers, both in a checkpointed loss",
     [](Net& n, Communicator* world) {
       Trainer first(world, n.named(0, 1), {});
       Trainer second(world, n.named(1, 3), {});
       for (int step = 0; step < kSteps; ++step) {
         for (Trainer* one : {&first, &second}) {
           first.zero_grad();
           second.zero_grad();
           const at::Tensor y = n.checkpointed(0, leaf_of(first.rows(step)));
           one->backward(mean_of(n.layer(2, n.checkpointed(1, y)) + at::linear(y, n.w[0])));
           one->step();
         }
       }
     }},
};

// docs/features.md, Gradients: Activation checkpoints, gradient penalties, shared and frozen
// parameters, hooks | as in a plain program
TEST(Idioms, TrainAsAPlainProgramDoesOnAnyNumberOfRanks) {
  for (const Idiom& idiom : kIdioms) {
    SCOPED_TRACE(idiom.name);
    for (const int ranks : {1, 2, 3}) {
      test::run_ranks(ranks, [&](Communicator& world) {
        Net plain;
        idiom.train(plain, nullptr);
        Net net;
        idiom.train(net, &world);
        const Net before;
        EXPECT_GT(test::distance(plain.w, before.w), 1e-3) << "training must change something";
        if (ranks == 1) {
          EXPECT_EQ(test::bits(net.tensors()), test::bits(plain.tensors())) << idiom.name;
        }
        EXPECT_LT(test::distance(net.tensors(), plain.tensors()), 1e-13)
            << idiom.name << " on " << ranks << " ranks";
        test::expect_equal_on_all_ranks(world, test::bits(net.tensors()));
      });
    }
  }
}

// Nothing tells the second optimizer that its gradient belongs to a loss of the first.
TEST(Idioms, OptimizersWhoseNetworksMeetOnlyInsideACheckpointAreRefused) {
  for (const int ranks : {1, 2}) {
    const auto ends = test::try_ranks(ranks, [](Communicator& world) {
      const Net n;
      Trainer first(&world, n.named(0, 1), {});
      const Trainer second(&world, n.named(1, 2), {});
      first.backward(mean_of(n.checkpointed(1, n.layer(0, first.rows(0)))));
    });
    EXPECT_THAT(ends, Each(AllOf(StartsWith("invalid_argument: DistributedOptimizer: parameter "),
                                 HasSubstr("1 got a gradient outside of backward()"),
                                 HasSubstr("give both networks one optimizer"))));
  }
}

}  // namespace
}  // namespace bp
