#include <weft/op/algebra/blocks.hpp>

#include <weft/op/algebra/operator_algebra.hpp>

#include "op/checks.hpp"
#include "op/scaling.hpp"

#include <numeric>

namespace weft {
namespace {

template <class D, class R>
using Operators = std::vector<LinearOperator<D, R>>;

/// Consecutive pieces of an array's memory as arrays of given layouts.
template <Scalar T>
class Pieces {
 public:
  void add(const Layout& layout) {
    pieces_.push_back({layout, end_, layout.local_count()});
    end_ += layout.local_count();
  }
  ArrayView<T> of(const ArrayView<T>& x, std::size_t i) const {
    const auto& [layout, offset, count] = pieces_[i];
    return {layout, x.data() + offset, count};
  }
  ConstArrayView<T> of(const ConstArrayView<T>& x, std::size_t i) const {
    const auto& [layout, offset, count] = pieces_[i];
    return {layout, x.data() + offset, count};
  }

 private:
  struct Piece {
    Layout layout;
    index_t offset;
    index_t count;
  };
  std::vector<Piece> pieces_;
  index_t end_ = 0;
};

template <Scalar D, Scalar R>
std::vector<const AnyOperatorNode*> nodes_of(const Operators<D, R>& operators) {
  std::vector<const AnyOperatorNode*> nodes;
  for (const auto& a : operators) nodes.push_back(a.node().get());
  return nodes;
}

/// The sum of costs; 0 for a rank without operators.
template <Scalar D, Scalar R>
Cost cost_of(const Operators<D, R>& operators) {
  Cost total;
  for (const auto& a : operators) total += a.cost();
  return total;
}

/// block_diag over a communicator.
template <Scalar D, Scalar R>
class DiagonalOverRanks final : public OperatorNode<D, R> {
 public:
  DiagonalOverRanks(const Layout& domain, const Layout& range, const Operators<D, R>& mine)
      : OperatorNode<D, R>(fmt::format("block_diag over {} ranks", domain.comm().size()), domain,
                           range),
        mine_(mine) {
    for (const auto& a : mine_) {
      in_domain_.add(a.domain());
      in_range_.add(a.range());
    }
  }

  void forward(const ConstArrayView<D>& x, const ArrayView<R>& y, Update<R> update) const override {
    for (std::size_t i = 0; i < mine_.size(); ++i) {
      mine_[i].forward(in_domain_.of(x, i), in_range_.of(y, i), update);
    }
  }
  void adjoint(const ConstArrayView<R>& y, const ArrayView<D>& x, Update<D> update) const override {
    for (std::size_t i = 0; i < mine_.size(); ++i) {
      mine_[i].adjoint(in_range_.of(y, i), in_domain_.of(x, i), update);
    }
  }
  std::vector<const AnyOperatorNode*> children() const override { return nodes_of(mine_); }
  Cost cost() const override { return cost_of(mine_); }

 private:
  Operators<D, R> mine_;
  Pieces<D> in_domain_;
  Pieces<R> in_range_;
};

/// vstack over a communicator.
template <Scalar D, Scalar R>
class StackOverRanks final : public OperatorNode<D, R> {
 public:
  StackOverRanks(const Layout& domain, const Layout& range, const Operators<D, R>& mine)
      : OperatorNode<D, R>(fmt::format("vstack over {} ranks", domain.comm().size()), domain,
                           range),
        mine_(mine) {
    if (!mine.empty()) whole_domain_.add(mine.front().domain());
    for (const auto& a : mine_) in_range_.add(a.range());
  }

  void forward(const ConstArrayView<D>& x, const ArrayView<R>& y, Update<R> update) const override {
    for (std::size_t i = 0; i < mine_.size(); ++i) {
      mine_[i].forward(whole_domain_.of(x, 0), in_range_.of(y, i), update);
    }
  }
  void adjoint(const ConstArrayView<R>& y, const ArrayView<D>& x, Update<D> update) const override {
    // x is replicated: only rank 0 adds beta x to the sum over ranks.
    const Comm& comm = this->domain().comm();
    if (comm.rank() != 0) update.beta = D{};
    bool written = false;
    for (std::size_t i = 0; i < mine_.size(); ++i) {
      if (mine_[i].is_zero()) continue;
      mine_[i].adjoint(in_range_.of(y, i), whole_domain_.of(x, 0), update);
      update.beta = D{1};
      written = true;
    }
    if (!written) detail::scale_or_clear(update.beta, x);
    if (comm.size() > 1) comm.allreduce(BufferRef(x.data(), x.local_count(), x.device()));
  }
  std::vector<const AnyOperatorNode*> children() const override { return nodes_of(mine_); }
  Cost cost() const override { return cost_of(mine_); }
  Cost adjoint_cost() const override {
    Cost total{.messages = this->domain().comm().size() > 1 ? 1.0 : 0.0};
    for (const auto& a : mine_) total += a.adjoint_cost();
    return total;
  }

 private:
  Operators<D, R> mine_;
  Pieces<D> whole_domain_;
  Pieces<R> in_range_;
};

/// Appends a layout as numbers: the number of axes and the shape, or for a stack minus the number
/// of parts and the parts.
void encode(const Layout& layout, std::vector<index_t>& code) {
  if (!layout.is_stack()) {
    code.push_back(layout.ndim());
    code.insert(code.end(), layout.shape().begin(), layout.shape().end());
    return;
  }
  code.push_back(-layout.part_count());
  for (int index = 0; index < layout.part_count(); ++index) encode(layout.part(index), code);
}

/// Decodes the first layout in `code` as a replicated layout, and removes it from `code`.
Layout replicated_from(const Comm& comm, Device device, std::span<const index_t>& code) {
  const index_t head = code.front();
  code = code.subspan(1);
  if (head >= 0) {
    const Shape shape{Index(code.first(static_cast<std::size_t>(head)))};
    code = code.subspan(static_cast<std::size_t>(head));
    return Layout::replicated(comm, shape).on(device);
  }
  std::vector<Layout> parts;
  for (index_t index = 0; index < -head; ++index) {
    parts.push_back(replicated_from(comm, device, code));
  }
  return Layout::stack(std::move(parts));
}

/// The error in the operators of this rank; empty if there is none.
template <Scalar D, Scalar R>
std::string error_in(const Operators<D, R>& mine, const char* who, bool same_domain) {
  for (const auto& a : mine) {
    for (const Layout& layout : {a.domain(), a.range()}) {
      if (layout.comm().size() > 1) {
        return fmt::format(
            "{}: {} is on {}, but over a communicator all operators must be on local layouts", who,
            a.name(), to_string(layout));
      }
      if (!(layout.device() == mine.front().domain().device())) {
        return fmt::format("{}: {} is on {}, but {} is on {}", who, a.name(),
                           to_string(layout.device()), mine.front().name(),
                           to_string(mine.front().domain().device()));
      }
    }
    if (same_domain && !(a.domain() == mine.front().domain())) {
      return fmt::format("{} of {} and {}: {}", who, mine.front().name(), a.name(),
                         detail::difference("the first has domain", mine.front().domain(),
                                            "the second has domain", a.domain()));
    }
  }
  return {};
}

template <Scalar D, Scalar R>
Device device_of(const Comm& comm, const Operators<D, R>& mine) {
  return mine.empty() ? comm.device() : mine.front().domain().device();
}

/// A one-dimensional layout with `mine` elements on this rank.
Layout concatenated(const Comm& comm, Device device, index_t mine) {
  std::vector<index_t> extents(static_cast<std::size_t>(comm.size()));
  comm.all_gather(ConstBufferRef(&mine, 1), extents);
  const index_t total = std::accumulate(extents.begin(), extents.end(), index_t{0});
  return Layout::scatter(comm, {total}, 0, extents).on(device);
}

/// The number of elements in all domains or in all ranges, as `side` says.
template <Scalar D, Scalar R>
index_t elements_of(const Layout& (LinearOperator<D, R>::*side)() const,
                    const Operators<D, R>& operators) {
  index_t total = 0;
  for (const auto& a : operators) total += (a.*side)().count();
  return total;
}

/// The common domain of the operators of all ranks, replicated. Collective.
template <Scalar D, Scalar R>
Layout common_domain(const Comm& comm, const Operators<D, R>& mine) {
  std::vector<index_t> code;
  if (!mine.empty()) encode(mine.front().domain(), code);
  std::vector<index_t> lengths(static_cast<std::size_t>(comm.size()));
  const auto length = static_cast<index_t>(code.size());
  comm.all_gather(ConstBufferRef(&length, 1), lengths);
  const Parts parts(lengths);
  std::vector<index_t> codes(static_cast<std::size_t>(parts.extent()));
  comm.all_gather_v(code, codes, parts);

  const Device device = device_of(comm, mine);
  const auto domain_of = [&](int rank) {
    std::span<const index_t> rest(codes.data() + parts.offset(rank),
                                  static_cast<std::size_t>(parts.count(rank)));
    return replicated_from(comm, device, rest);
  };
  int first = 0;
  while (first < comm.size() && parts.count(first) == 0) ++first;
  require(first < comm.size(), "vstack: no rank has an operator");
  Layout domain = domain_of(first);
  for (int rank = first + 1; rank < comm.size(); ++rank) {
    if (parts.count(rank) == 0 || domain_of(rank) == domain) continue;
    refuse(
        "vstack over {} ranks: {}", comm.size(),
        detail::difference(fmt::format("operators of rank {} have domain", first), domain,
                           fmt::format("operators of rank {} have domain", rank), domain_of(rank)));
  }
  return domain;
}

}  // namespace

template <Scalar D, Scalar R>
LinearOperator<D, R> block_diag(const Comm& comm, const Operators<D, R>& mine) {
  comm.agree(error_in(mine, "block_diag", false));
  const Device device = device_of(comm, mine);
  const Layout domain =
      concatenated(comm, device, elements_of(&LinearOperator<D, R>::domain, mine));
  const Layout range = concatenated(comm, device, elements_of(&LinearOperator<D, R>::range, mine));
  return make_operator<DiagonalOverRanks<D, R>>(domain, range, mine);
}

template <Scalar D, Scalar R>
LinearOperator<D, R> vstack(const Comm& comm, const Operators<D, R>& mine) {
  comm.agree(error_in(mine, "vstack", true));
  const Layout domain = common_domain(comm, mine);
  const Layout range =
      concatenated(comm, device_of(comm, mine), elements_of(&LinearOperator<D, R>::range, mine));
  return make_operator<StackOverRanks<D, R>>(domain, range, mine);
}

template <Scalar D, Scalar R>
LinearOperator<D, R> hstack(const Comm& comm, const Operators<D, R>& mine) {
  Operators<R, D> adjoints;
  for (const auto& a : mine) adjoints.push_back(adjoint(a));
  return adjoint(vstack(comm, adjoints));
}

#define INSTANTIATE(D, R)                                                        \
  template LinearOperator<D, R> block_diag(const Comm&, const Operators<D, R>&); \
  template LinearOperator<D, R> vstack(const Comm&, const Operators<D, R>&);     \
  template LinearOperator<D, R> hstack(const Comm&, const Operators<D, R>&);
WEFT_FOR_EACH_OPERATOR(INSTANTIATE)
#undef INSTANTIATE

}  // namespace weft
