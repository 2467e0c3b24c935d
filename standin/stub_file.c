/*
 * standin/stub_file.c - see stub_internal.h.
 *
 * Three segments, each from a page of its own: tables that are only read; code; the dynamic section and the table of
 * targets, which are written. Section headers follow for linkers and debuggers, which read them and not the segments.
 */
#include "standin/stub_internal.h"

#include <elf.h>
#include <stdbool.h>
#include <string.h>

static const char SECTION_NAMES[] = "\0.dynsym\0.dynstr\0.gnu.hash\0.gnu.version\0.gnu.version_d\0."
                                    "text\0.dynamic\0.data\0.shstrtab";

static Elf64_Phdr segment(uint32_t type, uint32_t flags, uint64_t from, uint64_t to)
{
    return (Elf64_Phdr){
        .p_type = type,
        .p_flags = flags,
        .p_offset = from,
        .p_vaddr = from,
        .p_paddr = from,
        .p_filesz = to - from,
        .p_memsz = to - from,
        .p_align = type == PT_LOAD ? STI_PAGE : 16,
    };
}

/* The names of the sections are a section, too, behind the others; the headers of the sections end the file. */
static uint64_t names_at(const struct sti_builder *m)
{
    return sti_round_up(sti_end_of(m, TABLE), 16);
}

static uint64_t headers_at(const struct sti_builder *m)
{
    return sti_round_up(names_at(m) + sizeof(SECTION_NAMES), 16);
}

static void headers_write(const struct sti_builder *m, struct vs_text *out)
{
    const Elf64_Ehdr header = {
        .e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
        .e_type = ET_DYN,
        .e_machine = EM_X86_64,
        .e_version = EV_CURRENT,
        .e_phoff = sizeof(Elf64_Ehdr),
        .e_shoff = headers_at(m),
        .e_ehsize = sizeof(Elf64_Ehdr),
        .e_phentsize = sizeof(Elf64_Phdr),
        .e_phnum = STI_SEGMENT_COUNT,
        .e_shentsize = sizeof(Elf64_Shdr),
        .e_shnum = SECTION_COUNT + 1,
        .e_shstrndx = SECTION_COUNT,
    };
    const Elf64_Phdr segments[STI_SEGMENT_COUNT] = {
        segment(PT_LOAD, PF_R, 0, sti_end_of(m, DEFINITIONS)),
        segment(PT_LOAD, PF_R | PF_X, m->at[CODE], sti_end_of(m, CODE)),
        segment(PT_LOAD, PF_R | PF_W, m->at[DYNAMIC], sti_end_of(m, TABLE)),
        segment(PT_DYNAMIC, PF_R | PF_W, m->at[DYNAMIC], sti_end_of(m, DYNAMIC)),
        segment(PT_GNU_STACK, PF_R | PF_W, 0, 0),
    };

    vs_text_add_n(out, (const char *)&header, sizeof(header));
    vs_text_add_n(out, (const char *)segments, sizeof(segments));
}

static void section_headers_write(const struct sti_builder *m, struct vs_text *out)
{
    static const struct {
        uint32_t type, link, info, entry;
        uint64_t flags;
    } KINDS[SECTION_COUNT + 1] = {
        [SYMBOLS] = {SHT_DYNSYM, STRINGS, 1, sizeof(Elf64_Sym), SHF_ALLOC},
        [STRINGS] = {SHT_STRTAB, 0, 0, 0, SHF_ALLOC},
        [HASHES] = {SHT_GNU_HASH, SYMBOLS, 0, 0, SHF_ALLOC},
        [VERSIONS] = {SHT_GNU_versym, SYMBOLS, 0, 2, SHF_ALLOC},
        [DEFINITIONS] = {SHT_GNU_verdef, STRINGS, 0, 0, SHF_ALLOC},
        [CODE] = {SHT_PROGBITS, 0, 0, 0, SHF_ALLOC | SHF_EXECINSTR},
        [DYNAMIC] = {SHT_DYNAMIC, STRINGS, 0, sizeof(Elf64_Dyn), SHF_ALLOC | SHF_WRITE},
        [TABLE] = {SHT_PROGBITS, 0, 0, 0, SHF_ALLOC | SHF_WRITE},
        [SECTION_COUNT] = {SHT_STRTAB, 0, 0, 0, 0},
    };
    const char *name = SECTION_NAMES;

    for (int i = 0; i <= SECTION_COUNT; i++, name += strlen(name) + 1) {
        /* empty version tables are left out: the linker refuses them */
        const bool is_absent = (i == VERSIONS || i == DEFINITIONS) && !m->version_count;
        Elf64_Shdr header = {
            .sh_name = (uint32_t)(name - SECTION_NAMES),
            .sh_type = is_absent ? SHT_NULL : KINDS[i].type,
            .sh_flags = is_absent ? 0 : KINDS[i].flags,
            .sh_link = KINDS[i].link,
            .sh_info = i == DEFINITIONS && m->version_count ? (uint32_t)m->version_count + 1
                                                            : KINDS[i].info,
            .sh_entsize = KINDS[i].entry,
        };

        if (i != NONE && !is_absent) {
            header.sh_offset = i == SECTION_COUNT ? names_at(m) : m->at[i];
            header.sh_size = i == SECTION_COUNT ? sizeof(SECTION_NAMES) : m->parts[i].len;
            header.sh_addr = header.sh_flags & SHF_ALLOC ? m->at[i] : 0;
            header.sh_addralign = 16;
        }
        vs_text_add_n(out, (const char *)&header, sizeof(header));
    }
}

static void pad_to(struct vs_text *out, uint64_t at)
{
    vs_text_add_fill(out, '\0', (int)(at - out->len));
}

void sti_stub_file_write(const struct sti_builder *m, struct vs_text *out)
{
    headers_write(m, out);
    for (int i = SYMBOLS; i < SECTION_COUNT; i++) {
        pad_to(out, m->at[i]);
        vs_text_add_n(out, vs_text_get(&m->parts[i]), m->parts[i].len);
    }
    pad_to(out, names_at(m));
    vs_text_add_n(out, SECTION_NAMES, sizeof(SECTION_NAMES));
    pad_to(out, headers_at(m));
    section_headers_write(m, out);
}
