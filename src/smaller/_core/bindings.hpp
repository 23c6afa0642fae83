// Types and functions that all files share which bind kernels to Python. An array of another layout or type than a
// kernel takes is refused: converting it would silently copy the design.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include <optional>
#include <utility>
#include <vector>

#include "columns.hpp"
#include "model.hpp"

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

// The samples of a problem: targets and offset are (n, k), `measure` is what the gradient of an intercept is measured
// against, and a duality gap is relative to the objective or to `negligible`, whichever is larger.
struct SampleArrays {
    Matrix<double> Y;
    Vector<const double> s;
    std::optional<Matrix<double>> offset;
    int family;
    bool intercept;
    double measure, negligible;

    void check_shapes() const {
        const size_t n = Y.shape(0), k = Y.shape(1);
        check(s.shape(0) == n, "Y and s differ in their number of samples");
        check(!offset || (offset->shape(0) == n && offset->shape(1) == k), "the offset has another shape than Y");
    }
    Samples view() const {
        return {Y.shape(0), Y.shape(1), static_cast<Family>(family), intercept, Y.data(), s.data(), measure};
    }
    const double* offset_data() const { return offset ? offset->data() : nullptr; }
};

// The columns of a design from the arrays that hold them, n rows each: one matrix in Fortran order, or the values, row
// indices and starts of the columns of a CSC matrix.
template <class T>
Dense<T> columns_of(size_t, const Matrix<T>& X) {
    return {X.data(), X.shape(0), X.shape(0)};
}

template <class T, class I>
Sparse<T, I> columns_of(size_t n, const Vector<const T>& values, const Vector<const I>& rows,
                        const Vector<const I>& starts) {
    return {values.data(), rows.data(), starts.data(), n};
}

// Calls kernel.define<Arrays...>(names...) for each way to store a design, where Arrays are the types and names the
// argument names of the arrays that hold it: one matrix of type Whole, or the three arrays of a sparse matrix.
template <template <class> class Whole, class Kernel>
void for_each_storage(const Kernel& kernel, const char* indices) {
    using Doubles = Vector<const double>;
    using Floats = Vector<const float>;
    using Short = Vector<const std::int32_t>;
    using Long = Vector<const std::int64_t>;
    kernel.template define<Whole<double>>("X");
    kernel.template define<Whole<float>>("X");
    kernel.template define<Doubles, Short, Short>("values", indices, "starts");
    kernel.template define<Doubles, Long, Long>("values", indices, "starts");
    kernel.template define<Floats, Short, Short>("values", indices, "starts");
    kernel.template define<Floats, Long, Long>("values", indices, "starts");
}

void bind_l1(nb::module_& m);
void bind_evidence(nb::module_& m);
void bind_moves(nb::module_& m);
void bind_sums(nb::module_& m);
void bind_trajectories(nb::module_& m);

}  // namespace smaller
