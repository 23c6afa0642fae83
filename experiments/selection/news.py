"""The words of 20 Newsgroups that stay in 100 half-samples: ``python -m experiments.selection.news [--all-words]``.

The training texts of the data set (SMALLER_DATA names the folder that has it), as logarithms of counts times inverse
document frequencies. By default the words of at least 20 texts, of which the first 100 on each half are selected.
"""

import argparse
import resource
import time

import numpy as np
from sklearn.feature_extraction.text import TfidfTransformer

from smaller import SMLR
from smaller.datasets import load_news20
from smaller.inference import StabilitySelection

TEXTS = 20  # that have a word, at least


def main():
    """Select, and print the words by the newsgroup that uses each most."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--all-words", action="store_true", help="rare words too")
    parser.add_argument("--selected", type=int, default=100, help="words selected on each half")
    options = parser.parse_args()
    news = load_news20()
    counts, y = news.data[news.train], news.target[news.train]
    kept = np.asarray((counts > 0).sum(axis=0)).ravel() >= (1 if options.all_words else TEXTS)
    X = TfidfTransformer(sublinear_tf=True).fit_transform(counts[:, kept]).tocsr()
    words = np.asarray(news.feature_names)[kept]
    began, clock = time.process_time(), time.perf_counter()
    model = StabilitySelection(SMLR(), n_selected=options.selected, max_false=1.0, random_state=0).fit(X, y)
    print(f"{X.shape[0]} texts, {X.shape[1]} words: {time.process_time() - began:.0f} processor seconds, ", end="")
    memory, always = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6, (model.frequencies_ == 1).sum()
    print(f"{time.perf_counter() - clock:.0f} s, {memory:.2f} GB; {always} words in all halves")
    print(model.sentence())
    groups = np.unique(y)
    use = np.array([np.asarray(X[y == group][:, model.support_].mean(axis=0)).ravel() for group in groups])
    for at, group in enumerate(groups):
        own = model.support_[use.argmax(axis=0) == at]
        order = np.argsort(-model.frequencies_[own], kind="stable")
        print(f"{news.target_names[group]}: {' '.join(words[own[order]])}")


if __name__ == "__main__":
    main()
