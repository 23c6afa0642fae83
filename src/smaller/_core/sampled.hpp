// The quadratic model of a Newton step with the full gradient and the Hessian of a sample of the rows, where the
// Hessian of all rows would cost many passes over the data (Byrd, Chin, Neveitt and Nocedal 2011). BFGS updates by the
// full gradients of the steps taken since make up for the rows that are left out. Rows are drawn by their importance,
// so that rare classes and columns that vary in few rows are not missed, and without random numbers.
#pragma once
#include <memory>

#include "gram.hpp"
#include "rule.hpp"

namespace smaller {

// Some rows of the samples, with the weights by which they stand for all rows.
struct DrawnRows {
    size_t wanted = 0;     // number of rows, about
    bool refused = false;  // whether steps by these rows gained too little
    Places rows;
    std::vector<double> Y, s;

    // A row is drawn in proportion to its importance: its share of the curvature at the means P, of that along each
    // column, and of its class. Rows are taken where the sum of importances passes the next of equally distant points;
    // a row of more importance than that distance is always taken, and stands for itself alone.
    template <class T>
    void draw(const Dense<T>& X, const Samples& D, const Places& columns, const std::vector<double>& P) {
        rows.clear();
        s.clear();
        const std::vector<double> importance = importances(X, D, columns, P);
        const double distance = sum(importance.data(), D.n) / wanted;
        double passed = 0.5 * distance;
        for (size_t i = 0; i < D.n; ++i) {
            passed += importance[i];
            if (passed < distance || importance[i] == 0.0) continue;
            passed = std::fmod(passed, distance);
            rows.push_back(i);
            s.push_back(D.s[i] * std::max(1.0, distance / importance[i]));
        }
        Y.resize(rows.size() * D.k);
        gather(D.Y, D.n, D.k, Y.data());
    }

    // These rows of a matrix (n, k) by columns.
    void gather(const double* from, size_t n, size_t k, double* to) const {
        for (size_t l = 0; l < k; ++l)
            for (const size_t i : rows) *to++ = from[l * n + i];
    }

private:
    template <class T>
    static std::vector<double> importances(const Dense<T>& X, const Samples& D, const Places& columns,
                                           const std::vector<double>& P) {
        std::vector<double> out(D.n, 0.0), rest(D.n, 1.0), curvature(D.n, 0.0), one(D.n, 1.0);
        for (size_t l = 0; l < D.k; ++l)
            for (size_t i = 0; i < D.n; ++i) {
                const double p = P[l * D.n + i];
                curvature[i] += D.s[i] * p * (1.0 - p);
                rest[i] -= D.Y[l * D.n + i];
            }
        const auto add_share = [&](const auto* x, const double* q, double share) {  // of the sum of q x^2
            double total = 0.0;
            for (size_t i = 0; i < D.n; ++i) total += q[i] * x[i] * x[i];
            for (size_t i = 0; i < D.n && total > 0.0; ++i) out[i] += share * q[i] * x[i] * x[i] / total;
        };
        add_share(one.data(), curvature.data(), 1.0);
        for (const size_t j : columns) add_share(X.column(j), curvature.data(), 1.0 / columns.size());
        for (size_t l = 0; l < D.k; ++l) add_share(D.Y + l * D.n, D.s, 1.0 / (D.k + 1));
        add_share(rest.data(), D.s, 1.0 / (D.k + 1));
        return out;
    }
};

// The columns of a working set, each once.
inline Places distinct_columns(const WorkingSet& A) {
    Places distinct(A.feature, A.feature + A.size);
    std::sort(distinct.begin(), distinct.end());
    distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
    return distinct;
}

// The columns of a working set, at some rows.
template <class T>
struct SampledColumns {
    std::vector<T> values;
    std::vector<std::int64_t> feature;  // of each coordinate, among the columns copied here

    SampledColumns(const Dense<T>& X, const Places& rows, const WorkingSet& A) : feature(A.size) {
        const Places distinct = distinct_columns(A);
        values.reserve(rows.size() * distinct.size());
        for (const size_t j : distinct)
            for (const size_t i : rows) values.push_back(X.column(j)[i]);
        for (size_t i = 0; i < A.size; ++i)
            feature[i] = std::lower_bound(distinct.begin(), distinct.end(), A.feature[i]) - distinct.begin();
    }
};

// Sparse columns are not sampled: a row that is left out saves little there.
template <class Columns>
class SampledModel {
public:
    SampledModel(Model<Columns>&, DrawnRows&) {}
    static bool suits(const Samples&, size_t, size_t, size_t) { return false; }
    bool worth(size_t) { return false; }
    bool in_use() const { return false; }
    void run(double, bool, Work&) {}
    void learn(double, double, double) {}
};

template <class T>
class SampledModel<Dense<T>> {
public:
    SampledModel(Model<Dense<T>>& model, DrawnRows& drawn) : M(model), drawn(drawn) {}

    // Whether the Hessian of so many active coordinates of a working set costs many passes, and that of a sample of at
    // least so many rows few. Costs are for each row, in entries of a column: the block of two classes copies their
    // columns before it multiplies them.
    static bool suits(const Samples& D, size_t set, size_t active, size_t rows) {
        const double a = active, k = D.k, width = a / k, pass = set + a + 20.0 * k;
        const double whole = 0.5 * k * (k + 1.0) * (1.0 + 2.0 * width + width * width * Dense<T>::in_gram(a * D.n));
        return D.family != GAUSSIAN && active <= MAX_ACTIVE && whole > COSTLY * pass &&
               std::max(rows, sample_size(active, D.k)) * SPARED <= D.n;
    }

    bool worth(size_t active) {
        used = !drawn.refused && suits(M.D, M.A.size, active, drawn.wanted);
        if (used) drawn.wanted = std::max(drawn.wanted, sample_size(active, M.k));
        return used;
    }

    // Whether the last step was one of a sampled model.
    bool in_use() const { return used; }

    // The minimum of the model, into the step of the full one.
    void run(double tolerance, bool cautious, Work& work) {
        if (!sample) {
            drawn.draw(M.X, M.D, distinct_columns(M.A), M.P);
            sample = std::make_unique<Sample>(M, drawn);
        }
        Model<Dense<T>>& S = sample->model;
        Hessian& kept = sample->kept;
        drawn.gather(M.P.data(), M.n, M.k, S.P.data());
        S.g = M.g;
        S.gb = M.gb;
        std::fill(S.d.begin(), S.d.end(), 0.0);
        std::fill(S.db.begin(), S.db.end(), 0.0);
        sample->gram.worth_sweeps(1);  // finds the active coordinates
        if (kept.places.empty() || 4 * sample->gram.known() < 3 * sample->gram.actives()) {
            sample->gram.renew();
            measure_diagonal(cautious);
            if (distance > FAR) kept.secants.clear();
            distance = 0.0;
            ++work.sampled;
        }
        S.curvature_weights(kept.P, cautious);
        work.sweeps += sample->gram.run(tolerance);
        M.d = S.d;
        M.db = S.db;
        g = M.g;
        gb = M.gb;
    }

    // To be called with the gradient at the end of a step of this length, which changed scores by at most `moved` and
    // left `rate` of the violation. The change of the gradient is kept as a secant. After a slow step the Hessian is
    // formed anew, from other rows, if scores have changed much since. If several steps gain little, samples are no
    // longer used.
    void learn(double length, double moved, double rate) {
        distance += moved;
        gain *= rate;
        if (length == 0.0 || (++steps == ENOUGH_STEPS && gain > LITTLE)) {
            drawn.refused = true;
            return;
        }
        if (steps == ENOUGH_STEPS) steps = 0, gain = 1.0;
        if (rate > SLOW && distance > FAR)
            sample.reset();
        else
            keep(length);
    }

private:
    static constexpr size_t LEAST = 2000, ROWS_PER_WEIGHT = 120;  // rows of a sample, also for each weight of a class
    static constexpr size_t SPARED = 4;         // times the rows of a sample are the fewest rows that are sampled
    static constexpr double COSTLY = 2.0;       // passes that a Hessian of all rows must cost at the least
    static constexpr double SLOW = 0.5;         // of the violation left by a step: it did not serve
    static constexpr double FAR = 1.0;          // nats by which scores may change before means count as changed
    // So many steps must leave at most this of the violation.
    static constexpr int ENOUGH_STEPS = 8;
    static constexpr double LITTLE = 0.2;
    static constexpr size_t MOST_SECANTS = 20;

    static size_t sample_size(size_t active, size_t k) { return std::max(LEAST, ROWS_PER_WEIGHT * active / k); }

    // The sampled rows with their own model; its parts refer to each other.
    struct Sample {
        SampledColumns<T> columns;
        Hessian kept;
        Model<Dense<T>> model;
        Gram<Dense<T>> gram;
        Sample(const Model<Dense<T>>& M, const DrawnRows& drawn)
            : columns(M.X, drawn.rows, M.A),
              model({columns.values.data(), drawn.rows.size(), drawn.rows.size()},
                    {drawn.rows.size(), M.k, M.D.family, M.D.intercept, drawn.Y.data(), drawn.s.data(), M.D.measure},
                    {M.A.size, columns.feature.data(), M.A.klass, M.A.w, M.A.l1, M.A.l2, M.A.scale,
                     M.A.blocks}),
              gram(model, kept) {}
    };

    Model<Dense<T>>& M;
    std::unique_ptr<Sample> sample;
    DrawnRows& drawn;
    double distance = 0.0;      // nats by which scores may have changed since the Hessian was formed
    int steps = 0;              // since the gain was last looked at
    double gain = 1.0;          // what they left of the violation
    bool used = false;
    std::vector<double> g, gb;  // the gradient at the beginning of the step

    // The diagonal of the Hessian of all rows costs one pass, and saves columns that vary in few rows.
    void measure_diagonal(bool cautious) {
        M.curvature_weights(M.P, cautious);
        sample->kept.diagonal.assign(M.A.size, 0.0);
        for (size_t i = 0; i < M.A.size; ++i)
            sample->kept.diagonal[i] = M.X.spread(M.A.feature[i], 0.0, &M.q[M.A.klass[i] * M.n], 0.0);
    }

    void keep(double length) {
        Secant secant{M.d, M.g};
        secant.move.insert(secant.move.end(), M.db.begin(), M.db.end());
        secant.change.insert(secant.change.end(), M.gb.begin(), M.gb.end());
        for (double& move : secant.move) move *= length;
        for (size_t i = 0; i < g.size(); ++i) secant.change[i] -= g[i];
        for (size_t l = 0; l < gb.size(); ++l) secant.change[g.size() + l] -= gb[l];
        std::vector<Secant>& secants = sample->kept.secants;
        if (secants.size() == MOST_SECANTS) secants.erase(secants.begin());
        secants.push_back(std::move(secant));
    }
};

}  // namespace smaller
