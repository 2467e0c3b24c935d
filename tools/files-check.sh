#!/bin/sh
# tools/files-check.sh - checks the form of sources. Exit status 1 if something is wrong.
#
# - A source begins with a comment "path - what it is for", with its own path. In scripts words for the arguments may
#   stand between the two. Tables (.def) say what a row is instead.
#   Its entries (For, Must not know, Invariant) begin a line.
# - A line has at most 120 characters, a file at most 600 lines. The rows of tables may be longer.
#
# Nets, lessons, golden files and seeds are data; tests/gpu/run.sh begins with how it is called, and a table.
set -u
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

git ls-files | grep -E '\.(c|h|cu|cuh|cc|inc|def|py|sh)$|^Makefile$' |
    grep -vE '^tests/(nets|golden|fuzz/seeds)/|^lessons/|^sample_nets/[^/]*\.py$|^tests/gpu/run\.sh$' >"$tmp/listed"
while IFS= read -r file; do
    [ ! -e "$file" ] || echo "$file"
done <"$tmp/listed" >"$tmp/files"

# One byte a character: the bytes that continue one are left out.
LC_ALL=C xargs awk '
    FNR == 1 {
        is_table = FILENAME ~ /\.def$/
        begins = is_table || FILENAME == "Makefile"
    }
    FNR <= 2 && !begins {
        line = $0
        sub(/^(\/\* | \* |# |""")/, "", line)
        rest = substr(line, length(FILENAME) + 1)
        begins = line != $0 && index(line, FILENAME) == 1 && rest ~ /^( [^-].*)? - ./
        if (FNR == 2 && !begins)
            print FILENAME ": the first comment is not `" FILENAME " - what it is for`"
    }
    /^ \* .*[^ *].* (Must not know|Invariant):/ {
        print FILENAME ":" FNR ": `Must not know` and `Invariant` begin a line"
    }
    length($0) > 120 && (!is_table || /^(\/\*| \*)/) {
        line = $0
        gsub(/[\200-\277]/, "", line)
        if (length(line) > 120)
            print FILENAME ":" FNR ": " length(line) " characters"
    }
    FNR == 601 && !is_table && FILENAME != "Makefile" { print FILENAME ": more than 600 lines" }' <"$tmp/files" |
    sed 's/^/files-check: /' >"$tmp/bad"
cat "$tmp/bad" >&2
[ ! -s "$tmp/bad" ]
