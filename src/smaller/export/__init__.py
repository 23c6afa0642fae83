"""Fitted models for other programs: an ONNX graph, or a C header without dependencies.

Both are written from one plan (``smaller.export.plan``): the columns kept, their weights, and the link from
scores to predictions. They compute in double precision what ``predict``, ``predict_proba`` and
``predict(return_std=True)`` return.
"""

from __future__ import annotations

from .c_header import to_c
from .onnx_graph import to_onnx

__all__ = ["to_c", "to_onnx"]
