// Binds the losses after each of the moves that boosted lasso may take, of a weight or of a gate, and the move of a
// gate.
#include "bindings.hpp"
#include "blasso.hpp"

namespace smaller {
namespace {

constexpr const char* SHAPES_OF_GATES = "the arrays of the gates do not fit together";

// The state of a fit: means P, their complements Q = 1 - P and targets Y, (n, k), and the sample weights s.
struct StateArrays {
    Matrix<double> P, Q, Y;
    Vector<const double> s;
    int family;

    ClassMeans view() const {
        const size_t n = P.shape(0), k = P.shape(1);
        for (const Matrix<double>* each : {&Q, &Y})
            check(each->shape(0) == n && each->shape(1) == k, "the arrays of the state do not fit together");
        check(s.shape(0) == n, "the arrays of the state do not fit together");
        return {n, static_cast<Family>(family), P.data(), Q.data(), Y.data(), s.data()};
    }
};

// Moves of single weights: columns, classes, and the mean that the intercept takes out of each column.
struct MoveArrays {
    Vector<const std::int64_t> column, klass;
    Vector<const double> center;
    double step;
};

// An RBF kernel whose inputs have gates, on the centres in use: inputs X (n, p), centres C (a, p), kernel K (n, a),
// weights W (a, k), and the rest of the scores, base (n, k).
struct GateArrays {
    Matrix<double> X, C, K, W, base;

    GatedKernel view() const {
        const size_t n = X.shape(0), a = C.shape(0), k = base.shape(1);
        check(C.shape(1) == X.shape(1) && K.shape(0) == n && K.shape(1) == a, SHAPES_OF_GATES);
        check(W.shape(0) == a && W.shape(1) == k && base.shape(0) == n, SHAPES_OF_GATES);
        return {K.data(), W.data(), base.data(), a};
    }
};

template <class Columns>
void weight_moves(const Columns& X, const MoveArrays& moves, const StateArrays& state, const Vector<double>& up,
                  const Vector<double>& down) {
    const size_t a = moves.column.shape(0);
    const ClassMeans means = state.view();
    for (const size_t each : {moves.klass.shape(0), moves.center.shape(0), up.shape(0), down.shape(0)})
        check(each == a, "the arrays of the moves do not fit together");
    nb::gil_scoped_release released;
    WeightMoves<Columns> losses(X, means);
    for (size_t i = 0; i < a; ++i) {
        losses(moves.column.data()[i], moves.klass.data()[i], moves.center.data()[i], moves.step, up.data() + i,
               down.data() + i);
        if (i % 256 == 255) raise_if_interrupted();
    }
}

struct WeightMovesKernel {
    nb::module_& m;

    template <class... Arrays, class... Names>
    void define(Names... names) const {
        m.def("weight_moves", [](const Arrays&... arrays, const MoveArrays& moves, const StateArrays& state,
                                 const Vector<double>& up, const Vector<double>& down) {
            weight_moves(columns_of(state.P.shape(0), arrays...), moves, state, up, down);
        }, as_is(names)..., as_is("moves"), as_is("state"), as_is("up"), as_is("down"));
    }
};

void gate_moves(const GateArrays& gates, const SampleArrays& samples, const Vector<const std::int64_t>& input,
                const Vector<const double>& rate, const Vector<double>& losses) {
    const GatedKernel kernel = gates.view();
    const Samples data = samples.view();
    samples.check_shapes();
    check(gates.base.shape(0) == data.n && gates.base.shape(1) == data.k, SHAPES_OF_GATES);
    check(rate.shape(0) == input.shape(0) && losses.shape(0) == input.shape(0), SHAPES_OF_GATES);
    nb::gil_scoped_release released;
    GateMoves loss(kernel, data);
    for (size_t i = 0; i < input.shape(0); ++i) {
        const size_t j = static_cast<size_t>(input.data()[i]);
        losses.data()[i] = loss(gates.X.data() + j * data.n, gates.C.data() + j * kernel.a, rate.data()[i]);
        raise_if_interrupted();
    }
}

void regate_all(const Values& S, const Values& K, const Vector<const double>& x, const Vector<const double>& c,
                double change, double gamma) {
    const size_t n = S.shape(0), m = S.shape(1);
    check(K.shape(0) == n && K.shape(1) == m && x.shape(0) == n && c.shape(0) == m, SHAPES_OF_GATES);
    nb::gil_scoped_release released;
    for (size_t j = 0; j < m; ++j)
        regate(S.data() + j * n, K.data() + j * n, x.data(), c.data()[j], change, gamma, n);
}

void bind_structs(nb::module_& m) {
    using Places = Vector<const std::int64_t>;
    nb::class_<StateArrays>(m, "State")
        .def("__init__", [](StateArrays* self, Matrix<double> P, Matrix<double> Q, Matrix<double> Y,
                            Vector<const double> s, int family) {
            new (self) StateArrays{std::move(P), std::move(Q), std::move(Y), std::move(s), family};
        }, nb::kw_only(), as_is("P"), as_is("Q"), as_is("Y"), as_is("s"), as_is("family"));
    nb::class_<MoveArrays>(m, "Moves")
        .def("__init__", [](MoveArrays* self, Places column, Places klass, Vector<const double> center, double step) {
            new (self) MoveArrays{std::move(column), std::move(klass), std::move(center), step};
        }, nb::kw_only(), as_is("column"), as_is("klass"), as_is("center"), as_is("step"));
    nb::class_<GateArrays>(m, "Gates")
        .def("__init__", [](GateArrays* self, Matrix<double> X, Matrix<double> C, Matrix<double> K, Matrix<double> W,
                            Matrix<double> base) {
            new (self) GateArrays{std::move(X), std::move(C), std::move(K), std::move(W), std::move(base)};
        }, nb::kw_only(), as_is("X"), as_is("C"), as_is("K"), as_is("W"), as_is("base"));
}

}  // namespace

void bind_moves(nb::module_& m) {
    bind_structs(m);
    for_each_storage<Matrix>(WeightMovesKernel{m}, "rows");
    m.def("gate_moves", gate_moves, as_is("gates"), as_is("samples"), as_is("input"), as_is("rate"), as_is("losses"));
    m.def("regate", regate_all, as_is("S"), as_is("K"), as_is("x"), as_is("c"), as_is("change"), as_is("gamma"));
}

}  // namespace smaller
