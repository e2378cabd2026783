"""python -m core.lm fetch [MODEL …]: put the models' files into the cache, so that no page has to wait for them."""

import argparse
import sys

from core.errors import LANGS, Unavailable
from core.lm import MODELS, Stage, ensure

_STAGES: dict[str, dict[Stage, str]] = {
    "en": {
        "wait": "waiting for another process",
        "download": "downloading",
        "unpack": "unpacking",
        "convert": "converting",
    },
    "zh": {"wait": "等待另一个进程", "download": "下载", "unpack": "解包", "convert": "转换"},
}


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m core.lm", description=__doc__)
    commands = parser.add_subparsers(required=True)
    fetch = commands.add_parser("fetch", help="fetch models that are missing or damaged")
    fetch.add_argument("models", nargs="*", metavar="MODEL", help=f"of {', '.join(MODELS)}; all if none is named")
    fetch.add_argument("--lang", choices=LANGS, default="en")
    arguments = parser.parse_args(argv)
    unknown = [model for model in arguments.models if model not in MODELS]
    if unknown:
        parser.error(f"no model {', '.join(unknown)}; there are {', '.join(MODELS)}")
    try:
        for model_id in arguments.models or MODELS:
            folder = ensure(model_id, _Printer(model_id, arguments.lang))
            print(f"{model_id}: {folder}")
    except Unavailable as error:
        print("\n".join(error.parts(arguments.lang)), file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


class _Printer:
    """One line a tenth of the way, which suits a terminal and a log alike."""

    def __init__(self, model_id: str, lang: str) -> None:
        self.model_id, self.words = model_id, _STAGES[lang]
        self.printed: tuple[Stage, int] | None = None

    def __call__(self, stage: Stage, fraction: float) -> None:
        now = (stage, int(fraction * 10))
        if now != self.printed:
            self.printed = now
            print(f"{self.model_id}: {self.words[stage]} … {fraction:.0%}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
