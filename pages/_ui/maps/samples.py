"""Sentences to start from, each of which shows something: a pronoun, a repetition, digits and signs, two languages."""

from core.errors import Lang

SAMPLES: dict[Lang, tuple[str, ...]] = {
    "en": (
        "The cat did not cross the road because it was too tired.",
        "When Mary and John went to the store, John gave a drink to",
        "red green blue yellow red green blue yellow red green blue",
        "def area(radius): return 3.14159 * radius ** 2",
    ),
    "zh": (
        "小猫没有过马路，因为它太累了。",
        "床前明月光，疑是地上霜。举头望明月，低头思故乡。",
        "注意力机制（attention）让每个词都能看到别的词 🙂",
    ),
}

# The layer and head of SmolLM2 that are open at first, with the first sample: one that finds what a pronoun stands for,
# one that looks at the token before.
OPEN_FIRST: dict[Lang, tuple[int, int]] = {"en": (13, 8), "zh": (11, 1)}
