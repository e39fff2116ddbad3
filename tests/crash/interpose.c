/*
 * Stands between a program and the files below one folder: tells what is done to them, ends the program in the midst
 * of it, or lets it fail. Preloaded into the real program by the tests in this folder; README.md says how to read it.
 *
 *   PLACARD_INTERPOSE_ROOT    the folder, as the kernel names it (no links in it)
 *   PLACARD_INTERPOSE_TRACE   a file outside of it that takes a record of every operation, in order
 *   PLACARD_INTERPOSE_ORDERS  a file that says what is to go wrong; it may change at any time
 *
 * The variables are taken out of the environment, so what the program starts is left alone, and so is what it forks.
 *
 * Only calls of libc are seen. What gets around it (a raw system call, a shared mapping that is written to) is found out by
 * the test that replays a trace and compares the result with the folder.
 *
 * fsync and fdatasync are noted and not done: a killed program leaves what it has written to the kernel, and a power cut
 * is played from the trace.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

/* The kinds of operations. trace.rs has the same list. Those before OPEN change something and are counted for kills. */
enum kind { CREATE, TRUNCATE, WRITE, SYNC, RENAME, LINK, SYMLINK, UNLINK, MKDIR, RMDIR, ALLOCATE, TELL, OPEN, READ, STAT, LIST, LOCK };
static const char *const NAMES[] = {"create", "truncate", "write", "sync",   "rename",   "link", "symlink", "unlink", "mkdir",
                                    "rmdir",  "allocate", "tell",  "open",   "read",     "stat", "list",    "lock"};

static char root[PATH_MAX];
static char orders_file[PATH_MAX];
static int trace = -1;
static pid_t owner;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* What is to go wrong, and how often it was looked for. */
static struct {
    char text[512];
    enum { NOTHING, KILL, FAIL } sort;
    enum { BEFORE, TORN, AFTER } when;
    int kind; /* -1: any */
    long at, times;
    int error, torn;
    char part[256];
    long seen;
} order;
/* Operations that change something, since the orders were changed. */
static long changes;

/* The next definition of a function: libc's own. */
#define REAL(name)                                                                                                             \
    static __typeof__(name) *real;                                                                                             \
    if (!real) real = (__typeof__(name) *)dlsym(RTLD_NEXT, #name)

__attribute__((constructor)) static void begin(void) {
    const char *at = getenv("PLACARD_INTERPOSE_ROOT");
    const char *to = getenv("PLACARD_INTERPOSE_TRACE");
    const char *from = getenv("PLACARD_INTERPOSE_ORDERS");
    if (from) snprintf(orders_file, sizeof orders_file, "%s", from);
    if (to) trace = (int)syscall(SYS_openat, AT_FDCWD, to, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (at) {
        snprintf(root, sizeof root, "%s", at);
        owner = getpid();
    }
    unsetenv("PLACARD_INTERPOSE_ROOT");
    unsetenv("PLACARD_INTERPOSE_TRACE");
    unsetenv("PLACARD_INTERPOSE_ORDERS");
    unsetenv("LD_PRELOAD");
}

static int ours(void) { return owner && getpid() == owner; }

static int below(const char *path) {
    size_t length = strlen(root);
    return strncmp(path, root, length) == 0 && (path[length] == '/' || path[length] == 0);
}

/* The path that a name stands for; 0 when it is not below the folder. Links and `..` are not followed: the stores name files
 * as the folder was named to them. */
static int named(int folder, const char *name, char *path) {
    if (!ours() || !name) return 0;
    if (name[0] == '/') {
        snprintf(path, PATH_MAX, "%s", name);
    } else {
        char link[64];
        ssize_t length;
        if (folder == AT_FDCWD) snprintf(link, sizeof link, "/proc/self/cwd");
        else snprintf(link, sizeof link, "/proc/self/fd/%d", folder);
        length = syscall(SYS_readlinkat, AT_FDCWD, link, path, (size_t)PATH_MAX - 1);
        if (length < 0) return 0;
        snprintf(path + length, PATH_MAX - (size_t)length, name[0] ? "/%s" : "%s", name);
    }
    for (char *twice; (twice = strstr(path, "//"));) memmove(twice, twice + 1, strlen(twice));
    size_t length = strlen(path);
    if (length > 1 && path[length - 1] == '/') path[length - 1] = 0;
    return below(path);
}

/* The path of an open file below the folder, and its number; 0 for all others. */
static int opened(int fd, char *path, uint64_t *node) {
    struct stat found;
    char link[64];
    int saved = errno;
    if (!ours() || fd < 0) return 0;
    REAL(fstat);
    if (real(fd, &found) || !(S_ISREG(found.st_mode) || S_ISDIR(found.st_mode))) return errno = saved, 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = syscall(SYS_readlinkat, AT_FDCWD, link, path, (size_t)PATH_MAX - 1);
    errno = saved;
    if (length < 0) return 0;
    path[length] = 0;
    *node = found.st_ino;
    return below(path);
}

static uint64_t node_of(const char *path) {
    struct stat found;
    int saved = errno;
    REAL(lstat);
    uint64_t node = real(path, &found) ? 0 : found.st_ino;
    errno = saved;
    return node;
}

/* One record: these numbers, then the two paths and the bytes. */
struct record {
    uint32_t magic, kind;
    int64_t result;
    uint64_t node, place;
    uint32_t path, other, bytes, unused;
};

static void note(int kind, int64_t result, uint64_t node, uint64_t place, const char *path, const char *other,
                 const struct iovec *bytes, int pieces) {
    if (trace < 0) return;
    int saved = errno;
    struct record record = {0x706c6364, (uint32_t)kind, result < 0 ? -errno : result, node, place, (uint32_t)strlen(path),
                            (uint32_t)strlen(other), 0, 0};
    size_t left = kind == READ || result < 0 ? 0 : (size_t)result;
    struct iovec all[67] = {{&record, sizeof record}, {(void *)path, record.path}, {(void *)other, record.other}};
    int count = 3;
    for (int piece = 0; piece < pieces && count < 67 && left; piece++, count++) {
        all[count] = bytes[piece];
        if (all[count].iov_len > left) all[count].iov_len = left;
        left -= all[count].iov_len;
        record.bytes += (uint32_t)all[count].iov_len;
    }
    size_t whole = sizeof record + record.path + record.other + record.bytes;
    if (syscall(SYS_writev, trace, all, count) != (long)whole) abort();
    errno = saved;
}

/* Reads the orders again:  NUMBER none
 *                          NUMBER kill before|torn|after N
 *                          NUMBER fail|short KIND|any N TIMES ERRNO PART-OF-PATH   (TIMES 0: from then on)
 * The number only makes the text a new one, which sets the counts back. */
static void obey(void) {
    char text[sizeof order.text] = {0}, sort[16] = "", kind[16] = "";
    if (!orders_file[0]) return;
    int fd = (int)syscall(SYS_openat, AT_FDCWD, orders_file, O_RDONLY | O_CLOEXEC, 0);
    if (fd < 0) return;
    long length = syscall(SYS_read, fd, text, sizeof text - 1);
    syscall(SYS_close, fd);
    if (length <= 0 || strcmp(text, order.text) == 0) return;
    memset(&order, 0, sizeof order);
    memcpy(order.text, text, sizeof text);
    changes = 0;
    if (sscanf(text, "%*d %15s %15s", sort, kind) < 1) abort();
    if (strcmp(sort, "kill") == 0) {
        order.sort = KILL;
        order.when = strcmp(kind, "before") == 0 ? BEFORE : strcmp(kind, "torn") == 0 ? TORN : AFTER;
        if (sscanf(text, "%*d %*s %*s %ld", &order.at) != 1) abort();
    } else if (strcmp(sort, "fail") == 0 || strcmp(sort, "short") == 0) {
        order.sort = FAIL;
        order.torn = strcmp(sort, "short") == 0;
        order.kind = -1;
        for (int known = 0; known <= LOCK; known++)
            if (strcmp(kind, NAMES[known]) == 0) order.kind = known;
        if (order.kind < 0 && strcmp(kind, "any")) abort();
        if (sscanf(text, "%*d %*s %*s %ld %ld %d %255s", &order.at, &order.times, &order.error, order.part) < 3) abort();
    }
}

static void end_here(void) {
    for (;;) {
        kill(owner, SIGKILL);
        pause();
    }
}

/* How an operation is to go on. */
enum fate { DO, DO_HALF, REFUSE, DO_AND_DIE, DO_HALF_AND_DIE };

/* Takes the lock, which `leave` gives back: operations have one order, whatever threads do them. */
static enum fate enter(int kind, const char *path, const char *other) {
    pthread_mutex_lock(&lock);
    int saved = errno;
    enum fate fate = DO;
    obey();
    if (kind < OPEN) changes++;
    if (order.sort == KILL && kind < OPEN && changes == order.at) {
        if (order.when == BEFORE) end_here();
        fate = order.when == TORN ? DO_HALF_AND_DIE : DO_AND_DIE;
    }
    int meant = order.kind == kind || (order.kind < 0 && kind != TELL);
    if (order.sort == FAIL && meant && (strstr(path, order.part) || strstr(other, order.part))) {
        order.seen++;
        if (order.seen == order.at && order.torn && kind == WRITE) fate = DO_HALF;
        else if (order.seen >= order.at && (!order.times || order.seen < order.at + order.times)) fate = REFUSE;
    }
    errno = fate == REFUSE ? order.error : saved;
    return fate;
}

static void leave(enum fate fate) {
    if (fate == DO_AND_DIE || fate == DO_HALF_AND_DIE) end_here();
    pthread_mutex_unlock(&lock);
}

/* An operation on one or two paths without bytes. */
#define ON_PATHS(kind, path, other, call)                                                                                      \
    do {                                                                                                                       \
        enum fate fate = enter(kind, path, other);                                                                             \
        if (fate == DO_HALF_AND_DIE) end_here();                                                                               \
        uint64_t node = (kind) == UNLINK || (kind) == RMDIR || (kind) == RENAME ? node_of(path) : 0;                           \
        int64_t result = fate == REFUSE ? -1 : (call);                                                                         \
        if (!result && !node) node = node_of((kind) == LINK || (kind) == SYMLINK ? other : path);                              \
        note(kind, result, node, 0, path, other, NULL, 0);                                                                     \
        leave(fate);                                                                                                           \
        return (int)result;                                                                                                    \
    } while (0)

/* --- opening --- */

static int opens(int folder, const char *name, int flags, mode_t mode, int (*real)(int, const char *, int, mode_t)) {
    char path[PATH_MAX];
    if (!named(folder, name, path)) return real(folder, name, flags, mode);
    int makes = (flags & O_CREAT) && !node_of(path);
    int empties = (flags & O_TRUNC) && !makes;
    int kind = makes ? CREATE : empties ? TRUNCATE : OPEN;
    if ((flags & O_TMPFILE) == O_TMPFILE) {
        kind = CREATE;
        path[0] = 0;
    }
    enum fate fate = enter(kind, path, "");
    if (fate == DO_HALF_AND_DIE) end_here();
    int fd = fate == REFUSE ? -1 : real(folder, name, flags, mode);
    uint64_t node = 0;
    char now[PATH_MAX];
    if (fd >= 0) opened(fd, now, &node);
    note(kind, fd < 0 ? -1 : 0, node, 0, path, "", NULL, 0);
    leave(fate);
    return fd;
}

#define MODE(flags)                                                                                                            \
    mode_t mode = 0;                                                                                                           \
    if ((flags) & (O_CREAT | O_TMPFILE)) {                                                                                     \
        va_list more;                                                                                                          \
        va_start(more, flags);                                                                                                 \
        mode = va_arg(more, mode_t);                                                                                           \
        va_end(more);                                                                                                          \
    }

static int real_open(int folder, const char *name, int flags, mode_t mode) {
    REAL(openat);
    return real(folder, name, flags, mode);
}
int open(const char *name, int flags, ...) {
    MODE(flags);
    return opens(AT_FDCWD, name, flags, mode, real_open);
}
int open64(const char *name, int flags, ...) {
    MODE(flags);
    return opens(AT_FDCWD, name, flags | O_LARGEFILE, mode, real_open);
}
int openat(int folder, const char *name, int flags, ...) {
    MODE(flags);
    return opens(folder, name, flags, mode, real_open);
}
int openat64(int folder, const char *name, int flags, ...) {
    MODE(flags);
    return opens(folder, name, flags | O_LARGEFILE, mode, real_open);
}
int __open_2(const char *name, int flags) { return opens(AT_FDCWD, name, flags, 0, real_open); }
int __open64_2(const char *name, int flags) { return opens(AT_FDCWD, name, flags | O_LARGEFILE, 0, real_open); }
int creat(const char *name, mode_t mode) { return opens(AT_FDCWD, name, O_CREAT | O_WRONLY | O_TRUNC, mode, real_open); }
int creat64(const char *name, mode_t mode) { return creat(name, mode); }

/* --- bytes --- */

/* `place` below 0: where the file stands, or its end. */
static ssize_t writes(int fd, const struct iovec *bytes, int pieces, off64_t place) {
    char path[PATH_MAX] = "";
    uint64_t node = 0;
    int watched = opened(fd, path, &node);
    int told = !watched && fd == 1 && ours();
    watched |= told;
    enum fate fate = watched ? enter(told ? TELL : WRITE, path, "") : DO;
    struct iovec half;
    off64_t at = place;
    if (watched && !told && place < 0) {
        int appends = (int)syscall(SYS_fcntl, fd, F_GETFL) & O_APPEND;
        struct stat found;
        REAL(fstat);
        at = appends && !real(fd, &found) ? found.st_size : syscall(SYS_lseek, fd, 0L, SEEK_CUR);
    }
    if (fate == DO_HALF || fate == DO_HALF_AND_DIE) {
        half = bytes[0];
        half.iov_len = (half.iov_len + 1) / 2;
        bytes = &half;
        pieces = 1;
    }
    ssize_t result = -1;
    if (fate != REFUSE) {
        if (place < 0) {
            REAL(writev);
            result = real(fd, bytes, pieces);
        } else {
            REAL(pwritev64);
            result = real(fd, bytes, pieces, place);
        }
    }
    if (watched) {
        note(told ? TELL : WRITE, result, node, told ? 0 : (uint64_t)at, path, "", bytes, pieces);
        leave(fate);
    }
    return result;
}

ssize_t write(int fd, const void *bytes, size_t length) {
    struct iovec piece = {(void *)bytes, length};
    return writes(fd, &piece, 1, -1);
}
ssize_t writev(int fd, const struct iovec *bytes, int pieces) { return writes(fd, bytes, pieces, -1); }
ssize_t pwrite(int fd, const void *bytes, size_t length, off_t place) {
    struct iovec piece = {(void *)bytes, length};
    return writes(fd, &piece, 1, place);
}
ssize_t pwrite64(int fd, const void *bytes, size_t length, off64_t place) {
    struct iovec piece = {(void *)bytes, length};
    return writes(fd, &piece, 1, place);
}
ssize_t pwritev(int fd, const struct iovec *bytes, int pieces, off_t place) { return writes(fd, bytes, pieces, place); }
ssize_t pwritev64(int fd, const struct iovec *bytes, int pieces, off64_t place) { return writes(fd, bytes, pieces, place); }

/* Whoever asks for these falls back to reading and writing. */
ssize_t copy_file_range(int in, off64_t *from, int out, off64_t *to, size_t length, unsigned flags) {
    (void)in, (void)from, (void)out, (void)to, (void)length, (void)flags;
    return errno = ENOSYS, -1;
}
ssize_t sendfile64(int out, int in, off64_t *from, size_t length) {
    (void)out, (void)in, (void)from, (void)length;
    return errno = ENOSYS, -1;
}
ssize_t sendfile(int out, int in, off_t *from, size_t length) { return sendfile64(out, in, from, length); }

#define ON_OPENED(kind, fd, place, otherwise, call)                                                                            \
    do {                                                                                                                       \
        char path[PATH_MAX];                                                                                                   \
        uint64_t node;                                                                                                         \
        if (!opened(fd, path, &node)) return otherwise;                                                                        \
        enum fate fate = enter(kind, path, "");                                                                                \
        if (fate == DO_HALF_AND_DIE) end_here();                                                                               \
        int64_t result = fate == REFUSE ? -1 : (int64_t)(call);                                                                \
        note(kind, result, node, place, path, "", NULL, 0);                                                                    \
        leave(fate);                                                                                                           \
        return result;                                                                                                         \
    } while (0)

int ftruncate64(int fd, off64_t length) {
    REAL(ftruncate64);
    ON_OPENED(TRUNCATE, fd, (uint64_t)length, real(fd, length), real(fd, length));
}
int ftruncate(int fd, off_t length) { return ftruncate64(fd, length); }
int truncate64(const char *name, off64_t length) {
    int fd = open(name, O_WRONLY | O_CLOEXEC);
    if (fd < 0) return -1;
    int result = ftruncate64(fd, length);
    close(fd);
    return result;
}
int truncate(const char *name, off_t length) { return truncate64(name, length); }

/* Only what makes a file longer is known to the model; the rest is refused, and no store of ours needs it. */
int fallocate64(int fd, int mode, off64_t place, off64_t length) {
    REAL(fallocate64);
    if (mode) return errno = EOPNOTSUPP, -1;
    ON_OPENED(ALLOCATE, fd, (uint64_t)(place + length), real(fd, mode, place, length), real(fd, mode, place, length));
}
int fallocate(int fd, int mode, off_t place, off_t length) { return fallocate64(fd, mode, place, length); }
int posix_fallocate64(int fd, off64_t place, off64_t length) { return fallocate64(fd, 0, place, length) ? errno : 0; }
int posix_fallocate(int fd, off_t place, off_t length) { return posix_fallocate64(fd, place, length); }

int fsync(int fd) {
    REAL(fsync);
    ON_OPENED(SYNC, fd, 0, real(fd), 0);
}
int fdatasync(int fd) { return fsync(fd); }

ssize_t read(int fd, void *bytes, size_t length) {
    REAL(read);
    ON_OPENED(READ, fd, 0, real(fd, bytes, length), real(fd, bytes, length));
}
ssize_t pread64(int fd, void *bytes, size_t length, off64_t place) {
    REAL(pread64);
    ON_OPENED(READ, fd, (uint64_t)place, real(fd, bytes, length, place), real(fd, bytes, length, place));
}
ssize_t pread(int fd, void *bytes, size_t length, off_t place) { return pread64(fd, bytes, length, place); }
int flock(int fd, int how) {
    REAL(flock);
    ON_OPENED(LOCK, fd, (uint64_t)how, real(fd, how), real(fd, how));
}

/* --- names --- */

int renameat2(int from, const char *old, int to, const char *fresh, unsigned how) {
    char path[PATH_MAX], other[PATH_MAX];
    int there = named(from, old, path), here = named(to, fresh, other);
    if (!there && !here) return (int)syscall(SYS_renameat2, from, old, to, fresh, how);
    if (how & ~(unsigned)RENAME_NOREPLACE) return errno = EINVAL, -1;
    ON_PATHS(RENAME, path, other, syscall(SYS_renameat2, from, old, to, fresh, how));
}
int renameat(int from, const char *old, int to, const char *fresh) { return renameat2(from, old, to, fresh, 0); }
int rename(const char *old, const char *fresh) { return renameat2(AT_FDCWD, old, AT_FDCWD, fresh, 0); }

int linkat(int from, const char *old, int to, const char *fresh, int flags) {
    REAL(linkat);
    char path[PATH_MAX], other[PATH_MAX];
    named(from, old, path);
    if (!named(to, fresh, other)) return real(from, old, to, fresh, flags);
    ON_PATHS(LINK, path, other, real(from, old, to, fresh, flags));
}
int link(const char *old, const char *fresh) { return linkat(AT_FDCWD, old, AT_FDCWD, fresh, 0); }

int symlinkat(const char *target, int folder, const char *name) {
    REAL(symlinkat);
    char other[PATH_MAX];
    if (!named(folder, name, other)) return real(target, folder, name);
    ON_PATHS(SYMLINK, target, other, real(target, folder, name));
}
int symlink(const char *target, const char *name) { return symlinkat(target, AT_FDCWD, name); }

int unlinkat(int folder, const char *name, int flags) {
    REAL(unlinkat);
    char path[PATH_MAX];
    if (!named(folder, name, path)) return real(folder, name, flags);
    ON_PATHS(flags & AT_REMOVEDIR ? RMDIR : UNLINK, path, "", real(folder, name, flags));
}
int unlink(const char *name) { return unlinkat(AT_FDCWD, name, 0); }
int rmdir(const char *name) { return unlinkat(AT_FDCWD, name, AT_REMOVEDIR); }

int mkdirat(int folder, const char *name, mode_t mode) {
    REAL(mkdirat);
    char path[PATH_MAX];
    if (!named(folder, name, path)) return real(folder, name, mode);
    ON_PATHS(MKDIR, path, "", real(folder, name, mode));
}
int mkdir(const char *name, mode_t mode) { return mkdirat(AT_FDCWD, name, mode); }

/* --- looking: these can only fail --- */

#define LOOK(kind, folder, name, type, failed, call)                                                                           \
    do {                                                                                                                       \
        char path[PATH_MAX];                                                                                                   \
        if (!named(folder, name, path)) return call;                                                                           \
        enum fate fate = enter(kind, path, "");                                                                                \
        type result = fate == REFUSE ? failed : call;                                                                          \
        note(kind, result == failed ? -1 : 0, 0, 0, path, "", NULL, 0);                                                        \
        leave(fate);                                                                                                           \
        return result;                                                                                                         \
    } while (0)

int stat(const char *name, struct stat *found) {
    REAL(stat);
    LOOK(STAT, AT_FDCWD, name, int, -1, real(name, found));
}
int stat64(const char *name, struct stat64 *found) {
    REAL(stat64);
    LOOK(STAT, AT_FDCWD, name, int, -1, real(name, found));
}
int lstat(const char *name, struct stat *found) {
    REAL(lstat);
    LOOK(STAT, AT_FDCWD, name, int, -1, real(name, found));
}
int lstat64(const char *name, struct stat64 *found) {
    REAL(lstat64);
    LOOK(STAT, AT_FDCWD, name, int, -1, real(name, found));
}
int statx(int folder, const char *restrict name, int flags, unsigned mask, struct statx *restrict found) {
    REAL(statx);
    /* Of an open file: not by name. */
    if (flags & AT_EMPTY_PATH) return real(folder, name, flags, mask, found);
    LOOK(STAT, folder, name, int, -1, real(folder, name, flags, mask, found));
}
int access(const char *name, int how) {
    REAL(access);
    LOOK(STAT, AT_FDCWD, name, int, -1, real(name, how));
}
DIR *opendir(const char *name) {
    REAL(opendir);
    LOOK(LIST, AT_FDCWD, name, DIR *, NULL, real(name));
}

/* The end of a listing is no error: errno tells them apart. */
struct dirent64 *readdir64(DIR *folder) {
    REAL(readdir64);
    char path[PATH_MAX];
    uint64_t node;
    if (!opened(dirfd(folder), path, &node)) return real(folder);
    enum fate fate = enter(LIST, path, "");
    struct dirent64 *entry = fate == REFUSE ? NULL : real(folder);
    note(LIST, fate == REFUSE ? -1 : 0, node, 0, path, "", NULL, 0);
    leave(fate);
    return entry;
}
