#!/bin/sh
# tools/layer-check.sh - compares every #include of the program with the folders in docs/internals/architecture.md.
# Fails, naming the line, where a folder includes what its row does not list, where a folder with sources has no row,
# where the rows have a cycle, and where a folder has more than 40 source files. PAGE=FILE reads another page.
set -u
page=${PAGE:-docs/internals/architecture.md}
folders="base engine lang recording standin store tracer import export replay whatif tui cli tools"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# "own FOLDER" and "may FOLDER TOKEN" a line, from the bullets of the page.
awk '
    function flush(   i, n, parts, f, tokens) {
        if (!names) return
        n = split(names, f, " ")
        for (i = 1; i <= n; i++) {
            print "own", f[i]
            text = may
            while (match(text, /`[^`]*`/)) {
                print "may", f[i], substr(text, RSTART + 1, RLENGTH - 2)
                text = substr(text, RSTART + RLENGTH)
            }
        }
        names = may = ""
    }
    function folders_of(line,   out) {
        while (match(line, /`[a-z_0-9\/]*\/`/)) {
            out = out substr(line, RSTART + 1, RLENGTH - 3) " "
            line = substr(line, RSTART + RLENGTH)
        }
        return out
    }
    /^- `[a-z]/ { flush(); part = "names"; names = folders_of($0); next }
    /^  - is:/ { part = "is"; next }
    /^  - may include:/ { part = "may"; may = $0; next }
    /^  / && names { if (part == "names") names = names folders_of($0); if (part == "may") may = may $0; next }
    { flush(); part = "" }
    END { flush() }' "$page" >"$tmp/rows"
[ -s "$tmp/rows" ] || { echo "layer-check: $page has no list of folders" >&2; exit 2; }

git ls-files -- $folders 2>/dev/null | grep -E '\.(c|h|cu|cuh|inc|def)$' >"$tmp/files"
[ -s "$tmp/files" ] || find $folders -type f | grep -E '\.(c|h|cu|cuh|inc|def)$' >"$tmp/files"
xargs grep -nE '^[[:space:]]*#[[:space:]]*include' <"$tmp/files" >"$tmp/includes"

awk -v rows="$tmp/rows" -v edges="$tmp/edges" '
    function folder_of(path) { sub(/\/[^\/]*$/, "", path); return path }
    function bad(text) { print "layer-check: " text >"/dev/stderr"; status = 1 }
    function foreign(header) {
        if (header ~ /^sqlite3(ext)?\.h/) return "<sqlite3>"
        if (header ~ /^zlib\.h/) return "<zlib>"
        if (header ~ /^lz4/) return "<lz4>"
        if (header ~ /^zstd/) return "<zstd>"
        if (header ~ /^libdeflate/) return "<libdeflate>"
        if (header ~ /^(n?curses|term)[a-z_]*\.h/) return "<curses>"
        if (header ~ /^pthread\.h/) return "<pthread>"
        if (header ~ /^stdatomic\.h/) return "<stdatomic>"
        if (header ~ /^cblas\.h/) return "<cblas>"
        if (header == "mpi.h") return "<mpi>"
        if (header ~ /^(cuda|cublas|cudnn|curand|cupti|nv)[a-zA-Z_]*\.h/) return "<cuda>"
        if (header ~ /^(cmocka|setjmp)\.h/) return "<cmocka>"
        return ""
    }
    BEGIN {
        while ((getline line <rows) > 0) {
            n = split(line, w, " ")
            if (w[1] == "own") own[w[2]] = 1
            else may[w[2], ++count[w[2]]] = w[3]
        }
        for (f in own)
            for (i = 1; i <= count[f]; i++) {
                token = may[f, i]
                for (g in own) {
                    if (g == f) continue
                    if (token ~ /\/\*\*$/) hit = index(g "/", substr(token, 1, length(token) - 2)) == 1
                    else if (token ~ /\/$/) hit = g "/" == token
                    else hit = token ~ /\.h$/ && folder_of(token) == g
                    if (hit) print f, g >edges
                }
            }
    }
    {
        colon = index($0, ":"); file = substr($0, 1, colon - 1)
        f = folder_of(file)
        if (!(f in own)) { if (!(f in missing)) bad(f "/ has no row"); missing[f] = 1; next }
        ok = 0
        if (match($0, /"[^"]*"/)) {
            target = substr($0, RSTART + 1, RLENGTH - 2)
            if (target !~ /\//) next # generated text has no folder
            g = folder_of(target)
            ok = g == f
            for (i = 1; i <= count[f] && !ok; i++) {
                token = may[f, i]
                ok = token == target || token == g "/" ||
                     (token ~ /\/\*\*$/ && index(g "/", substr(token, 1, length(token) - 2)) == 1)
            }
        } else if (match($0, /<[^>]*>/)) {
            token = foreign(substr($0, RSTART + 1, RLENGTH - 2))
            ok = token == ""
            for (i = 1; i <= count[f] && !ok; i++) ok = may[f, i] == token
        } else
            ok = 1
        if (!ok) bad("not in the row of " f "/: " $0)
    }
    END { exit status }' "$tmp/includes"
status=$?

if ! tsort "$tmp/edges" >/dev/null 2>"$tmp/loops"; then
    echo "layer-check: folders that may include each other:" >&2
    cat "$tmp/loops" >&2
    status=1
fi

git ls-files 2>/dev/null | grep -E '\.(c|h|cu|cuh|cc|inc|def|py|sh)$' |
    grep -vE '^tests/(nets|golden|fuzz/seeds)/|^sample_nets/' | sed 's,/[^/]*$,,' | sort | uniq -c |
    awk '
        $1 > 40 { print "layer-check: " $2 "/ has " $1 " source files, more than 40" >"/dev/stderr"; bad = 1 }
        END { exit bad }' ||
    status=1
exit $status
