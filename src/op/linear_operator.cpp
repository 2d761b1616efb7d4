#include <weft/op/linear_operator.hpp>

#include <weft/core/error.hpp>
#include <weft/op/algebra/operator_algebra.hpp>

#include "op/checks.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

namespace weft {
namespace {

/// Checks the arguments of forward and adjoint.
template <class T, class U>
void check(const char* call, const std::string& name, const Layout& takes, const Layout& gives,
           const ConstArrayView<T>& in, const ConstArrayView<U>& out) {
  if (!(in.layout() == takes)) {
    refuse("{} of {}: {}", call, name,
           detail::difference("the operator expects", takes, "the input is", in.layout()));
  }
  if (!(out.layout() == gives)) {
    refuse("{} of {}: {}", call, name,
           detail::difference("the operator returns", gives, "the output is", out.layout()));
  }
  const auto* in_begin = reinterpret_cast<const std::byte*>(in.data());
  const auto* out_begin = reinterpret_cast<const std::byte*>(out.data());
  const auto in_end = in_begin + in.local_count() * index_t{sizeof(T)};
  const auto out_end = out_begin + out.local_count() * index_t{sizeof(U)};
  const std::less<> before;
  if (before(in_begin, out_end) && before(out_begin, in_end)) {
    refuse("{} of {}: input and output share memory", call, name);
  }
}

/// 12345678 as "12.3 M".
std::string with_unit(double number) {
  if (std::isnan(number)) return "unknown";
  constexpr const char* units[] = {"", " k", " M", " G", " T", " P"};
  int unit = 0;
  for (; number >= 1000 && unit < 5; ++unit) number /= 1000;
  return unit == 0 ? fmt::format("{:.0f}", number) : fmt::format("{:.3g}{}", number, units[unit]);
}

void append_tree(const AnyOperatorNode& node, int depth, std::string& text) {
  const Cost cost = node.cost();
  const bool square = node.domain() == node.range() && node.domain_type() == node.range_type();
  text += fmt::format("{:{}}{}: {} {}", "", 2 * depth, node.name(), to_string(node.domain_type()),
                      to_string(node.domain()));
  if (!square) {
    text += fmt::format(" -> {} {}", to_string(node.range_type()), to_string(node.range()));
  }
  text +=
      fmt::format("; {} flops, {} bytes, {} message{}\n", with_unit(cost.flops),
                  with_unit(cost.bytes), with_unit(cost.messages), cost.messages == 1 ? "" : "s");
  for (const AnyOperatorNode* child : node.children()) append_tree(*child, depth + 1, text);
}

}  // namespace

void detail::refuse_moved_operator() { refuse("LinearOperator: the operator has been moved from"); }

Cost& Cost::operator+=(const Cost& other) {
  flops += other.flops;
  bytes += other.bytes;
  messages += other.messages;
  return *this;
}

Cost Cost::unknown() {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  return {nan, nan, nan};
}

Cost AnyOperatorNode::cost() const {
  const std::vector<const AnyOperatorNode*> nodes = children();
  if (nodes.empty()) return Cost::unknown();
  Cost total;
  for (const AnyOperatorNode* child : nodes) total += child->cost();
  return total;
}

Cost AnyOperatorNode::adjoint_cost() const {
  const std::vector<const AnyOperatorNode*> nodes = children();
  if (nodes.empty()) return cost();
  Cost total;
  for (const AnyOperatorNode* child : nodes) total += child->adjoint_cost();
  return total;
}

bool AnyOperatorNode::capturable() const {
  return std::ranges::all_of(children(),
                             [](const AnyOperatorNode* child) { return child->capturable(); });
}

bool AnyOperatorNode::is_complex_linear() const {
  if (!is_complex_type(domain_type_) || !is_complex_type(range_type_)) return false;
  return std::ranges::all_of(
      children(), [](const AnyOperatorNode* child) { return child->is_complex_linear(); });
}

template <Scalar D, Scalar R>
std::optional<LinearOperator<D, D>> OperatorNode<D, R>::normal() const {
  return std::nullopt;
}

template <Scalar D, Scalar R>
void LinearOperator<D, R>::forward(const ConstArrayView<D>& x, const ArrayView<R>& y,
                                   Update<R> update) const {
  check("forward", name(), domain(), range(), x, y);
  node_->forward(x, y, update);
}

template <Scalar D, Scalar R>
void LinearOperator<D, R>::adjoint(const ConstArrayView<R>& y, const ArrayView<D>& x,
                                   Update<D> update) const {
  check("adjoint", name(), range(), domain(), y, x);
  node_->adjoint(y, x, update);
}

template <Scalar D, Scalar R>
LinearOperator<D, D> LinearOperator<D, R>::normal() const {
  if (auto simplified = checked().normal()) return *simplified;
  return weft::adjoint(*this) * *this;
}

template <Scalar D, Scalar R>
std::string LinearOperator<D, R>::describe() const {
  std::string text;
  append_tree(checked(), 0, text);
  return text;
}

#define INSTANTIATE(D, R)            \
  template class OperatorNode<D, R>; \
  template class LinearOperator<D, R>;
WEFT_FOR_EACH_OPERATOR(INSTANTIATE)
WEFT_FOR_EACH_MIXED_OPERATOR(INSTANTIATE)
#undef INSTANTIATE

}  // namespace weft
