// Losses after the moves that boosted lasso may take.
#include "bindings.hpp"
#include "blasso.hpp"

namespace smaller {
namespace {

// The state of a fit: means P, their complements Q = 1 - P and targets Y, (n, k), and the sample weights.
struct StateArrays {
    Matrix<double> P, Q, Y;
    Vector<const double> s;
    int family;
};

// Moves of single weights: columns, classes, and the mean that the intercept takes out of each column.
struct MoveArrays {
    Vector<const std::int64_t> column, klass;
    Vector<const double> center;
    double step;
};

template <class Columns>
void weight_moves(const Columns& X, const MoveArrays& moves, const StateArrays& state, const Vector<double>& up,
                  const Vector<double>& down) {
    const size_t n = state.P.shape(0), k = state.P.shape(1), a = moves.column.shape(0);
    check(moves.klass.shape(0) == a && moves.center.shape(0) == a && up.shape(0) == a && down.shape(0) == a &&
              state.Q.shape(0) == n && state.Q.shape(1) == k && state.Y.shape(0) == n && state.Y.shape(1) == k &&
              state.s.shape(0) == n,
          "the arrays of the moves do not fit together");
    nb::gil_scoped_release released;
    WeightMoves<Columns> losses(X, n, static_cast<Family>(state.family), state.P.data(), state.Q.data(), state.Y.data(),
                                state.s.data());
    for (size_t i = 0; i < a; ++i) {
        losses(moves.column.data()[i], moves.klass.data()[i], moves.center.data()[i], moves.step, up.data() + i,
               down.data() + i);
        if (i % 256 == 255) raise_if_interrupted();
    }
}

void gate_moves(const Matrix<double>& X, const Matrix<double>& C, const Matrix<double>& K, const Matrix<double>& W,
                const Matrix<double>& base, const Vector<const std::int64_t>& input, const Vector<const double>& rate,
                const Matrix<double>& Y, const Vector<const double>& s, int family, bool intercept,
                const Vector<double>& losses) {
    const size_t n = X.shape(0), a = C.shape(0), k = base.shape(1), g = input.shape(0);
    check(C.shape(1) == X.shape(1) && K.shape(0) == n && K.shape(1) == a && W.shape(0) == a && W.shape(1) == k &&
              base.shape(0) == n && rate.shape(0) == g && losses.shape(0) == g && Y.shape(0) == n && Y.shape(1) == k &&
              s.shape(0) == n,
          "the arrays of the gates do not fit together");
    nb::gil_scoped_release released;
    GateMoves loss(K.data(), W.data(), base.data(), n, a, k, static_cast<Family>(family), intercept, Y.data(), s.data());
    for (size_t i = 0; i < g; ++i) {
        const size_t j = static_cast<size_t>(input.data()[i]);
        losses.data()[i] = loss(X.data() + j * n, C.data() + j * a, rate.data()[i]);
        raise_if_interrupted();
    }
}

void regate_all(const Values& S, const Values& K, const Vector<const double>& x, const Vector<const double>& c,
                double change, double gamma) {
    const size_t n = S.shape(0), m = S.shape(1);
    check(K.shape(0) == n && K.shape(1) == m && x.shape(0) == n && c.shape(0) == m,
          "the arrays of the gates do not fit together");
    nb::gil_scoped_release released;
    for (size_t j = 0; j < m; ++j)
        regate(S.data() + j * n, K.data() + j * n, x.data(), c.data()[j], change, gamma, n);
}

#define REST const MoveArrays &moves, const StateArrays &state, const Vector<double>&up, const Vector<double>&down
#define REST_NAMES as_is("moves"), as_is("state"), as_is("up"), as_is("down")

template <class T>
void bind_dense(nb::module_& m) {
    m.def("weight_moves", [](const Matrix<T>& X, REST) { weight_moves(columns_of(X), moves, state, up, down); },
          as_is("X"), REST_NAMES);
}

template <class T, class I>
void bind_sparse(nb::module_& m) {
    m.def("weight_moves", [](const Vector<const T>& values, const Vector<const I>& rows, const Vector<const I>& starts,
                             REST) {
        weight_moves(Sparse<T, I>{values.data(), rows.data(), starts.data(), state.P.shape(0)}, moves, state, up, down);
    }, as_is("values"), as_is("rows"), as_is("starts"), REST_NAMES);
}

}  // namespace

void bind_moves(nb::module_& m) {
    nb::class_<StateArrays>(m, "State")
        .def("__init__", [](StateArrays* self, Matrix<double> P, Matrix<double> Q, Matrix<double> Y,
                            Vector<const double> s, int family) {
            new (self) StateArrays{std::move(P), std::move(Q), std::move(Y), std::move(s), family};
        }, nb::kw_only(), as_is("P"), as_is("Q"), as_is("Y"), as_is("s"), as_is("family"));
    nb::class_<MoveArrays>(m, "Moves")
        .def("__init__", [](MoveArrays* self, Vector<const std::int64_t> column, Vector<const std::int64_t> klass,
                            Vector<const double> center, double step) {
            new (self) MoveArrays{std::move(column), std::move(klass), std::move(center), step};
        }, nb::kw_only(), as_is("column"), as_is("klass"), as_is("center"), as_is("step"));
    bind_dense<double>(m);
    bind_dense<float>(m);
    bind_sparse<double, std::int32_t>(m);
    bind_sparse<double, std::int64_t>(m);
    bind_sparse<float, std::int32_t>(m);
    bind_sparse<float, std::int64_t>(m);
    m.def("gate_moves", gate_moves, as_is("X"), as_is("C"), as_is("K"), as_is("W"), as_is("base"), as_is("input"),
          as_is("rate"), as_is("Y"), as_is("s"), as_is("family"), as_is("intercept"), as_is("losses"));
    m.def("regate", regate_all, as_is("S"), as_is("K"), as_is("x"), as_is("c"), as_is("change"), as_is("gamma"));
}

}  // namespace smaller
