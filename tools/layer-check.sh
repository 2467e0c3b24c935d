#!/bin/sh
# Holds every #include of the project against the table of allowed ones in docs/internals/conventions.md.
set -u
bad=0

complain() {
    echo "layer-check: $1" >&2
    bad=1
}

# own FOLDER ALLOWED…: what files of FOLDER may include of the project: "x/" is a folder, "file=x/" a folder for that file alone,
# anything else one header.
own() {
    folder=$1
    shift
    [ -d "$folder" ] || return 0
    grep -rnE '^[[:space:]]*#[[:space:]]*include[[:space:]]*"' --include='*.[ch]' "$folder" | while IFS= read -r line; do
        file=${line%%:*}
        target=$(printf '%s' "$line" | sed 's/.*"\(.*\)".*/\1/')
        # the tables lie beside the files that include them; generated text has no folder
        case $target in *.inc) continue ;; esac
        for allowed in "$folder/" "$@"; do
            case $allowed in
            *=*) [ "$file" = "${allowed%%=*}" ] && case $target in "${allowed#*=}"*) continue 2 ;; esac ;;
            */) case $target in "$allowed"*) continue 2 ;; esac ;;
            *) [ "$target" = "$allowed" ] && continue 2 ;;
            esac
        done
        echo "$line"
    done >"$found"
    while IFS= read -r line; do
        complain "$folder may not include this: $line"
    done <"$found"
}

# foreign HEADER-PATTERN FILE-PATTERN…: only these files may include a foreign header.
foreign() {
    header=$1
    shift
    grep -rnE "^[[:space:]]*#[[:space:]]*include[[:space:]]*<$header>" --include='*.[ch]' \
        base engine lang recording store tracer import replay whatif export tui cli 2>/dev/null | while IFS= read -r line; do
        file=${line%%:*}
        for allowed in "$@"; do
            # shellcheck disable=SC2254
            case $file in $allowed) continue 2 ;; esac
        done
        echo "$line"
    done >"$found"
    while IFS= read -r line; do
        complain "only $* may include <$header>: $line"
    done <"$found"
}

found=$(mktemp)
trap 'rm -f "$found"' EXIT

own base
own engine base/
own lang base/ engine/
own lang/syntax base/
own lang/value base/ engine/ lang/syntax/
own lang/interp base/ engine/ lang/syntax/ lang/value/
own lang/builtins base/ engine/ lang/syntax/ lang/value/ lang/interp/
own lang/torch base/ engine/ lang/syntax/ lang/value/ lang/interp/ lang/builtins/
own lang/prelude base/
own lang/run base/ engine/ lang/
own recording base/
own store base/
own tracer base/ engine/core/observer.h store/writer.h store/work.h
own import base/ engine/ store/writer.h tracer/intern.h
own replay base/ store/reader.h store/work.h store/derived.h store/marks.h
own whatif base/ replay/ lang/ engine/ store/
own export base/ replay/ engine/alloc/alloc.h engine/alloc/conf.h
own tui base/ replay/ whatif/ export/export.h
own cli base/ engine/ lang/ recording/ store/ tracer/ import/ replay/ whatif/ export/ tui/
own tools base/ engine/ store/
foreign 'sqlite3\.h' 'store/*'
foreign 'zlib\.h' recording/file_bytes.c export/gzip.c
foreign 'lz4\.h' replay/trace/events_pack.c
foreign 'libdeflate\.h' recording/file_bytes.c
foreign 'n?curses[a-z_]*\.h' tui/term/surface_curses.c tui/term/term.c
foreign 'term[a-z_]*\.h' tui/term/term.c
foreign 'pthread\.h' 'tracer/*' 'engine/device/cpu/*'
foreign 'stdatomic\.h' 'tracer/ring*' 'tracer/gate*' 'engine/device/cpu/*'
foreign 'cblas\.h' 'engine/device/cpu/*'
foreign '(cuda|cublas|cudnn|curand|cupti|nv)[a-zA-Z_]*\.h' 'engine/device/cuda/*' 'tracer/cupti/*' 'tracer/inject/*'
foreign '(cmocka|setjmp)\.h' 'tests/*'
exit $bad
