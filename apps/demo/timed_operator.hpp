#pragma once

#include <weft/core/stream.hpp>
#include <weft/op/linear_operator.hpp>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

namespace weft::app {

/// The time of one operator on this rank.
struct OperatorTime {
  std::string name;
  index_t forwards = 0;
  index_t adjoints = 0;
  double forward_seconds = 0;
  double adjoint_seconds = 0;
};

/// Collects the times of operators.
class OperatorTimes {
 public:
  /// The operator with timing. On a GPU, synchronizes after each apply.
  template <Scalar D, Scalar R>
  LinearOperator<D, R> timed(const std::string& name, const LinearOperator<D, R>& a) {
    times_.push_back(std::make_shared<OperatorTime>(OperatorTime{.name = name}));
    return make_operator<Node<D, R>>(name, a, times_.back());
  }
  const std::vector<std::shared_ptr<OperatorTime>>& all() const { return times_; }

 private:
  template <Scalar D, Scalar R>
  class Node final : public OperatorNode<D, R> {
   public:
    Node(const std::string& name, const LinearOperator<D, R>& a, std::shared_ptr<OperatorTime> time)
        : OperatorNode<D, R>(name, a.domain(), a.range()), a_(a), time_(std::move(time)) {}

    void forward(const ConstArrayView<D>& x, const ArrayView<R>& y,
                 Update<R> update) const override {
      ++time_->forwards;
      time_->forward_seconds += seconds(y.device(), [&] { a_.forward(x, y, update); });
    }
    void adjoint(const ConstArrayView<R>& y, const ArrayView<D>& x,
                 Update<D> update) const override {
      ++time_->adjoints;
      time_->adjoint_seconds += seconds(x.device(), [&] { a_.adjoint(y, x, update); });
    }
    std::vector<const AnyOperatorNode*> children() const override { return {a_.node().get()}; }
    bool capturable() const override { return false; }

   private:
    template <class F>
    static double seconds(Device device, F apply) {
      const auto start = std::chrono::steady_clock::now();
      apply();
      if (!device.host_accessible()) Stream::current(device).synchronize();
      return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    }

    LinearOperator<D, R> a_;
    std::shared_ptr<OperatorTime> time_;
  };

  std::vector<std::shared_ptr<OperatorTime>> times_;
};

}  // namespace weft::app
