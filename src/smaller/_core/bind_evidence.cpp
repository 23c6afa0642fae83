// Binds the searches for the model with the greatest evidence: sequential, climb and logistic.
#include "bindings.hpp"
#include "climb.hpp"
#include "logistic.hpp"
#include "sequential.hpp"

namespace smaller {
namespace {

constexpr const char* SHAPES = "the arrays of a search for evidence do not fit together";

// Gaussian data; see GaussianData.
struct GaussianArrays {
    Matrix<double> C;
    double total, yy, floor;

    GaussianData view(size_t w) const {
        check(C.shape(0) == w, SHAPES);
        return {C.data(), C.shape(1), total, yy, floor};
    }
};

// Samples of two classes; see BinaryData.
struct BinaryArrays {
    Vector<const double> y, s, offset;
    double level;

    BinaryData view(size_t n) const {
        check(y.shape(0) == n && s.shape(0) == n && offset.shape(0) == n, SHAPES);
        return {y.data(), s.data(), offset.data(), n, level};
    }
};

// Starts of a search; see Starts.
struct StartArrays {
    Vector<const std::int64_t> coarse;
    Matrix<double> precisions;
    size_t follow;

    Starts view(size_t w) const {
        check(precisions.shape(0) == coarse.shape(0), SHAPES);
        Starts starts{{coarse.data(), coarse.data() + coarse.shape(0)}, precisions.data(), precisions.shape(1), follow};
        for (const size_t place : starts.coarse) check(place < w, SHAPES);
        return starts;
    }
};

std::tuple<int, double> sequential(const Matrix<double>& X, const GaussianArrays& data, const Vector<double>& alpha,
                                   double noise, const SearchRule& rule) {
    const size_t n = X.shape(0), w = X.shape(1);
    const GaussianData view = data.view(w);
    check(alpha.shape(0) == w, SHAPES);
    nb::gil_scoped_release released;
    Products products(each_column(X.data(), n, w), n, nullptr, false);
    Sequential solver(products, view, alpha.data(), noise, rule.aligned, rule.aligned);
    const int steps = solver.run(rule.tol, rule.max_steps);
    return {steps, solver.learned_noise()};
}

std::tuple<double, double> climb(const Matrix<double>& X, const GaussianArrays& data, const StartArrays& starts,
                                 const Vector<const double>& noises, const Vector<double>& alpha,
                                 const SearchRule& rule) {
    const size_t n = X.shape(0), w = X.shape(1);
    const GaussianData view = data.view(w);
    const Starts from = starts.view(w);
    check(alpha.shape(0) == w && noises.shape(0) == from.count, SHAPES);
    nb::gil_scoped_release released;
    const GaussianModel model = climb_from(X.data(), n, w, view, from, noises.data(), rule);
    std::fill(alpha.data(), alpha.data() + w, POSITIVE_INFINITY);
    for (size_t a = 0; a < model.columns.size(); ++a) alpha.data()[model.columns[a]] = model.alpha[a];
    return {model.noise, model.value};
}

double logistic(const Matrix<double>& X, const BinaryArrays& data, const StartArrays& starts,
                const Matrix<double>& weights, const Vector<double>& alpha, const Vector<double>& v,
                const SearchRule& rule, const ModeRule& modes) {
    const size_t n = X.shape(0), w = X.shape(1);
    const BinaryData view = data.view(n);
    const Starts from = starts.view(w);
    check(alpha.shape(0) == w && v.shape(0) == w + 1, SHAPES);
    check(weights.shape(0) == from.coarse.size() + 1 && weights.shape(1) == from.count && from.count > 0, SHAPES);
    nb::gil_scoped_release released;
    const LaplaceModel model = logistic_from(X.data(), w, view, from, weights.data(), rule, modes);
    std::copy(model.alpha.begin(), model.alpha.end(), alpha.data());
    std::copy(model.v.begin(), model.v.end(), v.data());
    return model.log_evidence;
}

void bind_structs(nb::module_& m) {
    nb::class_<GaussianArrays>(m, "GaussianData")
        .def("__init__", [](GaussianArrays* self, Matrix<double> C, double total, double yy, double floor) {
            new (self) GaussianArrays{std::move(C), total, yy, floor};
        }, nb::kw_only(), as_is("C"), as_is("total"), as_is("yy"), as_is("floor"));
    nb::class_<BinaryArrays>(m, "BinaryData")
        .def("__init__", [](BinaryArrays* self, Vector<const double> y, Vector<const double> s,
                            Vector<const double> offset, double level) {
            new (self) BinaryArrays{std::move(y), std::move(s), std::move(offset), level};
        }, nb::kw_only(), as_is("y"), as_is("s"), as_is("offset"), as_is("level"));
    nb::class_<StartArrays>(m, "Starts")
        .def("__init__", [](StartArrays* self, Vector<const std::int64_t> coarse, Matrix<double> precisions,
                            size_t follow) {
            new (self) StartArrays{std::move(coarse), std::move(precisions), follow};
        }, nb::kw_only(), as_is("coarse"), as_is("precisions"), as_is("follow"));
    nb::class_<SearchRule>(m, "SearchRule")
        .def("__init__", [](SearchRule* self, double tol, double aligned, int max_steps) {
            new (self) SearchRule{tol, aligned, max_steps};
        }, nb::kw_only(), as_is("tol"), as_is("aligned"), as_is("max_steps"));
    nb::class_<ModeRule>(m, "ModeRule")
        .def("__init__", [](ModeRule* self, double change, double near) { new (self) ModeRule{change, near}; },
             nb::kw_only(), as_is("change"), as_is("near"));
}

}  // namespace

void bind_evidence(nb::module_& m) {
    bind_structs(m);
    m.def("sequential", sequential, as_is("X"), as_is("data"), as_is("alpha"), as_is("noise"), as_is("rule"));
    m.def("climb", climb, as_is("X"), as_is("data"), as_is("starts"), as_is("noises"), as_is("alpha"), as_is("rule"));
    m.def("logistic", logistic, as_is("X"), as_is("data"), as_is("starts"), as_is("weights"), as_is("alpha"),
          as_is("v"), as_is("rule"), as_is("modes"));
}

}  // namespace smaller
