"""What boosted lasso walks on, at its public path."""

from .objective.moves import GatedMoves, WeightMoves

__all__ = ["GatedMoves", "WeightMoves"]
