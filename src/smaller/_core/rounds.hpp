// The L1 problem solved whole, at one strength or along a path: rounds of a pass over all columns, which finds the
// weights that are missing and reads the certificate, and of Newton steps on the working set of non-zero and violating
// weights.
#pragma once
#include <chrono>

#include "certificate.hpp"
#include "newton.hpp"
#include "pressing.hpp"
#include "rule.hpp"

namespace smaller {

template <class Matrix>
class Rounds {
public:
    using Columns = typename Matrix::Columns;

    // leads: columns that may enter (null: all); offset: null where there is none.
    Rounds(const Matrix& matrix, const Samples& samples, const double* offset, const Penalty& penalty,
           const Start& start, const std::uint8_t* leads, double negligible, const Rule& rule,
           std::function<void()> poll)
        : X(matrix), D(samples), offset(offset), prior(penalty), at(start), rule(rule), poll(std::move(poll)),
          n(samples.n), k(samples.k), inner(matrix.d * k), size((matrix.d + samples.intercept) * k),
          total_s(sum(samples.s, n)), R(n * k), certificate(samples, offset, negligible),
          pressing(X, prior, leads, samples.n) {
        for (size_t t = 0; t < inner; ++t)
            if (at.W[t] != 0.0) support.push_back(t);
    }

    Rounds(const Rounds&) = delete;  // its parts refer to each other

    // From strength to strength: where they decrease, screened by the sequential strong rule of Tibshirani et al.
    // (2012) and each begun where the last two point; the last is polished. The first is screened as the rule says.
    Account run(const double* lams, size_t count) {
        const auto screen_at = [&](size_t i) {
            return i == 0 ? rule.screen : lams[i - 1] > lams[i] ? 2.0 - lams[i - 1] / lams[i] : 1.0;
        };
        if (count > 1 && Matrix::BY_COLUMNS) {
            pressing.begin_path(D.intercept);
            hessian.future = SERVES;
        }
        bool known = at.known;
        for (size_t i = 0; i < count; ++i, known = true) {
            const double screen = screen_at(i);
            prior.lam = lams[i];
            ahead = i > 1 && screen < 1.0 ? (lams[i - 1] - lams[i]) / (lams[i - 2] - lams[i - 1]) : 0.0;
            if (!(ahead <= FARTHEST)) ahead = 0.0;  // steps too unequal, or none before
            last_one = i + 1 == count;
            pressing.exact = last_one ? 1.0 : std::clamp(screen_at(i + 1) * lams[i + 1] / lams[i], 0.0, 1.0);
            if (i == 0) {
                pressing.exact = std::clamp(screen, 0.0, pressing.exact);
                if (known) pressing.compare_every(at.G);
            }
            const size_t noted = account.history.size();
            begins.push_back(account.places.size());
            const Ending end = one(screen, known);
            keep_weights();
            for (const std::int64_t number : end.numbers()) account.ends.push_back(number);
            account.ends.push_back((account.history.size() - noted) / Account::NUMBERS_OF_A_STEP);
            account.ends.push_back(account.places.size() - begins[i]);
        }
        return std::move(account);
    }

private:
    static constexpr double FARTHEST = 2.0;      // times the last step of the strength: so far are weights extrapolated
    static constexpr double SERVES = 2.0;        // steps of a path that a Hessian serves
    // Of scores that were added up step by step, from those of their weights.
    static constexpr double DRIFT = 1e-12;
    static constexpr int STEPS_PER_PASS = 20;    // Newton steps between two passes
    static constexpr int PATIENCE = 20;          // rounds without a gap of half the best so far are the last
    static constexpr double SHARE = 0.1;         // of tol is what the last working set is solved to
    // Of the violation is left where the working set is small and will grow.
    static constexpr double ROUGHLY = 0.3;
    static constexpr double POLISHED = 1e-11;    // the violation that small problems are solved to in the end
    // Rows times squared support of the largest problem that is polished.
    static constexpr size_t POLISH_WORK = 2'000'000;

    const Matrix X;
    const Samples D;
    const double* offset;
    Penalty prior;
    const Start at;
    const Rule rule;
    std::function<void()> poll;
    const size_t n, k, inner, size;
    const double total_s;
    std::vector<double> R;
    // Places of weights: not 0; G known already at the new scores.
    Places support, fresh;
    double ahead = 0.0;
    bool last_one = true;
    Certificate certificate;
    Pressing<Matrix> pressing;
    std::vector<double> spans;  // weighted lengths of columns; negative where not measured yet
    Hessian hessian;
    DrawnRows drawn;
    Places chosen, previous;
    std::chrono::steady_clock::time_point began;
    Account account;
    Places begins;  // where in the account the weights of each strength begin

    double violation() const { return certificate.violation; }
    double gap() const { return certificate.gap; }

    Ending one(double screen, bool known) {
        Ending out;
        began = std::chrono::steady_clock::now();
        chosen.clear();
        if (!known) refresh();
        look(known);
        settle();
        double best = gap();
        for (int improved = 0;; ++out.iterations) {
            note();
            const bool first = out.iterations == 0;
            // A point of a path is not just the last one's weights.
            if (gap() <= rule.tol && !(first && screen < 1.0)) {
                out.status = Ending::CONVERGED;
                if (last_one && rule.exact && polish()) {
                    account.history.resize(account.history.size() - Account::NUMBERS_OF_A_STEP);
                    note();
                }
                return out;
            }
            if (out.iterations == rule.max_iter) return out;
            if (gap() < 0.5 * best) best = gap(), improved = out.iterations;
            if (out.iterations - improved == PATIENCE) {
                out.status = Ending::STALLED;
                return out;
            }
            const bool settled = choose(first ? screen : 1.0) || (first && screen < 1.0);
            const bool small = 2 * chosen.size() < inner;
            const double enough = gap() > 0.0 ? SHARE * rule.tol / gap() : 1.0;
            const double fraction = settled ? std::clamp(enough, 1e-9, 0.1) : small ? ROUGHLY : 0.1;
            const double before = violation(), was = certificate.value;
            if (first && ahead > 0.0) extrapolate();
            const Outcome step = solve(chosen, fraction * violation(), along_a_path());
            out.work += step.work;
            look(false);
            settle();
            if (step.stalled && violation() >= 0.5 * before && certificate.value >= was * (1.0 - 1e-12)) {
                note();
                out.status = gap() <= rule.tol ? Ending::CONVERGED : Ending::STALLED;
                return out;
            }
        }
    }

    bool along_a_path() const { return begins.size() > 1 || !last_one; }

    // F = Phi W + b + offset of the weights as they are: a certificate is never read from scores that were added up
    // step by step. Returns how far those were off.
    double refresh() {
        std::vector<double> now(n * k, 0.0);
        std::vector<Term> terms;
        for (const size_t t : support) terms.push_back({t / k, t % k, at.W[t]});
        X.add(terms, now.data());
        double drift = 0.0, largest = 1.0;
        for (size_t l = 0; l < k; ++l) {
            const double b = D.intercept ? at.W[inner + l] : 0.0;
            for (size_t i = l * n; i < (l + 1) * n; ++i) {
                now[i] += offset == nullptr ? b : b + offset[i];
                drift = std::max(drift, std::abs(now[i] - at.F[i]));
                largest = std::max(largest, std::abs(now[i]));
            }
        }
        std::copy(now.begin(), now.end(), at.F);
        return drift / largest;
    }

    // The length of a column, weighted as the samples are.
    double span(size_t j) {
        if constexpr (Matrix::BY_COLUMNS) {
            if (spans.empty()) spans.assign(X.d, -1.0);
            if (spans[j] < 0.0) spans[j] = X.length(j, false, D.s, total_s);
        } else if (spans.empty()) {
            spans = X.lengths(false, D.s, total_s);
        }
        return spans[j];
    }

    Point point() const { return {X.d, at.W, at.F, at.G, pressing.near, support, pressing.unsparse}; }

    // Everything the objective says at (W, F).
    void look(bool known) {
        certificate.read_scores(at.F);
        if (!known) pull();
        certificate.read(point(), prior, [this](size_t j) { return span(j); });
    }

    // G = Phi^T diag(s) U; what rounding left in a fitted intercept is not multiplied by the means of the columns.
    void pull() {
        std::vector<double> left(k);
        bool fitted = D.intercept;
        for (size_t l = 0; l < k; ++l) {
            for (size_t i = 0; i < n; ++i) R[l * n + i] = D.s[i] * certificate.U[l * n + i];
            left[l] = sum(&R[l * n], n);
            fitted = fitted && std::abs(left[l]) <= Certificate::FREE_TOLERANCE * prior.scale[inner + l];
        }
        for (size_t l = 0; l < k && fitted; ++l) add(&R[l * n], D.s, 0.0, -left[l] / total_s, n);
        const bool centred = fitted == D.intercept;
        if (last_one || !centred || !pressing.pull_some(R, support, fresh, at.G)) pressing.pull_every(R, centred, at.G);
        for (size_t l = 0; l < k && D.intercept; ++l) at.G[inner + l] = left[l];
        fresh.clear();
    }

    // Weights without any penalty at their best, where a certificate can be read.
    void settle() {
        const double enough = Certificate::FREE_TOLERANCE * std::min(1.0, 1e5 * rule.tol);
        Places free;
        for (int round = 0; round < 50; ++round) {
            const double before = certificate.free_violation(point(), prior);
            if (!(before > enough)) return;
            if (round == 0)
                for (const size_t t : pressing.unsparse)
                    if (prior.free(t)) free.push_back(t % k * X.d + t / k);
            std::sort(free.begin(), free.end());
            solve(free, free.empty() ? 0.1 * before : std::min(0.1 * before, enough), false);
            fresh.clear();
            look(false);
            if (!(certificate.free_violation(point(), prior) < before)) return;
        }
    }

    // The working set, class by class: non-zero weights, those without a penalty that makes zeros, the worst violators,
    // and what exceeds the screen; of a group all weights. Says whether it has nothing that the last one did not have.
    bool choose(double screen) {
        const double least = screen < 1.0 ? std::max(screen, 0.0) : 1.0;  // what violates exceeds a screen as well
        // Few columns of many rows: one working set of all of them is cheaper than several that grow.
        const bool all = !prior.groups && !drawn.refused && SampledModel<Columns>::suits(D, inner, inner, 0);
        Places entering = pressing.entering(at.W, at.G, least, all ? inner : std::max(rule.room, 2 * support.size()));
        previous.swap(chosen);
        chosen.clear();
        const auto take = [&](size_t t) { chosen.push_back(t % k * X.d + t / k); };
        for (const auto* part : {&support, &entering, &pressing.unsparse})
            for (const size_t t : *part) take(t);
        Places groups;
        prior.list_groups({&support}, groups);
        for (const size_t g : groups) prior.each_place(g, take);
        std::sort(chosen.begin(), chosen.end());
        chosen.erase(std::unique(chosen.begin(), chosen.end()), chosen.end());
        return std::includes(previous.begin(), previous.end(), chosen.begin(), chosen.end());
    }

    // The weights of a strength, for the account and for the extrapolation to later strengths.
    void keep_weights() {
        const auto keep = [&](size_t t) {
            account.places.push_back(static_cast<std::int64_t>(t));
            account.values.push_back(at.W[t]);
        };
        for (const size_t t : support) keep(t);
        for (size_t t = inner; t < size; ++t)
            if (at.W[t] != 0.0) keep(t);
    }

    // Weights go on as they went from the strength before the last to the last, except where a sign would change.
    void extrapolate() {
        size_t next_kept = begins[begins.size() - 3];
        const size_t end = begins[begins.size() - 2];
        const auto before = [&](size_t t) {  // of increasing places
            while (next_kept < end && static_cast<size_t>(account.places[next_kept]) < t) ++next_kept;
            const bool there = next_kept < end && static_cast<size_t>(account.places[next_kept]) == t;
            return there ? account.values[next_kept] : 0.0;
        };
        std::vector<Term> terms;
        for (const size_t t : support) {
            const double w = at.W[t], then = before(t), next = w + ahead * (w - then);
            if (w * then <= 0.0 || w * next <= 0.0) continue;
            terms.push_back({t / k, t % k, next - w});
            at.W[t] = next;
        }
        X.add(terms, at.F);
        for (size_t t = inner; t < size; ++t) {
            const double further = ahead * (at.W[t] - before(t));
            for (size_t i = 0; i < n; ++i) at.F[(t - inner) * n + i] += further;
            at.W[t] += further;
        }
    }

    // Newton steps on the coordinates `set` (class * d + column, sorted) until their violation is below the target.
    Outcome solve(const Places& set, double target, bool shared_hessian) {
        const size_t a = set.size();
        std::vector<double> w(a), l1(a), l2(a), scale(a);
        std::vector<std::int64_t> feature(a), klass(a);
        Places features(a), places(a);
        for (size_t c = 0; c < a; ++c) features[c] = set[c] % X.d;
        const typename Matrix::Packed packed(X, features);
        for (size_t c = 0; c < a; ++c) {
            const size_t l = set[c] / X.d, t = places[c] = features[c] * k + l;
            feature[c] = packed.place(features[c]);
            klass[c] = static_cast<std::int64_t>(l);
            w[c] = at.W[t];
            l1[c] = prior.l1(t);
            l2[c] = prior.ridge(t);
            scale[c] = prior.measure(t);
        }
        std::vector<double> b(k, 0.0);
        if (D.intercept) std::copy_n(at.W + inner, k, b.data());
        Hessian own;
        BlockSet blocks;
        if (prior.groups != nullptr) blocks = blocks_of(places);
        const WorkingSet working{a, feature.data(), klass.data(), w.data(), l1.data(), l2.data(), scale.data(),
                                 blocks.count() > 0 ? &blocks : nullptr};
        Newton<Columns> newton(packed.columns, D, working, b.data(), at.F, shared_hessian ? hessian : own, drawn,
                               poll);
        const Outcome out = newton.run(target, STEPS_PER_PASS);
        for (size_t c = 0; c < a; ++c) at.W[places[c]] = w[c];
        remove_common_shifts();
        update_support(places);
        if (D.intercept) std::copy_n(b.data(), k, at.W + inner);
        const bool same = refresh() <= DRIFT;
        for (size_t c = 0; c < a && same && out.current; ++c) {
            at.G[places[c]] = newton.slopes()[c] - l2[c] * w[c];
            fresh.push_back(places[c]);
        }
        return out;
    }

    // A shift of a column without a penalty that all classes share changes no probability, but a large one costs the
    // scores their digits.
    void remove_common_shifts() {
        if (D.family != SYMMETRIC) return;
        for (const size_t t : pressing.unsparse) {
            size_t free = 0;
            while (t % k == 0 && free < k && prior.free(t + free)) ++free;
            if (free < k) continue;
            const double mean = sum(at.W + t, k) / static_cast<double>(k);
            for (size_t l = 0; l < k; ++l) at.W[t + l] -= mean;
        }
    }

    // The groups of a working set, and each weight that is in none.
    BlockSet blocks_of(const Places& places) const {
        BlockSet out;
        std::vector<std::pair<size_t, size_t>> grouped;
        for (size_t c = 0; c < places.size(); ++c) {
            out.unit.push_back(prior.grouped(places[c]) ? prior.groups->unit[places[c] / k] : 1.0);
            if (prior.grouped(places[c])) grouped.emplace_back(prior.group_of(places[c]), c);
            else out.append({c}, 0.0);
        }
        std::sort(grouped.begin(), grouped.end());
        for (size_t from = 0, to; from < grouped.size(); from = to) {
            Places members;
            for (to = from; to < grouped.size() && grouped[to].first == grouped[from].first; ++to)
                members.push_back(grouped[to].second);
            out.append(members, prior.tau(grouped[from].first));
        }
        return out;
    }

    void update_support(const Places& changed) {
        support.insert(support.end(), changed.begin(), changed.end());
        std::sort(support.begin(), support.end());
        support.erase(std::unique(support.begin(), support.end()), support.end());
        const auto is_zero = [&](size_t t) { return at.W[t] == 0.0; };
        support.erase(std::remove_if(support.begin(), support.end(), is_zero), support.end());
    }

    // Small problems are solved to rounding, which costs next to nothing; true if that made the point better.
    bool polish() {
        if (violation() <= POLISHED || support.size() * support.size() * n > POLISH_WORK) return false;
        const Places support_before = support, near_before = pressing.near;
        const std::vector<double> W(at.W, at.W + size), F(at.F, at.F + n * k), G(at.G, at.G + size);
        const double before = gap();
        choose(1.0);
        solve(chosen, POLISHED, along_a_path());
        look(false);
        settle();
        if (gap() <= before) return true;
        std::copy(W.begin(), W.end(), at.W);
        std::copy(F.begin(), F.end(), at.F);
        std::copy(G.begin(), G.end(), at.G);
        support = support_before;
        pressing.near = near_before;
        look(true);
        return false;
    }

    void note() {
        size_t count = support.size();
        for (size_t t = inner; t < size; ++t) count += at.W[t] != 0.0;
        const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - began;
        for (const double number : {certificate.value, violation(), gap(), static_cast<double>(count), seconds.count()})
            account.history.push_back(number);
    }
};

}  // namespace smaller
