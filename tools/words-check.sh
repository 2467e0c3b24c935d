#!/bin/sh
# tools/words-check.sh - counts uses of the words that docs/glossary.md lists under "Words that are not used". Exit
# status 1 if there is one, 2 if the page has no such table.
#
# The table of exceptions of that page lists what may stay. V=1 prints each place; PAGE=FILE reads another page.
set -eu
page=${PAGE:-docs/glossary.md}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# rows HEADING: the cells of the table below "## HEADING" between tabs, without the quotes around a pattern.
rows() {
    awk -v heading="## $1" '
        /^## / { inside = $0 == heading; next }
        inside && /^\| *[^-|]/ {
            if (++row == 1) next # the head of the table
            gsub(/\\\|/, "\001"); gsub(/ *\| */, "\t"); gsub(/`/, ""); gsub(/\001/, "|")
            sub(/^\t/, ""); sub(/\t$/, ""); print
        }' "$page"
}

# Splits files into what is code, string and text. A line of the results: FILE:LINE: and the part.
split() {
    awk -v names="$tmp/names" -v strings="$tmp/strings" -v text="$tmp/text" '
        function put(where, part) { if (part ~ /[A-Za-z]/) print FILENAME ":" FNR ": " part >where }
        FNR == 1 {
            in_comment = 0
            is_c = FILENAME ~ /\.(c|h|cc|cu|cuh|def|inc)$/
            is_page = FILENAME ~ /\.(md|1|txt)$/
            is_shown = FILENAME !~ /^(tests|bench|tools)\//
            print FILENAME ": " FILENAME >names
        }
        is_page { put(text, $0); next }
        !is_c { # Python, shell, make
            at = match($0, /(^|[ \t])#/)
            put(names, at ? substr($0, 1, at - 1) : $0)
            if (at) put(text, substr($0, at))
            next
        }
        /^[ \t]*#[ \t]*include/ { next }
        {
            rest = $0
            while (rest != "") {
                if (in_comment) {
                    end = index(rest, "*/")
                    put(text, end ? substr(rest, 1, end - 1) : rest)
                    if (!end) break
                    rest = substr(rest, end + 2)
                    in_comment = 0
                    continue
                }
                if (!match(rest, /\/\*|\/\/|"|\047/)) { put(names, rest); break }
                put(names, substr(rest, 1, RSTART - 1))
                mark = substr(rest, RSTART, RLENGTH)
                rest = substr(rest, RSTART)
                if (mark == "/*") { in_comment = 1; rest = substr(rest, 3); continue }
                if (mark == "//") { put(text, substr(rest, 3)); break }
                if (mark == "\"" ? !match(rest, /^"([^"\\]|\\.)*"/) : !match(rest, /^\047([^\047\\]|\\.)*\047/))
                    break
                if (mark == "\"" && is_shown) put(strings, substr(rest, 2, RLENGTH - 2))
                rest = substr(rest, RLENGTH + 1)
            }
        }' "$@"
}

for stream in names strings text; do : >"$tmp/$stream"; done
find . -name .git -prune -o -path './build*' -prune -o -path ./tests/golden -prune -o -path ./tests/nets -prune -o \
    -type f -print | sed 's|^\./||' | grep -E '\.(c|h|cc|cu|cuh|def|py|sh|md)$|^Makefile$|^\.ci/|^completions/' |
    grep -vE '^docs/glossary\.md$|^sample_nets/[^/]*\.py$' | sort >"$tmp/files"
split $(cat "$tmp/files")

rows Exceptions >"$tmp/exceptions"
rows 'Words that are not used' >"$tmp/words"
[ -s "$tmp/words" ] || { echo "words-check: $page has no table of words" >&2; exit 2; }
tab=$(printf '\t')
total=0
while IFS="$tab" read -r word instead pattern where; do
    : >"$tmp/found"
    for stream in $(printf %s "$where" | tr ',' ' '); do
        grep -iE ": (.*[^A-Za-z])?($pattern)([^A-Za-z]|\$)" "$tmp/$stream" >>"$tmp/found" || true
    done
    while IFS="$tab" read -r allowed path _; do
        [ "$allowed" = "$pattern" ] || continue
        while IFS= read -r line; do
            # shellcheck disable=SC2254
            case ${line%%:*} in $path) ;; *) printf '%s\n' "$line" ;; esac
        done <"$tmp/found" >"$tmp/left"
        mv "$tmp/left" "$tmp/found"
    done <"$tmp/exceptions"
    count=$(wc -l <"$tmp/found")
    [ "$count" -gt 0 ] || continue
    total=$((total + count))
    printf '%6d  %s (%s): write %s\n' "$count" "$word" "$where" "$instead"
    [ -z "${V:-}" ] || sed 's/^/          /' "$tmp/found"
done <"$tmp/words"
[ "$total" = 0 ] && exit 0
echo "words-check: $total lines with words that are not used; V=1 prints each" >&2
exit 1
