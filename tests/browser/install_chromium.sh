#!/bin/sh
# Debian's Chromium, if there is no browser yet and we may install one; the tests say loudly if not.
[ -n "$CHROMIUM" ] && exit 0
for name in chromium chromium-browser google-chrome google-chrome-stable chrome; do
    command -v "$name" >/dev/null 2>&1 && exit 0
done
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    echo "make: installing Debian's chromium (once)"
    { apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium; } \
        >/tmp/deepnoise-chromium.log 2>&1 \
        || echo "make: that failed; see /tmp/deepnoise-chromium.log" >&2
fi
exit 0
