"""The catalogue of mistakes: each an exact change to a reference implementation, and what it does when it is run.

>>> from core import pitfalls
>>> entry = pitfalls.entry("merge-no-transpose")
>>> entry.title["en"], entry.forms[0].references[0]
('A reshape instead of the transpose', 'mha')
>>> pitfalls.run(entry).shows               # runs it beside the reference: the same weights, the same x
'numbers'

`catalogue()`, `groups()`, `entry(id)`, `mistakes_in(reference)` and `IDS` are data and import no torch.
`apply(entry)` gives the wrong source and the lines of the changes; `run(entry, case)` says what it shows (`Outcome`);
`walk(changed, case)` traces it, with `walk(unchanged(name), case)` for the right one beside it, and
`part(right, wrong)` finds the first step that differs. `change(name, changes)` makes the changes of several entries at
once, and `compare` runs the result.

References
==========
``references/<name>.py`` are right solutions, meant to be read; `REFERENCES` says how each is called. Every problem has
one of its own name; ``mha_fused`` (around F.scaled_dot_product_attention), ``mha_dropout`` and ``mha_module`` (around
nn.MultiheadAttention, which gives the weights back too) solve ``mha`` once more, ``gqa_fused`` (one projection, the
kernel shares the heads) ``gqa``; ``check`` solves none, it is what one writes to check a solution. The same thing is
written in the same words everywhere, so that one change fits many of them. A query that may attend to nothing has
weights 0.

Entries
=======
One file for each group, ``catalogue/<group>.yaml``: a title, and entries in the order of ``ids.txt``, which owns the
ids (new ones are added there first; none is ever renamed). An entry::

    - id: head-dim-wrong
      title: {en: …, zh: …}      # mark-up of core.markup in all texts
      why: {en: …, zh: …}        # what the code does; at most two sentences
      symptom: {en: …, zh: …}    # what one sees; one sentence
      repair: {en: …, zh: …}     # one sentence
      related: [scale-by-d-model]
      forms:                     # the ways in which people make it; one of them needs no name
        - name: kv-heads
          references: [gqa, kv_cache]
          changes:
            - {right: "self.d_h = d_model // n_heads", wrong: "self.d_h = d_model // n_kv_heads"}
          runs:
            - {shows: raises, error: "RuntimeError: shape '.4, 5, 6, 16.' is invalid for input of size 960"}
            - {sizes: {H_kv: 6}, shows: same}

- A `right` text stands exactly once in each of the `references`; the `wrong` text that takes its place is what people
  write, with the trailing comments of shapes made true. Whole lines go with their indentation and line break, as
  "…\\n" in double quotes.
- `runs` hold in the first reference; in the others the first run has to show the same. A run is a `Case` (sizes that
  differ from `SIZES`, mask, values, dtype, device, training, backend) and what it `shows` (the list is in schema.py).
  The first run shows the mistake. What hides it is declared too: sizes, no mask, eval mode. At least one run is on the
  generic sizes. Where the same call does not give the same numbers once more, that is declared as well.
- With a cache, tokens come in chunks of 5, 7 and 1, and then once more from the first call's cache, so that a cache
  that was written into shows.
- F.dropout drops the same places in the reference and in the wrong source (see `_dropout`).
- Parameters get their weights by name and size. Rename or resize one only where that is the mistake: the run then shows
  `weights`, since numbers cannot be compared any more.
- Another size of a mask, a parameter, a cache is declared by the run that shows it, never in words alone.

The tests run every form on every case, repair it, and look at both walks.

What is not covered: the dropout inside a fused kernel, which is random; gradients are those of one fixed sum; memory
is that of the cache alone; which kernel runs behind F.scaled_dot_product_attention is torch's choice for the whole
process, so a case with `backend: math` needs a caller that sets it.
"""

from core.pitfalls._catalogue import IDS, VOCABULARY, catalogue, entry, groups, mistakes_in
from core.pitfalls._change import Changed, Lines, apply, change, unchanged
from core.pitfalls._references import PROBLEMS, REFERENCES, Reference, reference
from core.pitfalls._run import Outcome, compare, run
from core.pitfalls._sizes import SIZES
from core.pitfalls._walk import Parting, part, walk
from core.pitfalls.schema import Case, Change, Entry, Form, Group, Run, Text

__all__ = [
    "IDS",
    "PROBLEMS",
    "REFERENCES",
    "SIZES",
    "VOCABULARY",
    "Case",
    "Change",
    "Changed",
    "Entry",
    "Form",
    "Group",
    "Lines",
    "Outcome",
    "Parting",
    "Reference",
    "Run",
    "Text",
    "apply",
    "catalogue",
    "change",
    "compare",
    "entry",
    "groups",
    "mistakes_in",
    "part",
    "reference",
    "run",
    "unchanged",
    "walk",
]
