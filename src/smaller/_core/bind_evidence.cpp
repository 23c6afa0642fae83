// Searches for the greatest evidence.
#include "bindings.hpp"
#include "evidence.hpp"
#include "logistic.hpp"
#include "sequential.hpp"

namespace smaller {
namespace {

constexpr const char* SHAPES = "the arrays of a search for evidence do not fit together";

std::tuple<int, double> sequential(const Matrix<double>& X, const Matrix<double>& C, double total, double yy,
                                   const Vector<double>& alpha, double noise, double floor, double tol, double aligned,
                                   int max_steps) {
    const size_t n = X.shape(0), w = X.shape(1);
    check(C.shape(0) == w && alpha.shape(0) == w, SHAPES);
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
    check(C.shape(0) == w && alpha.shape(0) == w && precisions.shape(0) == few && noises.shape(0) == starts, SHAPES);
    nb::gil_scoped_release released;
    const Places places(coarse.data(), coarse.data() + few);
    for (const size_t place : places) check(place < w, SHAPES);
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
    check(y.shape(0) == n && s.shape(0) == n && offset.shape(0) == n && alpha.shape(0) == w && v.shape(0) == w + 1, SHAPES);
    check(precisions.shape(0) == few && weights.shape(0) == few + 1 && weights.shape(1) == starts && starts > 0, SHAPES);
    nb::gil_scoped_release released;
    const Places places(coarse.data(), coarse.data() + few);
    for (const size_t place : places) check(place < w, SHAPES);
    const auto model = logistic_from(X.data(), y.data(), s.data(), offset.data(), n, w, level, places, precisions.data(),
                                     weights.data(), starts, follow, tol, change, near, aligned, max_steps);
    std::copy(model.alpha.begin(), model.alpha.end(), alpha.data());
    std::copy(model.v.begin(), model.v.end(), v.data());
    return model.log_evidence;
}

}  // namespace

void bind_evidence(nb::module_& m) {
    m.def("sequential", sequential, as_is("X"), as_is("C"), as_is("total"), as_is("yy"), as_is("alpha"), as_is("noise"),
          as_is("floor"), as_is("tol"), as_is("aligned"), as_is("max_steps"));
    m.def("climb", climb, as_is("X"), as_is("C"), as_is("total"), as_is("yy"), as_is("coarse"), as_is("precisions"),
          as_is("noises"), as_is("alpha"), as_is("follow"), as_is("floor"), as_is("tol"), as_is("aligned"),
          as_is("max_steps"));
    m.def("logistic", logistic, as_is("X"), as_is("y"), as_is("s"), as_is("offset"), as_is("level"), as_is("coarse"),
          as_is("precisions"), as_is("weights"), as_is("alpha"), as_is("v"), as_is("follow"), as_is("tol"), as_is("change"),
          as_is("near"), as_is("aligned"), as_is("max_steps"));
}

}  // namespace smaller
