/* What the test programs use to show themselves to the test. */
#ifndef CAPTURE_H
#define CAPTURE_H
#ifdef __cplusplus
extern "C" {
#endif
/* Writes registers, up to 16 KB of the caller's stack, and the list of modules to standard output. */
void capture(void);
/* Writes one address to standard output. */
void tell(const void *address);
#ifdef __cplusplus
}
#endif
#endif
