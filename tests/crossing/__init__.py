"""Every option of every model crossed with every other, judged by NumPy alone.

`tables` lists the options, `cover` takes every pair of them, `samples` makes the data, `trial` fits one crossing, and
`judges` recompute from the fitted attributes what the model claims. `python -m crossing` tries random crossings.
"""
