#!/bin/sh
# tools/bench-table.sh - puts figures that benchmarks measured into the tables of a page.
#
#   sh tools/bench-table.sh PAGE ROWS
#
# A line of ROWS is a row of the page: benchmark, first cell, then the cells from the column `now` on, with tabs
# between; an empty one stays as it is in the page. The row of the page has this first cell, and begins its last one
# with `benchmark…`, in backquotes. The line `machine`, a tab, a text replaces the line of the page that begins with
# "Machine: ". All else in the page stays, byte for byte. Exit status 1, and the page stays, where a line of ROWS is
# not in the page, or is there twice.
set -eu
page=$1
rows=$2
new=$(mktemp)
trap 'rm -f "$new"' EXIT

awk -v page="$page" '
    function cell(i) { sub(/^ +/, "", part[i]); sub(/ +$/, "", part[i]); return part[i] }
    file == 1 && !/\t/ { next }
    file == 1 {
        fields = split($0, field, "\t")
        key = field[1] == "machine" ? "machine" : field[1] "\t" field[2]
        wanted[key] = $0
        used[key] = 0
        next
    }
    /^Machine: / && "machine" in wanted {
        used["machine"]++
        print "Machine: " substr(wanted["machine"], length("machine\t") + 1)
        next
    }
    !/^\|/ { now = 0; print; next }
    {
        cells = split($0, part, "|")
        for (i = 2; i < cells; i++)
            if (cell(i) == "now")
                now = i
        key = ""
        if (now && match(cell(cells - 1), /^`bench_[a-z]+/))
            key = substr(part[cells - 1], 2, RLENGTH - 1) "\t" cell(2)
        if (!(key in wanted)) { print; next }
        used[key]++
        fields = split(wanted[key], field, "\t")
        split($0, part, "|")
        for (i = 3; i <= fields && now + i - 3 < cells - 1; i++)
            if (field[i] != "")
                part[now + i - 3] = " " field[i] " "
        line = part[1]
        for (i = 2; i <= cells; i++)
            line = line "|" part[i]
        print line
    }
    END {
        for (key in used)
            if (used[key] != 1) {
                name = key
                sub(/\t/, ": ", name)
                print "bench-table: " page " has " (used[key] ? "two rows" : "no row") " for " name >"/dev/stderr"
                bad = 1
            }
        exit bad
    }' file=1 "$rows" file=2 "$page" >"$new"
cmp -s "$new" "$page" || cat "$new" >"$page"
