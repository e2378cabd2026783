#!/bin/sh
# What the Makefile asks of the machine, run from the project's root:
#   tools/setup.sh venv      a virtual environment in .venv
#   tools/setup.sh browser   a Chromium and Chinese fonts, for the browser tests
#   tools/setup.sh server    a PostgreSQL, which tests of the store start for themselves
# Whatever is missing is installed where that is possible; else a message says what to do.
set -eu

say() { echo "headwise: $*" >&2; }

is_new_enough() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; }

# apt_install PACKAGE…: fails where there is no apt-get or we may not use it.
apt_install() {
    command -v apt-get >/dev/null || return 1
    as_root=
    if [ "$(id -u)" != 0 ]; then
        command -v sudo >/dev/null || return 1
        as_root=sudo
    fi
    $as_root apt-get update -q && $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "$@"
}

venv() {
    if [ -x .venv/bin/python ] && is_new_enough .venv/bin/python && .venv/bin/python -m pip --version >/dev/null 2>&1; then
        return  # made before, perhaps by hand
    fi
    for python in ${PYTHON:-} python3 python3.14 python3.13 python3.12 python3.11 none; do
        is_new_enough "$python" && break
    done
    if [ "$python" = none ]; then
        say "Python 3.11 or newer is needed; python3 is $(python3 --version 2>/dev/null || echo missing)."
        say "Debian/Ubuntu: apt install python3 python3-venv    macOS: brew install python"
        say "If it is installed under another name: make PYTHON=/path/to/python …"
        exit 1
    fi
    if ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then  # Debian has them in a package of their own
        package="python$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')-venv"
        if ! apt_install "$package"; then
            say "$python cannot make virtual environments. Install $package (as root: apt install $package), then try again."
            exit 1
        fi
    fi
    "$python" -m venv --clear .venv
}

has_browser() { .venv/bin/python -m tools.browser >/dev/null; }

browser() {
    wanted=
    if [ "$(uname)" = Linux ] && ! fc-list :lang=zh 2>/dev/null | grep -q .; then
        wanted="fontconfig fonts-noto-cjk"
    fi
    if ! .venv/bin/python -m playwright --version >/dev/null 2>&1; then
        wanted="$wanted libatomic1"  # which the Node.js inside playwright is linked with, and a small system may lack
    fi
    # Ubuntu's own chromium is a snap, which cannot be driven from outside and does not start in a container.
    if ! has_browser && grep -qs '^ID=debian' /etc/os-release; then
        wanted="$wanted chromium"
    fi
    if [ -n "$wanted" ] && ! apt_install $wanted; then
        say "could not install $wanted. As root: apt install $wanted"
    fi
    if ! has_browser; then
        .venv/bin/python -m playwright install --with-deps chromium || .venv/bin/python -m playwright install chromium || true
    fi
    if ! has_browser; then
        say "no Chromium to be had: install Chromium or Google Chrome, else the browser tests are left out."
        return 1
    fi
}

has_server() {
    command -v initdb >/dev/null && return
    for initdb in /usr/lib/postgresql/*/bin/initdb /opt/homebrew/opt/postgresql*/bin/initdb /usr/local/opt/postgresql*/bin/initdb; do
        [ -x "$initdb" ] && return
    done
    return 1
}

server() {
    if ! has_server && ! apt_install postgresql; then
        say "could not install postgresql. As root: apt install postgresql    macOS: brew install postgresql"
    fi
    if ! has_server; then
        say "no PostgreSQL to be had: the tests that start one are left out."
        return 1
    fi
}

case "${1:-}" in
    venv | browser | server) "$1" ;;
    *) sed -n '2,6p' "$0" >&2; exit 2 ;;
esac
