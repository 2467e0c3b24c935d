#!/bin/sh
# tools/globals-check.sh FILE… - every writable global and function static in these objects and archives must be on the
# list. The list is the one of docs/internals/conventions.md: object file, symbol.
set -u
allowed='
error.o die_hook
log.o log_state
cmd_record.o interrupted
cpu_blas.o blas
cpu_level.o once
cpu_level.o settled
cpu_mem.o cache
cpu_thread.o pool
cupti_attach.o the
term.o term
frames.o frames
lock.o locks
python.o python
ranges.o ranges
session.o session
'
bad=0
found=$(mktemp)
trap 'rm -f "$found"' EXIT

# Tables of pointers are constant, though position-independent code keeps them in .data.rel.ro.
nm -A -f sysv "$@" 2>/dev/null | awk -F'|' '
    { section = $7; gsub(/[ \t]/, "", section); name = $1; sub(/^.*:/, "", name); gsub(/[ \t]/, "", name)
      object = $1; sub(/:[^:]*$/, "", object); sub(/.*[:\/]/, "", object) }
    section ~ /^\.(data|bss|tdata|tbss)/ && section !~ /^\.data\.rel\.ro/ || section == "*COM*" {
      sub(/\.[0-9]+$/, "", name); print object, name }' | sort -u >"$found"
while IFS= read -r line; do
    if ! printf '%s' "$allowed" | grep -qxF "$line"; then
        echo "globals-check: a writable global: $line" >&2
        bad=1
    fi
done <"$found"
exit $bad
