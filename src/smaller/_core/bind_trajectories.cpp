// Binds Hamiltonian trajectories on the posterior of the weights of a softmax, many in one call.
#include "bindings.hpp"
#include "trajectories.hpp"

namespace smaller {
namespace {

constexpr const char* SHAPES = "the arrays of the trajectories do not fit together";

// The prior of the weights (rows, k) without its scales; a strength that is integrated out has a positive shape.
struct DensityArrays {
    Matrix<double> unit, normal;
    int power;
    double lam, shape, rate;
};

}  // namespace

void bind_trajectories(nb::module_& m) {
    nb::class_<DensityArrays>(m, "Density")
        .def("__init__", [](DensityArrays* self, Matrix<double> unit, Matrix<double> normal, int power, double lam,
                            double shape, double rate) {
            new (self) DensityArrays{std::move(unit), std::move(normal), power, lam, shape, rate};
        }, nb::kw_only(), as_is("unit"), as_is("normal"), as_is("power"), as_is("lam"), as_is("shape"), as_is("rate"));
    m.def("trajectories", [](const Matrix<double>& A, const SampleArrays& samples, const DensityArrays& density,
                             const Table& root, const Matrix<double>& start, const Table& momenta,
                             const Vector<const std::int64_t>& steps, const Vector<const double>& thresholds,
                             double step, const Result& ends, const Result& told) {
        samples.check_shapes();
        const size_t n = A.shape(0), rows = A.shape(1), k = samples.Y.shape(1), count = steps.shape(0);
        check(samples.Y.shape(0) == n && samples.offset && root.shape(0) == rows * k, SHAPES);
        for (const Matrix<double>* each : {&start, &density.unit, &density.normal})
            check(each->shape(0) == rows && each->shape(1) == k, SHAPES);
        check(momenta.shape(0) == count && momenta.shape(1) == root.shape(1) && thresholds.shape(0) == count, SHAPES);
        check(ends.shape(0) == count && ends.shape(1) == rows * k && told.shape(0) == count && told.shape(1) == 2,
              SHAPES);
        const Density prior{density.unit.data(), density.normal.data(), density.power,
                            density.lam,         density.shape,         density.rate};
        const Posterior posterior{A.data(), samples.Y.data(), samples.s.data(), samples.offset_data(), n, rows, k,
                                  static_cast<Family>(samples.family), prior, root.data(), root.shape(1)};
        nb::gil_scoped_release released;
        Trajectory trajectory(posterior, start.data());
        for (size_t i = 0; i < count; ++i) {
            told.data()[2 * i + 1] = trajectory.move(momenta.data() + i * posterior.f, steps.data()[i], step,
                                                     thresholds.data()[i]);
            told.data()[2 * i] = trajectory.here().log_likelihood;
            std::copy(trajectory.here().w.begin(), trajectory.here().w.end(), ends.data() + i * posterior.weights());
            raise_if_interrupted();
        }
    }, as_is("A"), as_is("samples"), as_is("density"), as_is("root"), as_is("start"), as_is("momenta"),
       as_is("steps"), as_is("thresholds"), as_is("step"), as_is("ends"), as_is("told"));
}

}  // namespace smaller
