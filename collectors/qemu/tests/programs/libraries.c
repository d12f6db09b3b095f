/* Calls of libraries, which call back; the program counts the calls itself. */
#include "mark.h"

static long numbers, texts, exits;

__attribute__((noinline)) int compare_numbers(const void *a, const void *b) {
    numbers++;
    return *(const int *)a - *(const int *)b;
}

/* Its last instruction jumps to the library. */
__attribute__((noinline)) int compare_texts(const void *a, const void *b) {
    texts++;
    return strcmp(a, b);
}

__attribute__((noinline)) void sort(void *base, size_t n, size_t size, int (*compare)(const void *, const void *)) {
    qsort(base, n, size, compare);
    exits++;
}

/* Its only instruction jumps through a table of the program's own, and looks like a linkage stub. */
int through_table(int value);
__attribute__((noinline)) int target(int value) {
    return value + 1;
}
int (*table[1])(int) = {target};
__asm__(".text\n.globl through_table\nthrough_table: jmp *table(%rip)\n");

static void *work(void *unused) {
    for (volatile int i = 0; i < 7; i++) {
        exits += through_table(i) < 0;
    }
    int values[300];
    char names[50][8];
    for (int i = 0; i < 300; i++) {
        values[i] = i * 37 % 301;
    }
    for (int i = 0; i < 50; i++) {
        names[i][0] = 'a' + i * 7 % 26;
        names[i][1] = 'a' + i;
        names[i][2] = 0;
    }
    sort(values, 300, sizeof values[0], compare_numbers);
    sort(names, 50, sizeof names[0], compare_texts);
    turns(10);
    return unused;
}

int main(void) {
    in_a_thread(work, NULL);
    show_turns();
    show("compare_numbers", (const void *)compare_numbers);
    show("compare_texts", (const void *)compare_texts);
    show("through_table", (const void *)through_table);
    show("target", (const void *)target);
    printf("numbers=%ld\ntexts=%ld\nexits=%ld\n", numbers, texts, exits);
    return 0;
}
