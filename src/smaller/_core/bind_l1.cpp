// The solvers of the L1 problem: whole, component-wise, of a quadratic model, and of the intercepts alone.
#include "bindings.hpp"
#include "componentwise.hpp"
#include "rounds.hpp"

namespace smaller {
namespace {

// The samples of a problem: targets and offset are (n, k), `measure` is what the gradient of an intercept is measured
// against, and a gap is relative to the objective or to `negligible`, whichever is larger.
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

// The penalty of all weights, (d + intercept, k): l1 at strength 1, l2, and what KKT residuals of weights without L1
// penalty are measured against; `leads` marks the columns that may enter.
struct PenaltyArrays {
    Table l1;
    std::optional<Table> l2;
    Table scale;
    std::optional<Vector<const std::uint8_t>> leads;

    size_t columns(bool intercept) const { return l1.shape(0) - intercept; }
    void check_shapes(size_t k, bool intercept) const {
        const auto alike = [&](const Table& table) { return table.shape(0) == l1.shape(0) && table.shape(1) == k; };
        check(alike(l1) && alike(scale) && (!l2 || alike(*l2)), "the arrays of a penalty do not fit together");
        check(!leads || leads->shape(0) == columns(intercept), "leads must have one entry for each column");
    }
    Penalty view() const { return {l1.data(), l2 ? l2->data() : nullptr, scale.data()}; }
};

// An array that owns the numbers.
template <class T>
nb::ndarray<nb::numpy, T, nb::ndim<2>> table(std::vector<T>&& numbers, size_t width) {
    auto* kept = new std::vector<T>(std::move(numbers));
    nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
    return {kept->data(), {kept->size() / width, width}, owner};
}

struct PointArrays {
    Result W;
    Values F;
    Result G;
    bool known;
};

template <class Rows>
nb::tuple minimise(const Rows& X, const SampleArrays& samples, const PenaltyArrays& penalty, const Rule& rule,
                   const PointArrays& point, const Vector<const double>& lams) {
    const Samples data = samples.view();
    samples.check_shapes();
    penalty.check_shapes(data.k, data.intercept);
    check(penalty.columns(data.intercept) == X.d && X.n == data.n, "the columns do not fit the samples or the penalty");
    for (const Result* each : {&point.W, &point.G})
        check(each->shape(0) == X.d + data.intercept && each->shape(1) == data.k, "W and G must be (d + intercept, k)");
    check(point.F.shape(0) == data.n && point.F.shape(1) == data.k, "F must be (n, k)");
    const std::uint8_t* leads = penalty.leads ? penalty.leads->data() : nullptr;
    Account out;
    {
        nb::gil_scoped_release released;
        const Start start{point.W.data(), point.F.data(), point.G.data(), point.known};
        Rounds<Rows> rounds(X, data, samples.offset_data(), penalty.view(), start, leads, samples.negligible, rule,
                            raise_if_interrupted);
        out = rounds.run(lams.data(), lams.shape(0));
    }
    return nb::make_tuple(table(std::move(out.ends), Account::NUMBERS_OF_AN_END),
                          table(std::move(out.history), Account::NUMBERS_OF_A_STEP), table(std::move(out.places), 1),
                          table(std::move(out.values), 1));
}

#define REST const SampleArrays &samples, const PenaltyArrays &penalty, const Rule &rule, const PointArrays &point, \
             const Vector<const double>&lams
#define REST_NAMES as_is("samples"), as_is("penalty"), as_is("rule"), as_is("point"), as_is("lams")

template <class T>
void bind_dense(nb::module_& m) {
    m.def("minimise", [](const Matrix<T>& X, REST) {
        const ByColumns<Dense<T>> matrix{columns_of(X), X.shape(0), X.shape(1)};
        return minimise(matrix, samples, penalty, rule, point, lams);
    }, as_is("X"), REST_NAMES);
    m.def("minimise_by_rows", [](const Strided<T>& X, REST) {
        const DenseRows<T> matrix{X.data(), X.shape(0), X.shape(1), X.stride(0), X.stride(1)};
        return minimise(matrix, samples, penalty, rule, point, lams);
    }, as_is("X"), REST_NAMES);
}

template <class T, class I>
void bind_sparse(nb::module_& m) {
    m.def("minimise", [](const Vector<const T>& values, const Vector<const I>& rows, const Vector<const I>& starts, REST) {
        const size_t n = samples.Y.shape(0);
        const ByColumns<Sparse<T, I>> matrix{{values.data(), rows.data(), starts.data(), n}, n, starts.size() - 1};
        return minimise(matrix, samples, penalty, rule, point, lams);
    }, as_is("values"), as_is("rows"), as_is("starts"), REST_NAMES);
    m.def("minimise_by_rows", [](const Vector<const T>& values, const Vector<const I>& columns,
                                 const Vector<const I>& starts, REST) {
        const SparseRows<T, I> matrix{values.data(), columns.data(), starts.data(), starts.size() - 1,
                                      penalty.columns(samples.intercept)};
        return minimise(matrix, samples, penalty, rule, point, lams);
    }, as_is("values"), as_is("columns"), as_is("starts"), REST_NAMES);
}

// Coordinates (feature, class), sorted by class, with their weights and strengths.
struct WorkingSetArrays {
    Vector<const std::int64_t> feature, klass;
    Vector<double> w;
    Vector<const double> l1, l2, scale;

    WorkingSet view() const {
        const size_t a = w.shape(0);
        check(feature.shape(0) == a && klass.shape(0) == a && l1.shape(0) == a && l2.shape(0) == a && scale.shape(0) == a,
              "the arrays of a working set do not fit together");
        return {a, feature.data(), klass.data(), w.data(), l1.data(), l2.data(), scale.data()};
    }
};

template <class Columns>
double componentwise(const Columns& X, const SampleArrays& samples, const WorkingSetArrays& set, const Vector<double>& b,
                     const Values& F, const Vector<const double>& bound, const Vector<const double>& center,
                     const Vector<const std::uint8_t>& visit, bool greedy) {
    const Samples data = samples.view();
    const WorkingSet working = set.view();
    samples.check_shapes();
    check(F.shape(0) == data.n && F.shape(1) == data.k && b.shape(0) == data.k, "the scores do not fit the samples");
    for (const size_t each : {bound.shape(0), center.shape(0), visit.shape(0)})
        check(each == working.size, "the arrays of a working set do not fit together");
    nb::gil_scoped_release released;
    ComponentWise<Columns> solver(X, data, working, bound.data(), center.data(), b.data(), F.data());
    return greedy ? solver.greedy(visit.shape(0)) : solver.sweep(visit.data());
}

#define SWEEP const SampleArrays &samples, const WorkingSetArrays &set, const Vector<double>&b, const Values &F,  \
              const Vector<const double>&bound, const Vector<const double>&center,                                  \
              const Vector<const std::uint8_t>&visit, bool greedy
#define SWEEP_NAMES as_is("samples"), as_is("set"), as_is("b"), as_is("F"), as_is("bound"), as_is("center"), \
                    as_is("visit"), as_is("greedy")

template <class T>
void bind_dense_sweep(nb::module_& m) {
    m.def("componentwise", [](const Matrix<T>& X, SWEEP) {
        return componentwise(columns_of(X), samples, set, b, F, bound, center, visit, greedy);
    }, as_is("X"), SWEEP_NAMES);
}

template <class T, class I>
void bind_sparse_sweep(nb::module_& m) {
    m.def("componentwise", [](const Vector<const T>& values, const Vector<const I>& rows, const Vector<const I>& starts,
                              SWEEP) {
        const Sparse<T, I> X{values.data(), rows.data(), starts.data(), samples.Y.shape(0)};
        return componentwise(X, samples, set, b, F, bound, center, visit, greedy);
    }, as_is("values"), as_is("rows"), as_is("starts"), SWEEP_NAMES);
}

int quadratic(const Table& H, const Vector<double>& slope, const Vector<const double>& w, const Vector<const double>& l1,
              const Vector<const double>& scale, const Vector<double>& d, double tolerance) {
    const size_t a = w.shape(0);
    check(H.shape(0) == a && H.shape(1) == a && slope.shape(0) == a && l1.shape(0) == a && scale.shape(0) == a &&
              d.shape(0) == a,
          "the arrays of a quadratic model do not fit together");
    nb::gil_scoped_release released;
    return QuadraticSolver({a, H.data(), slope.data(), w.data(), l1.data(), scale.data(), d.data()}).run(tolerance);
}

void settle_intercepts(const SampleArrays& samples, const Vector<double>& b, const Values& F, double target) {
    const Samples data = samples.view();
    samples.check_shapes();
    check(F.shape(0) == data.n && F.shape(1) == data.k && b.shape(0) == data.k, "the scores do not fit the samples");
    nb::gil_scoped_release released;
    const WorkingSet none{0, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr};
    const Dense<double> no_columns{nullptr, data.n, data.n};
    Hessian own;
    Newton<Dense<double>>(no_columns, data, none, b.data(), F.data(), own, raise_if_interrupted).run(target, 50);
}

}  // namespace

void bind_l1(nb::module_& m) {
    using Offset = std::optional<Matrix<double>>;
    nb::class_<SampleArrays>(m, "Samples")
        .def("__init__", [](SampleArrays* self, Matrix<double> Y, Vector<const double> s, Offset offset, int family,
                            bool intercept, double measure, double negligible) {
            new (self) SampleArrays{std::move(Y), std::move(s), std::move(offset), family, intercept, measure, negligible};
        }, nb::kw_only(), as_is("Y"), as_is("s"), as_is("offset").none(), as_is("family"), as_is("intercept"),
           as_is("measure"), as_is("negligible"));
    nb::class_<PenaltyArrays>(m, "Penalty")
        .def("__init__", [](PenaltyArrays* self, Table l1, std::optional<Table> l2, Table scale,
                            std::optional<Vector<const std::uint8_t>> leads) {
            new (self) PenaltyArrays{std::move(l1), std::move(l2), std::move(scale), std::move(leads)};
        }, nb::kw_only(), as_is("l1"), as_is("l2").none(), as_is("scale"), as_is("leads").none());
    nb::class_<Rule>(m, "Rule")
        .def("__init__", [](Rule* self, double tol, int max_iter, double screen, bool exact, size_t room) {
            new (self) Rule{tol, max_iter, screen, exact, room};
        }, nb::kw_only(), as_is("tol"), as_is("max_iter"), as_is("screen"), as_is("exact"), as_is("room"));
    nb::class_<PointArrays>(m, "Point")
        .def("__init__", [](PointArrays* self, Result W, Values F, Result G, bool known) {
            new (self) PointArrays{std::move(W), std::move(F), std::move(G), known};
        }, nb::kw_only(), as_is("W"), as_is("F"), as_is("G"), as_is("known"));
    nb::class_<WorkingSetArrays>(m, "WorkingSet")
        .def("__init__", [](WorkingSetArrays* self, Vector<const std::int64_t> feature, Vector<const std::int64_t> klass,
                            Vector<double> w, Vector<const double> l1, Vector<const double> l2,
                            Vector<const double> scale) {
            new (self) WorkingSetArrays{std::move(feature), std::move(klass), std::move(w),
                                        std::move(l1),      std::move(l2),    std::move(scale)};
        }, nb::kw_only(), as_is("feature"), as_is("klass"), as_is("w"), as_is("l1"), as_is("l2"), as_is("scale"));
    bind_dense<double>(m);
    bind_dense<float>(m);
    bind_sparse<double, std::int32_t>(m);
    bind_sparse<double, std::int64_t>(m);
    bind_sparse<float, std::int32_t>(m);
    bind_sparse<float, std::int64_t>(m);
    bind_dense_sweep<double>(m);
    bind_dense_sweep<float>(m);
    bind_sparse_sweep<double, std::int32_t>(m);
    bind_sparse_sweep<double, std::int64_t>(m);
    bind_sparse_sweep<float, std::int32_t>(m);
    bind_sparse_sweep<float, std::int64_t>(m);
    m.def("quadratic", quadratic, as_is("H"), as_is("slope"), as_is("w"), as_is("l1"), as_is("scale"), as_is("d"),
          as_is("tolerance"));
    m.def("settle_intercepts", settle_intercepts, as_is("samples"), as_is("b"), as_is("F"), as_is("target"));
}

}  // namespace smaller
