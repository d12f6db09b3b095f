/* Counts words: the program of docs/tutorial.md. STEP is how many of its four faults are fixed, 0 to 4.
 *
 *   gcc -O2 -g -pthread -DSTEP=0 words.c -o words0 && ./words0 2
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#ifndef STEP
#define STEP 0
#endif
#ifndef DOCUMENTS
#define DOCUMENTS 800
#endif
enum { LONGEST = 20000, BUCKETS = 1 << 16, MOST = 64 };

struct entry { struct entry *next; uint64_t word, count; };
struct table { struct entry **buckets; };

static int threads;
static struct table tables[MOST]; /* tables[0] is all that there is in step 0 */
static struct entry *most[MOST];
static uint64_t distinct[MOST];
static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t round_done;
static int next_document;

/* The text of a document, as if it was read: short words are frequent, and later documents are longer. */
static int read_document(int number, char *text) {
    uint64_t random = 88172645463325252u + number;
    int words = LONGEST / 8 + (LONGEST - LONGEST / 8) * (uint64_t)number / DOCUMENTS, length = 0;
    for (int i = 0; i < words; i++) {
        random ^= random << 13, random ^= random >> 7, random ^= random << 17;
        uint64_t word = (random >> 44) >> (random % 16);
        do text[length++] = 'a' + word % 26; while (word /= 26);
        text[length++] = ' ';
    }
    return length;
}

static void add(struct table *table, uint64_t word, uint64_t count) {
    struct entry **bucket = &table->buckets[word % BUCKETS], *entry = *bucket;
    while (entry && entry->word != word) entry = entry->next;
    if (!entry) {
        entry = malloc(sizeof *entry);
        *entry = (struct entry){*bucket, word, 0};
        *bucket = entry;
    }
    entry->count += count;
}

static void count_words(struct table *table, const char *text, int length) {
    uint64_t word = 0;
    for (int i = 0; i < length; i++)
        if (text[i] != ' ') word = word * 31 + (uint64_t)text[i];
        else add(table, word, 1), word = 0;
}

/* Adds the buckets from..to of all tables up in the first one, and looks for the most frequent word there. */
static void merge(int who, int from, int to) {
    for (int b = from; b < to; b++) {
        for (int t = 1; t < threads; t++)
            for (struct entry *e = tables[t].buckets[b]; e; e = e->next) add(&tables[0], e->word, e->count);
        for (struct entry *e = tables[0].buckets[b]; e; e = e->next, distinct[who]++)
            if (!most[who] || e->count > most[who]->count) most[who] = e;
    }
}

static void *worker(void *argument) {
    int me = (int)(intptr_t)argument, share = DOCUMENTS / threads;
    char *text = malloc(LONGEST * 8);
    for (int round = 0; STEP >= 3 || round < share; round++) {
        /* Fault 2: the first half of the documents for the first thread; later ones are longer. */
        int mine = STEP >= 2 ? __atomic_fetch_add(&next_document, 1, __ATOMIC_RELAXED) : me * share + round;
        if (mine >= DOCUMENTS) break;
        int length = read_document(mine, text);
        /* Fault 1: one table and one lock for all. */
        if (STEP == 0) pthread_mutex_lock(&table_lock);
        count_words(&tables[STEP == 0 ? 0 : me], text, length);
        if (STEP == 0) pthread_mutex_unlock(&table_lock);
        /* Fault 3: all wait for each other after each document. */
        if (STEP < 3) pthread_barrier_wait(&round_done);
    }
    if (STEP >= 4) {
        pthread_barrier_wait(&round_done);
        merge(me, (int)((int64_t)BUCKETS * me / threads), (int)((int64_t)BUCKETS * (me + 1) / threads));
    }
    free(text);
    return 0;
}

int main(int count, char **arguments) {
    threads = count > 1 ? atoi(arguments[1]) : 2;
    if (threads < 1 || threads > MOST || DOCUMENTS % threads) return 2;
    pthread_t ids[MOST];
    pthread_barrier_init(&round_done, 0, (unsigned)threads);
    for (int t = 0; t < threads; t++) tables[t].buckets = calloc(BUCKETS, sizeof(struct entry *));
    for (int t = 0; t < threads; t++) pthread_create(&ids[t], 0, worker, (void *)(intptr_t)t);
    for (int t = 0; t < threads; t++) pthread_join(ids[t], 0);
    if (STEP < 4) merge(0, 0, BUCKETS); /* Fault 4: one thread merges. */
    struct entry *first = most[0];
    uint64_t all = distinct[0];
    for (int t = 1; t < threads; t++) {
        all += distinct[t];
        if (most[t] && most[t]->count > first->count) first = most[t];
    }
    printf("%llu different words, the most frequent one %llu times\n", (unsigned long long)all, (unsigned long long)first->count);
}
