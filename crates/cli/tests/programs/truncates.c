// Cuts all files that it shares with the recorder, those that no process has yet among them, and ends with status 7 before the
// library in it can notice.
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(void)
{
    const char *session = getenv("HOLDUP_SESSION");
    DIR *directory = session ? opendir(session) : NULL;
    if (!directory)
        return 2;
    int files[64], found = 0;
    for (struct dirent *entry; (entry = readdir(directory)) != NULL && found < 64;) {
        char path[800];
        snprintf(path, sizeof path, "%s/%s", session, entry->d_name);
        int file = entry->d_type == DT_REG ? open(path, O_RDWR) : -1;
        if (file >= 0)
            files[found++] = file;
    }
    usleep(50000); // the recorder has taken its files over
    for (int file = 0; file < found; file++)
        syscall(SYS_ftruncate, files[file], 0L);
    syscall(SYS_exit_group, found > 1 ? 7 : 3);
}
