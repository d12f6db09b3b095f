// Threads that write their lines to one log, character by character, each under the lock of its FILE.
#include "../work.h"

#define LINES 80000
#define EVENT_US 1
#define LINE_LENGTH 512
#define BUFFER_LINES 64

static FILE *log_file;
static long threads, scale;

NAMED static uint64_t handle_event(long event)
{
    return compute((uint64_t)event + 1, EVENT_US);
}

// Fills `line` with the event as text, and gives its length.
static int format_line(char *line, long event, uint64_t result)
{
    return snprintf(line, LINE_LENGTH, "event %08ld: result %016llx, %300s\n", event, (unsigned long long)result,
                    "nothing else to tell");
}

#ifndef FIXED
NAMED static void write_line(const char *line, int length)
{
    for (int i = 0; i < length; i++)
        putc(line[i], log_file); // PLANTED: takes and gives back the lock of log_file for each character
}

static void *log_worker(void *argument)
{
    char line[LINE_LENGTH];
    for (long event = (long)(intptr_t)argument; event < LINES * scale; event += threads)
        write_line(line, format_line(line, event, handle_event(event)));
    return NULL;
}
#else
NAMED static void write_lines(const char *lines, size_t length)
{
    if (fwrite(lines, 1, length, log_file) != length) // FIX: lines are gathered, and written at once
        exit(97);
}

static void *log_worker(void *argument)
{
    char lines[BUFFER_LINES * LINE_LENGTH];
    size_t length = 0;
    for (long event = (long)(intptr_t)argument; event < LINES * scale; event += threads) {
        length += (size_t)format_line(lines + length, event, handle_event(event));
        if (length > sizeof lines - LINE_LENGTH) {
            write_lines(lines, length);
            length = 0;
        }
    }
    write_lines(lines, length);
    return NULL;
}
#endif

int main(int argc, char **argv)
{
    threads = argument(argc, argv, 1, 4);
    scale = argument(argc, argv, 2, 1);
    log_file = fopen("/dev/null", "w");
    if (log_file == NULL)
        exit(96);
    pthread_t workers[threads];
    for (long t = 0; t < threads; t++)
        start_thread(&workers[t], log_worker, (void *)(intptr_t)t);
    for (long t = 0; t < threads; t++)
        join_thread(workers[t]);
    int failed = ferror(log_file) || fclose(log_file) != 0;
    printf("stdio_lock lines %ld%s\n", LINES * scale, failed ? ", not all written" : "");
    return failed;
}
