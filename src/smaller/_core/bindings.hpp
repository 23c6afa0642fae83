// What the files that bind kernels to Python share. Arrays are taken as they are or refused: a silent conversion would copy
// the design.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include <optional>
#include <vector>

#include "columns.hpp"

namespace smaller {

namespace nb = nanobind;
using namespace nb::literals;

template <class T>
using Matrix = nb::ndarray<const T, nb::ndim<2>, nb::f_contig, nb::device::cpu>;
template <class T>
using Strided = nb::ndarray<const T, nb::ndim<2>, nb::device::cpu>;
template <class T>
using Vector = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Values = nb::ndarray<double, nb::ndim<2>, nb::f_contig, nb::device::cpu>;
using Table = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Result = nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

inline auto as_is(const char* name) { return nb::arg(name).noconvert(); }

inline void check(bool fits, const char* what) {
    if (!fits) throw nb::value_error(what);
}

inline void raise_if_interrupted() {
    nb::gil_scoped_acquire gil;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

template <class T>
Dense<T> columns_of(const Matrix<T>& X) {
    return {X.data(), X.shape(0), X.shape(0)};
}

void bind_l1(nb::module_& m);
void bind_evidence(nb::module_& m);
void bind_moves(nb::module_& m);
void bind_sums(nb::module_& m);

}  // namespace smaller
