// Binds the sums over samples: means and losses, certificates, products with the residuals, squares and distances.
#include "bindings.hpp"

namespace smaller {
namespace {

constexpr const char* SHAPES = "the shapes of the arrays do not fit together";

template <class T>
void bind_pull(nb::module_& m) {
    m.def("pull", [](const Matrix<T>& X, const Matrix<double>& R, const Result& G) {
        check(X.shape(0) == R.shape(0) && G.shape(0) == X.shape(1) && G.shape(1) == R.shape(1), SHAPES);
        nb::gil_scoped_release released;
        pull(X.data(), R.data(), X.shape(0), X.shape(1), R.shape(1), G.data());
    }, as_is("X"), as_is("R"), as_is("G"));
}

}  // namespace

void bind_sums(nb::module_& m) {
    m.def("means", [](const Matrix<double>& F, const Matrix<double>& Y, const Vector<const double>& s, int family,
                      const Values& P, const Values& U) {
        check(F.shape(0) == Y.shape(0) && F.shape(1) == Y.shape(1) && s.shape(0) == F.shape(0), SHAPES);
        for (const Values* each : {&P, &U}) check(each->shape(0) == F.shape(0) && each->shape(1) == F.shape(1), SHAPES);
        const size_t n = F.shape(0), k = F.shape(1);
        return means(F.data(), Y.data(), s.data(), n, k, static_cast<Family>(family), P.data(), U.data());
    }, as_is("F"), as_is("Y"), as_is("s"), as_is("family"), as_is("P"), as_is("U"));
    m.def("negentropy", [](const Matrix<double>& U, const Matrix<double>& Y, const Vector<const double>& s,
                           double shrink, int family) {
        check(U.shape(0) == Y.shape(0) && U.shape(1) == Y.shape(1) && s.shape(0) == U.shape(0), SHAPES);
        nb::gil_scoped_release released;
        return negentropy(U.data(), Y.data(), s.data(), shrink, U.shape(0), U.shape(1), family == REFERENCE);
    }, as_is("U"), as_is("Y"), as_is("s"), as_is("shrink"), as_is("family"));
    m.def("judge", [](const Table& W, const Table& G, const Table& l1, const Table& l2, const Table& scale,
                      const Result& residuals) {
        for (const Table* each : {&G, &l1, &l2, &scale})
            check(each->shape(0) == W.shape(0) && each->shape(1) == W.shape(1), SHAPES);
        check(residuals.shape(0) == W.shape(0) && residuals.shape(1) == W.shape(1), SHAPES);
        nb::gil_scoped_release released;
        const Verdict out = judge(W.data(), G.data(), l1.data(), l2.data(), scale.data(), W.size(), residuals.data());
        return std::make_tuple(out.penalty, out.shrink, out.unridged);
    }, as_is("W"), as_is("G"), as_is("l1"), as_is("l2"), as_is("scale"), as_is("residuals"));
    m.def("distances", [](const Table& X, const Table& Zt, const Result& D) {
        check(X.shape(1) == Zt.shape(0) && D.shape(0) == X.shape(0) && D.shape(1) == Zt.shape(1), SHAPES);
        nb::gil_scoped_release released;
        distances(X.data(), Zt.data(), X.shape(0), Zt.shape(1), X.shape(1), D.data());
    }, as_is("X"), as_is("Zt"), as_is("D"));
    m.def("squares", [](const Table& X, const Vector<const double>& omega, const Vector<const double>& center,
                        const Vector<double>& total) {
        const size_t n = X.shape(0), d = X.shape(1);
        check(omega.shape(0) == n && center.shape(0) == d && total.shape(0) == d, SHAPES);
        nb::gil_scoped_release released;
        squares(X.data(), omega.data(), center.data(), n, d, total.data());
    }, as_is("X"), as_is("omega"), as_is("center"), as_is("total"));
    m.def("decay", [](const Result& D, double gamma) {
        nb::gil_scoped_release released;
        decay(D.data(), D.size(), gamma);
    }, as_is("D"), as_is("gamma"));
    bind_pull<double>(m);
    bind_pull<float>(m);
}

}  // namespace smaller
