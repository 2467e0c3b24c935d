/*
 * standin/elf.c - see elf.h.
 *
 * Tables are found as the dynamic linker finds them, through the program headers and the dynamic section; only the
 * length of the symbol table, which the dynamic section does not have, comes from the section headers, or from the hash
 * table where there are none.
 */
#include "standin/elf.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"

#define SEGMENTS_MAX 256u
#define DYNAMIC_MAX 4096u
#define SECTIONS_MAX 65536u
#define SYMBOLS_MAX (UINT32_C(1) << 26)

/*
 * A file that is being read.
 *
 * loads   the segments that are mapped; addresses in the dynamic section are found in the file through them
 * tags    d_val of each tag of interest, 0: absent
 */
struct file {
    const char *path;
    int fd;
    uint64_t size;
    Elf64_Ehdr header;
    Elf64_Phdr *loads;
    size_t load_count;
    Elf64_Dyn *dynamic;
    size_t dynamic_count;
    uint64_t strings_len;
    struct vs_error *err;
};

static enum vs_status damaged(const struct file *file, const char *what)
{
    return vs_fail(file->err, VS_E_DAMAGED, "%s: %s lies outside the file or does not fit",
                   file->path, what);
}

/* `len` bytes from `offset` into heap memory with a NUL behind them; the caller frees it. */
static enum vs_status bytes_read(const struct file *file, uint64_t offset, uint64_t len,
                                 const char *what, void *out)
{
    char *bytes;
    uint64_t done = 0;

    if (offset > file->size || len > file->size - offset)
        return damaged(file, what);
    bytes = vs_alloc((size_t)len + 1);
    while (done < len) {
        const ssize_t n =
            pread(file->fd, bytes + done, (size_t)(len - done), (off_t)(offset + done));

        if (n <= 0 && !(n < 0 && errno == EINTR)) {
            const int why = errno;

            vs_free(bytes);
            return n == 0 ? damaged(file, what)
                          : vs_fail(file->err, VS_E_IO, "%s: %s", file->path, strerror(why));
        }
        done += n > 0 ? (uint64_t)n : 0;
    }
    bytes[len] = '\0';
    memcpy(out, &bytes, sizeof(bytes));
    return VS_OK;
}

/* The offset in the file of `len` bytes at an address of the loaded library. */
static bool offset_of(const struct file *file, uint64_t address, uint64_t len, uint64_t *out)
{
    for (size_t i = 0; i < file->load_count; i++) {
        const Elf64_Phdr *load = &file->loads[i];

        if (address < load->p_vaddr || address - load->p_vaddr > load->p_filesz ||
            len > load->p_filesz - (address - load->p_vaddr))
            continue;
        if (load->p_offset > UINT64_MAX - (address - load->p_vaddr))
            return false;
        *out = load->p_offset + (address - load->p_vaddr);
        return true;
    }
    return false;
}

static enum vs_status table_read(const struct file *file, uint64_t address, uint64_t len,
                                 const char *what, void *out)
{
    uint64_t offset;

    if (!offset_of(file, address, len, &offset))
        return damaged(file, what);
    return bytes_read(file, offset, len, what, out);
}

static uint64_t tag(const struct file *file, int64_t which)
{
    for (size_t i = 0; i < file->dynamic_count && file->dynamic[i].d_tag != DT_NULL; i++)
        if (file->dynamic[i].d_tag == which)
            return file->dynamic[i].d_un.d_val;
    return 0;
}

/* elf.h has it since glibc 2.36. */
#ifndef EM_LOONGARCH
#define EM_LOONGARCH 258
#endif

static const char *machine_name(unsigned machine)
{
    static const struct {
        unsigned machine;
        const char *name;
    } NAMES[] = {
        {EM_AARCH64, "aarch64"}, {EM_386, "i386"},
        {EM_ARM, "arm"},         {EM_PPC64, "ppc64"},
        {EM_S390, "s390x"},      {EM_RISCV, "riscv"},
        {EM_X86_64, "x86-64"},   {EM_LOONGARCH, "loongarch"},
    };

    for (size_t i = 0; i < sizeof(NAMES) / sizeof(NAMES[0]); i++)
        if (NAMES[i].machine == machine)
            return NAMES[i].name;
    return "another machine";
}

static enum vs_status header_read(struct file *file)
{
    char *bytes;
    enum vs_status st;

    if (file->size < sizeof(file->header))
        return vs_fail(file->err, VS_E_UNSUPPORTED, "%s: no ELF file", file->path);
    st = bytes_read(file, 0, sizeof(file->header), "the header", &bytes);
    if (st)
        return st;
    memcpy(&file->header, bytes, sizeof(file->header));
    vs_free(bytes);
    if (memcmp(file->header.e_ident, ELFMAG, SELFMAG) != 0)
        return vs_fail(file->err, VS_E_UNSUPPORTED, "%s: no ELF file", file->path);
    if (file->header.e_ident[EI_CLASS] != ELFCLASS64 ||
        file->header.e_ident[EI_DATA] != ELFDATA2LSB || file->header.e_machine != EM_X86_64)
        return vs_fail(file->err, VS_E_UNSUPPORTED, "%s: is for %s, not for x86-64", file->path,
                       machine_name(file->header.e_machine));
    if (file->header.e_type != ET_DYN)
        return vs_fail(file->err, VS_E_UNSUPPORTED, "%s: no shared library", file->path);
    if (file->header.e_phentsize != sizeof(Elf64_Phdr) || file->header.e_phnum > SEGMENTS_MAX)
        return damaged(file, "the table of segments");
    return VS_OK;
}

static enum vs_status segments_read(struct file *file)
{
    const Elf64_Phdr *dynamic = NULL;
    enum vs_status st =
        bytes_read(file, file->header.e_phoff, (uint64_t)file->header.e_phnum * sizeof(Elf64_Phdr),
                   "the table of segments", &file->loads);

    if (st)
        return st;
    file->load_count = file->header.e_phnum;
    for (size_t i = 0; i < file->load_count; i++)
        if (file->loads[i].p_type == PT_DYNAMIC)
            dynamic = &file->loads[i];
    if (!dynamic)
        return vs_fail(file->err, VS_E_UNSUPPORTED, "%s: no shared library: no dynamic section",
                       file->path);
    file->dynamic_count = (size_t)(dynamic->p_filesz / sizeof(Elf64_Dyn));
    if (file->dynamic_count > DYNAMIC_MAX)
        return damaged(file, "the dynamic section");
    st = bytes_read(file, dynamic->p_offset, file->dynamic_count * sizeof(Elf64_Dyn),
                    "the dynamic section", &file->dynamic);
    if (st)
        return st;
    for (size_t i = 0; i < file->load_count; i++)
        if (file->loads[i].p_type != PT_LOAD)
            file->loads[i].p_filesz = 0; /* nothing is found in it */
    return VS_OK;
}

static const char *text_at(const struct file *file, const struct sti_elf *elf, uint64_t at)
{
    return at < file->strings_len ? elf->strings + at : NULL;
}

static enum vs_status names_read(struct file *file, struct sti_elf *elf)
{
    enum vs_status st;

    file->strings_len = tag(file, DT_STRSZ);
    st = table_read(file, tag(file, DT_STRTAB), file->strings_len, "the table of strings",
                    &elf->strings);
    if (st)
        return st;
    elf->needed = vs_calloc(file->dynamic_count + 1, sizeof(*elf->needed));
    for (size_t i = 0; i < file->dynamic_count && file->dynamic[i].d_tag != DT_NULL; i++) {
        const char *text = text_at(file, elf, file->dynamic[i].d_un.d_val);

        if (file->dynamic[i].d_tag != DT_NEEDED && file->dynamic[i].d_tag != DT_SONAME)
            continue;
        if (!text)
            return damaged(file, "the name of a library");
        if (file->dynamic[i].d_tag == DT_SONAME)
            elf->soname = text;
        else
            elf->needed[elf->needed_count++] = text;
    }
    return VS_OK;
}

/* ---- symbols ---- */

/* The number of symbols according to the section headers; false: the file has none. */
static bool count_of_sections(struct file *file, uint64_t *out)
{
    const uint64_t count = file->header.e_shnum;
    Elf64_Shdr *sections;
    bool is_found = false;

    if (!count || count > SECTIONS_MAX || file->header.e_shentsize != sizeof(Elf64_Shdr) ||
        file->header.e_shoff > file->size ||
        count * sizeof(Elf64_Shdr) > file->size - file->header.e_shoff ||
        bytes_read(file, file->header.e_shoff, count * sizeof(Elf64_Shdr), "the table of sections",
                   &sections))
        return false;
    for (size_t i = 0; i < count && !is_found; i++) {
        is_found = sections[i].sh_type == SHT_DYNSYM;
        *out = sections[i].sh_size / sizeof(Elf64_Sym);
    }
    vs_free(sections);
    return is_found;
}

/* Imports precede the symbols in the hash table, so they end at the first of those. */
static enum vs_status count_of_hash(struct file *file, uint64_t *out)
{
    const bool is_gnu = !tag(file, DT_HASH);
    uint32_t *words;
    enum vs_status st = table_read(file, tag(file, is_gnu ? DT_GNU_HASH : DT_HASH),
                                   2 * sizeof(*words), "the table of hashes", &words);

    if (st)
        return st;
    *out = words[1]; /* of the old table all symbols, of GNU's the first it has */
    vs_free(words);
    return VS_OK;
}

/*
 * The entry of a version that the symbols name by `number`: its text, and in *library who defines it. NULL: there is
 * none. Each entry says how many bytes further the next one is.
 */
struct versions {
    char *bytes;
    uint64_t len;
    uint64_t count;
};

static const char *version_find(const struct file *file, const struct sti_elf *elf,
                                const struct versions *v, unsigned number, const char **library)
{
    uint64_t at = 0;

    for (uint64_t i = 0; i < v->count && at + sizeof(Elf64_Verneed) <= v->len; i++) {
        Elf64_Verneed need;
        uint64_t aux_at;

        memcpy(&need, v->bytes + at, sizeof(need));
        aux_at = at + need.vn_aux;
        for (unsigned k = 0; k < need.vn_cnt && aux_at + sizeof(Elf64_Vernaux) <= v->len; k++) {
            Elf64_Vernaux aux;

            memcpy(&aux, v->bytes + aux_at, sizeof(aux));
            if (aux.vna_other == number) {
                *library = text_at(file, elf, need.vn_file);
                return text_at(file, elf, aux.vna_name);
            }
            if (!aux.vna_next)
                break;
            aux_at += aux.vna_next;
        }
        if (!need.vn_next)
            break;
        at += need.vn_next;
    }
    return NULL;
}

/* Everything from the first entry to the end of its segment: the dynamic section has no length. */
static enum vs_status versions_read(struct file *file, struct versions *out)
{
    const uint64_t address = tag(file, DT_VERNEED);
    uint64_t len = 0;

    memset(out, 0, sizeof(*out));
    if (!address)
        return VS_OK;
    for (size_t i = 0; i < file->load_count; i++) {
        const Elf64_Phdr *load = &file->loads[i];

        if (address >= load->p_vaddr && address - load->p_vaddr < load->p_filesz)
            len = load->p_filesz - (address - load->p_vaddr);
    }
    out->count = tag(file, DT_VERNEEDNUM);
    /* an entry and its versions are small; more than that belongs to a damaged table and is ignored */
    out->len = len < UINT64_C(1) << 20 ? len : UINT64_C(1) << 20;
    return table_read(file, address, out->len, "the table of versions", &out->bytes);
}

static enum vs_status imports_fill(struct file *file, struct sti_elf *elf, const Elf64_Sym *symbols,
                                   const Elf64_Half *numbers, uint64_t count,
                                   const struct versions *versions)
{
    size_t cap = 0;

    for (uint64_t i = 1; i < count; i++) {
        const unsigned bind = ELF64_ST_BIND(symbols[i].st_info);
        struct sti_import import = {NULL, NULL, NULL};

        if (symbols[i].st_shndx != SHN_UNDEF || (bind != STB_GLOBAL && bind != STB_WEAK))
            continue;
        import.name = text_at(file, elf, symbols[i].st_name);
        if (!import.name)
            return damaged(file, "the name of a symbol");
        if (numbers && (numbers[i] & 0x7fff) > 1)
            import.version =
                version_find(file, elf, versions, numbers[i] & 0x7fff, &import.library);
        if (!import.version)
            import.library = NULL;
        elf->imports = vs_grow(elf->imports, elf->import_count, &cap, sizeof(*elf->imports));
        elf->imports[elf->import_count++] = import;
    }
    return VS_OK;
}

static enum vs_status imports_read(struct file *file, struct sti_elf *elf)
{
    struct versions versions = {NULL, 0, 0};
    Elf64_Sym *symbols = NULL;
    Elf64_Half *numbers = NULL;
    uint64_t count = 0;
    enum vs_status st = VS_OK;

    if (!tag(file, DT_SYMTAB))
        return VS_OK;
    if (!count_of_sections(file, &count))
        st = count_of_hash(file, &count);
    if (!st && count > SYMBOLS_MAX)
        st = damaged(file, "the table of symbols");
    if (!st)
        st = table_read(file, tag(file, DT_SYMTAB), count * sizeof(*symbols),
                        "the table of symbols", &symbols);
    if (!st && tag(file, DT_VERSYM))
        st = table_read(file, tag(file, DT_VERSYM), count * sizeof(*numbers),
                        "the versions of symbols", &numbers);
    if (!st)
        st = versions_read(file, &versions);
    if (!st)
        st = imports_fill(file, elf, symbols, numbers, count, &versions);
    vs_free(symbols);
    vs_free(numbers);
    vs_free(versions.bytes);
    return st;
}

enum vs_status sti_elf_read(const char *path, bool names_only, struct sti_elf *out,
                            struct vs_error *err)
{
    struct file file = {.path = path, .err = err};
    struct stat info;
    enum vs_status st;

    memset(out, 0, sizeof(*out));
    file.fd = open(path, O_RDONLY | O_CLOEXEC);
    if (file.fd < 0)
        return vs_fail(err, errno == ENOENT ? VS_E_NOT_FOUND : VS_E_IO, "%s: %s", path,
                       strerror(errno));
    if (fstat(file.fd, &info) != 0 || !S_ISREG(info.st_mode)) {
        st = vs_fail(err, VS_E_UNSUPPORTED, "%s: not a regular file", path);
        goto out;
    }
    file.size = (uint64_t)info.st_size;
    st = header_read(&file);
    if (!st)
        st = segments_read(&file);
    if (!st)
        st = names_read(&file, out);
    if (!st && !names_only)
        st = imports_read(&file, out);
out:
    close(file.fd);
    vs_free(file.loads);
    vs_free(file.dynamic);
    if (st)
        sti_elf_release(out);
    return st;
}

void sti_elf_release(struct sti_elf *elf)
{
    vs_free(elf->needed);
    vs_free(elf->imports);
    vs_free(elf->strings);
    memset(elf, 0, sizeof(*elf));
}
