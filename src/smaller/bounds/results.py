"""Results of bounds: small objects that print as a sentence with their assumptions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .gibbs_risk import GibbsRisk, LaplacePosterior

INDEPENDENT = "the n samples were drawn independently from the distribution that the error refers to"


def check_delta(delta) -> None:
    """Refuse a delta that is not between 0 and 1."""
    if not (isinstance(delta, (float, np.floating)) and 0 < delta < 1):
        raise ValueError(f"delta, the probability of failure, must lie between 0 and 1; got {delta!r}.")


def count(n: int) -> str:
    """11467 as 11 467."""
    return f"{n:,}".replace(",", " ")


@dataclass(frozen=True, kw_only=True)
class Bound:
    """An upper limit to a true error rate, with the probability at which it holds.

    ``print`` shows the sentence and the assumptions; ``float`` is the limit itself.

    Attributes
    ----------
    bound : float
        The limit to the error rate of the model's own predictions, at most 1.
    delta : float
        The limit holds with probability at least 1 - delta over the sets named in the sentence.
    n : int
        Samples counted.
    assumptions : tuple of str
    """

    bound: float
    delta: float
    n: int
    assumptions: tuple[str, ...]

    over = "training sets"
    certain = True

    @property
    def trivial(self) -> bool:
        """Whether the limit is 1 or more, which every error rate satisfies."""
        return self.bound >= 1.0

    @property
    def sentence(self) -> str:
        """The statement alone."""
        trust = "With" if self.certain else "Approximately, and without guarantee: with"
        chance = f"{trust} probability ≥ {1 - self.delta:.6g} over {self.over}"
        nothing = "no information: every error rate is at most 1; " if self.trivial else ""
        return f"{chance}, true error ≤ {self.bound:.3g}{self._where()} ({nothing}{self._grounds()})."

    def _where(self) -> str:
        return ""

    def _grounds(self) -> str:
        raise NotImplementedError

    def __str__(self) -> str:
        return "\n- ".join([f"{self.sentence}\nIt assumes that", *self.assumptions])

    def __float__(self) -> float:
        return self.bound


@dataclass(frozen=True, kw_only=True)
class PACBayes(Bound):
    """The PAC-Bayes bound of a fitted model.

    ``bound`` is twice ``gibbs_bound`` and holds for the model's predictions and for the vote of all drawn weights.

    Attributes
    ----------
    gibbs_bound : float
        The limit to the error rate of the Gibbs classifier, which draws new weights for every prediction.
    gibbs : GibbsRisk
        The Gibbs risk on the sample, and how it was found.
    kl : float
        Divergence of the posterior from the prior, in nats.
    form : str
    posterior : LaplacePosterior
    """

    gibbs_bound: float
    gibbs: GibbsRisk
    kl: float
    form: str
    posterior: LaplacePosterior

    @property
    def certain(self) -> bool:  # type: ignore[override]
        """Whether the Gibbs risk has a guarantee, and is no mere approximation."""
        return self.gibbs.certain

    def _grounds(self) -> str:
        return f"Gibbs {self.gibbs_bound:.3g} doubled; KL {self.kl:.3g} nats; n {count(self.n)}"


@dataclass(frozen=True, kw_only=True)
class Rademacher(Bound):
    """The Rademacher bound of a fitted model; nothing is doubled.

    Attributes
    ----------
    margin_loss, complexity, confidence : float
        The three terms of the bound.
    margin : float
    kl : float
    """

    margin_loss: float
    complexity: float
    confidence: float
    margin: float
    kl: float
    certain: bool = True

    def _grounds(self) -> str:
        terms = f"margin loss {self.margin_loss:.3g} + complexity {self.complexity:.3g} + {self.confidence:.3g}"
        return f"{terms}; KL {self.kl:.3g} nats; n {count(self.n)}"


@dataclass(frozen=True, kw_only=True)
class TestSet(Bound):
    """The bound from held-out samples.

    Attributes
    ----------
    errors : int
    """

    errors: int

    over = "test sets"
    __test__ = False  # pytest would take the class for a test case

    def _grounds(self) -> str:
        return f"{count(self.errors)} errors in {count(self.n)} held-out samples"


@dataclass(frozen=True, kw_only=True)
class Choice(Bound):
    """The strength with the least PAC-Bayes bound on a grid, all of whose bounds hold at once.

    Attributes
    ----------
    lam : float
    model : SMLR
        Fitted at ``lam``.
    models : tuple of SMLR
        Fitted at each strength.
    best : PACBayes
        Its bound, at delta divided by the number of strengths.
    lams : ndarray
    results : tuple of PACBayes
        One for each strength.
    """

    lam: float
    model: Any
    models: tuple[Any, ...]
    best: PACBayes
    lams: np.ndarray
    results: tuple[PACBayes, ...]

    @property
    def certain(self) -> bool:  # type: ignore[override]
        """Whether the Gibbs risk has a guarantee, and is no mere approximation."""
        return self.best.certain

    def _where(self) -> str:
        return f" at lam={self.lam:.3g}, the least of {len(self.lams)} bounds"

    def _grounds(self) -> str:
        return self.best._grounds()
