// The compiled twins of reference.py: same names, same arguments, same results.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/tuple.h>

#include <tuple>

#include "blasso.hpp"
#include "componentwise.hpp"
#include "evidence.hpp"
#include "logistic.hpp"
#include "newton.hpp"
#include "rounds.hpp"
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
    Hessian own;
    Newton<Columns> solver(X, given.data, given.set, given.b, given.F, own, raise_if_interrupted);
    const Outcome out = solver.run(target, max_steps, forcing);
    return {out.steps, out.sweeps, out.violation, out.objective, out.stalled};
}

void check_set(bool fits) {
    if (!fits) throw nb::value_error("the arrays of a working set do not fit together");
}

// Numbers of a Rule, in its order.
#define RULE                                                                                                      \
    double tol, int max_iter, int max_steps, double screen, double forcing, double share, double roughly, int room, \
        double polished, int polish_work, double free_tolerance
#define WHOLE                                                                                                     \
    const Vector<const double>&lams, const Result &W, const Values &F, const Result &G, const Matrix<double>&Y,    \
        const Vector<const double>&s, const Table &unit, const Vector<const std::uint8_t>&leads, int family,       \
        bool intercept, bool known
#define PASS_ROUNDS                                                                                              \
    Rule{tol, max_iter, max_steps, screen, forcing, share, roughly, static_cast<size_t>(room), polished,          \
         static_cast<size_t>(polish_work), free_tolerance}, lams, W, F, G, Y, s, unit, leads, family, intercept, known
#define EXACT_ROUNDS                                                                                              \
    EXACT, EXACT, EXACT, EXACT, EXACT, EXACT, EXACT, EXACT, EXACT, EXACT, EXACT, EXACT, EXACT, EXACT, EXACT, EXACT,     \
        EXACT, EXACT, EXACT, EXACT, EXACT, EXACT

// An array that owns the numbers.
template <class T>
nb::ndarray<nb::numpy, T, nb::ndim<2>> table(std::vector<T>&& numbers, size_t width) {
    auto* kept = new std::vector<T>(std::move(numbers));
    nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
    return {kept->data(), {kept->size() / width, width}, owner};
}

template <class Columns>
nb::tuple rounds(const Columns& X, size_t d, const Rule& rule, WHOLE) {
    const size_t n = F.shape(0), k = F.shape(1), rows = d + intercept;
    check_set(W.shape(0) == rows && W.shape(1) == k && G.shape(0) == rows && G.shape(1) == k);
    check_set(unit.shape(0) == rows && unit.shape(1) == k && Y.shape(0) == n && Y.shape(1) == k && s.shape(0) == n);
    check_set(leads.size() == 0 || leads.size() == d);
    const Data data{n, k, static_cast<Family>(family), intercept, Y.data(), s.data()};
    const Problem problem{d, W.data(), F.data(), G.data(), unit.data(), leads.size() ? leads.data() : nullptr};
    Account out;
    {
        nb::gil_scoped_release released;
        out = Rounds<Columns>(X, data, problem, rule, raise_if_interrupted).run(lams.data(), lams.size(), known);
    }
    using Told = Rounds<Columns>;
    return nb::make_tuple(table(std::move(out.ends), Told::TOLD), table(std::move(out.history), Told::NOTED),
                          table(std::move(out.places), 1), table(std::move(out.values), 1));
}

template <class Columns>
double componentwise(const Columns& X, const Vector<const double>& bound, const Vector<const double>& center,
                     const Vector<const std::uint8_t>& visit, bool greedy, POINT) {
    const Arguments given(PASS);
    nb::gil_scoped_release released;
    ComponentWise<Columns> solver(X, given.data, given.set, bound.data(), center.data(), given.b, given.F);
    return greedy ? solver.greedy(visit.shape(0)) : solver.sweep(visit.data());
}

std::tuple<int, double> sequential(const Matrix<double>& X, const Matrix<double>& C, double total, double yy,
                                   const Vector<double>& alpha, double noise, double floor, double tol, double aligned,
                                   int max_steps) {
    const size_t n = X.shape(0), w = X.shape(1);
    check_set(C.shape(0) == w && alpha.shape(0) == w);
    nb::gil_scoped_release released;
    Products products(each_column(X.data(), n, w), n, nullptr, false);
    Sequential solver(products, C.data(), C.shape(1), total, yy, alpha.data(), noise, aligned, aligned);
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

#define MOVES                                                                                                     \
    const Vector<const std::int64_t>&column, const Vector<const std::int64_t>&klass,                               \
        const Vector<const double>&center, double step, const Matrix<double>&P, const Matrix<double>&Q, const Matrix<double>&Y, const Vector<const double>&s,      \
        int family, const Vector<double>&up, const Vector<double>&down
#define EXACT_MOVES EXACT, EXACT, EXACT, EXACT, EXACT, EXACT, EXACT, EXACT, EXACT, EXACT, EXACT
#define PASS_MOVES column, klass, center, step, P, Q, Y, s, family, up, down

template <class Columns>
void weight_moves(const Columns& X, MOVES) {
    const size_t n = P.shape(0), k = P.shape(1), a = column.shape(0);
    if (klass.shape(0) != a || center.shape(0) != a || up.shape(0) != a || down.shape(0) != a || Q.shape(0) != n || Q.shape(1) != k ||
        Y.shape(0) != n || Y.shape(1) != k || s.shape(0) != n)
        throw nb::value_error("the arrays of the moves do not fit together");
    nb::gil_scoped_release released;
    WeightMoves<Columns> losses(X, n, static_cast<Family>(family), P.data(), Q.data(), Y.data(), s.data());
    for (size_t i = 0; i < a; ++i) {
        losses(column.data()[i], klass.data()[i], center.data()[i], step, up.data() + i, down.data() + i);
        if (i % 256 == 255) raise_if_interrupted();
    }
}

void gate_moves(const Matrix<double>& X, const Matrix<double>& C, const Matrix<double>& K, const Matrix<double>& W,
                const Matrix<double>& base, const Vector<const std::int64_t>& input, const Vector<const double>& rate,
                const Matrix<double>& Y, const Vector<const double>& s, int family, bool intercept,
                const Vector<double>& losses) {
    const size_t n = X.shape(0), a = C.shape(0), k = base.shape(1), g = input.shape(0);
    if (C.shape(1) != X.shape(1) || K.shape(0) != n || K.shape(1) != a || W.shape(0) != a || W.shape(1) != k ||
        base.shape(0) != n || rate.shape(0) != g || losses.shape(0) != g || Y.shape(0) != n || Y.shape(1) != k ||
        s.shape(0) != n)
        throw nb::value_error("the arrays of the gates do not fit together");
    nb::gil_scoped_release released;
    GateMoves loss(K.data(), W.data(), base.data(), n, a, k, static_cast<Family>(family), intercept, Y.data(),
                   s.data());
    for (size_t i = 0; i < g; ++i) {
        const size_t j = static_cast<size_t>(input.data()[i]);
        losses.data()[i] = loss(X.data() + j * n, C.data() + j * a, rate.data()[i]);
        raise_if_interrupted();
    }
}

void regate_all(const Values& S, const Values& K, const Vector<const double>& x, const Vector<const double>& c,
                double change, double gamma) {
    const size_t n = S.shape(0), m = S.shape(1);
    if (K.shape(0) != n || K.shape(1) != m || x.shape(0) != n || c.shape(0) != m)
        throw nb::value_error("the arrays of the gates do not fit together");
    nb::gil_scoped_release released;
    for (size_t j = 0; j < m; ++j)
        regate(S.data() + j * n, K.data() + j * n, x.data(), c.data()[j], change, gamma, n);
}

template <class T>
void bind_dense(nb::module_& m) {
    m.def("newton", [](const Matrix<T>& X, double target, int max_steps, double forcing, POINT) {
        return newton(columns(X), target, max_steps, forcing, PASS);
    }, EXACT, EXACT, EXACT, EXACT, EXACT_POINT);
    m.def("rounds", [](const Matrix<T>& X, RULE, WHOLE) { return rounds(columns(X), X.shape(1), PASS_ROUNDS); }, EXACT, EXACT_ROUNDS);
    m.def("componentwise", [](const Matrix<T>& X, const Vector<const double>& bound, const Vector<const double>& center,
                              const Vector<const std::uint8_t>& visit, bool greedy, POINT) {
        return componentwise(columns(X), bound, center, visit, greedy, PASS);
    }, EXACT, EXACT, EXACT, EXACT, EXACT, EXACT_POINT);
    m.def("pull", [](const Matrix<T>& X, const Matrix<double>& R, const Result& G) {
        check_set(X.shape(0) == R.shape(0) && G.shape(0) == X.shape(1) && G.shape(1) == R.shape(1));
        nb::gil_scoped_release released;
        pull(X.data(), R.data(), X.shape(0), X.shape(1), R.shape(1), G.data());
    }, EXACT, EXACT, EXACT);
    m.def("weight_moves", [](const Matrix<T>& X, MOVES) { weight_moves(columns(X), PASS_MOVES); }, EXACT, EXACT_MOVES);
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
    m.def("rounds", [](const V& values, const Index& rows, const Index& starts, RULE, WHOLE) {
        const Sparse<T, I> X{values.data(), rows.data(), starts.data(), F.shape(0)};
        return rounds(X, starts.size() - 1, PASS_ROUNDS);
    }, EXACT, EXACT, EXACT, EXACT_ROUNDS);
    m.def("componentwise", [](const V& values, const Index& rows, const Index& starts, const Vector<const double>& bound,
                              const Vector<const double>& center, const Vector<const std::uint8_t>& visit, bool greedy,
                              POINT) {
        const Sparse<T, I> X{values.data(), rows.data(), starts.data(), F.shape(0)};
        return componentwise(X, bound, center, visit, greedy, PASS);
    }, EXACT, EXACT, EXACT, EXACT, EXACT, EXACT, EXACT, EXACT_POINT);
    m.def("weight_moves", [](const V& values, const Index& rows, const Index& starts, MOVES) {
        weight_moves(Sparse<T, I>{values.data(), rows.data(), starts.data(), P.shape(0)}, PASS_MOVES);
    }, EXACT, EXACT, EXACT, EXACT_MOVES);
}

}  // namespace
}  // namespace smaller

NB_MODULE(compiled, m) {
    using namespace smaller;
    m.def("means", [](const Matrix<double>& F, const Matrix<double>& Y, const Vector<const double>& s, int family,
                      const Values& P) {
        return means(F.data(), Y.data(), s.data(), F.shape(0), F.shape(1), static_cast<Family>(family), P.data());
    }, EXACT, EXACT, EXACT, EXACT, EXACT);
    m.def("negentropy", [](const Matrix<double>& U, const Matrix<double>& Y, const Vector<const double>& s, double shrink,
                           int family) {
        check_set(U.shape(0) == Y.shape(0) && U.shape(1) == Y.shape(1) && s.shape(0) == U.shape(0));
        nb::gil_scoped_release released;
        return negentropy(U.data(), Y.data(), s.data(), shrink, U.shape(0), U.shape(1), family == REFERENCE);
    }, EXACT, EXACT, EXACT, EXACT, EXACT);
    m.def("judge", [](const Table& W, const Table& G, const Table& l1, const Table& l2, const Table& scale,
                      const Result& residuals) {
        for (const Table* each : {&G, &l1, &l2, &scale})
            check_set(each->shape(0) == W.shape(0) && each->shape(1) == W.shape(1));
        check_set(residuals.shape(0) == W.shape(0) && residuals.shape(1) == W.shape(1));
        nb::gil_scoped_release released;
        const Verdict out = judge(W.data(), G.data(), l1.data(), l2.data(), scale.data(), W.size(), residuals.data());
        return std::make_tuple(out.penalty, out.shrink, out.unridged);
    }, EXACT, EXACT, EXACT, EXACT, EXACT, EXACT);
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
    m.def("gate_moves", gate_moves, EXACT, EXACT, EXACT, EXACT, EXACT, EXACT, EXACT, EXACT, EXACT, EXACT, EXACT, EXACT);
    m.def("regate", regate_all, EXACT, EXACT, EXACT, EXACT, EXACT, EXACT);
    bind_dense<double>(m);
    bind_dense<float>(m);
    bind_sparse<double, std::int32_t>(m);
    bind_sparse<double, std::int64_t>(m);
    bind_sparse<float, std::int32_t>(m);
    bind_sparse<float, std::int64_t>(m);
}
