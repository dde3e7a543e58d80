/* A disk that fails, below one process that loads this as LD_PRELOAD. It is concerned with databases
 * of SQLite and their logs.
 *
 * FAILING_PLAN is "<first> <count> <error>": of the calls that change such a file, numbered from 1,
 * this many fail from the first one on, with "eio", "enospc", or "short", which writes half of the
 * bytes. Each failed call adds a line to the file FAILING_LOG.
 *
 * FAILING_COPY is a directory with what a power cut leaves: a file there receives the bytes of its
 * twin when they are synced. As on Linux, a failed sync drops what it should have written: it stays
 * readable, no later sync writes it, and the next sync of each other open descriptor fails, too.
 *
 * While the file FAILING_HANG exists, syncs wait.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILES = 16, DESCRIPTORS = 4096, RANGES = 1 << 20 };

struct range { off_t offset; size_t length; };
struct file { char name[64]; int copy; struct range *ranges; int count; };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct file files[FILES];
static struct file *of[DESCRIPTORS];
static char must_fail[DESCRIPTORS]; /* Its next sync fails. */
static int calls;

#define REAL(name) __typeof__(&name) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

static const char *name_of(const char *path)
{
    const char *name = strrchr(path, '/');
    name = name ? name + 1 : path;
    size_t length = strlen(name);
    int is_database = length > 3 && !strcmp(name + length - 3, ".db");
    int is_log = length > 7 && !strcmp(name + length - 7, ".db-wal");
    return getenv("FAILING_COPY") && (is_database || is_log) ? name : NULL;
}

static struct file *find(const char *name)
{
    for (struct file *file = files; file < files + FILES; file++) {
        if (!strcmp(file->name, name))
            return file;
        if (!file->name[0]) {
            char path[4096];
            snprintf(path, sizeof path, "%s/%s", getenv("FAILING_COPY"), name);
            REAL(open64);
            strcpy(file->name, name);
            file->copy = real(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
            file->ranges = calloc(RANGES, sizeof *file->ranges);
            return file;
        }
    }
    abort();
}

static struct file *opened(int descriptor)
{
    return descriptor >= 0 && descriptor < DESCRIPTORS ? of[descriptor] : NULL;
}

static void track(const char *path, int descriptor)
{
    const char *name = name_of(path);
    if (!name || descriptor < 0 || descriptor >= DESCRIPTORS)
        return;
    pthread_mutex_lock(&lock);
    of[descriptor] = find(name);
    must_fail[descriptor] = 0;
    pthread_mutex_unlock(&lock);
}

/* Whether the plan lets this call fail: its error, or 0. A negative one lets half of it succeed. */
static int planned(const char *call, const char *name)
{
    int first = 0, count = 0;
    char error[16] = "";
    const char *plan = getenv("FAILING_PLAN");
    calls++;
    if (!plan || sscanf(plan, "%d %d %15s", &first, &count, error) != 3)
        return 0;
    if (calls < first || calls >= first + count)
        return 0;
    FILE *log = fopen(getenv("FAILING_LOG"), "a");
    if (log) {
        fprintf(log, "%d %s %s\n", calls, call, name);
        fclose(log);
    }
    return !strcmp(error, "short") ? -1 : !strcmp(error, "enospc") ? ENOSPC : EIO;
}

static void written(struct file *file, off_t offset, size_t length)
{
    if (file->count == RANGES)
        abort();
    file->ranges[file->count++] = (struct range){ offset, length };
}

int open64(const char *path, int flags, ...)
{
    REAL(open64);
    va_list list;
    va_start(list, flags);
    mode_t mode = va_arg(list, mode_t);
    va_end(list);
    int descriptor = real(path, flags, mode);
    track(path, descriptor);
    return descriptor;
}

int open(const char *path, int flags, ...)
{
    va_list list;
    va_start(list, flags);
    mode_t mode = va_arg(list, mode_t);
    va_end(list);
    return open64(path, flags | O_LARGEFILE, mode);
}

int close(int descriptor)
{
    REAL(close);
    if (opened(descriptor)) {
        pthread_mutex_lock(&lock);
        of[descriptor] = NULL;
        pthread_mutex_unlock(&lock);
    }
    return real(descriptor);
}

ssize_t pwrite64(int descriptor, const void *bytes, size_t length, off_t offset)
{
    REAL(pwrite64);
    struct file *file = opened(descriptor);
    if (!file)
        return real(descriptor, bytes, length, offset);
    pthread_mutex_lock(&lock);
    int error = planned("write", file->name);
    ssize_t count = -1;
    if (error <= 0)
        count = real(descriptor, bytes, error ? length / 2 : length, offset);
    if (count > 0)
        written(file, offset, count);
    pthread_mutex_unlock(&lock);
    if (error > 0)
        errno = error;
    return count;
}

ssize_t pwrite(int descriptor, const void *bytes, size_t length, off_t offset)
{
    return pwrite64(descriptor, bytes, length, offset);
}

int ftruncate64(int descriptor, off_t size)
{
    REAL(ftruncate64);
    struct file *file = opened(descriptor);
    if (!file)
        return real(descriptor, size);
    pthread_mutex_lock(&lock);
    int error = planned("truncate", file->name);
    int result = error ? -1 : real(descriptor, size);
    pthread_mutex_unlock(&lock);
    if (error)
        errno = error > 0 ? error : EIO;
    return result;
}

int ftruncate(int descriptor, off_t size)
{
    return ftruncate64(descriptor, size);
}

static void shrink(int copy, off_t size)
{
    REAL(ftruncate64);
    if (real(copy, size))
        abort();
}

/* Copies what was written to the disk. The order of the bytes does not matter: they are the newest. */
static void keep(int descriptor, struct file *file)
{
    REAL(pwrite64);
    static char buffer[1 << 20];
    struct stat now;
    if (fstat(descriptor, &now))
        abort();
    for (struct range *range = file->ranges; range < file->ranges + file->count; range++) {
        for (size_t done = 0; done < range->length;) {
            size_t rest = range->length - done;
            ssize_t count = pread(descriptor, buffer, rest < sizeof buffer ? rest : sizeof buffer, range->offset + done);
            if (count <= 0)
                break; /* Truncated since. */
            real(file->copy, buffer, count, range->offset + done);
            done += count;
        }
    }
    shrink(file->copy, now.st_size);
}

static int sync_with(int (*real)(int), int descriptor)
{
    struct file *file = opened(descriptor);
    if (!file)
        return real(descriptor);
    for (const char *hang = getenv("FAILING_HANG"); hang && !access(hang, F_OK);)
        usleep(1000);
    pthread_mutex_lock(&lock);
    int error = planned("sync", file->name);
    int result = 0;
    if (error) {
        for (int other = 0; other < DESCRIPTORS; other++)
            must_fail[other] |= other != descriptor && of[other] == file;
        result = -1;
    } else {
        keep(descriptor, file);
        result = must_fail[descriptor] ? -1 : 0;
        must_fail[descriptor] = 0;
    }
    file->count = 0;
    pthread_mutex_unlock(&lock);
    if (result)
        errno = error > 0 ? error : EIO;
    return result;
}

int fdatasync(int descriptor)
{
    REAL(fdatasync);
    return sync_with(real, descriptor);
}

int fsync(int descriptor)
{
    REAL(fsync);
    return sync_with(real, descriptor);
}

int unlink(const char *path)
{
    REAL(unlink);
    const char *name = name_of(path);
    if (!name)
        return real(path);
    pthread_mutex_lock(&lock);
    struct file *file = find(name);
    int error = planned("unlink", name);
    int result = error ? -1 : real(path);
    if (!result) {
        file->count = 0;
        shrink(file->copy, 0);
    }
    pthread_mutex_unlock(&lock);
    if (error)
        errno = error > 0 ? error : EIO;
    return result;
}
