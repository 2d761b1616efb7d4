#include <weft/op/matrix/sparse_matrix.hpp>

#include <weft/core/error.hpp>

#include "array/plan_agreement.hpp"
#include "core/on_error.hpp"
#include "op/checks.hpp"
#include "op/matrix/column_exchange.hpp"
#include "op/matrix/sparse_block.hpp"
#include "op/matrix/sparse_rows.hpp"

namespace weft {
namespace {

using detail::ColumnExchange;
using detail::DividedRows;
using detail::ElementRange;
using detail::SparseBlock;

template <Scalar T>
class SparseMatrix final : public OperatorNode<T> {
 public:
  /// `parts` are the elements of the model that each rank of the group has.
  SparseMatrix(const Layout& domain, const Layout& range, const std::vector<ElementRange>& parts,
               const DividedRows<T>& rows)
      : OperatorNode<T>(fmt::format("sparse_matrix of {} x {}", range.count(), domain.count()),
                        domain, range),
        sums_model_(domain.is_replicated() && !range.is_replicated() &&
                    range.group_comm().size() > 1),
        own_(rows.own, domain.local_count(), range.device()),
        with_ghosts_(rows.with_ghosts, std::ssize(rows.ghosts), range.device(), rows.ghost_rows),
        own_transposed_(detail::transposed(rows.own, domain.local_count()), range.local_count(),
                        range.device()),
        ghosts_transposed_(
            detail::transposed(rows.with_ghosts, std::ssize(rows.ghosts), rows.ghost_rows),
            range.local_count(), range.device()),
        exchange_(domain.is_replicated() ? Comm::self() : domain.group_comm(), range.device(),
                  parts, rows.ghosts) {}

  void forward(const ConstArrayView<T>& x, const ArrayView<T>& y, Update<T> update) const override {
    const detail::OnError guard([this] { exchange_.abandon(); });
    exchange_.start(x.data());
    own_.multiply(false, update, x.data(), y.data());
    exchange_.finish();
    if (with_ghosts_.entries() > 0)
      with_ghosts_.multiply(false, {update.alpha, 1}, exchange_.ghosts(), y.data());
  }
  void adjoint(const ConstArrayView<T>& y, const ArrayView<T>& x, Update<T> update) const override {
    if (sums_model_) return sum_model(y, x, update);
    const detail::OnError guard([this] { exchange_.abandon(); });
    if (ghosts_transposed_.entries() > 0)
      ghosts_transposed_.multiply(true, {}, y.data(), exchange_.ghosts());
    exchange_.start_adjoint();
    own_transposed_.multiply(true, update, y.data(), x.data());
    exchange_.finish_adjoint(update.alpha, x.data());
  }
  bool is_complex_linear() const override { return is_complex<T>; }
  Cost cost() const override {
    return cost_of(own_, with_ghosts_, static_cast<double>(exchange_.sends()));
  }
  Cost adjoint_cost() const override {
    return cost_of(own_transposed_, ghosts_transposed_,
                   sums_model_ ? 1.0 : static_cast<double>(exchange_.adjoint_sends()));
  }

 private:
  /// x is replicated: the first rank adds beta x to the sum over ranks.
  void sum_model(const ConstArrayView<T>& y, const ArrayView<T>& x, Update<T> update) const {
    const Comm& comm = this->range().group_comm();
    if (comm.rank() != 0) update.beta = T{};
    own_transposed_.multiply(true, update, y.data(), x.data());
    comm.allreduce(BufferRef(x.data(), x.local_count(), x.device()));
  }
  Cost cost_of(const SparseBlock<T>& own, const SparseBlock<T>& other, double messages) const {
    const auto entries = static_cast<double>(own.entries() + other.entries());
    const auto elements = this->domain().local_count() + this->range().local_count();
    return {.flops = entries * (is_complex<T> ? 8 : 2),
            .bytes = own.bytes() + other.bytes() + sizeof(T) * static_cast<double>(elements),
            .messages = messages};
  }

  bool sums_model_;
  SparseBlock<T> own_;
  SparseBlock<T> with_ghosts_;
  SparseBlock<T> own_transposed_;
  SparseBlock<T> ghosts_transposed_;
  mutable ColumnExchange<T> exchange_;
};

/// The elements that a rank has, in row-major order of the whole array.
ElementRange elements_of(const Layout& layout, int rank) {
  const Box& box = layout.box(rank);
  if (layout.is_replicated() || layout.ndim() == 0) return {0, layout.count()};
  const index_t row = layout.shape().count(1, layout.ndim());
  return {box.offset[0] * row, box.end(0) * row};
}

/// Throws the same error on all ranks if a layout cannot be that of the model or of the data.
void check_layout(const Layout& layout, const char* which) {
  require(!layout.is_stack(), "sparse_matrix: the {} is a stack; pass one of its parts", which);
  for (int axis = 1; axis < layout.ndim(); ++axis) {
    require(!layout.is_cut_anywhere(axis),
            "sparse_matrix: the {} must be distributed along axis 0 only, but is {}; redistribute "
            "it first",
            which, to_string(layout));
  }
}

void check_layouts(const Layout& domain, const Layout& range) {
  check_layout(domain, "model");
  check_layout(range, "data");
  bool same_groups = domain.comm() == range.comm() && domain.device() == range.device();
  for (int rank = 0; rank < domain.comm().size() && same_groups; ++rank)
    same_groups = domain.group(rank) == range.group(rank);
  require(same_groups, "sparse_matrix: {}; both must be on the same ranks and device",
          detail::difference("the model is", domain, "the data is", range));
  require(domain.is_replicated() || !range.is_replicated() || domain.comm().size() == 1,
          "sparse_matrix: the data is replicated, but the model is {}; replicate the model, or "
          "distribute the data",
          to_string(domain));
}

template <Scalar T, class Matrix>
LinearOperator<T> make(const Matrix& matrix, const Layout& domain, const Layout& range,
                       const SparseMatrixOptions& options) {
  std::string passed_rows = "own rows";
  if (!options.own_rows && detail::planning_comm(range).size() > 1) {
    passed_rows = fmt::format("{} entries, which have the hash {:x}", matrix.values.size(),
                              detail::hash_of(matrix));
  }
  detail::agree_on_plan("sparse_matrix", {&range, &domain}, dtype_of<T>, passed_rows);
  check_layouts(domain, range);
  const ElementRange mine = elements_of(range, range.comm().rank());
  const ElementRange passed = options.own_rows ? mine : ElementRange{0, range.count()};
  std::string error = detail::error_in(matrix, passed, domain.count());
  if (!error.empty()) error = "sparse_matrix: " + error;
  const Comm& comm = range.group_comm();
  // All ranks find the same errors in a matrix that all of them pass.
  if (options.own_rows && comm.size() > 1) comm.agree(error);
  if (!error.empty()) throw ArgumentError(error);

  std::vector<ElementRange> parts;
  for (int rank = 0; rank < domain.comm().size(); ++rank) {
    if (domain.group(rank) == domain.group(domain.comm().rank()))
      parts.push_back(elements_of(domain, rank));
  }
  const CsrMatrix<T> rows = detail::take_rows(matrix, mine, passed.begin);
  return make_operator<SparseMatrix<T>>(
      domain, range, parts, detail::divide(rows, elements_of(domain, domain.comm().rank())));
}

}  // namespace

template <Scalar T>
LinearOperator<T> sparse_matrix(const CsrMatrix<T>& matrix, const Layout& domain,
                                const Layout& range, const SparseMatrixOptions& options) {
  return make<T>(matrix, domain, range, options);
}
template <Scalar T>
LinearOperator<T> sparse_matrix(const CooMatrix<T>& matrix, const Layout& domain,
                                const Layout& range, const SparseMatrixOptions& options) {
  return make<T>(matrix, domain, range, options);
}

#define INSTANTIATE(T)                                                                        \
  template LinearOperator<T> sparse_matrix(const CsrMatrix<T>&, const Layout&, const Layout&, \
                                           const SparseMatrixOptions&);                       \
  template LinearOperator<T> sparse_matrix(const CooMatrix<T>&, const Layout&, const Layout&, \
                                           const SparseMatrixOptions&);
WEFT_FOR_EACH_SCALAR(INSTANTIATE)
#undef INSTANTIATE

}  // namespace weft
