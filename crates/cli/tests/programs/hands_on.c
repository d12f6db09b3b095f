// Two threads hand on a byte through pipes, as often as the first argument says: each waits for the other's.
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static int ways[2][2];
static long times;

static void *partner(void *unused) {
  char byte;
  for (long i = 0; i < times; i++)
    if (read(ways[0][0], &byte, 1) != 1 || write(ways[1][1], &byte, 1) != 1) abort();
  return unused;
}

int main(int count, char **words) {
  times = count > 1 ? atol(words[1]) : 1000;
  pthread_t thread;
  if (pipe(ways[0]) || pipe(ways[1]) || pthread_create(&thread, NULL, partner, NULL)) return 1;
  char byte = 'x';
  for (long i = 0; i < times; i++)
    if (write(ways[0][1], &byte, 1) != 1 || read(ways[1][0], &byte, 1) != 1) abort();
  return pthread_join(thread, NULL);
}
