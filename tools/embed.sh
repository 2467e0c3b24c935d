#!/bin/sh
# tools/embed.sh FILE… - prints the files as C: one array of bytes each, then the table `embedded` of name, bytes
# and length.
for path in "$@"; do
    printf 'static const char text_%s[] = {\n' "$(basename "$path" | tr . _)"
    od -An -v -t u1 "$path" | sed 's/  */,/g; s/^,//; s/$/,/'
    printf '0};\n'
done
printf 'static const struct embedded_file embedded[] = {\n'
for path in "$@"; do
    name=$(basename "$path")
    id=$(printf %s "$name" | tr . _)
    printf '{"%s", text_%s, sizeof(text_%s) - 1},\n' "$name" "$id" "$id"
done
printf '};\n'
