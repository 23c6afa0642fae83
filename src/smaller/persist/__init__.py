"""Model files: plain arrays and JSON in a zip archive, which load without executing anything.

A file is an uncompressed ``.npz``: one ``.npy`` member for each array, and ``header.json``, which has the versions and
the model as a tree. In the tree a value that JSON lacks is an object with one key, its kind: ``{"array": "0"}``,
``{"tuple": [...]}``, ``{"estimator": {"class": "SMLR", ...}}``. Only classes of the registry are created.
Members are not compressed, so that a small file cannot become large in memory.
"""

from __future__ import annotations

import json
import warnings
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import sklearn

from .._version import __version__
from ..atomic import replacing
from ..errors import ModelFileError
from ..inference import PosteriorSample
from .preparations import PRIVATE
from .reading import LaterFormatError, Reader
from .registry import ESTIMATORS, FORMAT, LARGEST_HEADER, VERSION
from .writing import Writer, unknown


def save(model, path, notes: Any = None) -> None:
    """Save a model to a file that :func:`load` reads back exactly, without executing anything.

    Parameters
    ----------
    model : estimator
        Any model of this package, fitted or not; meta-estimators with such models inside; pipelines and column
        transformers of scikit-learn with its scalers, encoders and imputers, and a :class:`TableTransformer`.
    path : str or path
        The file appears whole or not at all.
    notes : plain values, arrays, lists and dicts, default=None
        Kept beside the model; :func:`load_with_notes` returns them.

    Raises
    ------
    ModelFileError
        If a part cannot be kept as plain data: functions, or estimators of other packages.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sklearn.datasets import load_iris
    >>> import smaller
    >>> X, y = load_iris(return_X_y=True)
    >>> model = smaller.SMLR().fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     smaller.save(model, Path(folder, "iris.model"))
    ...     again = smaller.load(Path(folder, "iris.model"))
    >>> bool((again.predict_proba(X) == model.predict_proba(X)).all())
    True
    """
    if type(model).__name__ not in {*ESTIMATORS, PosteriorSample.__name__}:
        raise ModelFileError(unknown("model", model))
    writer = Writer()
    body = {"model": writer.encode(model, "model"), "notes": writer.encode(notes, "notes")}
    header = {"format": FORMAT, "version": VERSION, "library": __version__, "scikit-learn": sklearn.__version__, **body}
    text = json.dumps(header, ensure_ascii=False, allow_nan=False).encode()
    if len(text) > LARGEST_HEADER:
        raise ModelFileError("The model has too many names and settings for a model file; use arrays of numbers.")
    with replacing(path) as beside, zipfile.ZipFile(beside, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(zipfile.ZipInfo("header.json"), text)
        for number, array in enumerate(writer.arrays):
            with archive.open(zipfile.ZipInfo(f"{number}.npy"), "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array, allow_pickle=False)


def load(path) -> Any:
    """Load a model that :func:`save` wrote. Nothing in the file is executed, whoever wrote it.

    Parameters
    ----------
    path : str or path

    Returns
    -------
    model : estimator

    Raises
    ------
    ModelFileError
        If the file is no model file, is damaged, names classes of other packages, was written in a later format, or has
        a model that cannot predict, such as one with NaN among its weights. The message names the
        file and the field.

    Examples
    --------
    >>> import smaller
    >>> smaller.load(__file__)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    smaller.errors.ModelFileError: ... is not a model file: it is no zip archive. Use a file that smaller.save wrote.
    """
    return load_with_notes(path)[0]


def load_with_notes(path) -> tuple[Any, Any]:
    """The model and the notes that were saved with it; as :func:`load` otherwise."""
    path = Path(path)
    with open(path, "rb") as stream:  # the errors of missing or forbidden files need no translation
        try:
            reader = Reader(stream)
            model, notes = reader.model(), reader.notes()
            _warn_of_version(path, reader.header)
            return model, notes
        except LaterFormatError as error:
            raise ModelFileError(f"{path} {error}") from None
        except zipfile.BadZipFile:
            reason = "it is no zip archive" if not _looks_like_zip(stream) else "it is cut short or damaged"
        except Exception as error:  # any error that a damaged or hostile file causes becomes one sentence
            reason = f"it is damaged ({_brief(error)})"
    raise ModelFileError(f"{path} is not a model file: {reason}. Use a file that smaller.save wrote.")


def _warn_of_version(path: Path, header: dict) -> None:
    """Warn where parts of scikit-learn were saved by another of its versions."""
    written = str(header.get("scikit-learn", sklearn.__version__))[:20]
    classes = json.dumps(header["model"])
    if _release(written) != _release(sklearn.__version__) and any(
        f'"class": "{cls.__name__}"' in classes for cls in PRIVATE
    ):
        warnings.warn(
            f"{path} was saved with scikit-learn {written}, and this is {sklearn.__version__}: its scalers, "
            "encoders and imputers may work differently; compare some predictions, or fit and save again.",
            UserWarning,
            stacklevel=4,
        )


def _release(version: str) -> list[str]:
    return version.split(".")[:2]


def _looks_like_zip(stream) -> bool:
    stream.seek(0)
    return stream.read(2) == b"PK"


def _brief(error: Exception) -> str:
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= 200 else text[:200] + "..."


__all__ = ["load", "load_with_notes", "save"]
