"""tests/oracle/ident_ranges.py - write lang/syntax/ident.def: the characters beyond ASCII that an identifier may
hold."""
import sys
import unicodedata

# Characters that NFKC may merge with the one before: left out, so that no identifier needs normalising.
merging = set()
for c in range(0x80, 0x110000):
    parts = unicodedata.decomposition(chr(c)).split()
    if len(parts) == 2 and not parts[0].startswith("<"):
        merging.add(int(parts[1], 16))
merging.update(range(0x1161, 0x1176))  # Hangul vowels and final consonants
merging.update(range(0x11A8, 0x11C3))


def allowed(c, start):
    ch = chr(c)
    return (
        (ch if start else "a" + ch).isidentifier()
        and unicodedata.normalize("NFKC", ch) == ch
        and unicodedata.combining(ch) == 0
        and c not in merging
    )


rows = []
for c in range(0x80, 0x110000):
    if 0xD800 <= c < 0xE000 or not allowed(c, False):
        continue
    start = allowed(c, True)
    if rows and rows[-1][1] == c - 1 and rows[-1][2] == start:
        rows[-1][1] = c
    else:
        rows.append([c, c, start])
print(f"""/*
 * lang/syntax/ident.def - characters beyond ASCII in identifiers: first, last, may come first. Unicode
 * {unicodedata.unidata_version}, made by tests/oracle/ident_ranges.py. Left out: what Python would rewrite (NFKC) and
 * marks that combine with the letter before.
 */""")
for first, last, start in rows:
    print(f"LANG_IDENT(0x{first:04X}, 0x{last:04X}, {int(start)})")
print(len(rows), file=sys.stderr)
