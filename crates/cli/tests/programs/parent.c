#include <stdio.h>
#include <unistd.h>

int main(void)
{
    printf("parent %d\n", (int)getppid());
    return 0;
}
