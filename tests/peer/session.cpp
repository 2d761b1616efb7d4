#include "peer/session.hpp"

#include <complex>
#include <span>

namespace weft::peer {
namespace {

template <Scalar T>
std::vector<T> read_flat(const std::string& path) {
  const Shape shape = npy_info(path).shape;
  return read_npy<T>(path, Layout::local(shape)).to_host();
}

/// Writes `values` to x and returns how many it took.
template <Scalar T>
std::size_t assign(const ArrayView<T>& x, std::span<const T> values) {
  if (x.layout().is_stack()) {
    std::size_t taken = 0;
    for (int part = 0; part < x.layout().part_count(); ++part)
      taken += assign<T>(x.part(part), values.subspan(taken));
    return taken;
  }
  const auto count = static_cast<std::size_t>(x.layout().count());
  require(values.size() >= count, "peer: the file has too few elements for {}",
          to_string(x.layout()));
  x.from_host(DistributedArray<T>::from_global(x.layout(), values.first(count)).to_host());
  return count;
}

template <Scalar T>
DistributedArray<T> read_array(const std::string& path, const Layout& layout) {
  const std::vector<T> values = read_flat<T>(path);
  DistributedArray<T> x(layout);
  const std::size_t taken = assign<T>(x, values);
  require(taken == values.size(), "peer: {} has {} elements, but {} has {}", path, values.size(),
          to_string(layout), taken);
  return x;
}

template <Scalar T>
void append(const ConstArrayView<T>& x, std::vector<T>& all) {
  if (x.layout().is_stack()) {
    for (int part = 0; part < x.layout().part_count(); ++part) append<T>(x.part(part), all);
    return;
  }
  const std::vector<T> values = x.all_gather();
  all.insert(all.end(), values.begin(), values.end());
}

template <Scalar T>
void write_array(const std::string& path, const ConstArrayView<T>& x) {
  std::vector<T> all;
  append(x, all);
  const Layout flat = Layout::replicated(x.comm(), {static_cast<index_t>(all.size())});
  write_npy<T>(path, DistributedArray<T>::from_global(flat, all));
}

}  // namespace

Shape shape_of(const std::vector<index_t>& extents) {
  Index shape = Index::filled(static_cast<int>(extents.size()), 0);
  for (std::size_t i = 0; i < extents.size(); ++i) shape[static_cast<int>(i)] = extents[i];
  return Shape(shape);
}

std::string Session::path(const std::string& what) const {
  return folder_ + "/" + case_.at("id").get<std::string>() + "-" + what + ".npy";
}

template <Scalar T>
std::vector<T> Session::values(const char* option) const {
  return read_flat<T>(folder_ + "/" + options().at(option).get<std::string>());
}

template <Scalar D, Scalar R>
void Session::apply(const LinearOperator<D, R>& a) const {
  write_array<R>(path("forward"), a * read_array<D>(path("x"), a.domain()));
  write_array<D>(path("adjoint"), adjoint(a) * read_array<R>(path("y"), a.range()));
}

using Complex128 = std::complex<double>;
template std::vector<double> Session::values(const char*) const;
template std::vector<Complex128> Session::values(const char*) const;
template void Session::apply(const LinearOperator<double>&) const;
template void Session::apply(const LinearOperator<Complex128>&) const;
template void Session::apply(const LinearOperator<double, Complex128>&) const;
template void Session::apply(const LinearOperator<Complex128, double>&) const;

}  // namespace weft::peer
