/* cli/printable.c - see printable.h. */
#include "cli/printable.h"

#include <stdbool.h>

/* Bytes of the control character at `text`; 0: there is none. A lone byte from 0x80 to 0x9F is one, too. */
static size_t control_len(const unsigned char *text, size_t len, bool follows_lead)
{
    if ((*text < 0x20 && *text != '\n' && *text != '\t') || *text == 0x7F)
        return 1;
    if (*text == 0xC2 && len > 1 && text[1] >= 0x80 && text[1] < 0xA0)
        return 2;
    return *text >= 0x80 && *text < 0xA0 && !follows_lead ? 1 : 0;
}

void cli_printable(const char *text, size_t len, struct vs_text *out)
{
    bool follows_lead = false; /* the byte is inside a character of UTF-8 */
    size_t from = 0;
    size_t i = 0;

    while (i < len) {
        const unsigned char byte = (unsigned char)text[i];
        const size_t n = control_len((const unsigned char *)text + i, len - i, follows_lead);

        follows_lead = byte >= 0xC3 || byte == 0xC2 || (follows_lead && byte >= 0x80);
        if (!n) {
            i++;
            continue;
        }
        vs_text_add_n(out, text + from, i - from);
        vs_text_add_n(out, "??", n);
        i += n;
        from = i;
        follows_lead = false;
    }
    vs_text_add_n(out, text + from, len - from);
}
