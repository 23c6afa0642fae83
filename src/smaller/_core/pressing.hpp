// Which weights press against their penalty: a pass over the columns finds those whose gradient exceeds a share of it.
// Along a path only what may do so is computed again.
#pragma once
#include "gradient_bounds.hpp"
#include "groups.hpp"
#include "matrix.hpp"

namespace smaller {

template <class Matrix>
class Pressing {
public:
    // Places of weights: those with |G| above `exact` times l1, or in a group with the same; those without a penalty
    // that makes zeros.
    Places near, unsparse;
    double exact = 1.0;

    // leads: columns that may enter (null: all).
    Pressing(const Matrix& matrix, const Penalty& penalty, const std::uint8_t* leads, size_t n)
        : X(matrix), prior(penalty), leads(leads), n(n), k(penalty.k), inner(penalty.inner), bounds(n, k) {
        for (size_t t = 0; t < inner; ++t)
            if (!prior.sparse(t)) unsparse.push_back(t);
    }

    // Has bounds of the gradients along a path; columns are centred where there are intercepts.
    void begin_path(bool intercept) {
        bounds.measure(X.lengths(intercept, std::vector<double>(n, 1.0).data(), static_cast<double>(n)));
    }

    // All of G = Phi^T R.
    void pull_every(const std::vector<double>& R, bool centred, double* G) {
        X.pull(R.data(), k, G);
        compare_every(G);
        if (bounds.measured()) bounds.renew(G, R, centred);
    }

    void compare_every(const double* G) {
        near.clear();
        for (size_t t = 0; t < inner; ++t) note_alone(t, G);
        for (size_t g = 0; prior.groups != nullptr && g < prior.groups->count; ++g) note_group(g, G);
    }

    // Only what may exceed `exact` times its penalty, and what is not 0; `fresh` is known already. False where that is
    // no gain.
    bool pull_some(const std::vector<double>& R, const Places& support, const Places& fresh, double* G) {
        if constexpr (Matrix::BY_COLUMNS) {
            if (!bounds.measured() || !bounds.advance(R)) return false;
            return prior.groups == nullptr ? pull_weights(R, support, fresh, G) : pull_groups(R, support, fresh, G);
        }
        return false;
    }

    // The weights that are 0 and exceed a share of their penalty; of many violating ones about `room`, the worst.
    Places entering(const double* W, const double* G, double share, size_t room) const {
        Places out, groups;
        for (const size_t t : near)
            if (!prior.grouped(t) && std::abs(G[t]) > share * prior.l1(t) && W[t] == 0.0 && may_enter(t))
                out.push_back(t);
        if (share == 1.0 && out.size() > room)
            keep_worst(out, room, [&](size_t a, size_t b) {
                return std::abs(G[a]) * prior.unit[b] > std::abs(G[b]) * prior.unit[a];
            });
        if (prior.groups == nullptr) return out;
        prior.list_groups({&near}, groups);
        const auto absent = [&](size_t g) {
            return length_of(prior.weights(g, W)) > 0.0 || !(prior.excess(g, G, share) > 0.0);
        };
        groups.erase(std::remove_if(groups.begin(), groups.end(), absent), groups.end());
        size_t weights = 0;
        for (const size_t g : groups) prior.each_place(g, [&](size_t) { ++weights; });
        if (share == 1.0 && weights > room)
            keep_worst(groups, std::max<size_t>(1, groups.size() * room / weights), [&](size_t a, size_t b) {
                return prior.excess(a, G, 1.0) * prior.tau(b) > prior.excess(b, G, 1.0) * prior.tau(a);
            });
        for (const size_t g : groups) prior.each_place(g, [&](size_t t) { out.push_back(t); });
        return out;
    }

private:
    const Matrix& X;
    const Penalty& prior;
    const std::uint8_t* leads;
    const size_t n, k, inner;
    GradientBounds bounds;

    bool may_enter(size_t t) const { return leads == nullptr || leads[t / k]; }

    template <class Worse>
    static void keep_worst(Places& places, size_t count, Worse worse) {
        std::nth_element(places.begin(), places.begin() + static_cast<std::ptrdiff_t>(count), places.end(), worse);
        places.resize(count);
    }

    void note_alone(size_t t, const double* G) {
        if (std::abs(G[t]) > exact * prior.l1(t) && prior.unit[t] > 0.0 && !prior.grouped(t)) near.push_back(t);
    }

    void note_group(size_t g, const double* G) {
        if (prior.excess(g, G, exact) > 0.0) prior.each_place(g, [&](size_t t) { near.push_back(t); });
    }

    bool pull_weights(const std::vector<double>& R, const Places& support, const Places& fresh, double* G) {
        for (const Places* part : std::initializer_list<const Places*>{&support, &unsparse})
            for (const size_t t : *part) bounds.must_be_computed(t);
        for (const size_t t : fresh) bounds.is_computed_already(t);
        near.clear();
        const auto found = [&](size_t t) {
            bounds.learn(t, G[t]);
            note_alone(t, G);
        };
        Places some;
        std::vector<double> products;
        size_t total = 0;
        for (size_t l = 0; l < k; ++l) {
            bounds.exceeding(l, exact * prior.lam, prior.unit, some);
            if (k > 1 && 2 * (total += some.size()) > inner) return false;
            products.resize(some.size());
            X.pull(some, &R[l * n], products.data());
            for (size_t c = 0; c < some.size(); ++c) {
                G[some[c] * k + l] = products[c];
                found(some[c] * k + l);
            }
        }
        for (const size_t t : fresh) found(t);
        return true;
    }

    // The same by groups: their columns in all classes, or in none.
    bool pull_groups(const std::vector<double>& R, const Places& support, const Places& fresh, double* G) {
        enum : std::uint8_t { FAR, NEEDED, KNOWN };
        std::vector<std::uint8_t> state(X.d, FAR);
        for (const Places* part : std::initializer_list<const Places*>{&support, &unsparse})
            for (const size_t t : *part) state[t / k] = NEEDED;
        for (size_t j = 0; j < X.d; ++j)
            for (size_t t = j * k; t < (j + 1) * k && state[j] == FAR && prior.groups->of[j] < 0; ++t)
                if (bounds.bound(t) > exact * prior.l1(t)) state[j] = NEEDED;
        // Of a column without a group some classes may be known, and all are computed.
        for (const size_t t : fresh) state[t / k] = prior.grouped(t) ? KNOWN : NEEDED;
        for (size_t g = 0; g < prior.groups->count; ++g) mark(g, state);
        Places some;
        for (size_t j = 0; j < X.d; ++j)
            if (state[j] == NEEDED) some.push_back(j);
        if (2 * some.size() > X.d) return false;
        std::vector<double> products(some.size());
        for (size_t l = 0; l < k; ++l) {
            X.pull(some, &R[l * n], products.data());
            for (size_t c = 0; c < some.size(); ++c) G[some[c] * k + l] = products[c];
        }
        near.clear();
        for (size_t j = 0; j < X.d; ++j)
            for (size_t t = j * k; t < (j + 1) * k && state[j] != FAR; ++t) {
                bounds.learn(t, G[t]);
                note_alone(t, G);
            }
        for (size_t g = 0; g < prior.groups->count; ++g)
            if (state[prior.first_place(g) / k] != FAR) note_group(g, G);
        return true;
    }

    // All columns of a group are needed where one is, or where they may exceed their penalty together; a group that is
    // known is known whole.
    template <class State>
    void mark(size_t g, State& state) const {
        std::uint8_t most = 0;
        double square = 0.0;
        prior.each_place(g, [&](size_t t) {
            most = std::max(most, state[t / k]);
            const double unit = prior.groups->unit[t / k];
            const double rest = std::max(bounds.bound(t) - exact * prior.l1(t), 0.0) / unit;
            square += rest * rest;
        });
        if (most == 0 && std::sqrt(square) > exact * prior.tau(g)) most = 1;
        prior.each_place(g, [&](size_t t) { state[t / k] = most; });
    }
};

}  // namespace smaller
