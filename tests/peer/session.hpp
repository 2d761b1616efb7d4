#pragma once

// Applies operators to arrays in files, so that peer_check.py can compare them with those of
// PyLops.

#include <weft/weft.hpp>

#include <nlohmann/json.hpp>

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace weft::peer {

using Json = nlohmann::json;

Shape shape_of(const std::vector<index_t>& extents);

/// The files of one case. Arrays are flat, in row-major order; the parts of a stack follow each
/// other.
class Session {
 public:
  Session(std::string folder, const Json& json) : folder_(std::move(folder)), case_(json) {}

  const Json& options() const { return case_.at("options"); }
  /// An option, or `otherwise` if the case does not have it.
  template <class V>
  V get(const char* option, V otherwise) const {
    return options().value(option, std::move(otherwise));
  }
  /// The elements of the file that an option names.
  template <Scalar T>
  std::vector<T> values(const char* option) const;

  /// Reads x and y of the case, and writes A x and Aᴴ y.
  template <Scalar D, Scalar R>
  void apply(const LinearOperator<D, R>& a) const;

 private:
  std::string path(const std::string& what) const;

  std::string folder_;
  const Json& case_;
};

/// Constructs an operator from the options of a case and applies it.
struct NamedOperator {
  std::string name;
  std::function<void(const Session&, const Layout&)> apply;
};

template <Scalar T>
std::vector<NamedOperator> basic_operators();
template <Scalar T>
std::vector<NamedOperator> stencil_operators();
template <Scalar T>
std::vector<NamedOperator> signal_operators();
template <Scalar T>
std::vector<NamedOperator> matrix_operators();
template <Scalar T>
std::vector<NamedOperator> imaging_operators();

}  // namespace weft::peer
