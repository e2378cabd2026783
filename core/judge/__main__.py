"""python -m core.judge PROBLEM FILE [--json] [--lang en|zh]: judge the code in a file; --sandbox: what protects here.

Ends with 0 where it passed, 1 where it did not, 2 where it could not be judged.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from core.errors import Explained
from core.judge import judge
from core.judge.verdict import in_language


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m core.judge", description="judge an implementation of attention")
    parser.add_argument("problem", nargs="?", help="mha, gqa, kv_cache, …")
    parser.add_argument("file", nargs="?", type=Path)
    parser.add_argument("--json", action="store_true", help="the whole verdict as JSON")
    parser.add_argument("--lang", choices=("en", "zh"), default="en")
    parser.add_argument("--sandbox", action="store_true", help="say which layers of protection are in force")
    args = parser.parse_args(argv)
    if args.sandbox:
        from core.judge.sandbox import describe

        print(describe(args.lang))
        return 0
    if args.problem is None or args.file is None:
        parser.error("a problem and a file are needed")
    try:
        source = args.file.read_text(encoding="utf-8")
        verdict = in_language(judge(args.problem, source), args.lang)
    except Explained as error:
        print("\n".join(error.parts(args.lang)), file=sys.stderr)
        return 2
    except (OSError, UnicodeDecodeError) as error:
        print(f"{args.file}: {error}", file=sys.stderr)
        return 2
    print(json.dumps(verdict, ensure_ascii=False, indent=2) if args.json else "\n".join(_lines(verdict)))
    if verdict["error"] and verdict["error"]["kind"] == "judge-failed":
        return 2
    return 0 if verdict["passed"] else 1


def _lines(verdict: dict[str, Any]) -> list[str]:
    """The verdict for people."""
    lines = [f"{'✓' if check['passed'] else '✗'} {check['title']}" for check in verdict["checks"]]
    lines += [f"  {check['detail']}" for check in verdict["checks"] if check["detail"]]
    if verdict["error"]:
        at = f"{verdict['error']['line']}: " if verdict["error"]["line"] else ""
        lines.append(f"{at}{verdict['error']['message']}")
    lines += [f"{f['line']}: {f['pitfall']} ({f['confidence']})\n  {f['message']}" for f in verdict["findings"]]
    if verdict["divergence"]:
        lines.append(verdict["divergence"])
    return lines


if __name__ == "__main__":
    sys.exit(main())
