// The compiled twins of reference.py: same names, same arguments, same results.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/tuple.h>

#include <tuple>

#include "componentwise.hpp"
#include "evidence.hpp"
#include "logistic.hpp"
#include "newton.hpp"
#include "sequential.hpp"

namespace nb = nanobind;

namespace smaller {
namespace {

template <class T>
using Matrix = nb::ndarray<const T, nb::ndim<2>, nb::f_contig, nb::device::cpu>;
template <class T>
using Vector = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Values = nb::ndarray<double, nb::ndim<2>, nb::f_contig, nb::device::cpu>;
using Table = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Result = nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

void raise_if_interrupted() {
    nb::gil_scoped_acquire gil;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

template <class T>
Dense<T> columns(const Matrix<T>& X) {
    return {X.data(), X.shape(0), X.shape(0)};
}

// What the two solvers share: the working set, the data and the current point (w, b, F), which they move.
struct Arguments {
    Data data;
    WorkingSet set;
    double *b, *F;

    Arguments(const Vector<const std::int64_t>& feature, const Vector<const std::int64_t>& klass,
              const Vector<double>& w, const Vector<double>& b, const Values& F, const Matrix<double>& Y,
              const Vector<const double>& s, const Vector<const double>& l1, const Vector<const double>& l2,
              const Vector<const double>& scale, int family, bool intercept)
        : data{F.shape(0), F.shape(1), static_cast<Family>(family), intercept, Y.data(), s.data()},
          set{w.shape(0), feature.data(), klass.data(), w.data(), l1.data(), l2.data(), scale.data()},
          b(b.data()), F(F.data()) {
        const size_t a = set.size, n = data.n;
        if (feature.shape(0) != a || klass.shape(0) != a || l1.shape(0) != a || l2.shape(0) != a ||
            scale.shape(0) != a || Y.shape(0) != n || Y.shape(1) != data.k || s.shape(0) != n ||
            b.shape(0) != data.k)
            throw nb::value_error("the arrays of a working set do not fit together");
    }
};

#define POINT                                                                                                     \
    const Vector<const std::int64_t>&feature, const Vector<const std::int64_t>&klass, const Vector<double>&w,      \
        const Vector<double>&b, const Values &F, const Matrix<double>&Y, const Vector<const double>&s,             \
        const Vector<const double>&l1, const Vector<const double>&l2, const Vector<const double>&scale,            \
        int family, bool intercept
// Arrays are taken as they are or refused: a silent conversion would copy the design.
#define EXACT nb::arg().noconvert()
#define EXACT_POINT \
    EXACT, EXACT, EXACT, EXACT, EXACT, EXACT, EXACT, EXACT, EXACT, EXACT, EXACT, EXACT
#define PASS feature, klass, w, b, F, Y, s, l1, l2, scale, family, intercept

template <class Columns>
std::tuple<int, int, double, double, bool> newton(const Columns& X, double target, int max_steps, double forcing,
                                                  POINT) {
    const Arguments given(PASS);
    nb::gil_scoped_release released;
    Newton<Columns> solver(X, given.data, given.set, given.b, given.F, raise_if_interrupted);
    const Outcome out = solver.run(target, max_steps, forcing);
    return {out.steps, out.sweeps, out.violation, out.objective, out.stalled};
}

template <class Columns>
double componentwise(const Columns& X, const Vector<const double>& bound, const Vector<const double>& center,
                     const Vector<const std::uint8_t>& visit, bool greedy, POINT) {
    const Arguments given(PASS);
    nb::gil_scoped_release released;
    ComponentWise<Columns> solver(X, given.data, given.set, bound.data(), center.data(), given.b, given.F);
    return greedy ? solver.greedy(visit.shape(0)) : solver.sweep(visit.data());
}

void check_set(bool fits) {
    if (!fits) throw nb::value_error("the arrays of a working set do not fit together");
}

std::tuple<int, double> sequential(const Matrix<double>& X, const Matrix<double>& C, double total, double yy,
                                   const Vector<double>& alpha, double noise, double floor, double tol, double aligned,
                                   int max_steps) {
    const size_t n = X.shape(0), w = X.shape(1);
    check_set(C.shape(0) == w && alpha.shape(0) == w);
    nb::gil_scoped_release released;
    Products products(each_column(X.data(), n, w), n, nullptr, false);
    Sequential solver(products, C.data(), C.shape(1), total, yy, alpha.data(), noise, aligned);
    double found = noise;
    const int steps = solver.run(floor, tol, max_steps, &found);
    return {steps, found};
}

std::tuple<double, double> climb(const Matrix<double>& X, const Matrix<double>& C, double total, double yy,
                                 const Vector<const std::int64_t>& coarse, const Matrix<double>& precisions,
                                 const Vector<const double>& noises, const Vector<double>& alpha, size_t follow,
                                 double floor, double tol, double aligned, int max_steps) {
    const size_t n = X.shape(0), w = X.shape(1), few = coarse.shape(0), starts = precisions.shape(1);
    check_set(C.shape(0) == w && alpha.shape(0) == w && precisions.shape(0) == few && noises.shape(0) == starts);
    nb::gil_scoped_release released;
    const std::vector<size_t> places(coarse.data(), coarse.data() + few);
    for (const size_t place : places) check_set(place < w);
    const auto model = climb_from(X.data(), C.data(), n, w, C.shape(1), total, yy, places, precisions.data(),
                                  noises.data(), starts, follow, floor, tol, aligned, max_steps);
    std::fill(alpha.data(), alpha.data() + w, std::numeric_limits<double>::infinity());
    for (size_t a = 0; a < model.rows.size(); ++a) alpha.data()[model.rows[a]] = model.alpha[a];
    return {model.noise, model.value};
}

double logistic(const Matrix<double>& X, const Vector<const double>& y, const Vector<const double>& s,
                const Vector<const double>& offset, double level, const Vector<const std::int64_t>& coarse,
                const Matrix<double>& precisions, const Matrix<double>& weights, const Vector<double>& alpha,
                const Vector<double>& v, size_t follow, double tol, double change, double near, double aligned,
                int max_steps) {
    const size_t n = X.shape(0), w = X.shape(1), few = coarse.shape(0), starts = precisions.shape(1);
    check_set(y.shape(0) == n && s.shape(0) == n && offset.shape(0) == n && alpha.shape(0) == w && v.shape(0) == w + 1);
    check_set(precisions.shape(0) == few && weights.shape(0) == few + 1 && weights.shape(1) == starts && starts > 0);
    nb::gil_scoped_release released;
    const std::vector<size_t> places(coarse.data(), coarse.data() + few);
    for (const size_t place : places) check_set(place < w);
    const auto model = logistic_from(X.data(), y.data(), s.data(), offset.data(), n, w, level, places, precisions.data(),
                                     weights.data(), starts, follow, tol, change, near, aligned, max_steps);
    std::copy(model.alpha.begin(), model.alpha.end(), alpha.data());
    std::copy(model.v.begin(), model.v.end(), v.data());
    return model.log_evidence;
}

template <class T>
void bind_dense(nb::module_& m) {
    m.def("newton", [](const Matrix<T>& X, double target, int max_steps, double forcing, POINT) {
        return newton(columns(X), target, max_steps, forcing, PASS);
    }, EXACT, EXACT, EXACT, EXACT, EXACT_POINT);
    m.def("componentwise", [](const Matrix<T>& X, const Vector<const double>& bound, const Vector<const double>& center,
                              const Vector<const std::uint8_t>& visit, bool greedy, POINT) {
        return componentwise(columns(X), bound, center, visit, greedy, PASS);
    }, EXACT, EXACT, EXACT, EXACT, EXACT, EXACT_POINT);
}

template <class T, class I>
void bind_sparse(nb::module_& m) {
    using V = Vector<const T>;
    using Index = Vector<const I>;
    m.def("newton", [](const V& values, const Index& rows, const Index& starts, double target, int max_steps,
                       double forcing, POINT) {
        const Sparse<T, I> X{values.data(), rows.data(), starts.data(), F.shape(0)};
        return newton(X, target, max_steps, forcing, PASS);
    }, EXACT, EXACT, EXACT, EXACT, EXACT, EXACT, EXACT_POINT);
    m.def("componentwise", [](const V& values, const Index& rows, const Index& starts, const Vector<const double>& bound,
                              const Vector<const double>& center, const Vector<const std::uint8_t>& visit, bool greedy,
                              POINT) {
        const Sparse<T, I> X{values.data(), rows.data(), starts.data(), F.shape(0)};
        return componentwise(X, bound, center, visit, greedy, PASS);
    }, EXACT, EXACT, EXACT, EXACT, EXACT, EXACT, EXACT, EXACT_POINT);
}

}  // namespace
}  // namespace smaller

NB_MODULE(compiled, m) {
    using namespace smaller;
    m.def("means", [](const Matrix<double>& F, const Matrix<double>& Y, const Vector<const double>& s, int family,
                      const Values& P) {
        return means(F.data(), Y.data(), s.data(), F.shape(0), F.shape(1), static_cast<Family>(family), P.data());
    }, EXACT, EXACT, EXACT, EXACT, EXACT);
    m.def("distances", [](const Table& X, const Table& Zt, const Result& D) {
        check_set(X.shape(1) == Zt.shape(0) && D.shape(0) == X.shape(0) && D.shape(1) == Zt.shape(1));
        nb::gil_scoped_release released;
        distances(X.data(), Zt.data(), X.shape(0), Zt.shape(1), X.shape(1), D.data());
    }, EXACT, EXACT, EXACT);
    m.def("squares", [](const Table& X, const Vector<const double>& omega, const Vector<const double>& center,
                        const Vector<double>& total) {
        const size_t n = X.shape(0), d = X.shape(1);
        check_set(omega.shape(0) == n && center.shape(0) == d && total.shape(0) == d);
        nb::gil_scoped_release released;
        squares(X.data(), omega.data(), center.data(), n, d, total.data());
    }, EXACT, EXACT, EXACT, EXACT);
    m.def("decay", [](const Result& D, double gamma) {
        nb::gil_scoped_release released;
        decay(D.data(), D.size(), gamma);
    }, EXACT, EXACT);
    m.def("sequential", sequential, EXACT, EXACT, EXACT, EXACT, EXACT, EXACT, EXACT, EXACT, EXACT, EXACT);
    m.def("climb", climb, EXACT, EXACT, EXACT, EXACT, EXACT, EXACT, EXACT, EXACT, EXACT, EXACT, EXACT, EXACT, EXACT);
    m.def("logistic", logistic, EXACT, EXACT, EXACT, EXACT, EXACT, EXACT, EXACT, EXACT, EXACT, EXACT, EXACT, EXACT, EXACT, EXACT, EXACT, EXACT);
    bind_dense<double>(m);
    bind_dense<float>(m);
    bind_sparse<double, std::int32_t>(m);
    bind_sparse<double, std::int64_t>(m);
    bind_sparse<float, std::int32_t>(m);
    bind_sparse<float, std::int64_t>(m);
}
