#!/bin/sh
# tools/docs-check.sh - checks links, paths and the form of the pages. Exit status 1 if something is wrong.
#
# - A link names a file of the repository or a heading of a page (#words-of-it). Addresses with a scheme are not opened.
# - A line has at most 120 characters, except what a program prints (indented, or between ``` marks); README.md has at
#   most 150 lines.
# - A path that begins with docs/ or tools/, in any file, exists; so does, in the pages, a quoted path of a source or of
#   a test program. A path with NAME in it stands for several.
set -u
bad=0
tmp=$(mktemp)
trap 'rm -f "$tmp"' EXIT

complain() {
    echo "docs-check: $1" >&2
    bad=1
}

# The heading of a page as its anchor: small letters, "-" for blanks, nothing else but letters, digits, "_" and "-".
anchors() {
    awk '/^```/ { code = !code } !code && /^#+ / { sub(/^#+ /, ""); print tolower($0) }' "$1" |
        sed 's/[^a-z0-9 _-]//g; s/ /-/g'
}

for page in $(find README.md docs tests -name '*.md' | sort); do
    awk '/^```/ { code = !code } !code && !/^    /' "$page" | sed 's/`[^`]*`//g' |
        grep -oE '\]\([^)]+\)' | sed 's/^](//; s/)$//' | sort -u >"$tmp"
    while IFS= read -r link; do
        file=${link%%#*}
        anchor=${link#"$file"}
        case $link in *://*) continue ;; esac
        target=$page
        [ -z "$file" ] || target=$(dirname "$page")/$file
        if [ ! -e "$target" ]; then
            complain "$page: there is no $link"
        elif [ -n "$anchor" ] && ! anchors "$target" | grep -qxF "${anchor#\#}"; then
            complain "$page: $link: the page has no such heading"
        fi
    done <"$tmp"
    long=$(LC_ALL=C.UTF-8 awk -v page="$page" '
        /^```/ { code = !code }
        { plain = $0; gsub(/[\200-\277]/, "", plain) } # one byte a character
        !code && !/^    / && length(plain) > 120 { print page ":" NR ": " length(plain) " characters" }' "$page")
    [ -z "$long" ] || complain "lines of more than 120 characters:
$long"
done

lines=$(wc -l <README.md)
[ "$lines" -le 150 ] || complain "README.md has $lines lines, and 150 are enough"

# All files but those of a build, of the goldens and of git.
files() {
    find . -name .git -prune -o -path './build*' -prune -o -path ./tests/golden -prune -o -type f -print
}
files | xargs -d '\n' grep -hIoE '\b(docs|tools)/[A-Za-z0-9_/.-]*\.(md|sh|1)\b' | sort -u | while IFS= read -r path; do
    case $path in tools/torch2net* | tools/netwriter*) continue ;; esac # of sample_nets
    [ -e "$path" ] || echo "$path"
done >"$tmp"
while IFS= read -r path; do
    complain "$path is spoken of and not there: $(files | xargs -d '\n' grep -lIF "$path" | head -3 | tr '\n' ' ')"
done <"$tmp"

find README.md docs -name '*.md' | xargs grep -hoE '`(build/)?[a-z_]+/[A-Za-z0-9_/.-]+`' | tr -d '`' |
    sed 's|^build/||' | sort -u |
    while IFS= read -r path; do
        case $path in *NAME* | */test_*_ | tests/golden/*) continue ;; esac # golden/gpu comes with a GPU
        [ -d "${path%%/*}" ] || [ -e "tests/$path.c" ] || continue # no path of ours
        for there in "$path" "$path".* "tests/$path".* "sample_nets/$path"; do
            [ -e "$there" ] && continue 2
        done
        grep -qF "$path" Makefile || echo "$path" # made by the build
    done >"$tmp"
while IFS= read -r path; do
    complain "$path is spoken of and not there: $(grep -rlF "$path" README.md docs | head -3 | tr '\n' ' ')"
done <"$tmp"
exit $bad
