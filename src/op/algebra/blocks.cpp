#include <weft/op/algebra/blocks.hpp>

#include "op/checks.hpp"
#include "op/scaling.hpp"

namespace weft {
namespace {

template <class D, class R>
using Operators = std::vector<LinearOperator<D, R>>;

/// An operator and its position in a matrix of operators.
template <Scalar D, Scalar R>
struct Block {
  int row;
  int column;
  LinearOperator<D, R> a;
};

/// A sparse matrix of operators. Rows are the parts of the range, or the range itself if it is not
/// a stack; columns are the same for the domain.
template <Scalar D, Scalar R>
class Blocks final : public OperatorNode<D, R> {
 public:
  Blocks(std::string name, Layout domain, Layout range, std::vector<Block<D, R>> blocks,
         bool rows_are_parts, bool columns_are_parts)
      : OperatorNode<D, R>(std::move(name), std::move(domain), std::move(range)),
        blocks_(std::move(blocks)),
        rows_are_parts_(rows_are_parts),
        columns_are_parts_(columns_are_parts) {}

  void forward(const ConstArrayView<D>& x, const ArrayView<R>& y, Update<R> update) const override {
    const auto apply = [&](const Block<D, R>& block, const ArrayView<R>& out, Update<R> next) {
      block.a.forward(columns_are_parts_ ? x.part(block.column) : x, out, next);
    };
    sum_blocks(&Block<D, R>::row, rows_are_parts_, y, update, apply);
  }
  void adjoint(const ConstArrayView<R>& y, const ArrayView<D>& x, Update<D> update) const override {
    const auto apply = [&](const Block<D, R>& block, const ArrayView<D>& out, Update<D> next) {
      block.a.adjoint(rows_are_parts_ ? y.part(block.row) : y, out, next);
    };
    sum_blocks(&Block<D, R>::column, columns_are_parts_, x, update, apply);
  }
  std::vector<const AnyOperatorNode*> children() const override {
    std::vector<const AnyOperatorNode*> all;
    for (const Block<D, R>& block : blocks_) all.push_back(block.a.node().get());
    return all;
  }

 private:
  /// For every part of the output, the sum of apply(block, part, update) over the blocks whose
  /// `position` is that of the part.
  template <Scalar T, class Apply>
  void sum_blocks(int Block<D, R>::*position, bool has_parts, const ArrayView<T>& output,
                  Update<T> update, Apply apply) const {
    for (int i = 0; i < (has_parts ? output.layout().part_count() : 1); ++i) {
      const ArrayView<T>& out = has_parts ? output.part(i) : output;
      Update<T> next = update;
      bool written = false;
      for (const Block<D, R>& block : blocks_) {
        if (block.*position != i || block.a.is_zero()) continue;
        apply(block, out, next);
        next.beta = T{1};
        written = true;
      }
      if (!written) detail::scale_or_clear(update.beta, out);
    }
  }

  std::vector<Block<D, R>> blocks_;
  bool rows_are_parts_;
  bool columns_are_parts_;
};

template <Scalar D, Scalar R>
void require_nonempty(const Operators<D, R>& operators, const char* who) {
  require(!operators.empty(), "{}: got no operators; pass at least one", who);
}

/// &LinearOperator<D, R>::domain or &LinearOperator<D, R>::range.
template <Scalar D, Scalar R>
using LayoutGetter = const Layout& (LinearOperator<D, R>::*)() const;

template <Scalar D, Scalar R>
void require_same(LayoutGetter<D, R> layout_of, const LinearOperator<D, R>& a,
                  const LinearOperator<D, R>& b, const char* who) {
  if ((a.*layout_of)() == (b.*layout_of)()) return;
  const char* name = layout_of == &LinearOperator<D, R>::domain ? "domain" : "range";
  refuse("{} of {} and {}: {}", who, a.name(), b.name(),
         detail::difference(fmt::format("the first has {}", name), (a.*layout_of)(),
                            fmt::format("the second has {}", name), (b.*layout_of)()));
}

template <Scalar D, Scalar R>
Layout stack_of(LayoutGetter<D, R> layout_of, const Operators<D, R>& operators) {
  std::vector<Layout> parts;
  for (const auto& a : operators) parts.push_back((a.*layout_of)());
  return Layout::stack(std::move(parts));
}

}  // namespace

template <Scalar D, Scalar R>
LinearOperator<D, R> vstack(const Operators<D, R>& operators) {
  require_nonempty(operators, "vstack");
  std::vector<Block<D, R>> blocks;
  for (const auto& a : operators) {
    require_same(&LinearOperator<D, R>::domain, operators.front(), a, "vstack");
    blocks.push_back({static_cast<int>(blocks.size()), 0, a});
  }
  return make_operator<Blocks<D, R>>("vstack", operators.front().domain(),
                                     stack_of(&LinearOperator<D, R>::range, operators), blocks,
                                     true, false);
}

template <Scalar D, Scalar R>
LinearOperator<D, R> hstack(const Operators<D, R>& operators) {
  require_nonempty(operators, "hstack");
  std::vector<Block<D, R>> blocks;
  for (const auto& a : operators) {
    require_same(&LinearOperator<D, R>::range, operators.front(), a, "hstack");
    blocks.push_back({0, static_cast<int>(blocks.size()), a});
  }
  return make_operator<Blocks<D, R>>("hstack", stack_of(&LinearOperator<D, R>::domain, operators),
                                     operators.front().range(), blocks, false, true);
}

template <Scalar D, Scalar R>
LinearOperator<D, R> block_diag(const Operators<D, R>& operators) {
  require_nonempty(operators, "block_diag");
  std::vector<Block<D, R>> blocks;
  for (const auto& a : operators) {
    const int position = static_cast<int>(blocks.size());
    blocks.push_back({position, position, a});
  }
  return make_operator<Blocks<D, R>>(
      "block_diag", stack_of(&LinearOperator<D, R>::domain, operators),
      stack_of(&LinearOperator<D, R>::range, operators), blocks, true, true);
}

template <Scalar D, Scalar R>
LinearOperator<D, R> block(const std::vector<Operators<D, R>>& rows) {
  require(!rows.empty() && !rows.front().empty(), "block: got no operators; pass at least one");
  std::vector<Block<D, R>> blocks;
  Operators<D, R> row_heads;
  for (const Operators<D, R>& row : rows) {
    require(
        row.size() == rows.front().size(),
        "block: got a row of {} operators, but the first row has {}; use zero() for empty blocks",
        row.size(), rows.front().size());
    for (std::size_t column = 0; column < row.size(); ++column) {
      require_same(&LinearOperator<D, R>::range, row.front(), row[column], "block");
      require_same(&LinearOperator<D, R>::domain, rows.front()[column], row[column], "block");
      blocks.push_back({static_cast<int>(row_heads.size()), static_cast<int>(column), row[column]});
    }
    row_heads.push_back(row.front());
  }
  return make_operator<Blocks<D, R>>("block", stack_of(&LinearOperator<D, R>::domain, rows.front()),
                                     stack_of(&LinearOperator<D, R>::range, row_heads), blocks,
                                     true, true);
}

#define INSTANTIATE(D, R)                                           \
  template LinearOperator<D, R> vstack(const Operators<D, R>&);     \
  template LinearOperator<D, R> hstack(const Operators<D, R>&);     \
  template LinearOperator<D, R> block_diag(const Operators<D, R>&); \
  template LinearOperator<D, R> block(const std::vector<Operators<D, R>>&);
WEFT_FOR_EACH_OPERATOR(INSTANTIATE)
#undef INSTANTIATE

}  // namespace weft
