// SPDX-License-Identifier: Apache-2.0

// A Go program with C in it: what C allocates can be seen, what Go allocates cannot. Every line of input: 10 blocks of 1000 bytes in C.
package main

/*
#include <stdlib.h>
#include <string.h>

static void *kept[10000];
static int count;

__attribute__((noipa)) static void *site_in_c(size_t size)
{
	void *block = malloc(size);
	__asm__ volatile("" ::: "memory");
	return block;
}

__attribute__((noipa)) static void allocate(void)
{
	for (int i = 0; i < 10 && count < 10000; i++) {
		kept[count] = site_in_c(1000);
		memset(kept[count++], 3, 1000);
	}
	__asm__ volatile("" ::: "memory");
}
*/
import "C"

import (
	"bufio"
	"fmt"
	"os"
)

func main() {
	fmt.Println("ready")
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		done := make(chan bool)
		go func() {
			C.allocate()
			done <- true
		}()
		<-done
		fmt.Println("ok")
	}
}
