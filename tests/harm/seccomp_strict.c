// Strict seccomp: after read, write, exit and sigreturn every system call is SIGKILL. Locks that nobody else
// wants need none.
#include "harm.h"

#include <linux/seccomp.h>
#include <semaphore.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t nobody_waits = PTHREAD_COND_INITIALIZER;
static pthread_spinlock_t spin;
static sem_t semaphore;

int main(void)
{
    static const char done[] = "locked and unlocked without a system call\n";
    CHECK(pthread_spin_init(&spin, 0) == 0 && sem_init(&semaphore, 0, 0) == 0);
    CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) == 0);
    for (int i = 0; i < 300000; i++) {
        pthread_mutex_lock(&lock);
        pthread_cond_signal(&nobody_waits);
        pthread_mutex_unlock(&lock);
        pthread_rwlock_rdlock(&rwlock);
        pthread_rwlock_unlock(&rwlock);
        pthread_spin_lock(&spin);
        pthread_spin_unlock(&spin);
        sem_post(&semaphore);
        sem_trywait(&semaphore);
    }
    if (write(1, done, sizeof done - 1) < 0)
        syscall(SYS_exit, 1);
    syscall(SYS_exit, 12);
}
