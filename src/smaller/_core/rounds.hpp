// The default solver whole, for dense or sparse columns that all carry an L1 penalty and no ridge: Newton steps on a growing
// working set, and after each round of them a pass over all columns, which finds what is missing and reads the certificate.
// solvers/newton.py says the same for every other kind of problem; where fits take a millisecond its rounds take half of it.
#pragma once
#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>

#include "newton.hpp"

namespace smaller {

// Weights W and gradient G are (d + intercept, k) by rows, as is l1, of strength 1; scores F are (n, k) by columns.
struct Problem {
    size_t d;
    double *W, *F, *G;
    const double* unit;
    const std::uint8_t* leads;  // columns that may enter; null: all
};

struct Rule {
    double tol;
    int max_iter, max_steps;
    double screen, forcing, share, roughly;
    size_t room;      // of the violating weights, at least so many join the working set
    double polished;  // what small problems are solved to in the end; 0: nothing
    size_t polish_work;
    double free_tolerance;
};

struct Ending {
    enum { CONVERGED, MAX_ITER, STALLED } status = MAX_ITER;
    int iterations = 0, sweeps = 0;
};

// Of each strength: how it ended and how many rows of the history and non-zero weights it has; and these, one after another.
struct Account {
    std::vector<std::int64_t> ends, places;
    std::vector<double> history, values;
};

template <class Columns>
class Rounds {
public:
    static constexpr size_t NOTED = 5, TOLD = 5;  // numbers in a row of the history, and of an end
    static constexpr double FARTHEST = 2.0;       // times the last step of the strength: so far are weights foretold
    static constexpr double UNKNOWN = std::numeric_limits<double>::infinity(), ROUNDING = 1e-12;
    static constexpr double SERVES = 2.0;         // steps of a path, a Hessian
    static constexpr double EPSILON = 2e-15;      // what rounding leaves of a product, relative to the lengths of its factors
    static constexpr double DRIFT = 1e-12;        // of scores that were added up step by step, from those of their weights
    static constexpr double NEGLIGIBLE = 1e-10;   // nats for each sample: a gap is relative to the objective, or to this

    Rounds(const Columns& columns, const Data& data, const Problem& problem, const Rule& rule, std::function<void()> poll)
        : X(columns), D(data), Q(problem), rule(rule), poll(std::move(poll)), n(data.n), k(data.k),
          inner(problem.d * k), size((problem.d + data.intercept) * k), P(n * k), U(n * k), R(n * k),
          ones(n, 1.0), total_s(sum(data.s, n)), shrunk(k), way(k, UNKNOWN) {
        for (size_t t = 0; t < inner; ++t)
            if (Q.W[t] != 0.0) support.push_back(t);
    }

    // From strength to strength: where they decrease, screened by the sequential strong rule of Tibshirani et al. (2012) and
    // each begun where the last two point; the last is polished. The first is screened as the rule says; `known`: whether G
    // is the gradient at F.
    Account run(const double* lams, size_t count, bool known) {
        const auto screen_at = [&](size_t at) {
            return at == 0 ? rule.screen : lams[at - 1] > lams[at] ? 2.0 - lams[at - 1] / lams[at] : 1.0;
        };
        if (count > 1) {
            measure();
            hessian.future = SERVES;
        }
        for (size_t at = 0; at < count; ++at, known = true) {
            const double screen = screen_at(at);
            lam = lams[at];
            ahead = at > 1 && screen < 1.0 ? (lams[at - 1] - lam) / (lams[at - 2] - lams[at - 1]) : 0.0;
            if (!(ahead <= FARTHEST)) ahead = 0.0;  // steps too unequal, or none before
            last_one = at + 1 == count;
            exact = last_one ? 1.0 : std::clamp(screen_at(at + 1) * lams[at + 1] / lam, 0.0, 1.0);
            if (at == 0) {
                exact = std::clamp(screen, 0.0, exact);
                if (known) compare_every();
            }
            const size_t noted = account.history.size();
            begins.push_back(account.places.size());
            const Ending end = one(screen, known);
            remember();
            for (const size_t number : {static_cast<size_t>(end.status), static_cast<size_t>(end.iterations), static_cast<size_t>(end.sweeps),
                                        (account.history.size() - noted) / NOTED, account.places.size() - begins[at]})
                account.ends.push_back(static_cast<std::int64_t>(number));
        }
        return std::move(account);
    }

private:
    Ending one(double screen, bool known) {
        Ending out;
        began = std::chrono::steady_clock::now();
        chosen.clear();
        if (!known) refresh();
        look(known);
        settle();
        for (;; ++out.iterations) {
            note();
            const bool first = out.iterations == 0;
            if (gap <= rule.tol && !(first && screen < 1.0)) {  // a point of a path is not just the last one's weights
                out.status = Ending::CONVERGED;
                if (last_one && rule.polished > 0.0 && polish()) {
                    account.history.resize(account.history.size() - NOTED);
                    note();
                }
                return out;
            }
            if (out.iterations == rule.max_iter) return out;
            const bool settled = choose(first ? screen : 1.0) || (first && screen < 1.0);
            const bool small = 2 * chosen.size() < inner;
            const double enough = gap > 0.0 ? rule.share * rule.tol / gap : 1.0;
            const double fraction = settled ? std::clamp(enough, 1e-9, 0.1) : small ? rule.roughly : 0.1;
            const double before = violation, was = value;
            if (first && ahead > 0.0) extrapolate();
            const Outcome step = solve(fraction * violation);
            out.sweeps += step.sweeps;
            look(false);
            settle();
            if (step.stalled && violation >= 0.5 * before && value >= was * (1.0 - 1e-12)) {
                note();
                out.status = gap <= rule.tol ? Ending::CONVERGED : Ending::STALLED;
                return out;
            }
        }
    }

    const Columns X;
    const Data D;
    const Problem Q;
    const Rule rule;
    std::function<void()> poll;
    size_t n, k, inner, size;
    std::vector<double> P, U, R, ones;
    // Where W is not 0, where |G| exceeds exact * l1, and where G is known already; intercepts aside.
    std::vector<size_t> support, near, fresh;
    double lam = 0.0, exact = 1.0, ahead = 0.0, total_s, value = 0.0, violation = 0.0, gap = 0.0;
    bool last_one = true;
    std::vector<double> length, reach, shrunk, way, were;  // see measure
    std::vector<double> spans;                             // of single columns, see span; negative: not known yet
    Hessian hessian;
    std::vector<std::int64_t> chosen, previous, feature, klass;
    std::chrono::steady_clock::time_point began;
    Account account;
    std::vector<size_t> begins;  // where in it the weights of each strength begin

    bool along_a_path() const { return begins.size() > 1 || !last_one; }
    double l1(size_t t) const { return lam * Q.unit[t]; }

    // F = Phi W + b of the weights as they are: a certificate is never read from scores that were added up step by step.
    // Returns how far those were off.
    double refresh() {
        std::vector<double> now(n * k, 0.0);
        for (const size_t t : support) X.add(t / k, Q.W[t], &now[t % k * n]);
        double drift = 0.0, largest = 1.0;
        for (size_t l = 0; l < k; ++l) {
            const double b = D.intercept ? Q.W[inner + l] : 0.0;
            for (size_t i = l * n; i < (l + 1) * n; ++i) {
                now[i] += b;
                drift = std::max(drift, std::abs(now[i] - Q.F[i]));
                largest = std::max(largest, std::abs(now[i]));
            }
        }
        std::copy(now.begin(), now.end(), Q.F);
        return drift / largest;
    }

    // The length of a column, centred where there is an intercept.
    double span(size_t j) {
        if (!length.empty()) return length[j];
        if (spans.empty()) spans.assign(Q.d, -1.0);
        if (spans[j] < 0.0) spans[j] = measured(j);
        return spans[j];
    }

    double measured(size_t j) const {
        const double mean = D.intercept ? X.dot(j, ones.data()) / n : 0.0;
        return std::sqrt(X.spread(j, mean, ones.data(), n));
    }

    // Times the length of a column, what rounding may have done to its entry of G, for each class: the rounding of the product
    // with the residuals, and that of the scores, which the means repeat.
    std::vector<double> rounding() {
        std::vector<double> out(k, 0.0), size(k, 0.0), terms(n);
        for (const size_t t : support) size[t % k] += std::abs(Q.W[t]) * span(t / k) / std::sqrt(static_cast<double>(n));
        for (size_t l = 0; l < k; ++l) {
            const double *u = &U[l * n], *p = &P[l * n];
            if (D.intercept) size[l] += std::abs(Q.W[inner + l]);
            for (size_t i = 0; i < n; ++i) terms[i] = D.s[i] * u[i];
            const double residuals = dot(terms.data(), terms.data(), n);
            for (size_t i = 0; i < n; ++i) terms[i] = D.s[i] * p[i] * (1.0 - p[i]);
            out[l] = EPSILON * (std::sqrt(residuals) + size[l] * std::sqrt(dot(terms.data(), terms.data(), n)));
        }
        return out;
    }

    // sum s U.F - G.W, 0 but for what is left of the gradient in the intercepts, which the dual holds where they are.
    double known_part() const {
        std::vector<double> terms(n);
        double total = 0.0;
        for (size_t l = 0; l < k; ++l) {
            for (size_t i = 0; i < n; ++i) terms[i] = D.s[i] * U[l * n + i];
            total += dot(terms.data(), Q.F + l * n, n);
        }
        for (const size_t t : support) total -= Q.G[t] * Q.W[t];
        return total;
    }

    // What makes G, and what rounding may have hidden of it, feasible for the dual.
    double shrinkage() {
        const std::vector<double> error = rounding();
        double most = 1.0;
        for (const auto* part : {&near, &support})
            for (const size_t t : *part) most = std::max(most, (std::abs(Q.G[t]) + error[t % k] * span(t / k)) / l1(t));
        return 1.0 / most;
    }

    // Everything the objective says at (W, F).
    void look(bool known) {
        const double loss = means(Q.F, D.Y, D.s, n, k, D.family, P.data());
        for (size_t t = 0; t < n * k; ++t) U[t] = P[t] - D.Y[t];
        if (!known) pull();
        violation = 0.0;
        for (const size_t t : near) violation = std::max(violation, std::abs(Q.G[t]) / l1(t) - 1.0);
        double penalty = 0.0;
        for (const size_t t : support) {
            penalty += l1(t) * std::abs(Q.W[t]);
            violation = std::max(violation, kkt(Q.W[t], Q.G[t], l1(t)) / l1(t));
        }
        violation = std::max(violation, free_violation());
        value = loss + penalty;
        gap = std::numeric_limits<double>::infinity();
        if (free_violation() > rule.free_tolerance) return;
        const double shrink = shrinkage();
        double dual = -negentropy(U.data(), D.Y, D.s, shrink, n, k, D.family == REFERENCE);
        dual += shrink * known_part();
        gap = std::max(0.0, value - dual) / std::max(std::abs(value), NEGLIGIBLE * total_s);
    }

    double free_violation() const {
        double worst = 0.0;
        for (size_t t = inner; t < size; ++t) worst = std::max(worst, std::abs(Q.G[t]) / total_s);
        return worst;
    }

    // G = Phi^T diag(s) U; what rounding left in a fitted intercept is not multiplied by the means of the columns.
    void pull() {
        std::vector<double> left(k);
        bool fitted = D.intercept;
        for (size_t l = 0; l < k; ++l) {
            for (size_t i = 0; i < n; ++i) R[l * n + i] = D.s[i] * U[l * n + i];
            left[l] = sum(&R[l * n], n);
            fitted = fitted && std::abs(left[l]) <= rule.free_tolerance * total_s;
        }
        for (size_t l = 0; l < k && fitted; ++l) add(&R[l * n], D.s, 0.0, -left[l] / total_s, n);
        const bool centred = fitted == D.intercept;
        if (last_one || !centred || !pull_some()) pull_every(centred);
        for (size_t l = 0; l < k && D.intercept; ++l) Q.G[inner + l] = left[l];
        fresh.clear();
    }

    void pull_every(bool centred) {
        X.pull(Q.d, R.data(), k, Q.G);
        compare_every();
        if (length.empty()) return;
        std::fill(shrunk.begin(), shrunk.end(), 1.0);
        std::fill(way.begin(), way.end(), centred ? 0.0 : UNKNOWN);  // bounds need residuals that sum to 0
        for (size_t t = 0; t < inner; ++t) reach[t] = std::abs(Q.G[t]);
        were = R;
    }

    void compare_every() {
        near.clear();
        for (size_t t = 0; t < inner; ++t)
            if (std::abs(Q.G[t]) > exact * l1(t)) near.push_back(t);
    }

    // Along a path most of G need not be known. Residuals shrink, and G with them; by what residuals change besides, an entry
    // changes no more than that is long times its column. Only what may exceed `exact` times its l1 is computed again.
    // The bound is shrunk * (reach + length * way), in the units of the residuals when all of G was computed last.
    // Columns are centred where there is an intercept: residuals then sum to 0.
    void measure() {
        std::vector<double> each(Q.d);
        for (size_t j = 0; j < Q.d; ++j) each[j] = measured(j);
        length.swap(each);
        reach.resize(inner);
        were.resize(n * k);
    }

    // False where that is no gain.
    bool pull_some() {
        for (size_t l = 0; l < k; ++l) {
            const double *now = &R[l * n], *then = &were[l * n];
            const double before = dot(then, then, n), share = before > 0.0 ? dot(then, now, n) / before : 0.0;
            if (way[l] == UNKNOWN || !(share > 0.1)) return false;
            double square = 0.0;
            for (size_t i = 0; i < n; ++i) square += (now[i] - share * then[i]) * (now[i] - share * then[i]);
            shrunk[l] *= share;
            way[l] += std::sqrt(square) / shrunk[l];
        }
        for (const size_t t : support) reach[t] = UNKNOWN;
        for (const size_t t : fresh) reach[t] = -UNKNOWN;
        near.clear();
        const auto found = [&](size_t t) {
            reach[t] = std::abs(Q.G[t]) / shrunk[t % k] - length[t / k] * way[t % k];
            if (std::abs(Q.G[t]) > exact * l1(t)) near.push_back(t);
        };
        std::vector<size_t> some;
        std::vector<double> products;
        size_t total = 0;
        for (size_t l = 0; l < k; ++l) {
            const double enough = (1.0 - ROUNDING) * exact * lam / shrunk[l];
            some.clear();
            for (size_t j = 0, t = l; j < Q.d; ++j, t += k)
                if (reach[t] + length[j] * way[l] > enough * Q.unit[t]) some.push_back(j);
            if (k > 1 && 2 * (total += some.size()) > inner) return false;
            products.resize(some.size());
            X.pull(some, &R[l * n], products.data());
            for (size_t c = 0; c < some.size(); ++c) {
                Q.G[some[c] * k + l] = products[c];
                found(some[c] * k + l);
            }
        }
        for (const size_t t : fresh) found(t);
        were = R;
        return true;
    }

    // Intercepts at their best, where a certificate can be read.
    void settle() {
        const double enough = rule.free_tolerance * std::min(1.0, 1e5 * rule.tol);
        for (int round = 0; round < 50 && free_violation() > enough; ++round) {
            const double before = free_violation();
            WorkingSet empty{0, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr};
            Hessian none;
            Newton<Columns> solver(X, D, empty, Q.W + inner, Q.F, none, poll);
            solver.run(0.1 * before, rule.max_steps, rule.forcing);
            refresh();
            look(false);
            if (!(free_violation() < before)) return;
        }
    }

    // The working set, class by class: non-zero weights, the worst violators, and what presses against a screen. Says whether
    // it has nothing that the last one did not have.
    bool choose(double screen) {
        std::vector<size_t> entering;
        const double least = screen < 1.0 ? std::max(screen, 0.0) : 1.0;  // what violates presses against a screen as well
        for (const size_t t : near)
            if (std::abs(Q.G[t]) > least * l1(t) && Q.W[t] == 0.0 && leads(t)) entering.push_back(t);
        const size_t room = std::max(rule.room, 2 * support.size());
        if (least == 1.0 && entering.size() > room) {
            std::nth_element(entering.begin(), entering.begin() + room, entering.end(),
                             [&](size_t a, size_t b) { return std::abs(Q.G[a]) * Q.unit[b] > std::abs(Q.G[b]) * Q.unit[a]; });
            entering.resize(room);
        }
        previous.swap(chosen);
        chosen.clear();
        for (const auto* part : {&support, &entering})
            for (const size_t t : *part) chosen.push_back(static_cast<std::int64_t>(t % k * Q.d + t / k));
        std::sort(chosen.begin(), chosen.end());
        return std::includes(previous.begin(), previous.end(), chosen.begin(), chosen.end());
    }

    bool leads(size_t t) const { return Q.leads == nullptr || Q.leads[t / k]; }

    // The weights, for the account and for those of the next strength.
    void remember() {
        const auto keep = [&](size_t t) {
            account.places.push_back(static_cast<std::int64_t>(t));
            account.values.push_back(Q.W[t]);
        };
        for (const size_t t : support) keep(t);
        for (size_t t = inner; t < size; ++t)
            if (Q.W[t] != 0.0) keep(t);
    }

    // Weights go on as they went from the strength before the last to the last, except where a sign would turn.
    void extrapolate() {
        size_t at = begins[begins.size() - 3];
        const size_t end = begins[begins.size() - 2];
        const auto last = [&](size_t t) {  // of increasing places
            while (at < end && static_cast<size_t>(account.places[at]) < t) ++at;
            return at < end && static_cast<size_t>(account.places[at]) == t ? account.values[at] : 0.0;
        };
        for (const size_t t : support) {
            const double w = Q.W[t], then = last(t), next = w + ahead * (w - then);
            if (w * then <= 0.0 || w * next <= 0.0) continue;
            X.add(t / k, next - w, Q.F + t % k * n);
            Q.W[t] = next;
        }
        for (size_t t = inner; t < size; ++t) {
            const double further = ahead * (Q.W[t] - last(t));
            for (size_t i = 0; i < n; ++i) Q.F[(t - inner) * n + i] += further;
            Q.W[t] += further;
        }
    }

    Outcome solve(double target) {
        const size_t a = chosen.size();
        std::vector<double> w(a), strengths(a), none(a, 0.0);
        feature.resize(a);
        klass.resize(a);
        for (size_t c = 0; c < a; ++c) {
            feature[c] = chosen[c] % Q.d;
            klass[c] = chosen[c] / Q.d;
            const size_t t = feature[c] * k + klass[c];
            w[c] = Q.W[t];
            strengths[c] = l1(t);
        }
        std::vector<double> b(k, 0.0);
        if (D.intercept) std::copy_n(Q.W + inner, k, b.data());
        const WorkingSet set{a, feature.data(), klass.data(), w.data(), strengths.data(), none.data(), strengths.data()};
        Hessian own;
        Newton<Columns> solver(X, D, set, b.data(), Q.F, along_a_path() ? hessian : own, poll);
        const Outcome out = solver.run(target, rule.max_steps, rule.forcing);
        support.clear();
        for (size_t c = 0; c < a; ++c) {
            const size_t t = feature[c] * k + klass[c];
            Q.W[t] = w[c];
            if (w[c] != 0.0) support.push_back(t);
        }
        std::sort(support.begin(), support.end());
        if (D.intercept) std::copy_n(b.data(), k, Q.W + inner);
        const bool same = refresh() <= DRIFT;
        for (size_t c = 0; c < a && same && out.current; ++c) {
            const size_t t = feature[c] * k + klass[c];
            Q.G[t] = solver.slopes()[c];
            fresh.push_back(t);
        }
        return out;
    }

    // Small problems are solved to rounding, which costs next to nothing; true if that made the point better.
    bool polish() {
        if (violation <= rule.polished || support.size() * support.size() * n > rule.polish_work) return false;
        const std::vector<size_t> support_before = support, near_before = near;
        const std::vector<double> W(Q.W, Q.W + size), F(Q.F, Q.F + n * k), G(Q.G, Q.G + size);
        const double before = gap;
        choose(1.0);
        solve(rule.polished);
        look(false);
        settle();
        if (gap <= before) return true;
        std::copy(W.begin(), W.end(), Q.W);
        std::copy(F.begin(), F.end(), Q.F);
        std::copy(G.begin(), G.end(), Q.G);
        support = support_before;
        near = near_before;
        look(true);
        return false;
    }

    void note() {
        size_t count = support.size();
        for (size_t t = inner; t < size; ++t) count += Q.W[t] != 0.0;
        const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - began;
        for (const double number : {value, violation, gap, static_cast<double>(count), seconds.count()})
            account.history.push_back(number);
    }
};

}  // namespace smaller
