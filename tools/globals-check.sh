#!/bin/sh
# tools/globals-check.sh OUT OBJECT… - compares the writable globals and function statics of these objects, in the
# folder OUT of a build, with the list "Writable globals" of docs/internals/conventions.md. Fails, naming it, where one
# is not in the list, and where the list has one that its object has not. Objects that were not built are left out.
# PAGE=FILE reads another page.
set -u
page=${PAGE:-docs/internals/conventions.md}
out=$1
shift
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# "SOURCE SYMBOL" a line, the source without its extension, from rows "- `symbol`, `symbol` in `path.c`: the reason".
awk '
    /^\*\*/ { inside = /^\*\*Writable globals/ }
    inside && /^- `/ {
        at = index($0, "` in `")
        path = substr($0, at + 6)
        sub(/\.[a-z]*`.*/, "", path)
        names = substr($0, 3, at - 2)
        gsub(/[`,]/, "", names)
        n = split(names, name, " ")
        for (i = 1; i <= n; i++)
            print path, name[i]
    }' "$page" | sort >"$tmp/listed"
[ -s "$tmp/listed" ] || { echo "globals-check: $page has no list of writable globals" >&2; exit 2; }

for object in "$@"; do
    [ ! -e "$object" ] || echo "$object"
done >"$tmp/objects"

# Tables of pointers are constant, though position-independent code keeps them in .data.rel.ro. The last three patterns
# are what compilers add to C++ and CUDA.
source_of='s,^'"$out"'/,,; s,^(pic|cuda|twin|sqlite)/,,; s,\.o\b,,'
xargs nm -A -f sysv <"$tmp/objects" | awk -F'|' '
    { section = $7; gsub(/[ \t]/, "", section)
      colon = index($1, ":"); object = substr($1, 1, colon - 1); name = substr($1, colon + 1); gsub(/[ \t]/, "", name) }
    section ~ /^\.(data|bss|tdata|tbss)/ && section !~ /^\.data\.rel\.ro/ || section == "*COM*" {
      sub(/\.[0-9]+$/, "", name)
      if (name !~ /^DW\.ref\.|__device_stub__|__cudaFatCubinHandle/)
          print object, name }' | sed -E "$source_of" | sort -u >"$tmp/found"
sed -E "$source_of" "$tmp/objects" | sort -u >"$tmp/sources"

join "$tmp/sources" "$tmp/listed" | sort -u >"$tmp/expected" # of the objects that were built
comm -23 "$tmp/found" "$tmp/listed" | sed 's/^/globals-check: a writable global that is not in the list: /' >"$tmp/bad"
comm -13 "$tmp/found" "$tmp/expected" | sed 's/^/globals-check: in the list, but not in the object: /' >>"$tmp/bad"
cat "$tmp/bad" >&2
[ ! -s "$tmp/bad" ]
