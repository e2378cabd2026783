"""Stride lab: type a shape and a chain of layout calls, and see every stage in memory."""

from core.errors import BadInput
from core.trace import lab as core_lab
from pages._ui import chrome, lab

chrome.heading("stride_lab")
shape, chain, view = lab.inputs()
try:
    sizes = core_lab.parse_shape(shape)
    trace = core_lab.run(sizes, chain)
    if trace.error is None and view.strip():
        target = ", ".join(str(size) for size in core_lab.parse_target(view))
        lab.view_verdict(core_lab.run(sizes, f"{chain}.view({target})" if chain.strip() else f"view({target})"))
    lab.stages(trace)
except BadInput as error:
    chrome.explain(error)
