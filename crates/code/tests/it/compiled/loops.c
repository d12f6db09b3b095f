/* Loops that wait and loops that work. gcc.txt has what gcc 12 makes of them at -O0, -O1 and -O2: a line each of
 * name, option, address and bytes, in the order of this file. The script below writes it.
 *
 *   for o in O0 O1 O2; do
 *     gcc -$o -fno-pie -c loops.c -o x.o
 *     ld -static -Ttext=0x401000 -e 0x401000 x.o -o x.elf --defsym=sched_yield=0x500000 \
 *       --defsym=clock_gettime=0x500200 --defsym=work=0x500100 --defsym=strlen=0x500300 --defsym=memset=0x500400 \
 *       --defsym=memcpy=0x500500 --defsym=memmove=0x500600 --defsym=pthread_mutex_lock=0x500700 \
 *       --defsym=pthread_mutex_unlock=0x500800
 *     objcopy -O binary -j .text x.elf x.bin
 *     nm -nS x.elf | awk '$3 ~ /[tT]/ && NF == 4 {print $1, $2, $4}' | while read a s n; do
 *       echo "$n -$o $(printf %x 0x$a) $(xxd -s $((0x$a - 0x401000)) -l $((0x$s)) -p x.bin | tr -d '\n')"
 *     done
 *   done >gcc.txt
 *
 * w_cas at -O0 is taken out: gcc stores into a local variable through a pointer there, which is not followed.
 */
#include <immintrin.h>
#include <x86intrin.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stddef.h>
#include <string.h>
#include <time.h>
typedef struct node { struct node *next; long value; } node;
volatile int done;
_Atomic int ready;
_Atomic int lock;
int plain;
_Atomic long total;
struct q { _Atomic unsigned head, tail; long items[64]; } queue;
extern void work(void);
extern int pthread_mutex_lock(void *);
extern int pthread_mutex_unlock(void *);
/* These wait, wherever in their loops the thread is. */
void w_volatile(void) { while (!done) ; }
void w_atomic(void) { while (!atomic_load(&ready)) ; }
void w_acquire(_Atomic int *p) { while (!atomic_load_explicit(p, memory_order_acquire)) ; }
void w_pause(void) { while (!atomic_load_explicit(&ready, memory_order_acquire)) _mm_pause(); }
void w_bounded(void) { for (int i = 0; i < 1000 && !done; i++) _mm_pause(); }
void w_backoff(void) { int n = 1; while (!done) { for (int i = 0; i < n; i++) _mm_pause(); if (n < 64) n *= 2; } }
void w_yield(void) { while (!done) sched_yield(); }
void w_yield_counted(void) { int n = 0; while (!done) { if (++n > 100) sched_yield(); else _mm_pause(); } }
void w_tas(void) { while (atomic_exchange(&lock, 1)) ; }
void w_tas_pause(void) { while (atomic_exchange(&lock, 1)) _mm_pause(); }
void w_ttas(void) { for (;;) { if (!atomic_exchange(&lock, 1)) return; while (atomic_load_explicit(&lock, memory_order_relaxed)) _mm_pause(); } }
void w_cas(void) { int e = 0; while (!atomic_compare_exchange_weak(&lock, &e, 1)) { e = 0; _mm_pause(); } }
void w_ticket(unsigned mine) { while (atomic_load(&queue.head) != mine) _mm_pause(); }
void w_sense(int sense) { while (atomic_load_explicit(&ready, memory_order_relaxed) != sense) ; }
void w_tsc(uint64_t cycles) { uint64_t start = __rdtsc(); while (__rdtsc() - start < cycles) ; }
void w_tsc_pause(uint64_t until) { while (__rdtsc() < until) _mm_pause(); }
void w_two(void) { while (!done && !atomic_load(&ready)) ; }
void w_pointer(struct q *q) { while (atomic_load(&q->head) == atomic_load(&q->tail)) ; }
void w_clock(long until) { struct timespec now; do clock_gettime(CLOCK_MONOTONIC, &now); while (now.tv_sec < until); }
void w_limited(void) { for (int i = 0; i < 1000 && !done; i++) ; }
void w_limited_volatile(void) { volatile int i = 0; while (!done && i < 350) i++; }

/* These look for work, by themselves or by functions that they call (k_), and work where there is some. */
struct list { long at, n; node *items; } ;
struct pool { node *top; long pad[7]; };
__attribute__((noinline)) node *k_take(struct pool *pools, int me, int n) { int at = me; while (n > 0) { struct pool *p = &pools[at]; if (p->top) { work(); node *t = p->top; if (t) p->top = t->next; work(); if (t) return t; } if (++at >= n) at = 0; n--; } return NULL; }
__attribute__((noinline)) int k_is_done(const struct pool *pools, int n) { for (int i = 0; i < n; i++) if (pools[i].pad[0]) return 0; return done; }
void p_idle(struct pool *pools, int me, int n) { while (done < n) { node *t = k_take(pools, me, n); if (t) { work(); t->value++; } } }
void p_scan(struct pool *pools, int me, int n) { for (;;) { int found = 0; for (int i = 0; i < n; i++) { struct pool *p = &pools[(me + i) & 63]; if (p->top) { work(); p->top = NULL; found = 1; break; } } if (!found && done) break; } }
void p_locked(void **mutex, node **top) { for (;;) { pthread_mutex_lock(*mutex); node *t = *top; if (t) *top = t->next; int is_done = done; pthread_mutex_unlock(*mutex); if (t) t->value = 1; else if (is_done) return; } }
void p_until_done(struct pool *pools, int n) { while (!k_is_done(pools, n)) if (plain) { plain = 0; work(); } }

/* These are at work, wherever they are. */
long n_sum(const long *a, long n) { long s = 0; for (long i = 0; i < n; i++) s += a[i]; return s; }
long n_chase(node *p) { long c = 0; while (p->next) { p = p->next; c++; } return c; }
node *n_find(node *p) { while (p->next) p = p->next; return p; }
void n_set(char *a, size_t n) { for (size_t i = 0; i < n; i++) { a[i] = 7; __asm__ volatile(""); } }
void n_copy(char *a, const char *b, size_t n) { while (n--) { *a++ = *b++; __asm__ volatile(""); } }
uint32_t n_hash(const unsigned char *s) { uint32_t h = 2166136261u; while (*s) { h ^= *s++; h *= 16777619u; } return h; }
double n_float(double x) { while (x * x > 1.5) x *= 0.99; return x; }
long n_pop(struct q *q) { long s = 0; for (;;) { unsigned h = atomic_load(&q->head); if (h == atomic_load(&q->tail)) continue; long v = q->items[h & 63]; atomic_store(&q->head, h + 1); if (v < 0) return s; } }
size_t n_length(const char *s) { size_t n = 0; while (s[n]) n++; return n; }
void n_add(long n) { for (long i = 0; i < n; i++) atomic_fetch_add(&total, 1); }
void n_cas_add(void) { long old = atomic_load(&total); while (!atomic_compare_exchange_weak(&total, &old, old + 1)) ; }
void n_count(long n) { for (volatile long i = 0; i < n; i++) ; }
void n_count_register(long n) { for (long i = 0; i < n; i++) __asm__ volatile(""); }
void n_call(void) { while (!done) work(); }
uint64_t n_random(uint64_t x, uint64_t limit) { while (x > limit) { x ^= x << 13; x ^= x >> 7; x ^= x << 17; } return x; }
long n_sum_pause(const volatile long *a, long n) { long s = 0; for (long i = 0; i < n; i++) { s += a[i]; _mm_pause(); } return s; }
int n_gcd(int a, int b) { while (b) { int t = a % b; a = b; b = t; } return a; }
int n_search(const int *a, int n, int x) { int lo = 0, hi = n; while (lo < hi) { int mid = (lo + hi) / 2; if (a[mid] < x) lo = mid + 1; else hi = mid; } return lo; }
long n_stores_status(volatile long *status) { long i = 0; while (!done) *status = i++; return i; }
long n_power(volatile long *p) { long i = 0; while (i < 62 && (1L << i) < *p) i++; return i; }
long n_counter(void) { long n = 0; while (!done) n++; return n; }
int n_round_robin(const volatile int *flags) { for (int i = 0;; i = (i + 1) & 63) if (flags[i]) return i; }
int n_switch(node *p, const int *kinds) { int s = 0; again: switch (*kinds) { case 0: s += 3; goto again; case 1: s ^= 5; goto again; case 2: p->value++; goto again; case 3: kinds++; goto again; case 4: p = p->next; goto again; case 5: s *= 7; goto again; default: return s; } }
void n_memory_limit(volatile long *i) { while (*i < 1000) *i = *i + 1; }
void n_sort(long *a, int n) { int changed; do { changed = 0; for (int i = 1; i < n; i++) if (a[i - 1] > a[i]) { long t = a[i]; a[i] = a[i - 1]; a[i - 1] = t; changed = 1; } } while (changed); }
void n_relax(long *a, const long *b, int n) { int changes; do { changes = 0; for (int i = 0; i < n; i++) if (a[i] > b[i]) { a[i] = b[i]; changes++; } } while (changes > 0); }
void n_settle(double *x, const double *y, int n) { double d; do { d = 0; for (int i = 0; i < n; i++) if (x[i] > y[i]) { d += x[i] - y[i]; x[i] = y[i]; } } while (d > 1e-6); }
__attribute__((noinline)) int k_next(struct list *l) { if (l->at == l->n) return 0; l->at++; return 1; }
int n_iterate(struct list *l) { while (k_next(l)) if (l->items[l->at].value == 7) return 1; return 0; }
