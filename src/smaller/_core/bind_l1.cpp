// Binds the solvers of the L1 problem: the whole problem, component-wise sweeps, a quadratic model with an L1 term, and
// the intercepts alone.
#include "bindings.hpp"
#include "componentwise.hpp"
#include "rounds.hpp"

namespace smaller {
namespace {

// Groups of columns under a norm: those of group g lie in `column` from start[g] to start[g + 1]; `of` is the group of
// each column, or negative. Inside a norm the weights of a column are multiplied by its unit.
struct GroupArrays {
    Vector<const std::int64_t> start, column, of;
    Vector<const double> tau, unit;

    void check_shapes(size_t d) const {
        const size_t count = tau.shape(0);
        check(start.shape(0) == count + 1 && start(0) == 0, "the groups do not fit their strengths");
        check(of.shape(0) == d && unit.shape(0) == d, "the groups do not fit the columns");
        check(column.shape(0) == static_cast<size_t>(start(count)), "the groups do not fit their columns");
        for (size_t g = 0; g < count; ++g) {
            check(start(g) < start(g + 1), "a group has no columns");
            for (std::int64_t c = start(g); c < start(g + 1); ++c) {
                const std::int64_t j = column(c);
                check(j >= 0 && j < static_cast<std::int64_t>(d), "a group has a column that is not there");
                check(of(j) == static_cast<std::int64_t>(g), "a column is not in its group");
            }
        }
    }
    Groups view() const {
        return {tau.shape(0), start.data(), column.data(), of.data(), tau.data(), unit.data()};
    }
};

// The penalty of all weights, (d + intercept, k): l1 at strength 1, l2, and `scale`, against which KKT residuals of
// weights without L1 penalty, and of groups, are measured. `leads` marks the columns that may enter the working set.
struct PenaltyArrays {
    Table l1;
    std::optional<Table> l2;
    Table scale;
    std::optional<Vector<const std::uint8_t>> leads;
    std::optional<GroupArrays> groups;

    size_t columns(bool intercept) const { return l1.shape(0) - intercept; }
    void check_shapes(size_t k, bool intercept) const {
        const auto alike = [&](const Table& table) { return table.shape(0) == l1.shape(0) && table.shape(1) == k; };
        check(alike(l1) && alike(scale) && (!l2 || alike(*l2)), "the arrays of a penalty do not fit together");
        check(!leads || leads->shape(0) == columns(intercept), "leads must have one entry for each column");
        if (groups) groups->check_shapes(columns(intercept));
    }
    Penalty view(bool intercept, const Groups* grouped) const {
        const size_t k = l1.shape(1);
        return {l1.data(), l2 ? l2->data() : nullptr, scale.data(), k, columns(intercept) * k, grouped};
    }
};

// A NumPy array of `width` columns that owns the numbers.
template <class T>
nb::ndarray<nb::numpy, T, nb::ndim<2>> table(std::vector<T>&& numbers, size_t width) {
    auto* kept = new std::vector<T>(std::move(numbers));
    nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
    return {kept->data(), {kept->size() / width, width}, owner};
}

// The point at which a solver starts and ends: weights W (d + intercept, k), scores F (n, k), and the gradient G of the
// loss, which is read only where it is `known`.
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
    const Groups groups = penalty.groups ? penalty.groups->view() : Groups{};
    const Penalty prior = penalty.view(data.intercept, penalty.groups ? &groups : nullptr);
    Account out;
    {
        nb::gil_scoped_release released;
        const Start start{point.W.data(), point.F.data(), point.G.data(), point.known};
        Rounds<Rows> rounds(X, data, samples.offset_data(), prior, start, leads, samples.negligible, rule,
                            raise_if_interrupted);
        out = rounds.run(lams.data(), lams.shape(0));
    }
    return nb::make_tuple(table(std::move(out.ends), Account::NUMBERS_OF_AN_END),
                          table(std::move(out.history), Account::NUMBERS_OF_A_STEP), table(std::move(out.places), 1),
                          table(std::move(out.values), 1));
}

// The number of columns of a design that is stored by columns.
template <class T>
size_t count_columns(const Matrix<T>& X) {
    return X.shape(1);
}

template <class T, class I>
size_t count_columns(const Vector<const T>&, const Vector<const I>&, const Vector<const I>& starts) {
    return starts.size() - 1;
}

// A design of d columns that is stored by rows: one matrix, or the three arrays of a CSR matrix.
template <class T>
DenseRows<T> rows_of(size_t, const Strided<T>& X) {
    return {X.data(), X.shape(0), X.shape(1), X.stride(0), X.stride(1)};
}

template <class T, class I>
SparseRows<T, I> rows_of(size_t d, const Vector<const T>& values, const Vector<const I>& columns,
                         const Vector<const I>& starts) {
    return {values.data(), columns.data(), starts.data(), starts.size() - 1, d};
}

struct Minimise {
    nb::module_& m;

    template <class... Arrays, class... Names>
    void define(Names... names) const {
        m.def("minimise", [](const Arrays&... arrays, const SampleArrays& samples, const PenaltyArrays& penalty,
                             const Rule& rule, const PointArrays& point, const Vector<const double>& lams) {
            const size_t n = samples.Y.shape(0);
            const auto X = columns_of(n, arrays...);
            const ByColumns<std::decay_t<decltype(X)>> design{X, n, count_columns(arrays...)};
            return minimise(design, samples, penalty, rule, point, lams);
        }, as_is(names)..., as_is("samples"), as_is("penalty"), as_is("rule"), as_is("point"), as_is("lams"));
    }
};

struct MinimiseByRows {
    nb::module_& m;

    template <class... Arrays, class... Names>
    void define(Names... names) const {
        m.def("minimise_by_rows", [](const Arrays&... arrays, const SampleArrays& samples, const PenaltyArrays& penalty,
                                     const Rule& rule, const PointArrays& point, const Vector<const double>& lams) {
            const auto design = rows_of(penalty.columns(samples.intercept), arrays...);
            return minimise(design, samples, penalty, rule, point, lams);
        }, as_is(names)..., as_is("samples"), as_is("penalty"), as_is("rule"), as_is("point"), as_is("lams"));
    }
};

// Coordinates (feature, class), sorted by class, with their weights and strengths.
struct WorkingSetArrays {
    Vector<const std::int64_t> feature, klass;
    Vector<double> w;
    Vector<const double> l1, l2, scale;

    WorkingSet view() const {
        const size_t a = w.shape(0);
        for (const size_t each : {feature.shape(0), klass.shape(0), l1.shape(0), l2.shape(0), scale.shape(0)})
            check(each == a, "the arrays of a working set do not fit together");
        return {a, feature.data(), klass.data(), w.data(), l1.data(), l2.data(), scale.data()};
    }
};

// One sweep of bound updates over a working set: the curvature of the bound and the mean that is taken out of the
// column of each coordinate, whether the coordinate is visited, and whether the best update comes first.
struct SweepArrays {
    Vector<const double> bound, center;
    Vector<const std::uint8_t> visit;
    bool greedy;

    void check_shapes(size_t size) const {
        for (const size_t each : {bound.shape(0), center.shape(0), visit.shape(0)})
            check(each == size, "the arrays of a sweep do not fit the working set");
    }
};

template <class Columns>
double componentwise(const Columns& X, const SampleArrays& samples, const WorkingSetArrays& set,
                     const SweepArrays& sweep, const Vector<double>& b, const Values& F) {
    const Samples data = samples.view();
    const WorkingSet working = set.view();
    samples.check_shapes();
    sweep.check_shapes(working.size);
    check(F.shape(0) == data.n && F.shape(1) == data.k && b.shape(0) == data.k, "the scores do not fit the samples");
    nb::gil_scoped_release released;
    ComponentWise<Columns> solver(X, data, working, sweep.bound.data(), sweep.center.data(), b.data(), F.data());
    return sweep.greedy ? solver.greedy(working.size) : solver.sweep(sweep.visit.data());
}

struct ComponentWiseSweep {
    nb::module_& m;

    template <class... Arrays, class... Names>
    void define(Names... names) const {
        m.def("componentwise", [](const Arrays&... arrays, const SampleArrays& samples, const WorkingSetArrays& set,
                                  const SweepArrays& sweep, const Vector<double>& b, const Values& F) {
            return componentwise(columns_of(samples.Y.shape(0), arrays...), samples, set, sweep, b, F);
        }, as_is(names)..., as_is("samples"), as_is("set"), as_is("sweep"), as_is("b"), as_is("F"));
    }
};

int quadratic(const Table& H, const Vector<double>& slope, const Vector<const double>& w,
              const Vector<const double>& l1, const Vector<const double>& scale, const Vector<double>& d,
              double tolerance) {
    const size_t a = w.shape(0);
    check(H.shape(0) == a && H.shape(1) == a && slope.shape(0) == a && l1.shape(0) == a && scale.shape(0) == a &&
              d.shape(0) == a,
          "the arrays of a quadratic model do not fit together");
    nb::gil_scoped_release released;
    return QuadraticSolver({a, H.data(), slope.data(), w.data(), l1.data(), scale.data(), d.data()}).run(tolerance);
}

// The weights of block g are the members from start[g] to start[g + 1]; each weight is in one block.
int block_quadratic(const Table& H, const Vector<double>& slope, const Vector<const double>& w,
                    const Vector<const double>& l1, const Vector<const double>& scale, const Vector<double>& d,
                    const Vector<const std::int64_t>& start, const Vector<const std::int64_t>& member,
                    const Vector<const double>& tau, double tolerance) {
    const size_t a = w.shape(0), count = tau.shape(0);
    check(H.shape(0) == a && H.shape(1) == a && slope.shape(0) == a && l1.shape(0) == a && scale.shape(0) == a &&
              d.shape(0) == a && member.shape(0) == a,
          "the arrays of a quadratic model do not fit together");
    check(start.shape(0) == count + 1 && start(0) == 0 && start(count) == static_cast<std::int64_t>(a),
          "the blocks do not fit their strengths");
    BlockSet blocks;
    std::vector<bool> met(a, false);
    for (size_t g = 0; g < count; ++g) {
        check(start(g) < start(g + 1), "a block has no weights");
        Places members;
        for (std::int64_t c = start(g); c < start(g + 1); ++c) {
            check(member(c) >= 0 && member(c) < static_cast<std::int64_t>(a), "a block has a weight that is not there");
            check(!met[member(c)], "a weight is in two blocks");
            met[member(c)] = true;
            members.push_back(member(c));
        }
        blocks.append(members, tau(g));
    }
    nb::gil_scoped_release released;
    return BlockQuadratic({a, H.data(), slope.data(), w.data(), l1.data(), scale.data(), d.data()}, blocks)
        .run(tolerance);
}

void settle_intercepts(const SampleArrays& samples, const Vector<double>& b, const Values& F, double target) {
    const Samples data = samples.view();
    samples.check_shapes();
    check(F.shape(0) == data.n && F.shape(1) == data.k && b.shape(0) == data.k, "the scores do not fit the samples");
    nb::gil_scoped_release released;
    const WorkingSet none{0, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr};
    const Dense<double> no_columns{nullptr, data.n, data.n};
    Hessian own;
    DrawnRows nothing_drawn;
    Newton<Dense<double>>(no_columns, data, none, b.data(), F.data(), own, nothing_drawn, raise_if_interrupted)
        .run(target, 50);
}

void bind_problem(nb::module_& m) {
    using Offset = std::optional<Matrix<double>>;
    nb::class_<SampleArrays>(m, "Samples")
        .def("__init__", [](SampleArrays* self, Matrix<double> Y, Vector<const double> s, Offset offset, int family,
                            bool intercept, double measure, double negligible) {
            new (self) SampleArrays{std::move(Y), std::move(s), std::move(offset), family,
                                    intercept,    measure,      negligible};
        }, nb::kw_only(), as_is("Y"), as_is("s"), as_is("offset").none(), as_is("family"), as_is("intercept"),
           as_is("measure"), as_is("negligible"));
    using Columns = Vector<const std::int64_t>;
    nb::class_<GroupArrays>(m, "Groups")
        .def("__init__", [](GroupArrays* self, Columns start, Columns column, Columns of, Vector<const double> tau,
                            Vector<const double> unit) {
            new (self) GroupArrays{std::move(start), std::move(column), std::move(of), std::move(tau), std::move(unit)};
        }, nb::kw_only(), as_is("start"), as_is("column"), as_is("of"), as_is("tau"), as_is("unit"));
    nb::class_<PenaltyArrays>(m, "Penalty")
        .def("__init__", [](PenaltyArrays* self, Table l1, std::optional<Table> l2, Table scale,
                            std::optional<Vector<const std::uint8_t>> leads, std::optional<GroupArrays> groups) {
            new (self) PenaltyArrays{std::move(l1), std::move(l2), std::move(scale), std::move(leads),
                                     std::move(groups)};
        }, nb::kw_only(), as_is("l1"), as_is("l2").none(), as_is("scale"), as_is("leads").none(),
           nb::arg("groups").none() = nb::none());
    nb::class_<Rule>(m, "Rule")
        .def("__init__", [](Rule* self, double tol, int max_iter, double screen, bool exact, size_t room) {
            new (self) Rule{tol, max_iter, screen, exact, room};
        }, nb::kw_only(), as_is("tol"), as_is("max_iter"), as_is("screen"), as_is("exact"), as_is("room"));
    nb::class_<PointArrays>(m, "Point")
        .def("__init__", [](PointArrays* self, Result W, Values F, Result G, bool known) {
            new (self) PointArrays{std::move(W), std::move(F), std::move(G), known};
        }, nb::kw_only(), as_is("W"), as_is("F"), as_is("G"), as_is("known"));
}

void bind_sweep(nb::module_& m) {
    using Places = Vector<const std::int64_t>;
    nb::class_<WorkingSetArrays>(m, "WorkingSet")
        .def("__init__", [](WorkingSetArrays* self, Places feature, Places klass, Vector<double> w,
                            Vector<const double> l1, Vector<const double> l2, Vector<const double> scale) {
            new (self) WorkingSetArrays{std::move(feature), std::move(klass), std::move(w),
                                        std::move(l1),      std::move(l2),    std::move(scale)};
        }, nb::kw_only(), as_is("feature"), as_is("klass"), as_is("w"), as_is("l1"), as_is("l2"), as_is("scale"));
    nb::class_<SweepArrays>(m, "Sweep")
        .def("__init__", [](SweepArrays* self, Vector<const double> bound, Vector<const double> center,
                            Vector<const std::uint8_t> visit, bool greedy) {
            new (self) SweepArrays{std::move(bound), std::move(center), std::move(visit), greedy};
        }, nb::kw_only(), as_is("bound"), as_is("center"), as_is("visit"), as_is("greedy"));
}

}  // namespace

void bind_l1(nb::module_& m) {
    bind_problem(m);
    bind_sweep(m);
    for_each_storage<Matrix>(Minimise{m}, "rows");
    for_each_storage<Strided>(MinimiseByRows{m}, "columns");
    for_each_storage<Matrix>(ComponentWiseSweep{m}, "rows");
    m.def("quadratic", quadratic, as_is("H"), as_is("slope"), as_is("w"), as_is("l1"), as_is("scale"), as_is("d"),
          as_is("tolerance"));
    m.def("block_quadratic", block_quadratic, as_is("H"), as_is("slope"), as_is("w"), as_is("l1"), as_is("scale"),
          as_is("d"), as_is("start"), as_is("member"), as_is("tau"), as_is("tolerance"));
    m.def("settle_intercepts", settle_intercepts, as_is("samples"), as_is("b"), as_is("F"), as_is("target"));
}

}  // namespace smaller
