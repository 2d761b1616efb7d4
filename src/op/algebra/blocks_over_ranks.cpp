#include <weft/op/algebra/blocks.hpp>

#include <weft/op/algebra/operator_algebra.hpp>

#include "op/checks.hpp"
#include "op/scaling.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <span>

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

/// The sum of costs, or of adjoint costs; 0 for a rank without operators.
template <Scalar D, Scalar R>
Cost cost_of(const Operators<D, R>& operators, Cost (LinearOperator<D, R>::*cost)() const) {
  Cost total;
  for (const auto& a : operators) total += (a.*cost)();
  return total;
}

/// Properties of the operators of all ranks together, the same on all ranks.
struct CommonProperties {
  bool are_complex_linear;
  bool are_capturable;
};

/// A node over a communicator. Callers choose collective calls by its properties, which are
/// therefore the same on all ranks, although the operators differ.
template <Scalar D, Scalar R>
class NodeOverRanks : public OperatorNode<D, R> {
 public:
  NodeOverRanks(const char* name, const Layout& domain, const Layout& range,
                const Operators<D, R>& mine, CommonProperties common)
      : OperatorNode<D, R>(fmt::format("{} over {} ranks", name, domain.comm().size()), domain,
                           range),
        mine_(mine),
        common_(common) {}

  std::vector<const AnyOperatorNode*> children() const final { return nodes_of(mine_); }
  Cost cost() const final { return cost_of(mine_, &LinearOperator<D, R>::cost); }
  bool capturable() const final { return common_.are_capturable; }
  bool is_complex_linear() const final { return common_.are_complex_linear; }

 protected:
  const Operators<D, R>& mine() const { return mine_; }

 private:
  Operators<D, R> mine_;
  CommonProperties common_;
};

/// block_diag over a communicator.
template <Scalar D, Scalar R>
class DiagonalOverRanks final : public NodeOverRanks<D, R> {
 public:
  DiagonalOverRanks(const Layout& domain, const Layout& range, const Operators<D, R>& mine,
                    CommonProperties common)
      : NodeOverRanks<D, R>("block_diag", domain, range, mine, common) {
    for (const auto& a : mine) {
      in_domain_.add(a.domain());
      in_range_.add(a.range());
    }
  }

  void forward(const ConstArrayView<D>& x, const ArrayView<R>& y, Update<R> update) const override {
    for (std::size_t i = 0; i < this->mine().size(); ++i) {
      this->mine()[i].forward(in_domain_.of(x, i), in_range_.of(y, i), update);
    }
  }
  void adjoint(const ConstArrayView<R>& y, const ArrayView<D>& x, Update<D> update) const override {
    for (std::size_t i = 0; i < this->mine().size(); ++i) {
      this->mine()[i].adjoint(in_range_.of(y, i), in_domain_.of(x, i), update);
    }
  }
  Cost adjoint_cost() const override {
    return cost_of(this->mine(), &LinearOperator<D, R>::adjoint_cost);
  }

 private:
  Pieces<D> in_domain_;
  Pieces<R> in_range_;
};

/// vstack over a communicator.
template <Scalar D, Scalar R>
class StackOverRanks final : public NodeOverRanks<D, R> {
 public:
  StackOverRanks(const Layout& domain, const Layout& range, const Operators<D, R>& mine,
                 CommonProperties common)
      : NodeOverRanks<D, R>("vstack", domain, range, mine, common) {
    if (!mine.empty()) whole_domain_.add(mine.front().domain());
    for (const auto& a : mine) in_range_.add(a.range());
  }

  void forward(const ConstArrayView<D>& x, const ArrayView<R>& y, Update<R> update) const override {
    for (std::size_t i = 0; i < this->mine().size(); ++i) {
      this->mine()[i].forward(whole_domain_.of(x, 0), in_range_.of(y, i), update);
    }
  }
  void adjoint(const ConstArrayView<R>& y, const ArrayView<D>& x, Update<D> update) const override {
    // x is replicated: only rank 0 adds beta x to the sum over ranks.
    const Comm& comm = this->domain().comm();
    if (comm.rank() != 0) update.beta = D{};
    bool written = false;
    for (std::size_t i = 0; i < this->mine().size(); ++i) {
      const LinearOperator<D, R>& a = this->mine()[i];
      if (a.is_zero()) continue;
      a.adjoint(in_range_.of(y, i), whole_domain_.of(x, 0), update);
      update.beta = D{1};
      written = true;
    }
    if (!written) detail::scale_or_clear(update.beta, x);
    if (comm.size() > 1) comm.allreduce(BufferRef(x.data(), x.local_count(), x.device()));
  }
  Cost adjoint_cost() const override {
    Cost total = cost_of(this->mine(), &LinearOperator<D, R>::adjoint_cost);
    if (this->domain().comm().size() > 1) total.messages += 1;
    return total;
  }

 private:
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

/// &LinearOperator<D, R>::domain or &LinearOperator<D, R>::range.
template <Scalar D, Scalar R>
using LayoutGetter = const Layout& (LinearOperator<D, R>::*)() const;

template <Scalar D, Scalar R>
const char* name_of(LayoutGetter<D, R> side) {
  return side == &LinearOperator<D, R>::domain ? "domain" : "range";
}

/// The error in the operators of this rank; empty if there is none. `common` is the side on which
/// all operators must have the same layout, or null.
template <Scalar D, Scalar R>
std::string error_in(const Operators<D, R>& mine, const char* who, LayoutGetter<D, R> common) {
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
    if (common != nullptr && !((a.*common)() == (mine.front().*common)())) {
      return fmt::format("{} of {} and {}: {}", who, mine.front().name(), a.name(),
                         detail::difference(fmt::format("the first has {}", name_of<D, R>(common)),
                                            (mine.front().*common)(),
                                            fmt::format("the second has {}", name_of<D, R>(common)),
                                            (a.*common)()));
    }
  }
  return {};
}

template <Scalar D, Scalar R>
Device device_of(const Comm& comm, const Operators<D, R>& mine) {
  return mine.empty() ? comm.device() : mine.front().domain().device();
}

/// Collective. Throws the same error on all ranks if they are not on the same kind of device.
template <Scalar D, Scalar R>
CommonProperties common_properties(const Comm& comm, const Operators<D, R>& mine, const char* who) {
  const auto do_all = [&](bool (LinearOperator<D, R>::*property)() const) -> std::int32_t {
    return std::all_of(mine.begin(), mine.end(), [&](const auto& a) { return (a.*property)(); });
  };
  const std::array<std::int32_t, 3> here = {static_cast<std::int32_t>(device_of(comm, mine).kind),
                                            do_all(&LinearOperator<D, R>::is_complex_linear),
                                            do_all(&LinearOperator<D, R>::capturable)};
  std::vector<std::int32_t> all(here.size() * static_cast<std::size_t>(comm.size()));
  comm.all_gather(here, all);

  CommonProperties common{is_complex<D> && is_complex<R>, true};
  for (std::size_t rank = 0; rank < static_cast<std::size_t>(comm.size()); ++rank) {
    const std::span<const std::int32_t> of_rank = std::span(all).subspan(3 * rank, 3);
    require(of_rank[0] == all[0],
            "{} over {} ranks: operators of rank 0 are on {}, but those of rank {} on {}; a rank "
            "without operators uses the default device of the communicator, which Comm::on sets",
            who, comm.size(), to_string(static_cast<DeviceKind>(all[0])), rank,
            to_string(static_cast<DeviceKind>(of_rank[0])));
    common.are_complex_linear = common.are_complex_linear && of_rank[1] != 0;
    common.are_capturable = common.are_capturable && of_rank[2] != 0;
  }
  return common;
}

/// A one-dimensional layout with `mine` elements on this rank.
Layout concatenated(const Comm& comm, Device device, index_t mine) {
  std::vector<index_t> extents(static_cast<std::size_t>(comm.size()));
  comm.all_gather(ConstBufferRef(&mine, 1), extents);
  const index_t total = std::accumulate(extents.begin(), extents.end(), index_t{0});
  return Layout::scatter(comm, {total}, 0, extents).on(device);
}

/// The elements of this rank's domains, or of its ranges, one after the other. Collective.
template <Scalar D, Scalar R>
Layout concatenated(const Comm& comm, const Operators<D, R>& mine, LayoutGetter<D, R> side) {
  index_t total = 0;
  for (const auto& a : mine) total += (a.*side)().count();
  return concatenated(comm, device_of(comm, mine), total);
}

/// The layout that the operators of all ranks have in common on one side, replicated. Collective.
template <Scalar D, Scalar R>
Layout common_layout(const Comm& comm, const Operators<D, R>& mine, LayoutGetter<D, R> side,
                     const char* who) {
  std::vector<index_t> code;
  if (!mine.empty()) encode((mine.front().*side)(), code);
  std::vector<index_t> lengths(static_cast<std::size_t>(comm.size()));
  const auto length = static_cast<index_t>(code.size());
  comm.all_gather(ConstBufferRef(&length, 1), lengths);
  const Parts parts(lengths);
  std::vector<index_t> codes(static_cast<std::size_t>(parts.extent()));
  comm.all_gather_v(code, codes, parts);

  const Device device = device_of(comm, mine);
  const auto layout_of = [&](int rank) {
    std::span<const index_t> rest(codes.data() + parts.offset(rank),
                                  static_cast<std::size_t>(parts.count(rank)));
    return replicated_from(comm, device, rest);
  };
  int first = 0;
  while (first < comm.size() && parts.count(first) == 0) ++first;
  require(first < comm.size(), "{}: no rank has an operator", who);
  Layout common = layout_of(first);
  for (int rank = first + 1; rank < comm.size(); ++rank) {
    if (parts.count(rank) == 0 || layout_of(rank) == common) continue;
    const auto whose = [&](int of) {
      return fmt::format("operators of rank {} have {}", of, name_of<D, R>(side));
    };
    refuse("{} over {} ranks: {}", who, comm.size(),
           detail::difference(whose(first), common, whose(rank), layout_of(rank)));
  }
  return common;
}

}  // namespace

template <Scalar D, Scalar R>
LinearOperator<D, R> block_diag(const Comm& comm, const Operators<D, R>& mine) {
  using Operator = LinearOperator<D, R>;
  comm.agree(error_in<D, R>(mine, "block_diag", nullptr));
  const CommonProperties common = common_properties(comm, mine, "block_diag");
  const Layout domain = concatenated<D, R>(comm, mine, &Operator::domain);
  const Layout range = concatenated<D, R>(comm, mine, &Operator::range);
  return make_operator<DiagonalOverRanks<D, R>>(domain, range, mine, common);
}

template <Scalar D, Scalar R>
LinearOperator<D, R> vstack(const Comm& comm, const Operators<D, R>& mine) {
  using Operator = LinearOperator<D, R>;
  comm.agree(error_in<D, R>(mine, "vstack", &Operator::domain));
  const CommonProperties common = common_properties(comm, mine, "vstack");
  const Layout domain = common_layout<D, R>(comm, mine, &Operator::domain, "vstack");
  const Layout range = concatenated<D, R>(comm, mine, &Operator::range);
  return make_operator<StackOverRanks<D, R>>(domain, range, mine, common);
}

template <Scalar D, Scalar R>
LinearOperator<D, R> hstack(const Comm& comm, const Operators<D, R>& mine) {
  using Operator = LinearOperator<D, R>;
  comm.agree(error_in<D, R>(mine, "hstack", &Operator::range));
  const CommonProperties common = common_properties(comm, mine, "hstack");
  const Layout range = common_layout<D, R>(comm, mine, &Operator::range, "hstack");
  const Layout domain = concatenated<D, R>(comm, mine, &Operator::domain);
  Operators<R, D> adjoints;
  for (const auto& a : mine) adjoints.push_back(adjoint(a));
  return adjoint(make_operator<StackOverRanks<R, D>>(range, domain, adjoints, common));
}

#define INSTANTIATE(D, R)                                                        \
  template LinearOperator<D, R> block_diag(const Comm&, const Operators<D, R>&); \
  template LinearOperator<D, R> vstack(const Comm&, const Operators<D, R>&);     \
  template LinearOperator<D, R> hstack(const Comm&, const Operators<D, R>&);
WEFT_FOR_EACH_OPERATOR(INSTANTIATE)
#undef INSTANTIATE

}  // namespace weft
