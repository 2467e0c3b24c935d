#!/bin/sh
# tools/files-check.sh - does every source begin with a comment "path - what it is for", with its own path? In scripts
# words for the arguments may stand between the two. Exit status 1 where one does not. Nets, lessons, golden files and
# seeds are data; tables (.def) say what a row is instead; tests/gpu/run.sh begins with how it is called.
set -u
bad=$(mktemp)
trap 'rm -f "$bad"' EXIT

git ls-files | grep -E '\.(c|h|cu|cuh|cc|inc|py|sh)$' |
    grep -vE '^tests/(nets|golden|fuzz/seeds)/|^lessons/|^sample_nets/[^/]*\.py$|^tests/gpu/run\.sh$' |
    while IFS= read -r file; do
        [ -e "$file" ] || continue
        awk -v path="$file" '
            NR == 1 && (/^#!/ || /^\/\*$/) { next }
            {
                line = $0
                sub(/^(\/\* | \* |# |""")/, "", line)
                begins = line != $0 && index(line, path) == 1
                rest = substr(line, length(path) + 1)
                exit
            }
            END {
                if (!begins || rest !~ /^( [^-].*)? - ./)
                    print "files-check: " path ": the first comment is not `" path " - what it is for`"
            }' "$file"
    done >"$bad"
cat "$bad" >&2
[ ! -s "$bad" ]
